//! `portcullis replay`: reviews recorded sessions again. Depends on the recording, the plugins and the
//! configuration alone, so two runs print the same bytes: no wall clock, no disk of today.
//!
//! `--claude` reviews all that the client still has of a person's own sessions, and sums it up.

mod claude;
#[cfg(test)]
mod halves;
mod tally;

use super::plugin::compare::Comparison;
use crate::config::Config;
use crate::paint;
use crate::places::Places;
use crate::recording::{self, EPOCH, Item, Recording};
use crate::runtime::{Circumstances, REPLAY_KEY, Reviewer, Setup, code_cache, detail};
use crate::show;
use anyhow::Result;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::score::Verdict;
use portcullis_core::session::State;
use portcullis_engine::ReviewClock;
use portcullis_store::Home;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// Recordings: hook payloads, journals, Claude Code transcripts or trajectories
    #[arg(required_unless_present = "claude")]
    files: Vec<PathBuf>,
    /// Sum up your own past sessions with Claude Code: what would have been warned about, changed, asked, blocked
    #[arg(long, conflicts_with_all = ["files", "all"])]
    claude: bool,
    /// With --claude: how far back, for example 30d
    #[arg(long, value_name = "DURATION", default_value = "30d", value_parser = crate::duration::milliseconds, requires = "claude", conflicts_with = "files")]
    since: u64,
    /// With --claude: only sessions in this folder
    #[arg(long, value_name = "DIR", requires = "claude", conflicts_with = "files")]
    project: Option<PathBuf>,
    /// Load this component too
    #[arg(long, value_name = "FILE")]
    plugin: Vec<PathBuf>,
    /// What --plugin loads looks on: it is recorded what it would have done, and nothing else is any different
    #[arg(long, requires = "plugin", conflicts_with = "claude")]
    shadow: bool,
    /// Use this configuration in place of your own
    #[arg(long, value_name = "FILE")]
    config_file: Option<PathBuf>,
    /// Show every step, not only those with an objection
    #[arg(long, short)]
    all: bool,
    /// Print every record as a line of JSON, then one line with the totals
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<u8> {
    if arguments.claude {
        return claude::run(arguments);
    }
    let mut reviewer = with(arguments.config_file.as_deref(), &arguments.plugin, arguments.shadow)?;
    reviewer.remember();
    let mut sum = Sum::default();
    for path in &arguments.files {
        for recording in recording::read(path)? {
            replay(&recording, &mut reviewer, arguments, &mut sum);
        }
    }
    if arguments.json {
        paint::print(&format!("{}\n", serde_json::to_string(&sum)?));
    } else {
        paint::print(&sum.text());
    }
    Ok(0)
}

/// What reviews recordings: [`apart`], remembering how a command line was read.
///
/// # Errors
/// Configuration or plugins cannot be used.
pub fn reviewer(config_file: Option<&Path>, plugins: &[PathBuf]) -> Result<Reviewer> {
    let mut reviewer = apart(config_file, plugins)?;
    reviewer.remember();
    Ok(reviewer)
}

/// What reviews actions apart from any session of this machine: depends on them, the plugins and the
/// configuration alone.
///
/// # Errors
/// Configuration or plugins cannot be used.
pub fn apart(config_file: Option<&Path>, plugins: &[PathBuf]) -> Result<Reviewer> {
    with(config_file, plugins, false)
}

/// `shadow`: those plugins look on.
fn with(config_file: Option<&Path>, plugins: &[PathBuf], shadow: bool) -> Result<Reviewer> {
    let places = Places::from_environment()?.without_project();
    let home = Home::open(&places.state)?;
    let mut config = match config_file {
        Some(path) => Config::read_file(path, &places)?,
        None => Config::load(&places, Some(&home))?,
    };
    crate::rules::prove(&config, &home)?;
    for name in plugins.iter().filter_map(|path| path.file_stem()).filter(|_| shadow) {
        config.plugins.entry(name.to_string_lossy().into_owned()).or_default().shadow = true;
    }
    Reviewer::new(Setup {
        config,
        extra: plugins,
        clock: ReviewClock { now_ms: EPOCH, backstop: None },
        observes: false,
        mask_key: REPLAY_KEY,
        cache: Some(code_cache(&home)),
        person: "/home/user".into(),
        project: None,
    })
}

/// Reviews one session from its beginning.
fn replay(recording: &Recording, reviewer: &mut Reviewer, arguments: &Arguments, sum: &mut Sum) {
    sum.sessions += 1;
    let progress = std::io::stderr().is_terminal() && !std::io::stdout().is_terminal();
    if !arguments.json {
        paint::print(&format!("\n{}\n", paint::bold(portcullis_core::text::one_line(&recording.name, 120))));
    }
    let mut session = Session::default();
    for (index, item) in recording.items.iter().enumerate() {
        if paint::closed() {
            return;
        }
        if progress && index % 50 == 0 {
            anstream::eprint!("\r{}/{} ", index, recording.items.len());
        }
        for record in session.step(item, reviewer) {
            sum.count(&record);
            if arguments.json {
                paint::print(&format!("{}\n", record.document()));
            } else if arguments.all || telling(&record) {
                paint::print(&format!("{} {}\n", paint::dim(step(&record)), show::line(&record)));
                why(&record);
            }
        }
    }
    if progress {
        anstream::eprint!("\r");
    }
}

