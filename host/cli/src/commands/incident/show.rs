//! `portcullis incident show` and `export`.

use super::{CommandContext, html, markdown};
use crate::error::{Context, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_config::amount;
use portcullis_core::action::{Limit, Quantity};
use portcullis_core::incident::{ActionProgress, Incident};
use portcullis_core::record::Record;
use portcullis_core::text::{counted, one_line};
use portcullis_review::incidents::{self, IncidentStatus};
use portcullis_terminal::layout::{TextPage, list};
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// The incident's id or a prefix of it; `last` for the newest
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub struct IncidentExport {
    /// The incident's id or a prefix of it; `last` for the newest
    id: String,
    /// The output format
    #[arg(long, value_enum, default_value = "markdown")]
    format: Format,
    /// Write to this file instead of standard output; it must not exist yet
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// Same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Markdown,
    Html,
    Json,
}

/// The number of the newest actions, moments and paths on the page; an export has them all.
const SHOWN: usize = 12;

pub fn run(arguments: &Arguments) -> Result<CommandExit> {
    let desk = CommandContext::open()?;
    let incident = incidents::find_incident(&desk.store, desk.home.path(), &arguments.id)?;
    let standing = incidents::incident_status(&desk.store, &desk.home, &incident)?;
    let decisions = incidents::decisions(&desk.store, &incident)?;
    if arguments.json {
        paint::print(&format!("{}\n", document(&incident, standing, &decisions)?));
    } else {
        paint::print(&page(&incident, standing, &decisions));
    }
    Ok(CommandExit::Success)
}

pub fn export(arguments: &IncidentExport) -> Result<CommandExit> {
    let desk = CommandContext::open()?;
    let incident = incidents::find_incident(&desk.store, desk.home.path(), &arguments.id)?;
    let standing = incidents::incident_status(&desk.store, &desk.home, &incident)?;
    let decisions = incidents::decisions(&desk.store, &incident)?;
    let text = match arguments.format {
        Format::Markdown if !arguments.json => markdown::markdown(&incident, standing, &decisions),
        Format::Html => html::html(&incident, standing, &decisions),
        _ => format!("{:#}\n", document(&incident, standing, &decisions)?),
    };
    let Some(path) = &arguments.output else {
        paint::print(&text);
        return Ok(CommandExit::Success);
    };
    let create = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
    let written = create.and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("cannot create `{}`", path.display()))?;
    Ok(CommandExit::Success)
}

/// Formats the incident with the state of its session.
fn document(incident: &Incident, standing: IncidentStatus, decisions: &[Record]) -> Result<Value> {
    let mut document = serde_json::to_value(incident)?;
    if let Some(document) = document.as_object_mut() {
        document.insert("standing".into(), standing.as_str().into());
        let decided = decisions
            .iter()
            .map(|record| json!({ "at": record.at, "what": record.summary, "record": record.id }));
        document.insert("decisions".into(), decided.collect());
    }
    Ok(document)
}

fn page(incident: &Incident, standing: IncidentStatus, decisions: &[Record]) -> String {
    let (mut page, report, issue) =
        (TextPage::of_terminal(), &incident.report, &incident.state.issue);
    let head = format!(
        "{}  {}  {}",
        paint::bold("incident"),
        incident.id,
        paint::dim(format!("{} UTC", paint::time(incident.at)))
    );
    page.line(&head);
    let agent = incident
        .agent
        .as_deref()
        .map(|agent| format!(", subagent {}", one_line(agent, 64)))
        .unwrap_or_default();
    page.text(&format!(
        "session {}{agent}; {}",
        one_line(&incident.session, 80),
        describe_status(standing)
    ));
    page.line("");
    page.indented(&one_line(&report.summary, 512));
    page.indented(&format!(
        "{}, confidence {}, impact {}; began at step {}; level {} of 4, score {}",
        issue.severity,
        issue.confidence,
        issue.impact,
        issue.first_step,
        incident.level,
        thousandths(incident.score)
    ));
    if !incident.whole {
        page.indented("Not all of the session's records were there to look at.");
    }
    list(&mut page, "root cause", report.root_cause.lines().map(str::to_owned));
    list(&mut page, "contributing factors", report.contributing_factors.iter().cloned());
    list(&mut page, "impact", impact(incident).into_iter());
    list(&mut page, "what led to it", newest(&moments(incident)));
    list(&mut page, "the newest actions", newest(&actions(incident)));
    let recommendations = &report.recommendations;
    list(&mut page, "now", recommendations.immediate.iter().cloned());
    list(&mut page, "to prevent a recurrence", recommendations.preventive.iter().cloned());
    list(&mut page, "in the configuration", recommendations.configuration.iter().cloned());
    list(
        &mut page,
        "what a person did",
        decisions
            .iter()
            .map(|record| format!("{} UTC  {}", paint::time(record.at), record.summary)),
    );
    add_options(&mut page, incident, standing);
    page.into_text()
}

fn add_options(page: &mut TextPage, incident: &Incident, standing: IncidentStatus) {
    if standing == IncidentStatus::Past {
        page.heading("next steps");
        return page.text("  None: its session had another incident since, or is not known any more. A new session starts afresh.");
    }
    page.heading("next steps, in a terminal of your own");
    for way in &incident.recovery {
        page.line(&format!("  {}", way.command));
        match &way.not_now {
            Some(why) => page.wrapped("    ", "    ", &format!("not possible: {why}")),
            None => page.wrapped("    ", "    ", &way.what),
        }
    }
    if matches!(standing, IncidentStatus::Decided(terms) if terms.holds()) {
        page.line(&format!("  portcullis incident lift {}", incident.id));
        page.wrapped(
            "    ",
            "    ",
            "take back the limits or the supervision under which it goes on",
        );
    }
}

