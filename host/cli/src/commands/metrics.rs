//! `portcullis metrics`: what the journal's reviews come to, as Prometheus text or JSON. With recordings,
//! what reviewing them again comes to, in this process: that has the cache, and times without a process each.
//!
//! Counters go back to the oldest record that retention kept; they are computed anew each time, so that
//! nothing but the journal has to be right.

mod answers;
mod count;
mod text;

use super::hook::now;
use super::replay;
use crate::breakers;
use crate::config::Config;
use crate::health;
use crate::paint;
use crate::places::Places;
use crate::recording;
use anyhow::{Context, Result};
use count::Metrics;
use portcullis_core::breaker::Waits;
use portcullis_core::event::EventKind;
use portcullis_core::record::{Record, RecordKind};
use portcullis_store::{Filter, Home};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

/// The detail of a review's record that says how long it took, in microseconds.
pub const REVIEW_US: &str = "review_us";

#[derive(clap::Args)]
pub struct Arguments {
    /// Recordings to review again, in place of the journal
    files: Vec<PathBuf>,
    /// Use this configuration for recordings in place of your own
    #[arg(long, value_name = "FILE", requires = "files")]
    config_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<u8> {
    let metrics = if arguments.files.is_empty() { of_journal()? } else { of_recordings(arguments)? };
    paint::print(&if arguments.json { format!("{}\n", metrics.json()) } else { text::prometheus(&metrics) });
    Ok(0)
}

fn of_journal() -> Result<Metrics> {
    let places = Places::from_environment()?;
    let home = Home::open(&places.state)?;
    let mut metrics = Metrics::new(Config::load(&places, Some(&home))?.max_review_time_ms);
    let mut problem = None;
    let store = super::audit::open()?;
    let state = |waits| if waits == Waits::ForAPerson { "quarantined" } else { "held" };
    metrics.held = breakers::held(&store.breakers()?, now()).into_iter().map(|held| (held.name, state(held.waits))).collect();
    store.query(&Filter::default(), |stored| {
        match serde_json::from_str::<Record>(&stored.record.document) {
            Ok(record) if record.session.starts_with(health::CANARY) => {}
            Ok(record) => metrics.add(&record),
            Err(error) => {
                problem = Some(anyhow::Error::new(error).context(format!("record {}", stored.sequence)));
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    })?;
    problem.map_or(Ok(metrics), Err)
}

fn of_recordings(arguments: &Arguments) -> Result<Metrics> {
    let tried = replay::Tried { config: arguments.config_file.clone(), ..Default::default() };
    let mut reviewer = tried.reviewer(false)?;
    let mut metrics = Metrics::new(reviewer.config().max_review_time_ms);
    for path in &arguments.files {
        for recording in recording::read(path).with_context(|| format!("cannot read `{}`", path.display()))? {
            let mut session = replay::Session::default();
            for item in &recording.items {
                let start = Instant::now();
                let records = session.step(item, &mut reviewer);
                let took = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
                for mut record in records {
                    if record.kind == RecordKind::Review && matches!(item.event.kind, EventKind::BeforeTool(_)) {
                        record.details.insert(REVIEW_US.into(), took.into());
                    }
                    metrics.add(&record);
                }
            }
        }
    }
    metrics.cache = reviewer.plugins.remembered();
    Ok(metrics)
}
