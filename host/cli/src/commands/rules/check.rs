//! `portcullis rules check`: reads rules files, reports mistakes with line and column, and tests
//! examples.

use crate::error::Result;
use crate::exit::CommandExit;
use crate::paint;
use portcullis_config::paths::Paths;
use portcullis_config::problem::Problems;
use portcullis_config::rules::RulesFile;
use portcullis_config::{Config, file};
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::rules::dry_run::{ExampleOutcome, RuleBench};
use portcullis_rule_language::place::{Span, line_and_column, line_of};
use portcullis_store::Home;
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};

/// The most characters of a line that are shown.
const MOST_SHOWN: usize = 160;

/// A mistake.
struct Failure {
    file: String,
    span: Option<Span>,
    what: String,
    /// The facts that the rule saw of an example.
    seen: Vec<String>,
}

/// A file that was checked.
struct Checked {
    file: String,
    text: String,
    rules: usize,
    examples: usize,
    failures: Vec<Failure>,
}

pub fn run_check(files: &[PathBuf], as_json: bool) -> Result<CommandExit> {
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let config = Config::builtin_only(&places);
    let mut all = Vec::new();
    if files.is_empty() {
        let rules = portcullis_config::rules_as_written(&places, &home)?;
        for file in &rules.files {
            all.push(checked(file, &config, &home)?);
        }
        // Mistakes between files are known only if each of them can be read.
        if all.iter().all(|checked| checked.failures.is_empty()) {
            all.extend(rules.problems().iter().map(between));
        }
    }
    for path in files {
        all.push(match file::read_file(path) {
            Ok(Some(text)) => {
                checked(&RulesFile { path: path.clone(), of_project: false, text }, &config, &home)?
            }
            Ok(None) => unreadable(path, "there is no such file".to_owned()),
            Err(problems) => unreadable(
                path,
                problems.problems.iter().map(|problem| problem.what.clone()).collect(),
            ),
        });
    }
    if as_json {
        paint::print_text(&format!(
            "{}\n",
            json!({ "files": all.iter().map(Checked::json).collect::<Vec<_>>() })
        ));
    } else if all.is_empty() {
        paint::print_text(
            "no rules file is configured: name one in `rules.files`, or on the command line\n",
        );
    } else {
        all.iter().for_each(|checked| paint::print_text(&checked.text_of()));
    }
    Ok(CommandExit::of_check(all.iter().all(|checked| checked.failures.is_empty())))
}

/// Returns mistakes that involve several files: names that two of them use, and unknown names.
fn between(problems: &Problems) -> Checked {
    unreadable(&problems.file, problems.lines().join("; "))
}

fn unreadable(path: &Path, what: String) -> Checked {
    let file = one_line(&path.display().to_string(), 1024);
    let failure = Failure { file: file.clone(), span: None, what, seen: Vec::new() };
    Checked { file, text: String::new(), rules: 0, examples: 0, failures: vec![failure] }
}

fn checked(file: &RulesFile, config: &Config, home: &Home) -> Result<Checked> {
    let name = one_line(&file.path.display().to_string(), 1024);
    let failure = |span, what, seen| Failure { file: name.clone(), span: Some(span), what, seen };
    let mut checked = Checked {
        file: name.clone(),
        text: file.text.clone(),
        rules: 0,
        examples: 0,
        failures: Vec::new(),
    };
    let rules = match portcullis_rule_language::read(&file.text) {
        Ok(rules) => rules,
        Err(problems) => {
            checked.failures = problems
                .into_iter()
                .map(|problem| failure(problem.span, problem.what, Vec::new()))
                .collect();
            return Ok(checked);
        }
    };
    checked.rules = rules.len();
    checked.examples = rules.iter().map(|read| read.examples.len()).sum();
    if checked.rules == 0 {
        return Ok(checked);
    }
    let mut bench = RuleBench::new(file, config, home)?;
    for (rule, example) in
        rules.iter().flat_map(|read| read.examples.iter().map(move |example| (&read.rule, example)))
    {
        let outcome = bench.run_example(&rule.name, example);
        if let Some(what) = outcome.explain_wrong(&rule.name, example) {
            let seen =
                if let ExampleOutcome::Judged { seen, .. } = outcome { seen } else { Vec::new() };
            checked.failures.push(failure(example.place, what, seen));
        }
    }
    Ok(checked)
}

impl Checked {
    fn text_of(&self) -> String {
        if self.failures.is_empty() {
            return format!(
                "{}: {}, {}, {}\n",
                self.file,
                paint::good("ok"),
                count_noun(self.rules as u64, "rule"),
                count_noun(self.examples as u64, "example")
            );
        }
        self.failures.iter().map(|failure| failure.text(&self.text)).collect()
    }

    fn json(&self) -> Json {
        let failures: Vec<Json> =
            self.failures.iter().map(|failure| failure.json(&self.text)).collect();
        json!({
            "file": self.file,
            "rules": self.rules,
            "examples": self.examples,
            "failures": failures,
        })
    }
}

impl Failure {
    fn text(&self, text: &str) -> String {
        let what = one_line(&self.what, 2048);
        let Some(span) = self.span else { return format!("{}: {what}\n", self.file) };
        let (line, column) = line_and_column(text, span.start);
        let mut output = format!("{}:{line}:{column}: {what}\n", paint::bold(&self.file));
        output.push_str(&pointed(text, span, line, column));
        for seen in &self.seen {
            output.push_str(&format!("    {}\n", paint::dim(format!("it saw {seen}"))));
        }
        output
    }

    fn json(&self, text: &str) -> Json {
        let place = self.span.map(|span| line_and_column(text, span.start));
        json!({
            "line": place.map(|place| place.0),
            "column": place.map(|place| place.1),
            "message": self.what,
            "seen": self.seen,
        })
    }
}

/// Formats the line with a caret below each character of the span; a long line is shown from the
/// start of the span.
fn pointed(text: &str, span: Span, line: usize, column: usize) -> String {
    let whole = line_of(text, span.start);
    let from = if column > MOST_SHOWN { column - 1 } else { 0 };
    let shown: String = whole
        .chars()
        .skip(from)
        .take(MOST_SHOWN)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let meant = text
        .get(span.start..span.end)
        .map_or(1, |meant| meant.lines().next().unwrap_or_default().chars().count());
    let before = column - 1 - from;
    let carets = meant.clamp(1, shown.chars().count().saturating_sub(before).max(1));
    let number = line.to_string();
    let (margin, space) = (" ".repeat(number.len()), " ".repeat(before));
    format!("{number} | {shown}\n{margin} | {space}{}\n", paint::bad("^".repeat(carets)))
}
