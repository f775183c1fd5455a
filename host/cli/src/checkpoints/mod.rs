//! Undo: what is kept of files before an action, and when an action counts as over.
//!
//! Nothing here decides whether an action runs, and nothing that goes wrong here keeps one from running: it is
//! said in the record, and to the person once a session.

mod reach;
mod unsettled;

pub use unsettled::sweep;

use crate::config;
use portcullis_checkpoint::{Bounds, CheckpointError, Durability, Id, LeftOuts, Policy, Request, Vault, What};
use portcullis_core::action::Facts;
use portcullis_core::event::{Event, EventKind, Ruling};
use portcullis_core::pipeline::Reviewed;
use portcullis_core::policy::Mode;
use portcullis_core::record::{Record, RecordedCheckpoint, RecordedLeftOut};
use portcullis_core::text::one_line;
use portcullis_store::Home;
use reach::Reach;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use unsettled::{Owner, Unsettled, Waiting};

/// The vault's folder in our state.
const FOLDER: &str = "checkpoints";
/// So many paths that were left out are named in a record.
const MOST_NAMED: usize = 5;

/// Where the vault lies.
pub fn folder(state: &Path) -> PathBuf {
    state.join(FOLDER)
}

/// Opens the vault, making it where there is none.
///
/// # Errors
/// As for [`Vault::open`].
pub fn open(state: &Path, config: &config::Checkpoints) -> Result<Vault, CheckpointError> {
    let bounds = Bounds { max_bytes: config.max_total, durability: Durability::Process, ..Bounds::default() };
    Vault::open(folder(state), bounds)
}

/// Keeps files before the actions of one event, and settles what ended.
pub struct Keeper {
    config: config::Checkpoints,
    state: PathBuf,
    person: String,
    unsettled: Unsettled,
    /// How long keeping took so far.
    spent: Duration,
    kept: Option<RecordedCheckpoint>,
    told: Option<String>,
}

impl Keeper {
    /// For an event of that session.
    pub fn new(config: config::Checkpoints, home: &Home, person: &str, session: &str) -> Self {
        let state = home.path().to_owned();
        let unsettled = Unsettled::of(&state, session);
        Self { config, state, person: person.to_owned(), unsettled, spent: Duration::ZERO, kept: None, told: None }
    }

    /// How long keeping took, which is no time of the review.
    pub const fn spent(&self) -> Duration {
        self.spent
    }

    /// Settles what ended with this event. What its call changed is said in its record.
    pub fn settle(&mut self, event: &Event, now: u64) {
        let ended: Vec<Waiting> = self.unsettled.all().into_iter().filter(|waiting| has_ended(&waiting.of, event)).collect();
        if !ended.is_empty() {
            let start = Instant::now();
            for waiting in ended {
                let left = self.config.budget.saturating_sub(start.elapsed());
                if left.is_zero() {
                    break;
                }
                let settled = open(&self.state, &self.config).and_then(|vault| vault.settle(&waiting.id, now, left));
                // What another process kept from being settled is tried again at the next event.
                if !matches!(settled, Err(CheckpointError::Busy { .. } | CheckpointError::Io { .. })) {
                    self.unsettled.remove(&waiting.id);
                }
                if is_of(&waiting.of, event) {
                    let kept = match settled {
                        Ok(settled) => RecordedCheckpoint {
                            id: Some(waiting.id.to_string()),
                            complete: settled.complete,
                            bytes: Some(settled.bytes_stored),
                            changed: Some(settled.changes.len() as u64),
                            ..left_out(&settled.left_out)
                        },
                        Err(error) => RecordedCheckpoint { id: Some(waiting.id.to_string()), ..problem(&error.to_string()) },
                    };
                    self.told = trouble(&kept, "this action").filter(|_| self.unsettled.tells());
                    self.kept = Some(kept);
                }
            }
            self.spent += start.elapsed();
        }
        if matches!(event.kind, EventKind::SessionEnd { .. }) {
            self.unsettled.end();
        }
    }

    /// Keeps what an action may change, once however often its review is done again, and says so in the record
    /// and, where it is not whole, to the person.
    pub fn keep(&mut self, event: &Event, reviewed: &mut Reviewed, now: u64, mask: &dyn Fn(&str) -> String) {
        let Some(record) = reviewed.records.first_mut() else { return };
        if let EventKind::BeforeTool(call) = &event.kind
            && self.config.enabled
            && self.kept.is_none()
            && record.mode != Mode::Off
            && !matches!(reviewed.reply.ruling, Ruling::Refuse(_) | Ruling::Stop(_))
        {
            let start = Instant::now();
            let of = Owner { agent: event.agent.clone(), call: call.id.clone() };
            self.kept = self.take(record, reviewed.runs_as.as_ref(), &reviewed.state.session.roots, &of, now);
            self.spent += start.elapsed();
            let trouble = self.kept.as_ref().and_then(|kept| trouble(kept, &format!("`{}`", one_line(&record.subject, 64))));
            self.told = trouble.filter(|_| self.unsettled.tells());
        }
        if let Some(kept) = &self.kept {
            let mut kept = kept.clone();
            kept.left_out.iter_mut().for_each(|left_out| left_out.path = mask(&left_out.path));
            kept.problem = kept.problem.as_deref().map(mask);
            record.checkpoint = Some(kept);
        }
        if let Some(told) = &self.told {
            reviewed.reply.person.push(mask(told));
        }
    }

