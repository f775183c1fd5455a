//! The commands of the guide for authors are run in its order, and what it shows of their output has to stand in it.

use crate::common::process;
use crate::common::site::Site;
use crate::{LIMIT, tools};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;

/// A command and what the guide shows of its output; nothing where it shows none.
struct Shown {
    command: String,
    output: String,
}

pub fn guide() -> Result<()> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/docs/first-plugin.md");
    let shown = commands(&fs::read_to_string(page)?);
    ensure!(shown.len() >= 5, "the guide shows only {} commands", shown.len());
    let site = Site::new("guide")?;
    let mut folder = site.root().to_owned();
    for Shown { command, output } in &shown {
        let words = words(command);
        let Some((program, arguments)) = words.split_first() else { continue };
        if program == "cd" {
            folder.push(arguments.first().context("`cd` without a folder")?);
            // In place of the command that installs the language's tools.
            tools::lend("rust", &folder)?;
            continue;
        }
        ensure!(program == "portcullis", "the guide runs `{program}`");
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut run = site.command(&arguments);
        run.current_dir(&folder).envs(tools::environment());
        let ended = process::run(run, b"", LIMIT)?;
        ensure!(ended.stderr.is_empty() || ended.code == Some(0), "`{command}`: {}", ended.all());
        let now = ended.text().replace(&site.root().display().to_string(), "/work");
        ensure!(settled(&now).contains(&settled(output.trim())), "`{command}` prints\n{now}\nand the guide shows\n{output}");
    }
    Ok(())
}

/// The blocks of `sh` hold commands, those of `console` what they print, too.
fn commands(page: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    let mut inside = "";
    for line in page.lines() {
        if let Some(language) = line.strip_prefix("```") {
            inside = if inside.is_empty() { language } else { "" };
            continue;
        }
        match (inside, line.strip_prefix("$ ")) {
            ("console", Some(command)) => found.push(Shown { command: command.to_owned(), output: String::new() }),
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

/// A command's words; those with blanks stand in single quotation marks.
fn words(command: &str) -> Vec<String> {
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

/// Without what is another number or digest each time.
fn settled(text: &str) -> String {
    let mut settled = String::new();
    for word in text.split_inclusive(char::is_whitespace) {
        let bare = word.trim_end();
        if bare.len() == 64 && bare.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            settled.push_str(&word.replace(bare, "<digest>"));
        } else if bare.parse::<f64>().is_ok() {
            settled.push_str(&word.replace(bare, "<number>"));
        } else {
            settled.push_str(word);
        }
    }
    settled
}
