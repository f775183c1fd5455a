//! Runs of tests and other checks: which test, or which error, a run fails with.

use crate::forms::{FailureLine, may_tell, read_error, read_test, sums_up};
use crate::memory::{Failure, Memory, keep_newest};
use crate::scan::{Scan, is_of_word};
use crate::texts::{hash, line, line_of, spell, take_last};
use crate::times::mask_numbers;
use portcullis_plugin::pattern::Status;
use portcullis_plugin::types::{Action, Command, Outcome};

/// What is looked at of a result: failures are summed up at its end.
const MOST_SHOWN: usize = 8192;
const MOST_LINES: usize = 80;
/// Lines of this length and more are no summary.
const LONGEST_LINE: usize = 1000;
const MOST_FOUND: usize = 12;
const MOST_ID: usize = 120;
const MOST_PROGRAM: usize = 40;
/// How many files and tests that a run names are looked at.
const MOST_OPERANDS: usize = 200;
/// How many ways to run it are kept of a failure.
const MOST_WAYS: usize = 4;

/// A failed test, or an error.
#[derive(Debug)]
struct Found<'a> {
    id: String,
    why: &'a str,
}

/// The texts of a result, as far as they are looked at.
#[derive(Clone, Copy, Debug)]
struct Shown<'a>([&'a str; 2]);

impl<'a> Shown<'a> {
    fn read(outcome: &'a Outcome) -> Self {
        Self([&outcome.error, take_last(&outcome.output, MOST_SHOWN)])
    }

    fn contains(self, text: &str) -> bool {
        self.0.iter().any(|shown| shown.contains(text))
    }

    /// Returns the number of failures that it tells of.
    fn count(self) -> Option<u32> {
        self.0.iter().find_map(|shown| find_count(shown))
    }

    /// Returns what failed, each once. Tests come before errors: those are what a test fails with.
    fn list_failures(self, is_check: bool) -> Vec<Found<'a>> {
        let is_short =
            |line: &str| line.len() < LONGEST_LINE || line.chars().count() < LONGEST_LINE;
        let lines = self.0.into_iter().flat_map(|shown| shown.split('\n'));
        let mut lines: Vec<&str> = lines.filter(|line| is_short(line) && may_tell(line)).collect();
        keep_newest(&mut lines, MOST_LINES);
        if is_check {
            let tests = lines.iter().filter_map(|line| read_test(line));
            let tests = collect(tests, |failure| line(failure.id, MOST_ID));
            if !tests.is_empty() {
                return tests;
            }
        }
        let errors = lines.iter().filter(|line| !sums_up(line));
        collect(errors.filter_map(|line| read_error(line)), |failure| {
            let name = failure.file.map(|file| format!("{file}: {}", failure.id));
            line(&mask_numbers(name.as_deref().unwrap_or(failure.id)), MOST_ID)
        })
    }
}

fn collect<'a>(
    failures: impl Iterator<Item = FailureLine<'a>>,
    name: impl Fn(FailureLine<'a>) -> String,
) -> Vec<Found<'a>> {
    let mut found: Vec<Found<'a>> = Vec::new();
    for failure in failures {
        if found.len() == MOST_FOUND {
            break;
        }
        let id = name(failure);
        // A later line of the same test tells why.
        match found.iter_mut().find(|known| known.id == id) {
            Some(known) => known.why = failure.why.unwrap_or(known.why),
            None => found.push(Found { id, why: failure.why.unwrap_or_default() }),
        }
    }
    found
}

/// Finds `3 failed`, `1 failure` or `2 errors`.
fn find_count(text: &str) -> Option<u32> {
    const WORDS: &[&str] = &["failed", "failing", "failure", "failures", "error", "errors"];
    let mut scan = Scan(text);
    loop {
        let at = scan.0.find(|character: char| character.is_ascii_digit())?;
        scan.0 = scan.0.get(at..)?;
        let number = scan.digits()?;
        let mut next = scan;
        let word = next.text(" ").and_then(|()| next.some(is_of_word));
        if word.is_some_and(|word| WORDS.contains(&word)) {
            return Some(number.parse().unwrap_or(u32::MAX));
        }
    }
}

