//! The contents of a guide: its commands, and the output that it shows for them.

/// A command and the output that the guide shows; empty if it shows none.
pub struct Shown {
    pub command: String,
    pub output: String,
}

/// Extracts the commands from blocks of `sh`, and commands with output from blocks of `console`.
pub fn commands(page: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    let mut inside = "";
    for line in page.lines() {
        if let Some(language) = line.strip_prefix("```") {
            inside = if inside.is_empty() { language } else { "" };
            continue;
        }
        match (inside, line.strip_prefix("$ ")) {
            ("console", Some(command)) => {
                found.push(Shown { command: command.to_owned(), output: String::new() })
            }
            ("console", None) => {
                if let Some(last) = found.last_mut() {
                    last.output.push_str(&format!("{line}\n"));
                }
            }
            ("sh", _) => found.push(Shown { command: line.to_owned(), output: String::new() }),
            _ => {}
        }
    }
    found
}

/// Splits a command into words; words with spaces are in single quotation marks.
pub fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (number, part) in command.split('\'').enumerate() {
        if number % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// Replaces numbers and digests that differ each time.
pub fn settled(text: &str) -> String {
    let mut settled = String::new();
    for word in text.split_inclusive(char::is_whitespace) {
        let bare = word.trim_end();
        let digest = bare.strip_prefix("sha256:").unwrap_or(bare).trim_end_matches([',', ')', ':']);
        if digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            settled.push_str(&word.replace(digest, "<digest>"));
        } else if bare.parse::<f64>().is_ok() {
            settled.push_str(&word.replace(bare, "<number>"));
        } else {
            settled.push_str(word);
        }
    }
    settled
}
