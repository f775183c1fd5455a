//! Commands of the program: each is held against its own help.

use crate::cargo::words;
use crate::root;
use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;
use std::process::Command;

/// Words that end a command on a line of shell.
const OPERATORS: [&str; 8] = ["|", "||", "&&", ";", ">", ">>", "<", "..."];

/// The arguments, where a line is a command of the program.
pub fn arguments(line: &str) -> Option<Vec<String>> {
    let all = words(line);
    // The text after an operator is another command; lines with two of our commands are rare
    // enough.
    let end = all.iter().position(|word| OPERATORS.contains(&word.as_str())).unwrap_or(all.len());
    let command: Vec<&str> = all[..end]
        .iter()
        .map(String::as_str)
        .skip_while(|word| *word == "sudo" || is_variable(word))
        .collect();
    let given = match command.as_slice() {
        ["portcullis", given @ ..] | ["cargo", "run", "--release", "--", given @ ..] => given,
        _ => return None,
    };
    (!given.is_empty()).then(|| given.iter().map(|word| (*word).to_owned()).collect())
}

fn is_variable(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
    })
}

/// The program, with the help pages that were read.
#[derive(Default)]
pub struct Program {
    pages: BTreeMap<Vec<String>, String>,
}

impl Program {
    /// The help of a command.
    pub fn help(&mut self, command: &[String]) -> String {
        let arguments = command.iter().map(String::as_str).chain(["--help"]).collect::<Vec<_>>();
        self.pages.entry(command.to_vec()).or_insert_with(|| output(&arguments)).clone()
    }

    /// Returns true if there is such a command with such options.
    pub fn check(&mut self, given: &[String]) -> Result<(), String> {
        let (mut command, mut help) = (Vec::new(), self.help(&[]));
        for word in given {
            let Some(known) = commands(&help) else { break };
            if !word.starts_with(|letter: char| letter.is_ascii_lowercase()) {
                break;
            }
            if !known.contains(&word.as_str()) {
                return Err(format!("there is no command `{word}`"));
            }
            command.push(word.clone());
            help = self.help(&command);
        }
        // The first page has the options of all commands, and no other does.
        let help = format!("{help}\n{}", self.help(&[]));
        let options = given
            .iter()
            .take_while(|word| *word != "--")
            .filter(|word| word.len() > 2 && word.starts_with("--"));
        for option in options.map(|option| option.split('=').next().unwrap_or(option)) {
            let known = help
                .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-')
                .any(|word| word == option);
            if !known && !["--help", "--version"].contains(&option) {
                return Err(format!("`portcullis {}` has no `{option}`", command.join(" ")));
            }
        }
        Ok(())
    }
}

/// The output of the program.
pub fn output(arguments: &[&str]) -> String {
    let binary = env::var_os("PORTCULLIS_BIN").map_or_else(built, PathBuf::from);
    let ended = Command::new(&binary)
        .args(arguments)
        .env("PORTCULLIS_HOME", "/nonexistent/portcullis")
        .output();
    let ended = ended.unwrap_or_else(|error| {
        panic!("cannot run `{}`: {error}; run `cargo build --release --workspace`, or set PORTCULLIS_BIN", binary.display())
    });
    String::from_utf8_lossy(&ended.stdout).into_owned()
}

/// The commands that a help page lists, under whatever headings; none where it takes none.
fn commands(help: &str) -> Option<Vec<&str>> {
    let usage = help.lines().skip_while(|line| !line.starts_with("Usage:"));
    let mut usage = usage.take_while(|line| !line.is_empty());
    usage.find(|line| line.contains("<COMMAND>"))?;
    let listed = help.lines().filter_map(|line| {
        line.strip_prefix("  ")
            .filter(|rest| rest.starts_with(|first: char| first.is_ascii_lowercase()))
    });
    Some(listed.filter_map(|line| line.split_whitespace().next()).collect())
}

/// The release build of the workspace.
fn built() -> PathBuf {
    root()
        .join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
        .join("release/portcullis")
}
