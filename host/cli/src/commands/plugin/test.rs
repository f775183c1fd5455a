//! `portcullis plugin test`: plays a plugin's cases and shows the differences from the expected
//! results.
//!
//! The exit code is 1 if a case differs. host/docs/plugin-cases.md describes the format of a case
//! file.

use super::subject::Subject;
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::{differ, paint};
use portcullis_author::cases::{
    self, Case, CaseDifference, CaseResult, CaseRunner, CaseStep, Expectation, StepAnswers, finding,
};
use portcullis_config::Config;
use portcullis_config::paths::Paths;
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::reviewer::code_cache;
use portcullis_store::Home;
use serde_json::{Value, json};
use std::fmt::Write;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// The most bytes of a line of a plugin's log, or of a fault.
const MOST_LINE: usize = 600;

#[derive(clap::Args)]
pub struct Arguments {
    /// The folder of the plugin's project, or its component
    #[arg(default_value = ".", value_name = "FOLDER|FILE")]
    subject: PathBuf,
    /// Run only the cases whose name contains this
    filter: Option<String>,
    /// Use this file of cases (default: `cases.toml` in the folder)
    #[arg(long, value_name = "FILE")]
    cases: Option<PathBuf>,
    /// Update the file with the plugin's actual output
    #[arg(long)]
    update: bool,
    /// Compare the plugin's whole output, not only what the cases name
    #[arg(long)]
    exact: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The result of a case.
struct CaseReport<'a> {
    case: &'a Case,
    parts: Vec<StepResult<'a>>,
}

/// The result of a step, or of all records of a case.
struct StepResult<'a> {
    /// The step; `None` for the records.
    step: Option<(usize, &'a CaseStep)>,
    expected: &'a Expectation,
    said: StepAnswers,
    difference: Option<CaseDifference>,
}

pub fn run_test(arguments: &Arguments) -> Result<CommandExit> {
    let subject = Subject::find_subject(&arguments.subject, arguments.cases.as_deref())?;
    let (path, text) = subject.cases()?;
    let cases = subject.read_cases(&path, &text)?;
    let chosen = select_cases(&cases, arguments.filter.as_deref())?;
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let caches = || code_cache(&home);
    let mut stage = CaseRunner::new(
        &subject.file,
        (&subject.name, subject.inspection.kind),
        &Config::builtin_only(&places),
        &caches,
    );
    announce(&subject);
    let mut tried = Vec::new();
    for case in chosen {
        let played = stage
            .play_case(case)
            .with_context(|| format!("the case `{}`", one_line(&case.name, 200)))?;
        let one = CaseReport::of(case, played, arguments.exact);
        if !arguments.json {
            paint::print_text(&one.text(&path, arguments.update));
        }
        tried.push(one);
    }
    if arguments.update {
        update(&path, &text, &tried)?;
    }
    let differing = tried.iter().filter(|one| one.differs()).count();
    if arguments.json {
        let document = json!({
            "plugin": { "name": subject.name, "kind": subject.inspection.kind, "digest": subject.inspection.digest },
            "file": path,
            "cases": tried.iter().map(|one| one.json(arguments.update)).collect::<Vec<_>>(),
            "ok": tried.len() - differing,
            "differ": differing,
        });
        paint::print_text(&format!("{document}\n"));
    } else {
        paint::print_text(&sum(tried.len(), differing, arguments.update));
    }
    let odd = tried.iter().any(CaseReport::is_odd);
    Ok(CommandExit::of_check(!odd && (differing == 0 || arguments.update)))
}

fn select_cases<'c>(cases: &'c [Case], filter: Option<&str>) -> Result<Vec<&'c Case>> {
    let chosen: Vec<_> =
        cases.iter().filter(|case| filter.is_none_or(|part| case.name.contains(part))).collect();
    if let (true, Some(filter)) = (chosen.is_empty(), filter) {
        let cases = count_noun(cases.len() as u64, "case");
        let filter = one_line(filter, 200);
        return Err(Error::not_found(format!("no case has `{filter}` in its name, of {cases}")));
    }
    Ok(chosen)
}

/// Announces the compilation, since a large component takes a while the first time.
fn announce(subject: &Subject) {
    const LARGE: u64 = 1 << 20;
    if subject.inspection.size > LARGE && std::io::stderr().is_terminal() {
        anstream::eprintln!(
            "{}",
            paint::dim(format!("compiling `{}`, if that was not done before ...", subject.name))
        );
    }
}

