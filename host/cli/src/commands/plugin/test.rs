//! `portcullis plugin test`: plays a plugin's cases and shows where it says something else than they expect.
//!
//! A case that differs is exit code 1. What a case file may hold stands in host/docs/plugin-cases.md.

use super::subject::Subject;
use crate::config::Config;
use crate::places::Places;
use crate::runtime::code_cache;
use crate::trial::cases::{self, Case, Difference, Said, Stage, Step, finding};
use crate::{differ, paint};
use anyhow::{Context, Result, bail};
use portcullis_core::text::one_line;
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
    /// Only the cases whose name holds this
    filter: Option<String>,
    /// The file of the cases; `cases.toml` in the folder unless named
    #[arg(long, value_name = "FILE")]
    cases: Option<PathBuf>,
    /// Write what the plugin says into the file, in place of what was expected
    #[arg(long)]
    update: bool,
    /// Compare all that the plugin says, not only what the cases name
    #[arg(long)]
    exact: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What came of a case.
struct Tried<'a> {
    case: &'a Case,
    steps: Vec<(&'a Step, Said, Option<Difference>)>,
}

pub fn run(arguments: &Arguments) -> Result<u8> {
    let subject = Subject::find(&arguments.subject, arguments.cases.as_deref())?;
    let (path, text) = subject.cases()?;
    let cases = subject.read(&path, &text)?;
    let chosen = chosen(&cases, arguments.filter.as_deref())?;
    let places = Places::from_environment()?;
    let home = Home::open(&places.state)?;
    let caches = || code_cache(&home);
    let mut stage = Stage::new(&subject.file, &subject.name, &Config::plain(&places), &caches);
    announce(&subject);
    let mut tried = Vec::new();
    for case in chosen {
        let played = stage.play(case).with_context(|| format!("the case `{}`", one_line(&case.name, 200)))?;
        let steps = case.steps.iter().zip(played.0);
        let steps = steps.map(|(step, said)| {
            let difference = cases::compare(&step.expected, &said.findings, arguments.exact);
            (step, said, difference)
        });
        let one = Tried { case, steps: steps.collect() };
        if !arguments.json {
            paint::print(&one.text(&path, arguments.update));
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
        paint::print(&format!("{document}\n"));
    } else {
        paint::print(&sum(tried.len(), differing, arguments.update));
    }
    let odd = tried.iter().any(Tried::is_odd);
    Ok(u8::from(odd || (differing > 0 && !arguments.update)))
}

fn chosen<'c>(cases: &'c [Case], filter: Option<&str>) -> Result<Vec<&'c Case>> {
    let chosen: Vec<_> = cases.iter().filter(|case| filter.is_none_or(|part| case.name.contains(part))).collect();
    if let (true, Some(filter)) = (chosen.is_empty(), filter) {
        bail!("none of the {} cases has `{}` in its name", cases.len(), one_line(filter, 200));
    }
    Ok(chosen)
}

/// Compiling a large component takes a while the first time.
fn announce(subject: &Subject) {
    const LARGE: u64 = 1 << 20;
    if subject.inspection.size > LARGE && std::io::stderr().is_terminal() {
        anstream::eprintln!("{}", paint::dim(format!("compiling `{}`, if that was not done before ...", subject.name)));
    }
}

fn update(path: &Path, text: &str, tried: &[Tried<'_>]) -> Result<()> {
    let mut changes = Vec::new();
    for one in tried {
        for (step, said, difference) in &one.steps {
            if difference.is_some() {
                let keeps_log = step.expected.iter().any(|expected| expected.says.contains_key(finding::LOG));
                let found = said.findings.iter().filter(|finding| keeps_log || !finding.is_log()).cloned().collect();
                changes.push((*step, found));
            }
        }
    }
    if changes.is_empty() {
        return Ok(());
    }
    let updated = cases::update(text, &changes)?;
    std::fs::write(path, updated).with_context(|| format!("cannot write `{}`", path.display()))
}

fn sum(all: usize, differing: usize, updated: bool) -> String {
    let cases = if all == 1 { "case" } else { "cases" };
    let rest = match (differing, updated) {
        (0, _) => paint::good("all as expected"),
        (some, true) => format!("{} as expected, {}", all - some, paint::warn(format!("{some} updated"))),
        (some, false) => format!("{} as expected, {}", all - some, paint::bad(format!("{some} not"))),
    };
    format!("{all} {cases}: {rest}\n")
}

impl Tried<'_> {
    fn differs(&self) -> bool {
        self.steps.iter().any(|(_, _, difference)| difference.is_some())
    }

    fn is_odd(&self) -> bool {
        self.steps.iter().any(|(_, said, _)| said.odd.is_some())
    }

    const fn result(&self, differs: bool, updated: bool) -> &'static str {
        match (differs, updated) {
            (false, _) => "ok",
            (true, true) => "updated",
            (true, false) => "differs",
        }
    }

    fn text(&self, file: &Path, updated: bool) -> String {
        let word = self.result(self.differs() || self.is_odd(), updated && !self.is_odd());
        let padded = format!("{word:<8}");
        let word = if word == "ok" { paint::good(padded) } else { paint::bad(padded) };
        let mut text = format!("{word} {}\n", one_line(&self.case.name, 200));
        for (number, (step, said, difference)) in self.steps.iter().enumerate() {
            if difference.is_none() && said.odd.is_none() {
                continue;
            }
            let place = paint::dim(format!("{}:{}", one_line(&file.display().to_string(), 400), step.place.0));
            let _ = writeln!(text, "  step {}  {}  {place}", number + 1, one_line(&step.title(), 120));
            if let Some(odd) = &said.odd {
                let _ = writeln!(text, "    {}", paint::bad(one_line(odd, MOST_LINE)));
            }
            if let Some(difference) = difference {
                let inline = differ::inline(&finding::text(&difference.expected), &finding::text(&difference.found));
                inline.lines().for_each(|line| text.push_str(&format!("    {line}\n")));
            }
            text.push_str(&told(said));
        }
        text
    }

    fn json(&self, updated: bool) -> Value {
        let steps = self.steps.iter().map(|(step, said, difference)| {
            json!({
                "line": step.place.0,
                "expected": step.expected.iter().map(|expected| &expected.says).collect::<Vec<_>>(),
                "found": said.findings,
                "trace": said.trace,
                "problem": said.odd,
                "differs": difference.is_some(),
            })
        });
        let result = self.result(self.differs() || self.is_odd(), updated && !self.is_odd());
        json!({ "name": self.case.name, "line": self.case.place.0, "result": result, "steps": steps.collect::<Vec<_>>() })
    }
}

/// What helps to find out why: where the plugin trapped, and what it logged.
fn told(said: &Said) -> String {
    let mut text = String::new();
    for (at, frame) in said.trace.iter().enumerate() {
        let word = if at == 0 { "it trapped in" } else { "called by" };
        let _ = writeln!(text, "    {} {}", paint::dim(format!("{word:>13}")), one_line(frame, MOST_LINE));
    }
    let log = said.findings.iter().filter_map(|finding| finding.0.get(finding::LOG)?.as_str());
    for line in log {
        let _ = writeln!(text, "    {} {}", paint::dim(format!("{:>13}", "log")), one_line(line, MOST_LINE));
    }
    text
}
