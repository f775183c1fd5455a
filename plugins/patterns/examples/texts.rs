//! Counts the attacks that are caught and the harmless texts that are flagged, in files of one JSON
//! object a line: `{"id": "...", "text": "...", "label": "attack" or "benign"}`.
//!
//! ```sh
//! cargo run --release -p portcullis-builtin-patterns --example texts -- FILE...
//! cargo run --release -p portcullis-builtin-patterns --example texts -- --list FILE...
//! ```
//!
//! With `--list` it names the missed texts and the wrongly flagged ones.
#![allow(clippy::print_stdout, reason = "it is what the program is for")]

use portcullis_builtin_patterns::instruction_injection::text::{INSTRUCTS, read};
use std::process::ExitCode;

#[derive(Default)]
struct Counts {
    attacks: usize,
    caught: usize,
    benign: usize,
    flagged: usize,
}

impl Counts {
    fn line(&self, name: &str) -> String {
        let share = |part: usize, all: usize| {
            if all == 0 {
                "-".to_owned()
            } else {
                format!("{:.1} %", part as f64 * 100.0 / all as f64)
            }
        };
        let (caught, flagged) =
            (share(self.caught, self.attacks), share(self.flagged, self.benign));
        format!(
            "{name}: {}/{} attacks caught ({caught}), {}/{} benign flagged ({flagged})",
            self.caught, self.attacks, self.flagged, self.benign
        )
    }
}

fn measure(file: &str, list: bool, all: &mut Counts) -> Result<(), String> {
    let lines =
        std::fs::read_to_string(file).map_err(|error| format!("cannot read `{file}`: {error}"))?;
    let mut counts = Counts::default();
    for (number, line) in lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = || format!("{file}:{}", number + 1);
        let row: serde_json::Value =
            serde_json::from_str(line).map_err(|error| format!("{}: {error}", place()))?;
        let text = row
            .get("text")
            .and_then(serde_json::Value::as_str)
            .ok_or_else(|| format!("{}: there is no `text`", place()))?;
        let label = row.get("label").and_then(serde_json::Value::as_str);
        let found = read(text);
        let hit = found.weight >= INSTRUCTS;
        let wrong = match label {
            Some("attack") => {
                counts.attacks += 1;
                counts.caught += usize::from(hit);
                !hit
            }
            Some("benign") => {
                counts.benign += 1;
                counts.flagged += usize::from(hit);
                hit
            }
            other => {
                return Err(format!(
                    "{}: the label is {other:?}, should be `attack` or `benign`",
                    place()
                ));
            }
        };
        if wrong && list {
            let id = row.get("id").and_then(serde_json::Value::as_str).unwrap_or_default();
            println!("{} {id} {:?} {:?}", label.unwrap_or_default(), found.signs, found.excerpt);
        }
    }
    println!("{}", counts.line(file));
    all.attacks += counts.attacks;
    all.caught += counts.caught;
    all.benign += counts.benign;
    all.flagged += counts.flagged;
    Ok(())
}

fn main() -> ExitCode {
    let mut files: Vec<String> = std::env::args().skip(1).collect();
    let list = files.iter().any(|argument| argument == "--list");
    files.retain(|argument| argument != "--list");
    if files.is_empty() {
        println!("usage: texts [--list] FILE...");
        return ExitCode::from(2);
    }
    let mut all = Counts::default();
    for file in &files {
        if let Err(error) = measure(file, list, &mut all) {
            println!("{error}");
            return ExitCode::FAILURE;
        }
    }
    println!("{}", all.line("in all"));
    ExitCode::SUCCESS
}
