//! `portcullis incident show` and `export`.

use super::{CommandContext, markdown};
use crate::error::{Context, Result};
use crate::exit::CommandExit;
use crate::paint;
use crate::spelling::{spell_command, spell_commands_in, spell_line};
use portcullis_core::incident::Incident;
use portcullis_core::record::Record;
use portcullis_core::text::one_line;
use portcullis_page::incident::lines::{
    SHOWN, describe_status, list_actions, list_impact, list_moments,
};
use portcullis_page::incident::render_incident;
use portcullis_review::incidents::{self, IncidentStatus};
use portcullis_terminal::layout::{TextPage, add_list};
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

pub fn run_show(arguments: &Arguments) -> Result<CommandExit> {
    let context = CommandContext::open()?;
    let incident = incidents::find_incident(&context.store, &context.home, &arguments.id)?;
    let standing = incidents::incident_status(&context.store, &context.home, &incident)?;
    let decisions = incidents::list_decisions(&context.store, &incident)?;
    if arguments.json {
        paint::print_text(&format!("{}\n", document(&incident, standing, &decisions)?));
    } else {
        paint::print_text(&page(&incident, standing, &decisions));
    }
    Ok(CommandExit::Success)
}

pub fn run_export(arguments: &IncidentExport) -> Result<CommandExit> {
    let context = CommandContext::open()?;
    let incident = incidents::find_incident(&context.store, &context.home, &arguments.id)?;
    let standing = incidents::incident_status(&context.store, &context.home, &incident)?;
    let decisions = incidents::list_decisions(&context.store, &incident)?;
    let text = match arguments.format {
        Format::Markdown if !arguments.json => {
            markdown::render_markdown(&incident, standing, &decisions)
        }
        Format::Html => render_incident(&incident, standing, &decisions),
        _ => format!("{:#}\n", document(&incident, standing, &decisions)?),
    };
    let Some(path) = &arguments.output else {
        paint::print_text(&text);
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
    page.add_line(&head);
    let agent = incident
        .agent
        .as_deref()
        .map(|agent| format!(", subagent {}", one_line(agent, 64)))
        .unwrap_or_default();
    page.add_text(&format!(
        "session {}{agent}; {}",
        one_line(&incident.session, 80),
        describe_status(standing)
    ));
    page.add_line("");
    page.add_indented(&one_line(&report.summary, 512));
    page.add_indented(&format!(
        "{}, confidence {}, impact {}; began at step {}; level {} of 4, score {}",
        issue.severity,
        issue.confidence,
        issue.impact,
        issue.first_step,
        incident.level,
        thousandths(incident.score)
    ));
    if !incident.whole {
        page.add_indented("Not all of the session's records were there to look at.");
    }
    add_list(&mut page, "root cause", report.root_cause.lines().map(str::to_owned));
    add_list(&mut page, "contributing factors", report.contributing_factors.iter().cloned());
    add_list(&mut page, "impact", list_impact(incident).into_iter());
    add_list(&mut page, "what led to it", newest(&list_moments(incident)));
    add_list(&mut page, "the newest actions", newest(&list_actions(incident)));
    let recommendations = &report.recommendations;
    let spelled = |texts: &[String]| -> Vec<String> {
        texts.iter().map(|text| spell_commands_in(text)).collect()
    };
    let (now, later) = (&recommendations.immediate, &recommendations.preventive);
    add_list(&mut page, "now", spelled(now).into_iter());
    add_list(&mut page, "to prevent a recurrence", spelled(later).into_iter());
    let settings = spelled(&recommendations.configuration);
    add_list(&mut page, "in the configuration", settings.into_iter());
    add_list(
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
        page.add_heading("next steps");
        return page.add_text(
            "  None: its session has a newer incident, or is no longer known. Start a new session.",
        );
    }
    page.add_heading("next steps, in a terminal of your own");
    for way in &incident.recovery {
        page.add_line(&format!("  {}", spell_line(&way.command)));
        match &way.not_now {
            Some(why) => page.add_wrapped("    ", "    ", &format!("not possible: {why}")),
            None => page.add_wrapped("    ", "    ", &way.what),
        }
    }
    if matches!(standing, IncidentStatus::Decided(terms) if terms.is_held()) {
        let lift = spell_command(&format!("incident lift {}", incident.id));
        page.add_line(&format!("  {lift}"));
        page.add_wrapped("    ", "    ", "lift the limits or the supervision");
    }
}

fn newest(all: &[String]) -> impl Iterator<Item = String> {
    let older = all.len().saturating_sub(SHOWN);
    let export = spell_command("incident export");
    let more = (older > 0).then(|| format!("{older} earlier ones: `{export}` has them"));
    more.into_iter().chain(all.iter().skip(older).cloned())
}

fn thousandths(score: u32) -> String {
    format!("{}.{:02}", score / 1000, score % 1000 / 10)
}
