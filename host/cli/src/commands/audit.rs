//! `portcullis audit`: look at the journal, check it, export it.

mod verify;

use crate::config::Config;
use crate::paint;
use crate::places::Places;
use crate::runtime::Reviewer;
use crate::show;
use anyhow::{Context, Result, anyhow, bail};
use clap::builder::PossibleValuesParser;
use portcullis_core::finding::{AuditDecision, AuditDetection, AuditFault, AuditRecord};
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::score::Verdict;
use portcullis_engine::Kind;
use portcullis_store::{Filter, Home, Store, Stored, hex};
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

#[derive(clap::Subcommand)]
pub enum Command {
    /// List records, newest last
    Show(Show),
    /// Check that no record was changed, removed or inserted
    Verify(verify::Arguments),
    /// Write records in an exporter's format
    Export(Export),
}

#[derive(clap::Args)]
pub struct Show {
    /// Of this session
    #[arg(long)]
    session: Option<String>,
    /// Of this kind
    #[arg(long, value_parser = PossibleValuesParser::new(RecordKind::ALL.iter().map(|kind| kind.as_str())))]
    kind: Option<String>,
    /// With this verdict
    #[arg(long, value_parser = PossibleValuesParser::new(Verdict::ALL.iter().map(|verdict| verdict.as_str())))]
    verdict: Option<String>,
    /// At most so many, the newest
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Print each record as a line of JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub struct Export {
    /// The exporter plugin; without it the one that `audit.export_format` names
    #[arg(long)]
    exporter: Option<String>,
    /// Of this session
    #[arg(long)]
    session: Option<String>,
    /// Records after this position
    #[arg(long, value_name = "SEQUENCE")]
    after: Option<u64>,
    /// Write to this file in place of standard output; it must not exist yet
    #[arg(long, short)]
    output: Option<PathBuf>,
}

/// Records that an exporter gets in one call.
pub const BATCH: usize = 100;

pub fn run(command: &Command) -> Result<u8> {
    match command {
        Command::Show(arguments) => show(arguments),
        Command::Verify(arguments) => verify::run(arguments),
        Command::Export(arguments) => export(arguments),
    }
}

/// The journal of this installation.
pub fn open() -> Result<Store> {
    let places = Places::from_environment()?;
    let home = Home::open(&places.state)?;
    Ok(Store::open(&home, Config::load(&places, Some(&home)).map(|config| config.durability).unwrap_or_default())?)
}

fn show(arguments: &Show) -> Result<u8> {
    let store = open()?;
    let filter = Filter {
        session: arguments.session.clone(),
        kind: arguments.kind.clone(),
        verdict: arguments.verdict.clone(),
        ..Default::default()
    };
    let mut newest = std::collections::VecDeque::new();
    store.query(&filter, |stored| {
        newest.push_back(stored);
        if newest.len() > arguments.limit {
            newest.pop_front();
        }
        ControlFlow::Continue(())
    })?;
    if newest.is_empty() && !arguments.json {
        paint::print("no records\n");
    }
    for stored in &newest {
        if arguments.json {
            paint::print(&format!("{}\n", json(stored)?));
            continue;
        }
        let record: Record = serde_json::from_str(&stored.record.document).with_context(|| format!("record {}", stored.sequence))?;
        paint::print(&format!("{} {}  {}\n", paint::dim(paint::time(record.at)), paint::dim(&record.id), show::line(&record)));
    }
    Ok(0)
}

/// A record with its place in the chain, as one JSON object.
pub fn json(stored: &Stored) -> Result<String> {
    let mut object: serde_json::Value =
        serde_json::from_str(&stored.record.document).with_context(|| format!("record {}", stored.sequence))?;
    if let Some(object) = object.as_object_mut() {
        object.insert("sequence".into(), stored.sequence.into());
        object.insert("verdict".into(), stored.record.verdict.clone().into());
        object.insert("previous".into(), hex(&stored.previous).into());
        object.insert("hash".into(), hex(&stored.hash).into());
    }
    Ok(object.to_string())
}

fn export(arguments: &Export) -> Result<u8> {
    let store = open()?;
    let places = Places::from_environment()?;
    let home = Home::open(&places.state)?;
    let config = Config::load(&places, Some(&home))?;
    let exporter = arguments.exporter.clone().unwrap_or_else(|| config.audit.export_format.clone());
    let mut reviewer = Reviewer::installed(&places, &home, config, &[], super::hook::now())?;
    let known = reviewer.plugins.names(Kind::AuditExporter);
    if !known.contains(&exporter) {
        bail!("there is no exporter `{}`; there are {}", exporter, known.join(", "));
    }
    let mut sink = sink(arguments)?;
    let shown = arguments.output.is_none() && std::io::stdout().is_terminal();
    let mut after = arguments.after;
    let (mut first, mut count) = (true, 0_u64);
    loop {
        let mut batch = Vec::new();
        let filter = Filter { session: arguments.session.clone(), after, limit: Some(BATCH as u64), ..Default::default() };
        store.query(&filter, |stored| {
            batch.push(stored);
            ControlFlow::Continue(())
        })?;
        let Some(last) = batch.last() else { break };
        after = Some(last.sequence);
        count += batch.len() as u64;
        let records = batch.iter().map(for_exporter).collect::<Result<Vec<_>>>()?;
        reviewer.plugins.begin(super::hook::now());
        let answer = reviewer.plugins.render(&exporter, &records, first).ok_or_else(|| anyhow!("the exporter is gone"))?;
        let rendered = answer.result.map_err(|fault| anyhow!("{fault}"))?;
        let bytes = if answer.plugin.foreign && shown { readable(&rendered.bytes) } else { rendered.bytes };
        match sink.write_all(&bytes) {
            // Whoever read it has seen enough.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(0),
            written => written.context("cannot write the export")?,
        }
        first = false;
    }
    sink.flush().context("cannot write the export")?;
    if std::io::stderr().is_terminal() {
        anstream::eprintln!("{count} records");
    }
    Ok(0)
}

fn sink(arguments: &Export) -> Result<Box<dyn Write>> {
    let Some(path) = &arguments.output else { return Ok(Box::new(std::io::stdout().lock())) };
    let file = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
    Ok(Box::new(file.with_context(|| format!("cannot create `{}`", path.display()))?))
}

/// What someone else's exporter wrote, for a terminal: it shows what it holds and drives nothing. A file or a
/// pipe gets the bytes as they are.
fn readable(bytes: &[u8]) -> Vec<u8> {
    portcullis_core::text::lines(&String::from_utf8_lossy(bytes), usize::MAX).into_bytes()
}

/// A record as exporters get it.
///
/// # Errors
/// Its document is none that this version wrote.
pub fn for_exporter(stored: &Stored) -> Result<AuditRecord> {
    let document = &stored.record.document;
    let record: Record = serde_json::from_str(document).with_context(|| format!("record {}", stored.sequence))?;
    Ok(AuditRecord {
        sequence: stored.sequence,
        id: record.id,
        at: record.at,
        kind: record.kind.as_str().into(),
        session: record.session,
        agent: record.agent,
        subject: record.subject,
        summary: record.summary,
        decision: record.decision.map(|decision| AuditDecision {
            verdict: decision.verdict,
            risk: decision.risk,
            rationality: decision.rationality,
            confidence: decision.confidence,
            reasons: decision.reasons,
            sources: record
                .findings
                .iter()
                .flat_map(|findings| findings.objections.iter())
                .map(|objection| format!("{}/{}", objection.source, objection.rule))
                .collect(),
        }),
        detections: record
            .detections
            .into_iter()
            .map(|named| AuditDetection {
                pattern: named.finding.pattern,
                severity: named.finding.severity,
                confidence: named.finding.confidence,
                impact: named.finding.impact,
            })
            .collect(),
        faults: record
            .faults
            .into_iter()
            .map(|fault| AuditFault { source: fault.source, name: fault.kind.as_str().into(), detail: fault.detail })
            .collect(),
        previous: hex(&stored.previous),
        hash: hex(&stored.hash),
        document: document.clone(),
        attributes: vec![("event".into(), record.event), ("client".into(), record.client)],
    })
}
