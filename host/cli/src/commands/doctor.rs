//! `portcullis doctor`: checks that protection is complete, and says how to fix it if it is not.

use crate::error::{Context, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_review::health::{
    FindingGroup, HealthFinding, HealthInput, Level, find_installed, worst_level,
};
use portcullis_terminal::wrap::break_line;
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
    /// Check this agent's client; without it, all clients with our hooks
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(crate::agent_names()))]
    agent: Option<String>,
    /// Check the settings of a client started in this folder instead of the current one
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

/// The width to which lines are wrapped without a terminal, in columns, if words allow it.
const WIDTH: usize = 80;
/// The indent of a finding's text: the width of its level and its check's name.
const INDENT: usize = 24;

pub fn run_doctor(arguments: &Arguments) -> Result<CommandExit> {
    let named = arguments.project.clone().map_or_else(env::current_dir, Ok);
    let project =
        named.and_then(std::fs::canonicalize).context("cannot find the project's folder")?;
    let places = Paths::from_environment()?.in_project_of(&project);
    let person = places.person.clone();
    let agents = match &arguments.agent {
        Some(name) => vec![crate::agent_of(name)?],
        None => match find_installed(&places, &project) {
            installed if installed.is_empty() => vec![portcullis_agents::DEFAULT],
            installed => installed,
        },
    };
    let only = agents.first().filter(|_| agents.len() == 1).map(|agent| agent.name());
    let input = HealthInput { agents, places, project, now: now_ms(), quick: arguments.quick };
    let terminal = std::io::stderr().is_terminal() && !arguments.json;
    let (findings, config) = input.examine_all(|part| {
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
        paint::print_text(&format!(
            "{}\n",
            json!({
                "version": env!("CARGO_PKG_VERSION"),
                "whole": whole,
                "findings": findings,
                "limits": input.list_limits(config.as_ref()),
            })
        ));
    } else {
        paint::print_text(&page(
            &findings.into_iter().map(|finding| at_home(finding, &person)).collect::<Vec<_>>(),
            only,
        ));
    }
    Ok(if level == Level::Problem { CommandExit::Unprotected } else { CommandExit::Success })
}

/// Formats the findings: problems and warnings first, with their fixes; then one line per check.
fn page(findings: &[HealthFinding], only: Option<&'static str>) -> String {
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
    for (index, (group, client)) in sections(findings).into_iter().enumerate() {
        let of_section = findings
            .iter()
            .filter(|finding| finding.check.group() == group && finding.client == client);
        page.push_str(if index > 0 { "\n" } else { "" });
        let name = client.or(only).filter(|_| group == FindingGroup::Client);
        let title = name
            .and_then(portcullis_agents::find_agent)
            .map_or(group.group_title(), |agent| agent.display_name());
        let _ = writeln!(page, "{}", paint::bold(title));
        let mut last = None;
        for finding in of_section {
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
            if finding.level == Level::Note && !finding.fix.is_empty() {
                page.push_str(&todo(finding));
            }
            last = Some(finding.check);
        }
    }
    let _ = write!(page, "\n{}\n", verdict(findings));
    page
}

/// Returns the sections that have findings: one for each client, then the others.
fn sections(findings: &[HealthFinding]) -> Vec<(FindingGroup, Option<&'static str>)> {
    let mut sections = Vec::new();
    for group in FindingGroup::ALL {
        for finding in findings.iter().filter(|finding| finding.check.group() == *group) {
            if !sections.contains(&(*group, finding.client)) {
                sections.push((*group, finding.client));
            }
        }
    }
    sections
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
    let check = finding.check.as_str();
    // Trouble stands above all sections, so it names its client.
    let client = finding.client.filter(|_| finding.level > Level::Note);
    let named = client.and_then(portcullis_agents::find_agent);
    let client = named.map(|agent| format!("{}: ", agent.display_name())).unwrap_or_default();
    let line = format!("{} {check:<14}  {client}{}", mark(finding.level), finding.what);
    format!("{}\n", break_line(&line, paint::prose_width(WIDTH), INDENT))
}

fn todo(finding: &HealthFinding) -> String {
    if finding.fix.is_empty() {
        return String::new();
    }
    let line = format!("{:INDENT$}{} {}", "", paint::bold("->"), finding.fix);
    format!("{}\n", break_line(&line, paint::prose_width(WIDTH), INDENT + 3))
}
