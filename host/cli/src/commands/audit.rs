//! `portcullis audit`: shows, verifies and exports the journal.

mod verify;

use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use crate::show;
use clap::builder::PossibleValuesParser;
use portcullis_config::Config;
use portcullis_config::paths::Paths;
use portcullis_core::finding::AuditRecord;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::score::Verdict;
use portcullis_core::text::{count_noun, one_line};
use portcullis_engine::Kind;
use portcullis_review::canary_session::CANARY_SESSION;
use portcullis_review::export::{BATCH, for_exporter};
use portcullis_review::exports::{RecordOrigin, is_about_records};
use portcullis_review::installed;
use portcullis_review::reviewer::Reviewer;
use portcullis_store::{Filter, Home, Store, StoredRecord, to_hex};
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

#[derive(clap::Subcommand)]
pub enum Command {
    /// List records, newest last
    Show(Show),
    /// Check that no record was changed, removed or inserted
    Verify(verify::Arguments),
    /// Write records in an exporter's format
    Export(AuditExport),
}

#[derive(clap::Args)]
pub struct Show {
    /// Show only records of this session
    #[arg(long)]
    session: Option<String>,
    /// Show only records of this agent
    #[arg(long, value_parser = PossibleValuesParser::new(crate::agent_names()))]
    agent: Option<String>,
    /// Show only records of this kind
    #[arg(long, value_parser = PossibleValuesParser::new(RecordKind::ALL.iter().map(|kind| kind.as_str())))]
    kind: Option<String>,
    /// Show only records with this verdict
    #[arg(long, value_parser = PossibleValuesParser::new(Verdict::ALL.iter().map(|verdict| verdict.as_str())))]
    verdict: Option<String>,
    /// Include the records of `doctor`'s own trials
    #[arg(long)]
    canary: bool,
    /// Show at most this many records, the newest
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Print each record as a line of JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub struct AuditExport {
    /// Use this exporter plugin (default: the one in `audit.export_format`)
    #[arg(long)]
    exporter: Option<String>,
    /// Load this component too
    #[arg(long, value_name = "FILE")]
    plugin: Vec<PathBuf>,
    /// Export only records of this session
    #[arg(long)]
    session: Option<String>,
    /// Export only records after this position
    #[arg(long, value_name = "SEQUENCE")]
    after: Option<u64>,
    /// Write to this file instead of standard output; it must not exist yet
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// Go on with records as they come, until interrupted
    #[arg(long)]
    follow: bool,
}

/// The time between two looks for new records.
const FOLLOW: Duration = Duration::from_millis(300);

/// The indent of a record's further lines: its id begins there.
const INDENT: usize = 20;

pub fn run_audit(command: &Command) -> Result<CommandExit> {
    match command {
        Command::Show(arguments) => show(arguments),
        Command::Verify(arguments) => verify::run_verify(arguments),
        Command::Export(arguments) => export(arguments),
    }
}

/// Opens the journal of this installation.
pub fn open_store() -> Result<Store> {
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    Ok(Store::open_database(
        &home,
        Config::load(&places, Some(&home)).map(|config| config.durability).unwrap_or_default(),
    )?)
}

fn show(arguments: &Show) -> Result<CommandExit> {
    let store = open_store()?;
    // A trial's session that is asked for by its name is shown all the same.
    let tried_out =
        arguments.session.as_deref().is_some_and(|session| session.starts_with(CANARY_SESSION));
    let filter = Filter {
        session: arguments.session.clone(),
        kind: arguments.kind.clone(),
        verdict: arguments.verdict.clone(),
        except: (!arguments.canary && !tried_out).then(|| CANARY_SESSION.to_owned()),
        with_unreadable: true,
        ..Default::default()
    };
    let mut newest = std::collections::VecDeque::new();
    let wanted = |stored: &StoredRecord| match &arguments.agent {
        None => Ok(true),
        Some(agent) => is_of_client(stored, agent),
    };
    let mut unreadable = None;
    store.query_records(&filter, |stored| {
        match wanted(&stored) {
            Ok(true) => newest.push_back(stored),
            Ok(false) => {}
            Err(error) => {
                unreadable = Some(error);
                return ControlFlow::Break(());
            }
        }
        if newest.len() > arguments.limit {
            newest.pop_front();
        }
        ControlFlow::Continue(())
    })?;
    if let Some(error) = unreadable {
        return Err(error);
    }
    if newest.is_empty() && !arguments.json {
        paint::print_text("no records\n");
    }
    for stored in &newest {
        if arguments.json {
            paint::print_text(&format!("{}\n", record_json(stored)?));
            continue;
        }
        if let Some(reason) = &stored.unreadable {
            paint::print_wrapped(&unreadable_line(stored, reason), INDENT);
            continue;
        }
        let record: Record = serde_json::from_str(&stored.record.document)
            .with_context(|| format!("record {}", stored.sequence))?;
        let mark = if record.session.starts_with(CANARY_SESSION) {
            paint::dim("canary  ")
        } else {
            String::new()
        };
        let line = format!(
            "{} {}  {mark}{}\n",
            paint::dim(paint::time(record.at)),
            paint::dim(&record.id),
            show::record_line(&record)
        );
        paint::print_wrapped(&line, INDENT);
    }
    Ok(CommandExit::Success)
}

/// Shows what the journal tells of a record whose document cannot be decrypted.
fn unreadable_line(stored: &StoredRecord, reason: &str) -> String {
    let record = &stored.record;
    format!(
        "{} {}  {}  {}: {}\n",
        paint::dim(paint::time(record.at)),
        paint::dim(&record.id),
        record.verdict.as_deref().unwrap_or(&record.kind),
        one_line(&record.subject, 200),
        paint::bad(format!("cannot be read: {}", one_line(reason, 512)))
    )
}

/// Returns true if a record is about that client, or cannot be read.
fn is_of_client(stored: &StoredRecord, client: &str) -> Result<bool> {
    if stored.unreadable.is_some() {
        return Ok(true);
    }
    let record: Record = serde_json::from_str(&stored.record.document)
        .with_context(|| format!("record {}", stored.sequence))?;
    Ok(record.client == client)
}

/// Formats a record with its position in the chain as one JSON object.
pub fn record_json(stored: &StoredRecord) -> Result<String> {
    let record = &stored.record;
    let mut object = match &stored.unreadable {
        Some(reason) => serde_json::json!({
            "id": record.id, "at": record.at, "kind": record.kind, "session": stored.session,
            "subject": record.subject, "unreadable": reason,
        }),
        None => serde_json::from_str(&record.document)
            .with_context(|| format!("record {}", stored.sequence))?,
    };
    if let Some(object) = object.as_object_mut() {
        object.insert("sequence".into(), stored.sequence.into());
        object.insert("verdict".into(), stored.record.verdict.clone().into());
        object.insert("previous".into(), to_hex(&stored.previous).into());
        object.insert("hash".into(), to_hex(&stored.hash).into());
        if let Some(proof) = &stored.proof {
            object.insert("salt".into(), to_hex(&proof.salt).into());
            object.insert("stored".into(), to_hex(&proof.stored).into());
        }
    }
    Ok(object.to_string())
}

fn export(arguments: &AuditExport) -> Result<CommandExit> {
    let mut store = open_store()?;
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let origin = RecordOrigin::of_home(&home);
    let config = Config::load(&places, Some(&home))?;
    let exporter = arguments.exporter.clone().unwrap_or_else(|| config.audit.export_format.clone());
    let now = portcullis_config::clock::now_ms();
    let mut reviewer = installed::load_reviewer(&places, &home, config, &arguments.plugin, now)?;
    let known = reviewer.plugins.list_names(Kind::AuditExporter);
    if !known.contains(&exporter) {
        return Err(Error::not_found(format!("there is no exporter `{}`", exporter))
            .with_hint(format!("there are {}", known.join(", "))));
    }
    let mut sink = sink(arguments)?;
    let shown = arguments.output.is_none() && std::io::stdout().is_terminal();
    let mut after = arguments.after;
    let (mut first, mut count) = (true, 0_u64);
    loop {
        let mut batch = Vec::new();
        let filter = Filter {
            session: arguments.session.clone(),
            after,
            limit: Some(BATCH as u64),
            ..Default::default()
        };
        store.query_records(&filter, |stored| {
            batch.push(stored);
            ControlFlow::Continue(())
        })?;
        let Some(last) = batch.last() else {
            if !arguments.follow {
                break;
            }
            sink.flush().context("cannot write the export")?;
            std::thread::sleep(FOLLOW);
            if !store.renew(&home)? {
                store = open_store()?;
            }
            continue;
        };
        after = Some(last.sequence);
        count += batch.len() as u64;
        let mut records =
            batch.iter().map(for_exporter).collect::<std::result::Result<Vec<_>, _>>()?;
        records.iter_mut().for_each(|record| origin.add_to(record));
        let ended =
            write_in_parts(&mut reviewer, &exporter, &records, &mut first, |bytes, foreign| {
                let bytes = if foreign && shown { readable(&bytes) } else { bytes };
                match sink.write_all(&bytes) {
                    // The reader closed the pipe because it has seen enough.
                    Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                        Ok(ControlFlow::Break(()))
                    }
                    written => written
                        .context("cannot write the export")
                        .map(|()| ControlFlow::Continue(())),
                }
            })?;
        if ended.is_break() {
            return Ok(CommandExit::Success);
        }
    }
    sink.flush().context("cannot write the export")?;
    if std::io::stderr().is_terminal() {
        anstream::eprintln!("{}", count_noun(count, "record"));
    }
    Ok(CommandExit::Success)
}

