//! `portcullis doctor`: checks that protection is complete, and says how to fix it if it is not.

use crate::paint;
use anyhow::{Context, Result};
use portcullis_config::clock::now;
use portcullis_config::paths::Paths;
use portcullis_review::health::{Group, HealthFinding, HealthInput, Level, worst_level};
use serde_json::json;
use std::env;
use std::fmt::Write;
use std::io::IsTerminal;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
    /// Skip checks that start programs, compile plugins or read the whole journal
    #[arg(long)]
    quick: bool,
    /// Check the settings of a client started in this folder instead of the current one
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

/// The exit code if there is a problem.
const NOT_WHOLE: u8 = 5;
/// The width to which lines are wrapped, in columns, if words allow it.
const WIDTH: usize = 80;
/// The indent of a finding's text: the width of its level and its check's name.
const INDENT: usize = 24;

pub fn run(arguments: &Arguments) -> Result<u8> {
    let named = arguments.project.clone().map_or_else(env::current_dir, Ok);
    let project =
        named.and_then(std::fs::canonicalize).context("cannot find the project's folder")?;
    let places = Paths::from_environment()?.in_project_of(&project);
    let person = places.person.clone();
    let scene = HealthInput {
        agent: portcullis_agents::DEFAULT,
        places,
        project,
        now: now(),
        quick: arguments.quick,
    };
    let terminal = std::io::stderr().is_terminal() && !arguments.json;
    let findings = scene.examine(|part| {
        if terminal {
            anstream::eprint!("\r\x1b[Klooking at {part}");
        }
    });
    if terminal {
        anstream::eprint!("\r\x1b[K");
    }
    let level = worst_level(&findings);
    if arguments.json {
        let whole = level < Level::Problem;
        paint::print(&format!(
            "{}\n",
            json!({ "version": env!("CARGO_PKG_VERSION"), "whole": whole, "findings": findings })
        ));
    } else {
        paint::print(&page(
            &findings.into_iter().map(|finding| at_home(finding, &person)).collect::<Vec<_>>(),
        ));
    }
    Ok(if level == Level::Problem { NOT_WHOLE } else { 0 })
}

/// Formats the findings: problems and warnings first, with their fixes; then one line per check.
fn page(findings: &[HealthFinding]) -> String {
    let mut page = String::new();
    for level in [Level::Problem, Level::Warning] {
        for finding in findings.iter().filter(|finding| finding.level == level) {
            page.push_str(&line(finding));
            page.push_str(&todo(finding));
        }
    }
    if !page.is_empty() {
        page.push('\n');
    }
    for (index, group) in Group::ALL.iter().enumerate() {
        let of_group = || findings.iter().filter(|finding| finding.check.group() == *group);
        if of_group().next().is_none() {
            continue;
        }
        page.push_str(if index > 0 { "\n" } else { "" });
        let _ = writeln!(page, "{}", paint::bold(group.title()));
        let mut last = None;
        for finding in of_group() {
            // A check with trouble has one line here: its details are above.
            if finding.level <= Level::Note {
                page.push_str(&line(finding));
            } else if last != Some(finding.check) {
                let _ = writeln!(
                    page,
                    "{} {:<14}  {}",
                    mark(finding.level),
                    finding.check.as_str(),
                    paint::dim("see above")
                );
            }
            if finding.level == Level::Note && !finding.mend.is_empty() {
                page.push_str(&todo(finding));
            }
            last = Some(finding.check);
        }
    }
    let _ = write!(page, "\n{}\n", verdict(findings));
    page
}

/// Abbreviates paths below the person's home with `~`. Commands to type are left unchanged.
fn at_home(finding: HealthFinding, person: &str) -> HealthFinding {
    let short = |text: &str| text.replace(&format!("`{person}/"), "`~/");
    if person.len() > 1 { HealthFinding { what: short(&finding.what), ..finding } } else { finding }
}

fn verdict(findings: &[HealthFinding]) -> String {
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    let text = |number: usize, what: &str| {
        format!("{number} {what}{}", if number == 1 { "" } else { "s" })
    };
    match (count(Level::Problem), count(Level::Warning)) {
        (0, 0) => paint::good("Protection is complete."),
        (0, warnings) => {
            format!(
                "{} {}.",
                paint::good("Protection is complete,"),
                paint::warn(format!("with {}", text(warnings, "warning")))
            )
        }
        (problems, 0) => {
            paint::bad(format!("Protection is incomplete: {}.", text(problems, "problem")))
        }
        (problems, warnings) => paint::bad(format!(
            "Protection is incomplete: {}, {}.",
            text(problems, "problem"),
            text(warnings, "warning")
        )),
    }
}

fn mark(level: Level) -> String {
    let text = format!("{:<7}", level.as_str());
    match level {
        Level::Ok => paint::good(text),
        Level::Note => paint::dim(text),
        Level::Warning => paint::warn(text),
        Level::Problem => paint::bad(text),
    }
}

fn line(finding: &HealthFinding) -> String {
    format!(
        "{} {:<14}  {}\n",
        mark(finding.level),
        finding.check.as_str(),
        wrap(&finding.what, INDENT)
    )
}

fn todo(finding: &HealthFinding) -> String {
    if finding.mend.is_empty() {
        return String::new();
    }
    format!("{:INDENT$}{} {}\n", "", paint::bold("->"), wrap(&finding.mend, INDENT + 3))
}

/// Wraps a text at spaces and indents its later lines. Text in backticks is to be copied, so a long
/// path or command is kept in one piece.
fn wrap(text: &str, indent: usize) -> String {
    let mut wrapped = String::new();
    let mut column = indent;
    for word in text.split(' ') {
        let width = word.chars().count();
        if column > indent && column + 1 + width > WIDTH {
            let _ = write!(wrapped, "\n{:indent$}", "");
            column = indent;
        } else if column > indent {
            wrapped.push(' ');
            column += 1;
        }
        wrapped.push_str(word);
        column += width;
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_broken_at_spaces_alone() {
        let path = format!("`/{}`", "x".repeat(100));
        for (text, lines) in [
            ("short".to_owned(), 1),
            ("word ".repeat(30).trim().to_owned(), 3),
            (format!("a {path} b"), 3),
        ] {
            let wrapped = wrap(&text, INDENT);
            assert_eq!(wrapped.lines().count(), lines, "{wrapped}");
            assert_eq!(wrapped.split_whitespace().collect::<Vec<_>>().join(" "), text);
            for (at, line) in wrapped.lines().enumerate() {
                let width = line.chars().count() + if at == 0 { INDENT } else { 0 };
                assert!(width <= WIDTH || line.trim() == path, "{width} columns: {line}");
            }
        }
    }
}
