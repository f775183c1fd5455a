//! Scratch: reads lines of commands (steps separated by ` ;;; `) and prints readings.
#![allow(
    clippy::all,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "scratch"
)]
use portcullis_shell_reader::examples::describe_effect;
use portcullis_shell_reader::{Contents, KnownFile, Provenance, Surroundings, read};
use std::collections::BTreeMap;
fn main() {
    let text = std::io::read_to_string(std::io::stdin()).unwrap();
    let no = Provenance {
        downloaded: false,
        decoded: false,
        secret: false,
        dumped: false,
        foreign: false,
        written: false,
    };
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for line in text.lines() {
        if line.is_empty() || line.starts_with('#') {
            println!("{line}");
            continue;
        }
        if let Some(rest) = line.strip_prefix("@file ") {
            let (path, text) = rest.split_once(' ').unwrap_or((rest, ""));
            if text.is_empty() {
                files.remove(path);
            } else {
                files.insert(path.to_owned(), text.replace("\\n", "\n"));
            }
            continue;
        }
        let mut ledger: BTreeMap<String, Provenance> = BTreeMap::new();
        for step in line.split(" ;;; ") {
            let step = step.replace("\\n", "\n");
            let mut known: BTreeMap<String, KnownFile> = BTreeMap::new();
            for (path, from) in &ledger {
                known.insert(
                    path.clone(),
                    KnownFile {
                        path: path.clone(),
                        contents: None,
                        provenance: *from,
                        committed: false,
                    },
                );
            }
            for (path, text) in &files {
                let file = known.entry(path.clone()).or_insert(KnownFile {
                    path: path.clone(),
                    contents: None,
                    provenance: no,
                    committed: false,
                });
                file.contents = Some(Contents::Text(text.clone()));
            }
            let r = read(
                &step,
                &Surroundings {
                    cwd: "/home/dev/project".into(),
                    home: "/home/dev".into(),
                    files: known.into_values().collect(),
                },
            );
            println!("$ {}", step.replace('\n', "\\n"));
            println!(
                "    effects: {}",
                r.effects.iter().map(describe_effect).collect::<Vec<_>>().join(" | ")
            );
            if !r.forms.is_empty() {
                println!(
                    "    forms: {}",
                    r.forms
                        .iter()
                        .map(|f| format!("{}:{}", f.id, f.weight))
                        .collect::<Vec<_>>()
                        .join(" | ")
                );
            }
            if !r.gaps.is_empty() {
                println!("    gaps: {}", r.gaps.join(" | "));
            }
            if !r.wants.is_empty() {
                println!("    wants: {}", r.wants.join(" | "));
            }
            if !r.leaves.is_empty() {
                println!(
                    "    leaves: {}",
                    r.leaves
                        .iter()
                        .map(|l| format!(
                            "{} {}",
                            l.path,
                            [
                                (l.provenance.downloaded, "D"),
                                (l.provenance.decoded, "E"),
                                (l.provenance.secret, "S"),
                                (l.provenance.dumped, "B"),
                                (l.provenance.foreign, "F"),
                                (l.provenance.written, "W")
                            ]
                            .iter()
                            .filter(|x| x.0)
                            .map(|x| x.1)
                            .collect::<String>()
                        ))
                        .collect::<Vec<_>>()
                        .join(" | ")
                );
            }
            for left in r.leaves {
                if left.provenance == no {
                    ledger.remove(&left.path);
                } else {
                    ledger.insert(left.path, left.provenance);
                }
            }
        }
    }
}
