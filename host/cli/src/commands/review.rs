//! `portcullis review`: judges one action and shows the details, without recording anything.

use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::{paint, read_file_or_stdin, show, what_if_clean};
use portcullis_config::Config;
use portcullis_config::clock::now;
use portcullis_config::paths::Paths;
use portcullis_core::event::{Call, Event, EventKind};
use portcullis_core::score::Verdict;
use portcullis_core::session::State;
use portcullis_review::reviewer::{ReviewContext, Reviewer};
use portcullis_store::Home;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// A client's hook payload; standard input if absent or `-`
    file: Option<PathBuf>,
    /// Review this shell command, run in the current folder
    #[arg(long, short, conflicts_with = "file")]
    command: Option<String>,
    /// Load this component too
    #[arg(long, value_name = "FILE")]
    plugin: Vec<PathBuf>,
    /// Print the record as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<CommandExit> {
    let event = event(arguments)?;
    let places = Paths::for_event(&event.cwd)?;
    let home = Home::open(&places.state)?;
    let config = Config::load(&places, Some(&home))?;
    let now = now();
    let mut reviewer = Reviewer::installed(&places, &home, config, &arguments.plugin, now)?;
    let reviewed =
        reviewer.review(&event, State::default(), now, &ReviewContext::default(), &|_| None);
    let Some(record) = reviewed.records.first() else {
        return Err(Error::invalid(format!(
            "`{}` is answered neutrally: there is nothing to review",
            event.name
        )));
    };
    let restorable = what_if_clean::verdict_if_clean(record, &mut reviewer);
    if arguments.json {
        let mut document: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(&record.document())?;
        document.insert("explanation".into(), show::explanation(record, restorable.as_ref()));
        paint::print(&format!("{}\n", serde_json::to_string(&document)?));
    } else {
        let told = |at: usize| if at == 0 { restorable.as_ref() } else { None };
        reviewed
            .records
            .iter()
            .enumerate()
            .for_each(|(at, record)| paint::print(&show::page(record, false, told(at))));
    }
    Ok(if record.verdict().is_some_and(|verdict| verdict >= Verdict::Modify) {
        CommandExit::Objection
    } else {
        CommandExit::Success
    })
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
            client: portcullis_agents::DEFAULT.name().into(),
            session: "review".into(),
            agent: None,
            cwd,
            permission_mode: None,
            name: "PreToolUse".into(),
            kind: EventKind::BeforeTool(Call { id: None, tool: "Bash".into(), input }),
        });
    }
    let bytes = read_file_or_stdin(arguments.file.as_ref())?;
    Ok(portcullis_agents::parse_payload(&bytes)?)
}
