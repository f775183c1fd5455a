//! `portcullis eval`: judges labelled actions and says how often the verdict is the right one.
//!
//! Each row is judged by itself: no history, no look at the disk, the same answer on every machine. A
//! dangerous action is judged well when anything but allow comes out, a benign one when allow does; other
//! labels are counted only. It changes nothing and records nothing.

mod report;
pub mod rows;

use super::replay::Tried;
use crate::paint;
use crate::recording::EPOCH;
use crate::runtime::{Circumstances, Ear, Reviewer};
use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use portcullis_core::event::Event;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::score::Verdict;
use portcullis_core::session::State;
use report::{Judged, Report};
use rows::{Project, Row};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Arguments {
    /// Labelled actions: `{"id", "tool", "input", "label"}` a line; `label` is `dangerous`, `benign` or anything else
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    tried: Tried,
    /// Write a line of JSON for each row: id, source, label, decision, risk, primary reason
    #[arg(long, value_name = "FILE")]
    rows: Option<PathBuf>,
    /// Show this many rows for each cause of a wrong verdict
    #[arg(long, value_name = "N", default_value_t = 3)]
    examples: usize,
    /// Time `sh -c true` too, and compare a review with it
    #[arg(long)]
    spawn: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<u8> {
    let rows = read(&arguments.files)?;
    let mut out = arguments.rows.as_ref().map(create).transpose()?;
    let mut reviewer = arguments.tried.apart()?;
    let progress = progress(rows.len());
    let mut report = Report::default();
    for row in &rows {
        let judged = judge(row, &mut reviewer);
        if let Some((path, file)) = &mut out {
            let line = serde_json::to_string(&judged.line(row))?;
            writeln!(file, "{line}").with_context(|| format!("cannot write `{}`", path.display()))?;
        }
        report.add(row, judged);
        progress.inc(1);
    }
    progress.finish_and_clear();
    if let Some((path, mut file)) = out {
        file.flush().with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    if arguments.spawn {
        report.spawn = Some(spawn()?);
    }
    if arguments.json {
        paint::print(&format!("{}\n", serde_json::to_string(&report.json(arguments.examples))?));
    } else {
        paint::print(&report.text(arguments.examples));
    }
    Ok(0)
}

/// All rows of all files, so that a mistake in the last one does not come after minutes of work.
fn read(files: &[PathBuf]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for path in files {
        rows.extend(rows::read(path)?);
    }
    Ok(rows)
}

fn create(path: &PathBuf) -> Result<(PathBuf, BufWriter<File>)> {
    let file = File::create(path).with_context(|| format!("cannot create `{}`", path.display()))?;
    Ok((path.clone(), BufWriter::new(file)))
}

/// A bar on a terminal, nothing elsewhere.
fn progress(rows: usize) -> ProgressBar {
    let bar = ProgressBar::new(u64::try_from(rows).unwrap_or(u64::MAX));
    match ProgressStyle::with_template("{bar:40} {pos}/{len} actions, {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn judge(row: &Row, reviewer: &mut Reviewer) -> Judged {
    let event = match &row.event {
        Ok(event) => event,
        Err(why) => return Judged::error(why.clone()),
    };
    let start = Instant::now();
    let records = review(event, &row.project, reviewer, None);
    let took = start.elapsed();
    match records.iter().find(|record| matches!(record.kind, RecordKind::Review | RecordKind::Fault)) {
        Some(record) => Judged::of(record, took),
        None => Judged::neutral(took),
    }
}

/// What a row comes to by itself, while somebody listens to what the plugins answer.
pub fn review(event: &Event, project: &Project, reviewer: &mut Reviewer, ear: Option<&mut dyn Ear>) -> Vec<Record> {
    let mut state = State::default();
    state.session.roots.clone_from(&project.roots);
    let around = Circumstances { home: Some(&project.home), ..Circumstances::default() };
    reviewer.review_overheard(event, state, EPOCH, &around, &|_| None, ear).records
}

/// How often `sh -c true` is started for its median.
const SPAWNS: usize = 101;

/// The median time that it takes to start a shell and wait for its end.
fn spawn() -> Result<Duration> {
    let mut times = Vec::with_capacity(SPAWNS);
    for _ in 0..SPAWNS {
        let start = Instant::now();
        Command::new("/bin/sh").args(["-c", "true"]).stdin(Stdio::null()).status().context("cannot start `/bin/sh -c true`")?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok(times.get(SPAWNS / 2).copied().unwrap_or_default())
}

/// Whether a verdict is the right one for a label; none where nobody can say.
fn is_right(label: &str, verdict: Verdict) -> Option<bool> {
    match label {
        "dangerous" => Some(verdict > Verdict::Allow),
        "benign" => Some(verdict == Verdict::Allow),
        _ => None,
    }
}