/// Describes the state of the session, for a sentence.
pub(super) const fn describe_status(standing: IncidentStatus) -> &'static str {
    use portcullis_core::session::ResumeConditions;
    match standing {
        IncidentStatus::Stopped => "it is stopped",
        IncidentStatus::Decided(ResumeConditions::Limited) => {
            "it goes on under half its limits and without dangerous actions"
        }
        IncidentStatus::Decided(ResumeConditions::RolledBack) => {
            "its files were put back and it goes on"
        }
        IncidentStatus::Decided(ResumeConditions::Supervised) => {
            "it goes on, and a person approves each change"
        }
        IncidentStatus::Decided(ResumeConditions::Aborted) => "it was ended permanently",
        IncidentStatus::Decided(ResumeConditions::Lifted) => "it goes on as configured",
        IncidentStatus::Past => "it is past",
    }
}

/// Labels of lines that hold nothing but commands, paths or hosts.
const LITERAL: [&str; 8] = [
    "Commands",
    "Paths",
    "Hosts",
    "made",
    "changed",
    "deleted",
    "moved into a quarantine",
    "other machines",
];

/// Splits a line that holds nothing but commands, paths or hosts after its label.
pub(super) fn split_literal(line: &str) -> Option<(&str, &str)> {
    line.split_once(": ").filter(|(label, _)| LITERAL.contains(label))
}

/// Describes the cost of the incident, one line each.
pub(super) fn impact(incident: &Incident) -> Vec<String> {
    let impact = &incident.report.impact;
    let (used, files) = (&impact.used, &impact.files);
    let mut lines = vec![format!(
        "{} in {}: {} written or deleted, {} and {} of results, {} failed, {} refused",
        counted(used.steps, "step"),
        amount::span(impact.duration_ms),
        counted(used.files, "file"),
        amount::size(used.bytes),
        counted(used.tokens, "token"),
        used.failed,
        impact.refused
    )];
    let named = [
        ("made", &files.made),
        ("changed", &files.changed),
        ("deleted", &files.deleted),
        ("moved into a quarantine", &files.quarantined),
        ("other machines", &impact.hosts),
    ];
    lines.extend(named.iter().filter(|(_, paths)| !paths.is_empty()).map(|(what, paths)| {
        let more = paths.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!(
            "{what}: {}{more}",
            paths.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ")
        )
    }));
    lines.extend(
        impact
            .seen_to_change
            .map(|changed| format!("checkpoints saw changes of {}", counted(changed, "path"))),
    );
    let limits = impact.limits.iter().filter(|limit| limit.used > 0);
    lines.extend(limits.map(|limit| {
        let (used, most) = (in_units(limit, limit.used), in_units(limit, limit.maximum));
        format!("{}: {used} of {most} used", quantity(&limit.quantity))
    }));
    lines
}

/// Formats an amount of a limit with its unit.
fn in_units(limit: &Limit, count: u64) -> String {
    match limit.quantity {
        Quantity::Time if count < 1000 => format!("{count} ms"),
        Quantity::Time => format!("{}.{} s", count / 1000, count % 1000 / 100),
        Quantity::Memory => amount::size(count),
        _ => count.to_string(),
    }
}

fn quantity(quantity: &Quantity) -> String {
    serde_json::to_value(quantity)
        .ok()
        .and_then(|name| Some(name.as_str()?.replace('-', " ")))
        .unwrap_or_else(|| "other".into())
}

/// Describes the events that led to it, one line each, oldest first.
pub(super) fn moments(incident: &Incident) -> Vec<String> {
    let line = |moment: &portcullis_core::incident::IncidentEvent| {
        let step = moment.step.map(|step| format!("step {step}: ")).unwrap_or_default();
        format!("{}  {step}{}", clock(moment.at), moment.what)
    };
    incident.report.timeline.iter().map(line).collect()
}

/// Describes the newest actions, one line each, oldest first.
pub(super) fn actions(incident: &Incident) -> Vec<String> {
    let line = |action: &portcullis_core::incident::PastAction| {
        let verdict = action.verdict.map_or("unreviewed", |verdict| verdict.as_str());
        let progress = if action.progress == ActionProgress::Refused {
            String::new()
        } else {
            format!(" {}", action.progress)
        };
        format!("{}  {verdict}{progress}  {}", clock(action.at), action.what)
    };
    incident.actions.iter().map(line).collect()
}

fn newest(all: &[String]) -> impl Iterator<Item = String> {
    let older = all.len().saturating_sub(SHOWN);
    let more =
        (older > 0).then(|| format!("{older} earlier ones: `portcullis incident export` has them"));
    more.into_iter().chain(all.iter().skip(older).cloned())
}

fn clock(at: u64) -> String {
    let time = paint::time(at);
    time.split(' ').next_back().unwrap_or_default().to_owned()
}

fn thousandths(score: u32) -> String {
    format!("{}.{:02}", score / 1000, score % 1000 / 10)
}