/// Notes a run of checks that ended. Returns the failures that have now lasted as long as `most`
/// runs, or longer.
pub fn note_run(
    memory: &mut Memory,
    action: &Action,
    outcome: &Outcome,
    error: u64,
    most: u32,
) -> Vec<Failure> {
    let Some(shell) = action.shell() else { return Vec::new() };
    let run = shell.commands.iter().find(|command| is_check(command));
    let fails = outcome.status == Status::Failed;
    if run.is_none() && !fails {
        return Vec::new();
    }
    let shown = Shown::read(outcome);
    let found = shown.list_failures(run.is_some());
    if found.is_empty() {
        if let Some(run) = run.filter(|_| !fails) {
            memory.failures.retain(|failure| !passes(failure, run, shown));
        }
        return Vec::new();
    }
    let many = shown.count().unwrap_or_default();
    let many = many.max(u32::try_from(found.len()).unwrap_or(u32::MAX));
    if many < memory.fewest {
        // Fewer fail than ever before: that is progress, whatever still fails.
        for failure in &mut memory.failures {
            (failure.runs, failure.same) = (0, 0);
        }
        memory.fewest = many;
    }
    let acts = |command: &&Command| command.program != "cd" && !command.program.is_empty();
    let command = run.or_else(|| shell.commands.iter().find(acts)).or(shell.commands.first());
    let program = command.map_or_else(String::new, |command| line_of(spell(command), MOST_PROGRAM));
    let error = if fails { error } else { 0 };
    let new = found.len();
    for found in found {
        note_failure(memory, found, action, error, &program);
    }
    let noted = memory.failures.iter().rev().take(new).rev();
    noted.filter(|failure| has_lasted(failure, most)).cloned().collect()
}

/// Returns true if it fails as often as is too often. Again and again with the same error alone is
/// what `repetitive-errors` sees.
fn has_lasted(failure: &Failure, most: u32) -> bool {
    let Failure { runs, same, errors, shapes, .. } = failure;
    let varies = shapes.len() > 1 || errors.len() > 1 || errors.contains(&0);
    let reached = |times: u32, from: u32| times >= from && (times - from).is_multiple_of(2);
    varies && (reached(*same, most) || (*same < most && reached(*runs, 2 * most)))
}

/// Notes a failure, as the newest.
fn note_failure(
    memory: &mut Memory,
    found: Found<'_>,
    action: &Action,
    error: u64,
    program: &String,
) {
    let reason = hash(&mask_numbers(found.why));
    let known = memory.failures.iter().position(|failure| failure.id == found.id);
    let mut failure = known.map(|at| memory.failures.remove(at)).unwrap_or_else(|| Failure {
        id: found.id,
        runs: 0,
        same: 0,
        reason,
        shapes: Vec::new(),
        programs: Vec::new(),
        errors: Vec::new(),
        first: action.step,
        edits: memory.edits,
    });
    failure.runs = failure.runs.saturating_add(1);
    failure.same = if failure.reason == reason { failure.same.saturating_add(1) } else { 1 };
    failure.reason = reason;
    note_newest(&mut failure.shapes, &action.facts.shape);
    note_newest(&mut failure.errors, &error);
    note_newest(&mut failure.programs, program);
    memory.failures.push(failure);
}

fn note_newest<T: PartialEq + Clone>(values: &mut Vec<T>, value: &T) {
    values.retain(|known| known != value);
    values.push(value.clone());
    keep_newest(values, MOST_WAYS);
}

/// Returns true if a run without failures shows that this one is over: it names it, or leaves
/// nothing out.
fn passes(failure: &Failure, run: &Command, shown: Shown<'_>) -> bool {
    const NARROWING: &[&str] = &["-k", "-t", "-run", "--filter", "-g", "--grep"];
    let words = || run.words.iter().map(|word| word.text.as_str());
    let mut operands =
        words().filter(|word| word.contains(['.', '/', ':']) && !word.starts_with('-')).peekable();
    let narrows = operands.peek().is_some() || words().any(|word| NARROWING.contains(&word));
    let names = |word: &str| failure.id.contains(word.strip_prefix("./").unwrap_or(word));
    !narrows || operands.take(MOST_OPERANDS).any(names) || shown.contains(&failure.id)
}

/// Returns true for a program that checks, with a word that makes it do so.
fn is_check(command: &Command) -> bool {
    let marks: &[&str] = match command.program.as_str() {
        "pytest" | "py.test" | "jest" | "vitest" | "mocha" | "ava" | "ctest" | "rspec"
        | "phpunit" | "nosetests" | "tox" | "nox" | "unittest" => return true,
        "tsc" | "mypy" | "pyright" | "eslint" | "flake8" | "make" | "ninja" | "bazel" | "just"
        | "rake" | "playwright" | "cypress" => return true,
        "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" | "javac" | "rustc" | "ghc" => {
            return true;
        }
        "mvn" | "mvnw" | "gradle" | "gradlew" => return true,
        "cargo" => &["test", "check", "build", "clippy", "nextest", "run", "t", "b", "c"],
        "go" | "swift" | "dotnet" | "mix" | "deno" | "bun" | "zig" | "sbt" | "lein" => {
            &["test", "build", "vet", "check", "compile", "run"]
        }
        "npm" | "pnpm" | "yarn" | "npx" => {
            &["test", "t", "run", "exec", "build", "lint", "jest", "vitest", "tsc", "mocha"]
        }
        "uv" | "poetry" | "pipenv" | "hatch" | "bundle" => &["test", "run", "exec"],
        "python" | "python3" | "py" => &["-m", "pytest", "unittest"],
        "node" => &["--test"],
        _ => return false,
    };
    command.words.iter().any(|word| marks.contains(&word.text.as_str()))
}
