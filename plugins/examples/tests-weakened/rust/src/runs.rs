//! Test runs: the commands that are test runs, and the tests that they leave out.

use crate::memory;
use crate::tests_of::is_never_one;
use portcullis_plugin::types::{Action, Command, Operation, Outcome, Shell, Status};

const RUNNERS: &[&str] = &[
    "pytest",
    "py.test",
    "jest",
    "vitest",
    "mocha",
    "ctest",
    "rspec",
    "phpunit",
    "nosetests",
    "tox",
    "unittest",
];
const TOOLS: &[&str] = &[
    "cargo", "go", "npm", "pnpm", "yarn", "bun", "deno", "make", "just", "mvn", "mvnw", "gradle",
    "gradlew", "dotnet", "mix", "swift", "rake",
];
const LEAVE_OUT: &[&str] = &[
    "--deselect",
    "--ignore",
    "--ignore-glob",
    "--skip",
    "-skip",
    "--exclude-regex",
    "--testPathIgnorePatterns",
    "-DskipTests",
    "-Dmaven.test.skip",
];
const HIDES: &[&str] = &["|| true", "||true", "|| :", "|| exit 0"];

/// Returns the state after an action: none if it reveals nothing about the tests.
pub fn ended(action: &Action, outcome: &Outcome) -> Option<Vec<u8>> {
    let Operation::Shell(shell) = &action.operation else { return None };
    let mut runs = shell.commands.iter().filter(|command| is_test_run(command)).peekable();
    runs.peek()?;
    if runs.any(|command| left_out(command, shell).is_some()) {
        return None;
    }
    match outcome.status {
        Status::Failed => Some(memory::state(action.step, &outcome.error, &outcome.output)),
        Status::Ok => Some(Vec::new()),
        _ => None,
    }
}

/// Returns true if a command runs tests.
pub fn is_test_run(command: &Command) -> bool {
    let program = command.program.as_str();
    let has = |wanted: fn(&str) -> bool| command.words.iter().any(|word| wanted(&word.text));
    RUNNERS.contains(&program)
        || (TOOLS.contains(&program)
            && has(|word| {
                matches!(word, "test" | "tests" | "check" | "nextest" | "verify")
                    || word.starts_with("test:")
            }))
        || (matches!(program, "python" | "python3")
            && has(|word| matches!(word, "unittest" | "pytest")))
}

/// Returns the tests that a test run leaves out.
pub fn left_out(command: &Command, shell: &Shell) -> Option<String> {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    words
        .iter()
        .enumerate()
        .find_map(|(at, word)| by_word(word, words.get(at + 1).copied()))
        .or_else(|| hidden(command, shell))
}

fn by_word(word: &str, next: Option<&str>) -> Option<String> {
    if matches!(word, "-k" | "-m") {
        return next
            .filter(|next| next.starts_with("not ") || next.contains(" not "))
            .map(|next| format!("{word} {next}"));
    }
    let (option, value) =
        word.split_once('=').map_or((word, None), |(option, value)| (option, Some(value)));
    if !LEAVE_OUT.contains(&option) || value.or(next).is_some_and(is_never_one) {
        return None;
    }
    Some(match (value, next) {
        (None, Some(next)) => format!("{word} {next}"),
        _ => word.to_owned(),
    })
}

fn hidden(command: &Command, shell: &Shell) -> Option<String> {
    let rest = shell.text.get(command.start as usize..)?;
    let ends = [";", "&&", "\n"].iter().filter_map(|end| rest.find(end));
    let rest = ends.min().and_then(|end| rest.get(..end)).unwrap_or(rest);
    HIDES.iter().find(|hides| rest.contains(*hides)).map(|hides| (*hides).to_owned())
}
