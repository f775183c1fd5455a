//! `portcullis review`: judges one action and shows the details, without recording anything.

use crate::{paint, read_file_or_stdin, show, what_if_clean};
use anyhow::{Context, Result, bail};
use portcullis_agents::claude::wire as claude;
use portcullis_config::Config;
use portcullis_config::clock::now;
use portcullis_config::paths::Paths;
use portcullis_core::event::{Call, Event, EventKind};
use portcullis_core::record::Record;
use portcullis_core::score::Verdict;
use portcullis_core::session::State;
use portcullis_core::text::one_line;
use portcullis_review::reviewer::{ReviewContext, Reviewer};
use portcullis_store::Home;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// A Claude Code hook payload; standard input if absent or `-`
    file: Option<PathBuf>,
    /// Review this shell command, run in the current folder
    #[arg(long, short, conflicts_with = "file")]
    command: Option<String>,
    /// Load this component too
    #[arg(long, value_name = "FILE")]
    plugin: Vec<PathBuf>,
    /// Print only the verdict, its risk and its primary reason
    #[arg(long, short, conflicts_with = "json")]
    quiet: bool,
    /// Print the record as JSON
    #[arg(long)]
    json: bool,
}

/// The exit code for modify, ask and block.
const OBJECTED: u8 = 4;

pub fn run(arguments: &Arguments) -> Result<u8> {
    let event = event(arguments)?;
    let places = Paths::for_event(&event.cwd)?;
    let home = Home::open(&places.state)?;
    let config = Config::load(&places, Some(&home))?;
    let now = now();
    let mut reviewer = Reviewer::installed(&places, &home, config, &arguments.plugin, now)?;
    let reviewed =
        reviewer.review(&event, State::default(), now, &ReviewContext::default(), &|_| None);
    let Some(record) = reviewed.records.first() else {
        bail!("`{}` is answered neutrally: there is nothing to review", event.name)
    };
    let restorable = what_if_clean::verdict_if_clean(record, &mut reviewer);
    if arguments.json {
        let mut document: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(&record.document())?;
        document.insert("explanation".into(), show::explanation(record, restorable.as_ref()));
        paint::print(&format!("{}\n", serde_json::to_string(&document)?));
    } else if arguments.quiet {
        paint::print_wrapped(&brief(record), 2);
    } else {
        let told = |at: usize| if at == 0 { restorable.as_ref() } else { None };
        reviewed
            .records
            .iter()
            .enumerate()
            .for_each(|(at, record)| paint::print(&show::page(record, false, told(at))));
    }
    Ok(if record.verdict().is_some_and(|verdict| verdict >= Verdict::Modify) {
        OBJECTED
    } else {
        0
    })
}

/// Formats the verdict in one line, and what speaks against the action in another.
fn brief(record: &Record) -> String {
    let objection = record.decision.as_ref().filter(|decision| decision.verdict > Verdict::Allow);
    let reason = objection.map(|decision| one_line(&decision.primary_reason, 400));
    let reason = reason.map(|reason| format!("  {reason}\n")).unwrap_or_default();
    format!("{}\n{reason}", show::line(record))
}

fn event(arguments: &Arguments) -> Result<Event> {
    if let Some(command) = &arguments.command {
        let cwd = std::env::current_dir()
            .context("cannot determine the current folder")?
            .display()
            .to_string();
        let input =
            serde_json::json!({ "command": command }).as_object().cloned().unwrap_or_default();
        return Ok(Event {
            client: "claude".into(),
            session: "review".into(),
            agent: None,
            cwd,
            permission_mode: None,
            name: "PreToolUse".into(),
            kind: EventKind::BeforeTool(Call { id: None, tool: "Bash".into(), input }),
        });
    }
    let bytes = read_file_or_stdin(arguments.file.as_ref())?;
    Ok(claude::parse(&bytes)?)
}
