//! A guest that uses the standard library like any program, and reports the results.
//!
//! The action's tool selects the attempts. An honest answer is one issue with the results.

wit_bindgen::generate!({ path: "../../../wit/plugin", world: "risk-calculator", generate_all });

use exports::portcullis::plugin::assessor::{
    Action, Assessment, Context, Error, Guest, Rationality, Setting,
};
use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

struct Plugin;

impl Guest for Plugin {
    fn prepare(_: Vec<Setting>) -> Result<Vec<u8>, Error> {
        Ok(Vec::new())
    }

    fn assess(_: Vec<u8>, action: Action, _: Context) -> Result<Assessment, Error> {
        let found = attempt(&action.tool)?;
        let rationality = Rationality {
            alignment: None,
            progression: None,
            efficiency: None,
            completeness: None,
            issues: vec![found],
            suggestions: vec![],
        };
        Ok(Assessment {
            risk: None,
            rationality: Some(rationality),
            side_effects: None,
            rulings: vec![],
        })
    }
}

/// Returns the beginning of a call's result.
fn describe_result<T: std::fmt::Debug>(result: std::io::Result<T>) -> String {
    match result {
        Ok(found) => format!("{found:?}"),
        Err(error) => format!("{:?}", error.kind()),
    }
}

fn attempt(what: &str) -> Result<String, Error> {
    if let Some((verb, path)) = what.split_once(' ').filter(|(_, path)| path.starts_with('/')) {
        return Ok(match verb {
            "read" => describe_result(std::fs::read_to_string(path)),
            "length" => describe_result(std::fs::read(path).map(|bytes| bytes.len())),
            "size" => {
                describe_result(std::fs::metadata(path).map(|meta| (meta.is_dir(), meta.len())))
            }
            "list" => {
                let names = std::fs::read_dir(path).map(|entries| {
                    entries
                        .filter_map(|entry| {
                            Some(entry.ok()?.file_name().into_string().unwrap_or_default())
                        })
                        .collect::<Vec<_>>()
                });
                describe_result(names)
            }
            "follow" => describe_result(std::fs::read_link(path)),
            "write" => describe_result(std::fs::write(path, "x")),
            "append" => {
                describe_result(std::fs::OpenOptions::new().append(true).open(path).map(drop))
            }
            "remove" => describe_result(std::fs::remove_file(path)),
            "make" => describe_result(std::fs::create_dir(path)),
            "move" => describe_result(std::fs::rename(path, format!("{path}2"))),
            "many" => describe_result(
                (0..1000)
                    .map(|_| std::fs::File::open(path))
                    .collect::<Result<Vec<_>, _>>()
                    .map(|all| all.len()),
            ),
            // Reads the same file repeatedly, until the host refuses.
            "over" => {
                let mut sum = 0;
                while let Ok(bytes) = std::fs::read(path) {
                    sum += bytes.len();
                }
                format!("{sum}")
            }
            other => {
                return Err(Error::Failed(format!("`{other}` is nothing that this guest can try")));
            }
        });
    }
    Ok(match what {
        "variables" => format!("{:?}", std::env::vars().collect::<Vec<_>>()),
        "waited" => {
            let start = Instant::now();
            let mut n = 0_u64;
            while start.elapsed() == Duration::ZERO && n < 1000 {
                n += 1;
            }
            format!("{}", start.elapsed() > Duration::ZERO)
        }
        "this year" => format!(
            "{}",
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .is_ok_and(|since| since.as_secs() > 1_750_000_000)
        ),
        "environment" => format!(
            "{} variables, {} arguments",
            std::env::vars().count(),
            std::env::args().count()
        ),
        "input" => format!("{:?}", std::io::stdin().lines().next().is_some()),
        "print" => {
            println!("printed");
            eprintln!("complained");
            "done".into()
        }
        "clock" => format!(
            "{:?}",
            SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_millis())
        ),
        "sleep" => {
            let start = Instant::now();
            std::thread::sleep(Duration::from_secs(3600));
            format!("{:?}", start.elapsed())
        }
        "hash" => format!(
            "{:?}",
            (0..8).map(|n| (n, n)).collect::<HashMap<_, _>>().keys().collect::<Vec<_>>()
        ),
        "panic" => panic!("the sky fell"),
        "exit" => std::process::exit(3),
        "abort" => std::process::abort(),
        "open and give up" => std::fs::read_to_string("/etc/passwd").unwrap(),
        "open and say so" => std::fs::read_to_string("/etc/passwd")
            .map_err(|error| Error::Failed(error.to_string()))?,
        "open and go on" => format!("{:?}", std::fs::read_to_string("/etc/passwd").is_ok()),
        "write" => format!("{:?}", std::fs::write("/tmp/wasi-guest", "x").is_ok()),
        "print a lot" => loop {
            println!("{}", "x".repeat(1000));
        },
        other => {
            return Err(Error::Failed(format!("`{other}` is nothing that this guest can try")));
        }
    })
}

export!(Plugin);