fn step(record: &Record) -> String {
    record.step.map_or_else(|| "    ".into(), |step| format!("{step:>4}"))
}

fn why(record: &Record) {
    if let Some(decision) = record.decision.as_ref().filter(|decision| decision.verdict > Verdict::Allow) {
        paint::print(&format!("            {}\n", paint::dim(portcullis_core::text::one_line(&decision.primary_reason, 140))));
    }
}

fn telling(record: &Record) -> bool {
    match record.kind {
        RecordKind::Review => record.verdict().is_some_and(|verdict| verdict > Verdict::Allow),
        RecordKind::Intervention | RecordKind::Unreviewed | RecordKind::Fault | RecordKind::Exception | RecordKind::Feedback => true,
        RecordKind::Outcome | RecordKind::Session | RecordKind::Configuration => !record.detections.is_empty() || !record.faults.is_empty(),
    }
}

/// A plugin asks for steps of the history that it was given, which are fewer.
const KEPT_STEPS: u64 = 256;

/// A session's state while it is replayed: what the store would hold.
#[derive(Default)]
pub struct Session {
    shared: portcullis_core::session::Session,
    agents: BTreeMap<Option<String>, portcullis_core::session::Agent>,
    documents: BTreeMap<(Option<String>, u64), Vec<String>>,
}

impl Session {
    /// Reviews the next event.
    pub fn step(&mut self, item: &Item, reviewer: &mut Reviewer) -> Vec<Record> {
        let agent = item.event.agent.clone();
        let state = State { session: std::mem::take(&mut self.shared), agent: self.agents.remove(&agent).unwrap_or_default() };
        let documents = &self.documents;
        let details = |step: u64| detail(documents.get(&(agent.clone(), step))?);
        let seen = item.seen.as_ref();
        let around = Circumstances {
            seen: seen.map(|seen| &seen.observed),
            home: seen.and_then(|seen| seen.home.as_deref()),
            ..Circumstances::default()
        };
        let reviewed = reviewer.review(&item.event, state, item.at, &around, &details);
        self.shared = reviewed.state.session;
        for record in &reviewed.records {
            if let Some(step) = record.step {
                self.documents.entry((agent.clone(), step)).or_default().push(record.document());
                if let Some(old) = step.checked_sub(KEPT_STEPS) {
                    self.documents.remove(&(agent.clone(), old));
                }
            }
        }
        self.agents.insert(agent, reviewed.state.agent);
        reviewed.records
    }
}

/// What all replayed sessions came to.
#[derive(Default, Serialize)]
struct Sum {
    sessions: u64,
    reviews: u64,
    outcomes: u64,
    verdicts: BTreeMap<String, u64>,
    patterns: BTreeMap<String, u64>,
    interventions: BTreeMap<String, u64>,
    faults: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Comparison::is_empty")]
    shadow: Comparison,
}

impl Sum {
    fn count(&mut self, record: &Record) {
        self.shadow.add(record, None);
        let add = |map: &mut BTreeMap<String, u64>, key: &str| *map.entry(key.to_owned()).or_default() += 1;
        match record.kind {
            RecordKind::Review => self.reviews += 1,
            RecordKind::Outcome | RecordKind::Unreviewed => self.outcomes += 1,
            RecordKind::Intervention => add(&mut self.interventions, &record.subject),
            RecordKind::Session | RecordKind::Configuration | RecordKind::Fault | RecordKind::Exception | RecordKind::Feedback => {}
        }
        if let Some(verdict) = record.verdict() {
            add(&mut self.verdicts, verdict.as_str());
        }
        record.detections.iter().for_each(|named| add(&mut self.patterns, &named.finding.pattern));
        record.faults.iter().for_each(|fault| add(&mut self.faults, &format!("{}: {}", fault.source, fault.kind)));
    }

    fn text(&self) -> String {
        let row = |name: &str, map: &BTreeMap<String, u64>| {
            let parts: Vec<String> = map.iter().map(|(key, count)| format!("{key} {count}")).collect();
            if parts.is_empty() { String::new() } else { format!("{name}: {}\n", parts.join(", ")) }
        };
        format!(
            "\n{}\n{}{}{}{}{}{}",
            paint::bold(format!("{} sessions, {} reviews, {} outcomes", self.sessions, self.reviews, self.outcomes)),
            row("verdicts", &self.verdicts),
            row("patterns", &self.patterns),
            row("interventions", &self.interventions),
            row("faults", &self.faults),
            if self.shadow.is_empty() { "" } else { "\n" },
            self.shadow.text()
        )
    }
}