fn update(path: &Path, text: &str, tried: &[CaseReport<'_>]) -> Result<()> {
    let mut changes = Vec::new();
    for part in tried.iter().flat_map(|one| &one.parts).filter(|part| part.difference.is_some()) {
        let keeps_log =
            part.expected.findings.iter().any(|expected| expected.says.contains_key(finding::LOG));
        let found = part
            .said
            .findings
            .iter()
            .filter(|finding| keeps_log || !finding.is_log())
            .cloned()
            .collect();
        changes.push((part.expected, found));
    }
    if changes.is_empty() {
        return Ok(());
    }
    let updated = cases::update_cases(text, &changes)?;
    // A symbolic link is followed: its target is written.
    let file = path.canonicalize().with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(portcullis_author::project::write_file(&file, updated.as_bytes())?)
}

fn sum(all: usize, differing: usize, updated: bool) -> String {
    let cases = if all == 1 { "case" } else { "cases" };
    let rest = match (differing, updated) {
        (0, _) => paint::good("all as expected"),
        (some, true) => {
            format!("{} as expected, {}", all - some, paint::warn(format!("{some} updated")))
        }
        (some, false) => {
            format!("{} as expected, {}", all - some, paint::bad(format!("{some} not")))
        }
    };
    format!("{all} {cases}: {rest}\n")
}

impl<'a> CaseReport<'a> {
    fn of(case: &'a Case, played: CaseResult, exact: bool) -> Self {
        let part =
            |step: Option<(usize, &'a CaseStep)>, expected: &'a Expectation, said: StepAnswers| {
                let difference = cases::compare_findings(&expected.findings, &said.findings, exact);
                StepResult { step, expected, said, difference }
            };
        let steps = case.steps.iter().zip(played.steps).enumerate();
        let steps = steps
            .map(|(number, (step, said))| part(Some((number + 1, step)), &step.expected, said));
        let records = played.export.map(|said| part(None, &case.expected, said));
        Self { case, parts: steps.chain(records).collect() }
    }

    fn differs(&self) -> bool {
        self.parts.iter().any(|part| part.difference.is_some())
    }

    fn is_odd(&self) -> bool {
        self.parts.iter().any(|part| part.said.odd.is_some())
    }

    const fn result(&self, differs: bool, updated: bool) -> &'static str {
        match (differs, updated) {
            (false, _) => "ok",
            (true, true) => "updated",
            (true, false) => "differs",
        }
    }

    fn text(&self, file: &Path, updated: bool) -> String {
        // A contradiction remains, whatever an update writes.
        let word = self.result(self.differs() || self.is_odd(), updated && !self.is_odd());
        let padded = format!("{word:<8}");
        let word = if word == "ok" { paint::good(padded) } else { paint::bad(padded) };
        let mut text = format!("{word} {}\n", one_line(&self.case.name, 200));
        self.parts.iter().for_each(|part| text.push_str(&part.text(file)));
        text
    }

    fn json(&self, updated: bool) -> Value {
        let result = self.result(self.differs() || self.is_odd(), updated && !self.is_odd());
        let steps: Vec<Value> =
            self.parts.iter().filter(|part| part.step.is_some()).map(StepResult::json).collect();
        let mut document = json!({
            "name": self.case.name,
            "line": self.case.place.0,
            "result": result,
            "steps": steps,
        });
        if let (Some(fields), Some(records)) =
            (document.as_object_mut(), self.parts.iter().find(|part| part.step.is_none()))
        {
            fields.insert("export".to_owned(), records.json());
        }
        document
    }
}

impl StepResult<'_> {
    /// Formats the differences; empty without any.
    fn text(&self, file: &Path) -> String {
        if self.difference.is_none() && self.said.odd.is_none() {
            return String::new();
        }
        let title = match self.step {
            Some((number, step)) => format!("step {number}  {}", one_line(&step.title(), 120)),
            None => "its records".to_owned(),
        };
        let place = paint::dim(format!(
            "{}:{}",
            one_line(&file.display().to_string(), 400),
            self.expected.place.0
        ));
        let mut text = format!("  {title}  {place}\n");
        if let Some(odd) = &self.said.odd {
            let _ = writeln!(text, "    {}", paint::bad(one_line(odd, MOST_LINE)));
        }
        if let Some(CaseDifference { expected, found }) = &self.difference {
            let written = |findings| finding::render_findings(self.expected.path, findings);
            let inline = differ::inline_diff(&written(expected), &written(found));
            inline.lines().for_each(|line| text.push_str(&format!("    {line}\n")));
        }
        text.push_str(&format_trace(&self.said));
        text
    }

    fn json(&self) -> Value {
        json!({
            "line": self.expected.place.0,
            "expected": self.expected.findings.iter().map(|expected| &expected.says).collect::<Vec<_>>(),
            "found": self.said.findings,
            "trace": self.said.trace,
            "problem": self.said.odd,
            "differs": self.difference.is_some(),
        })
    }
}

/// Formats what helps to find the cause: the position of the trap, and the plugin's log.
fn format_trace(said: &StepAnswers) -> String {
    let mut text = String::new();
    for (at, frame) in said.trace.iter().enumerate() {
        let word = if at == 0 { "it trapped in" } else { "called by" };
        let _ = writeln!(
            text,
            "    {} {}",
            paint::dim(format!("{word:>13}")),
            one_line(frame, MOST_LINE)
        );
    }
    let log = said.findings.iter().filter_map(|finding| finding.0.get(finding::LOG)?.as_str());
    for line in log {
        let _ = writeln!(
            text,
            "    {} {}",
            paint::dim(format!("{:>13}", "log")),
            one_line(line, MOST_LINE)
        );
    }
    text
}