/// Has an exporter render records, and passes on what it wrote and whether it is a third party's.
/// Where it fails on them, it gets them in halves: a limit that a hundred long records reach may
/// suffice for fifty. `first` is true until something is written.
fn write_in_parts(
    reviewer: &mut Reviewer,
    exporter: &str,
    records: &[AuditRecord],
    first: &mut bool,
    mut write: impl FnMut(Vec<u8>, bool) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    // The parts that are left, the next one last.
    let mut parts = vec![records];
    while let Some(part) = parts.pop() {
        reviewer.plugins.begin_review(portcullis_config::clock::now_ms());
        let answer = reviewer
            .plugins
            .render_records(exporter, part, *first)
            .ok_or_else(|| Error::internal("the exporter is gone"))?;
        match answer.result {
            Ok(rendered) => {
                *first = false;
                if write(rendered.bytes, answer.plugin.foreign)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Err(fault) if part.len() > 1 && is_about_records(fault.kind) => {
                let (half, rest) = part.split_at(part.len() / 2);
                parts.extend([rest, half]);
            }
            Err(fault) if is_about_records(fault.kind) => {
                let record = part.first().map(|record| record.id.as_str()).unwrap_or_default();
                return Err(Error::invalid(format!("record {record}: {fault}")));
            }
            Err(fault) => return Err(Error::invalid(fault.to_string())),
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn sink(arguments: &AuditExport) -> Result<Box<dyn Write>> {
    let Some(path) = &arguments.output else { return Ok(Box::new(std::io::stdout().lock())) };
    let file = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
    Ok(Box::new(file.with_context(|| format!("cannot create `{}`", path.display()))?))
}

/// Escapes the output of a third party's exporter for a terminal, so that it cannot send control
/// sequences. A file or a pipe gets the bytes unchanged.
fn readable(bytes: &[u8]) -> Vec<u8> {
    portcullis_core::text::list_lines(&String::from_utf8_lossy(bytes), usize::MAX).into_bytes()
}
