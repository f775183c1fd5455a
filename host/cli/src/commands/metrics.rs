//! `portcullis metrics`: the totals of the journal's reviews, as Prometheus text or JSON. With
//! recordings, the totals of reviewing them again in this process, with a warm cache and times that
//! do not include starting a process.
//!
//! Counters go back to the oldest record within retention. They are recomputed each time, so that
//! only the journal has to be correct.

use super::replay;
use crate::error::Result;
use crate::exit::CommandExit;
use crate::paint;
use portcullis_config::Config;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::event::EventKind;
use portcullis_core::record::RecordKind;
use portcullis_review::hook::REVIEW_US;
use portcullis_review::metrics::{JournalMetrics, Metrics, render_prometheus};
use portcullis_review::recording;
use portcullis_store::Home;
use std::path::PathBuf;
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// Review these recordings again instead of reading the journal
    files: Vec<PathBuf>,
    /// Use this configuration for the recordings instead of your own: a file, or a folder with a
    /// `config.toml`
    #[arg(long, value_name = "PATH", requires = "files")]
    config_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run_metrics(arguments: &Arguments) -> Result<CommandExit> {
    let print = |metrics: &Metrics| {
        paint::print_text(&match arguments.json {
            true => format!("{}\n", metrics.to_json()),
            false => render_prometheus(metrics),
        });
    };
    if arguments.files.is_empty() {
        let places = Paths::from_environment()?;
        let home = Home::open_root(&places.state)?;
        let target = Config::load(&places, Some(&home))?.max_review_time_ms;
        let mut counted = JournalMetrics::default();
        print(counted.update(&super::audit::open_store()?, target, now_ms())?);
    } else {
        print(&of_recordings(arguments)?);
    }
    Ok(CommandExit::Success)
}

fn of_recordings(arguments: &Arguments) -> Result<Metrics> {
    let tried =
        replay::ReplaySetup { config_file: arguments.config_file.clone(), ..Default::default() };
    let mut reviewer = tried.new_reviewer(false)?;
    let mut metrics = Metrics::new(reviewer.config().max_review_time_ms);
    for path in &arguments.files {
        for recording in recording::read_recordings(path)? {
            let mut session = portcullis_review::session::ReviewSession::default();
            for item in &recording.items {
                let start = Instant::now();
                let records = session.review_step(item, &mut reviewer);
                let took = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
                for mut record in records {
                    if record.kind == RecordKind::Review
                        && matches!(item.event.kind, EventKind::BeforeTool(_))
                    {
                        record.details.insert(REVIEW_US.into(), took.into());
                    }
                    metrics.add_record(&record);
                }
            }
        }
    }
    metrics.cache = reviewer.plugins.shell_cache_stats();
    Ok(metrics)
}
