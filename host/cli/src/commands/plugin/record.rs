//! `portcullis plugin record`: creates a case from a real action in the journal, masked.
//!
//! The case leads up to the record and ends with it. Paths are rewritten to the folders used by
//! cases, so that the case is the same on every machine. The plugin's expected output is added by
//! `plugin test --update`, or by hand.

use crate::commands::{audit, explain, replay};
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_author::cases::{CaseDraft, DraftInput};
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::text::one_line;
use portcullis_review::canary_session::CANARY_SESSION;
use portcullis_review::recording;
use portcullis_store::{Filter, Store, StoredRecord};
use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// A record's id or a prefix of it; `last` for the newest objection
    #[arg(required_unless_present = "last")]
    id: Option<String>,
    /// Record the newest review, whatever its verdict
    #[arg(long, conflicts_with = "id")]
    last: bool,
    /// With --last: take it from this session, by its id or an unambiguous prefix
    #[arg(long, value_name = "ID", requires = "last")]
    session: Option<String>,
    /// Include at most this many earlier steps
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    steps: usize,
    /// Add the case to this file instead of printing it
    #[arg(long, short, alias = "into", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run_record(arguments: &Arguments) -> Result<CommandExit> {
    let store = audit::open_store()?;
    let target = target(&store, arguments)?;
    let records = leading_to(&store, &target)?;
    let documents: Vec<String> = records.iter().map(Record::document).collect();
    let recordings = recording::from_records(&target.session, &documents)?;
    let items = recordings.first().map(|recording| recording.items.as_slice()).unwrap_or_default();
    let name =
        format!("{}: {}", target.id.get(..8).unwrap_or(&target.id), one_line(&target.summary, 80));
    let answers = Some(&target).filter(|target| target.intervention.is_some());
    let CaseDraft { name, text, steps, notes } = DraftInput {
        name: &name,
        records: &records,
        items,
        most: arguments.steps.saturating_add(1),
        answers,
    }
    .write();
    if steps == 0 {
        return Err(Error::invalid(format!(
            "the record `{}` has no tool call",
            one_line(&target.id, 64)
        ))
        .with_hint("name a review or an outcome"));
    }
    if let Some(path) = &arguments.output {
        append(path, &name, &text)?;
    }
    if arguments.json {
        let document = json!({
            "name": name,
            "steps": steps,
            "file": arguments.output,
            "case": text,
            "notes": notes,
        });
        paint::print_text(&format!("{document}\n"));
        return Ok(CommandExit::Success);
    }
    match &arguments.output {
        None => paint::print_text(&text),
        Some(path) => {
            let steps = if steps == 1 { "one step".to_owned() } else { format!("{steps} steps") };
            let shown = one_line(&path.display().to_string(), 400);
            paint::print_text(&format!("added the case `{name}` with {steps} to `{shown}`\n"));
            paint::print_text("to add the plugin's findings: `portcullis plugin test --update`\n");
        }
    }
    for note in notes {
        anstream::eprintln!("{} {note}", paint::warn("note:"));
    }
    Ok(CommandExit::Success)
}

fn target(store: &Store, arguments: &Arguments) -> Result<Record> {
    if let Some(id) = &arguments.id {
        return explain::find_record(store, id);
    }
    let session =
        arguments.session.as_deref().map(|id| replay::find_session(store, id)).transpose()?;
    let filter = Filter {
        // A trial's session that is asked for by its name counts all the same.
        except: session.is_none().then(|| CANARY_SESSION.to_owned()),
        session,
        kind: Some(RecordKind::Review.as_str().to_owned()),
        limit: Some(1),
        newest_first: true,
        ..Filter::default()
    };
    let mut newest: Option<StoredRecord> = None;
    store.query_records(&filter, |stored| {
        newest = Some(stored);
        ControlFlow::Break(())
    })?;
    let newest = newest.ok_or_else(|| {
        Error::not_found("the journal holds no review yet")
            .with_hint("`portcullis audit show` lists what it holds")
    })?;
    Ok(serde_json::from_str(&newest.record.document)?)
}

/// Returns the session's records up to the last one of the target's step.
fn leading_to(store: &Store, target: &Record) -> Result<Vec<Record>> {
    let filter = Filter { session: Some(target.session.clone()), ..Filter::default() };
    let mut all: Vec<Record> = Vec::new();
    let mut problem = None;
    store.query_records(&filter, |stored| match serde_json::from_str(&stored.record.document) {
        Ok(record) => {
            all.push(record);
            ControlFlow::Continue(())
        }
        Err(error) => {
            problem = Some(Error::from(error).with_context(format!("record {}", stored.sequence)));
            ControlFlow::Break(())
        }
    })?;
    problem.map_or(Ok(()), Err)?;
    let belongs = |record: &Record| {
        record.id == target.id || (target.step.is_some() && record.step == target.step)
    };
    let end = all.iter().rposition(belongs).map_or(0, |at| at + 1);
    all.truncate(end);
    Ok(all)
}

fn append(path: &Path, name: &str, text: &str) -> Result<()> {
    let shown = one_line(&path.display().to_string(), 400);
    let before = match std::fs::read_to_string(path) {
        Ok(before) => before,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot read `{shown}`")),
    };
    // The second line has the case's name.
    if before.contains(text.lines().nth(1).unwrap_or(text)) {
        return Err(Error::invalid(format!("`{shown}` has the case `{name}` already")));
    }
    let gap = match before.as_str() {
        "" => "",
        before if before.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .with_context(|| format!("cannot write `{shown}`"))?;
    file.write_all(format!("{gap}{text}").as_bytes())
        .with_context(|| format!("cannot write `{shown}`"))
}