    /// What came of keeping; none where nothing can be changed.
    fn take(&self, record: &Record, runs_as: Option<&Facts>, roots: &[String], of: &Owner, now: u64) -> Option<RecordedCheckpoint> {
        let facts = runs_as.or(record.action.as_ref().map(|action| &action.facts))?;
        let projects = reach::projects(roots, &self.person);
        let (what, roots) = match reach::reach(facts, &projects, &record.masked) {
            Reach::Nothing => return None,
            Reach::Anything if projects.is_empty() => {
                return Some(problem("it may change anything, and the session's folder is no project but a home folder, `/` or gone"));
            }
            Reach::Anything => (What::Tree, projects),
            Reach::Targets(targets) => {
                let roots = reach::roots_of(&targets, &projects);
                (What::Targets(targets.into_iter().collect()), roots)
            }
        };
        let policy = Policy { max_file: self.config.max_file, ..Policy::default() };
        let kept = own_id(record).and_then(|id| {
            let request = Request { id, at: now, roots, what, policy, budget: self.config.budget };
            self.request(request, record, of)
        });
        Some(kept.unwrap_or_else(|error| problem(&error.to_string())))
    }

    fn request(&self, request: Request, record: &Record, of: &Owner) -> Result<RecordedCheckpoint, CheckpointError> {
        let vault = open(&self.state, &self.config)?;
        let named = record.call.as_deref().and_then(|call| Id::new(call).ok());
        let called = Request { id: named.unwrap_or_else(|| request.id.clone()), ..request.clone() };
        let (id, taken) = match vault.take(&called) {
            // Another session had a call of that id.
            Err(CheckpointError::Exists { .. }) if called.id != request.id => (request.id.clone(), vault.take(&request)?),
            taken => (called.id, taken?),
        };
        let unnoted = self.unsettled.add(&id, of).err();
        Ok(RecordedCheckpoint {
            id: Some(id.to_string()),
            complete: taken.complete,
            files: Some(taken.files),
            bytes: Some(taken.bytes_stored),
            problem: unnoted.map(|error| format!("the end of the action will not be noticed: {error}")),
            ..left_out(&taken.left_out)
        })
    }
}

/// An id that no call has: that of the review, in other words.
fn own_id(record: &Record) -> Result<Id, CheckpointError> {
    let digest = blake3::hash(format!("checkpoint\0{}\0{}", record.session, record.id).as_bytes()).to_hex();
    Id::new(digest.chars().take(32).collect::<String>())
}

/// Whether an action is over when this event comes. Calls of one message may run side by side, so the beginning of
/// another does not end any.
fn has_ended(of: &Owner, event: &Event) -> bool {
    match &event.kind {
        EventKind::AfterTool(..) => is_of(of, event),
        EventKind::AfterBatch(_) | EventKind::Stop | EventKind::SubagentStop | EventKind::Prompt(_) => of.agent == event.agent,
        EventKind::SessionStart { .. } | EventKind::SessionEnd { .. } => true,
        EventKind::BeforeTool(_) | EventKind::SubagentStart { .. } | EventKind::ConfigChange { .. } | EventKind::Other => false,
    }
}

/// Whether the event tells of the end of that very call.
fn is_of(of: &Owner, event: &Event) -> bool {
    matches!(&event.kind, EventKind::AfterTool(call, _) if call.id == of.call && event.agent == of.agent)
}

fn problem(what: &str) -> RecordedCheckpoint {
    RecordedCheckpoint { problem: Some(one_line(what, 512)), ..RecordedCheckpoint::default() }
}

fn left_out(found: &LeftOuts) -> RecordedCheckpoint {
    let named = |left: &portcullis_checkpoint::LeftOut| RecordedLeftOut {
        path: one_line(&left.path.to_string_lossy(), 512),
        why: left.why.to_string(),
    };
    RecordedCheckpoint {
        left_out: found.first.iter().take(MOST_NAMED).map(named).collect(),
        left_out_counts: found.counts.iter().map(|(why, count)| (why.to_string(), *count)).collect(),
        ..RecordedCheckpoint::default()
    }
}

/// What the person has to know: that an action cannot be undone, or not in full.
fn trouble(kept: &RecordedCheckpoint, subject: &str) -> Option<String> {
    let what = match &kept.problem {
        Some(problem) => format!("what {subject} changes cannot be undone: {problem}"),
        None if kept.complete => return None,
        None => {
            let counts: Vec<String> = kept.left_out_counts.iter().map(|(why, count)| format!("{count} {why}")).collect();
            format!("what {subject} changes cannot be undone in full; left out: {}", counts.join(", "))
        }
    };
    Some(format!("Portcullis: {what}. The action goes on; this is said once a session, each record says it of its own action."))
}
