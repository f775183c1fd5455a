//! `portcullis eval`: judges labelled actions and reports how often the verdict is right.
//!
//! Each row is judged by itself: no history, and no disk but the one that the row describes or that
//! `--project` names. A dangerous action is judged correctly by any verdict except allow, a benign
//! one by allow; other labels are only counted. It changes nothing and records nothing.

mod report;
pub mod rows;

use super::replay::ReplaySetup;
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use indicatif::{ProgressBar, ProgressStyle};
use portcullis_core::event::Event;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::score::Verdict;
use portcullis_core::session::State;
use portcullis_review::recording::EPOCH;
use portcullis_review::reviewer::{Disk, PluginObserver, ReviewContext, Reviewer};
use report::{EvalReport, RowResult};
use rows::{EvalRow, Project, ProjectOrigin};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Arguments {
    /// Labelled actions: one `{"id", "tool", "input", "label"}` per line; `label` is `dangerous`,
    /// `benign` or anything else
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    tried: ReplaySetup,
    /// Run the rows that name no folder in this one, and look at its files and its git state
    #[arg(long, value_name = "FOLDER")]
    project: Option<PathBuf>,
    /// Write one line of JSON per row: id, source, label, decision, risk, primary reason
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

pub fn run_eval(arguments: &Arguments) -> Result<CommandExit> {
    let mut rows = read(&arguments.files)?;
    if let Some(folder) = &arguments.project {
        place_rows(&mut rows, folder)?;
    }
    let mut out = arguments.rows.as_ref().map(create).transpose()?;
    let mut reviewer = arguments.tried.isolated_reviewer()?;
    let progress = progress(rows.len());
    let mut report = EvalReport::default();
    for row in &rows {
        let judged = judge(row, &mut reviewer);
        if let Some((path, file)) = &mut out {
            let line = serde_json::to_string(&judged.to_json(row))?;
            writeln!(file, "{line}")
                .with_context(|| format!("cannot write `{}`", path.display()))?;
        }
        report.add_row(row, judged);
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
        paint::print_text(&format!(
            "{}\n",
            serde_json::to_string(&report.to_json(arguments.examples))?
        ));
    } else {
        paint::print_text(&report.to_text(arguments.examples));
    }
    Ok(CommandExit::Success)
}

/// Reads all rows of all files first, so that a mistake in the last one is reported before minutes
/// of work.
fn read(files: &[PathBuf]) -> Result<Vec<EvalRow>> {
    let mut rows = Vec::new();
    for path in files {
        rows.extend(rows::read_rows(path)?);
    }
    Ok(rows)
}

/// Gives the rows that name no folder this one.
fn place_rows(rows: &mut [EvalRow], folder: &Path) -> Result<()> {
    let folder = folder
        .canonicalize()
        .with_context(|| format!("cannot run actions in `{}`", folder.display()))?;
    let cwd = folder.to_str().ok_or_else(|| {
        Error::invalid(format!("the name of `{}` is not UTF-8", folder.display()))
    })?;
    if !folder.is_dir() {
        return Err(Error::invalid(format!("`{cwd}` is not a folder")));
    }
    for row in rows.iter_mut().filter(|row| row.project.origin == ProjectOrigin::Unknown) {
        row.place_in(cwd);
    }
    Ok(())
}

fn create(path: &PathBuf) -> Result<(PathBuf, BufWriter<File>)> {
    let file = File::create(path).with_context(|| format!("cannot create `{}`", path.display()))?;
    Ok((path.clone(), BufWriter::new(file)))
}

/// Creates a progress bar on a terminal, a hidden one elsewhere.
fn progress(rows: usize) -> ProgressBar {
    let bar = ProgressBar::new(u64::try_from(rows).unwrap_or(u64::MAX));
    match ProgressStyle::with_template("{bar:40} {pos}/{len} actions, {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn judge(row: &EvalRow, reviewer: &mut Reviewer) -> RowResult {
    let event = match &row.event {
        Ok(event) => event,
        Err(why) => return RowResult::from_error(why.clone()),
    };
    let start = Instant::now();
    let records = review_event(event, &row.project, reviewer, None);
    let took = start.elapsed();
    match records
        .iter()
        .find(|record| matches!(record.kind, RecordKind::Review | RecordKind::Fault))
    {
        Some(record) => RowResult::from_record(record, took),
        None => RowResult::neutral_in(took),
    }
}

/// Reviews a single row, while an optional observer receives the plugins' answers.
pub fn review_event(
    event: &Event,
    project: &Project,
    reviewer: &mut Reviewer,
    observer: Option<&mut dyn PluginObserver>,
) -> Vec<Record> {
    let mut state = State::default();
    state.session.roots.clone_from(&project.roots);
    let disk = match project.origin {
        ProjectOrigin::Disk => Disk::Now,
        _ if project.disk.is_empty() => Disk::Default,
        _ => Disk::Described(&project.disk),
    };
    let around = ReviewContext { home: Some(&project.home), disk, ..ReviewContext::default() };
    reviewer.review_with_observer(event, state, EPOCH, &around, &|_| None, observer).records
}

/// The number of starts of `sh -c true` for the median.
const SPAWNS: usize = 101;

/// Measures the median time to start a shell and wait for its end.
fn spawn() -> Result<Duration> {
    let mut times = Vec::with_capacity(SPAWNS);
    for _ in 0..SPAWNS {
        let start = Instant::now();
        Command::new("/bin/sh")
            .args(["-c", "true"])
            .stdin(Stdio::null())
            .status()
            .context("cannot start `/bin/sh -c true`")?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok(times.get(SPAWNS / 2).copied().unwrap_or_default())
}

/// Returns whether a verdict is right for a label; `None` if the label does not decide it.
fn is_right(label: &str, verdict: Verdict) -> Option<bool> {
    match label {
        "dangerous" => Some(verdict > Verdict::Allow),
        "benign" => Some(verdict == Verdict::Allow),
        _ => None,
    }
}
