//! Undo: what is kept of files before an action, and when an action counts as over.
//!
//! Nothing here decides whether an action runs: what could not be kept is told to the review, which holds it against
//! an action that destroys it. It is said in the record, and to the person once a session.

mod back;
mod loss;
mod reach;
mod unsettled;

pub use back::{reviews, undo_id};
pub use unsettled::sweep;

use crate::config;
use portcullis_checkpoint::{Bounds, CheckpointError, Durability, Id, Ignored, LeftOuts, Policy, Request, Vault, What};
use portcullis_core::event::{Event, EventKind};
use portcullis_core::pipeline::Reviewed;
use portcullis_core::record::{RecordedCheckpoint, RecordedLeftOut, RecordedRestore};
use portcullis_core::text::one_line;
use portcullis_core::undo::{Coming, Kept, Undo};
use portcullis_store::Home;
use reach::Reach;
use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use unsettled::{Owner, Unsettled};

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
pub struct Keeper<'e> {
    config: config::Checkpoints,
    home: &'e Home,
    person: String,
    event: &'e Event,
    now: u64,
    unsettled: Unsettled,
    vault: OnceCell<Vault>,
    done: RefCell<Done>,
}

/// What was done so far.
#[derive(Default)]
struct Done {
    /// How long it took.
    spent: Duration,
    kept: Option<RecordedCheckpoint>,
    told: Option<String>,
    restored: Option<RecordedRestore>,
}

impl<'e> Keeper<'e> {
    /// For an event.
    pub fn new(config: config::Checkpoints, home: &'e Home, person: &str, event: &'e Event, now: u64) -> Self {
        let unsettled = Unsettled::of(home.path(), &event.session);
        let (vault, done) = (OnceCell::new(), RefCell::default());
        Self { config, home, person: person.to_owned(), event, now, unsettled, vault, done }
    }

    /// How long keeping took, which is no time of the review.
    pub fn spent(&self) -> Duration {
        self.done.borrow().spent
    }

    /// Opens the vault where that was not done yet.
    fn vault(&self) -> Result<&Vault, CheckpointError> {
        match self.vault.get() {
            Some(vault) => Ok(vault),
            None => open(self.home.path(), &self.config).map(|vault| self.vault.get_or_init(|| vault)),
        }
    }

    /// Settles what ended with this event. What its call changed is said in its record.
    pub fn settle(&self) {
        if !self.config.enabled || !ends_something(self.event) {
            return;
        }
        let start = Instant::now();
        for waiting in self.unsettled.all().into_iter().filter(|waiting| has_ended(&waiting.of, self.event)) {
            let left = self.config.budget.saturating_sub(start.elapsed());
            if left.is_zero() {
                break;
            }
            let settled = self.vault().and_then(|vault| vault.settle(&waiting.id, self.now, left));
            // What another process kept from being settled is tried again at the next event.
            if !matches!(settled, Err(CheckpointError::Busy { .. } | CheckpointError::Io { .. })) {
                self.unsettled.remove(&waiting.id);
            }
            if is_of(&waiting.of, self.event) {
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
                self.done(Some(kept), "this action", start);
            }
        }
        if matches!(self.event.kind, EventKind::SessionEnd { .. }) {
            self.unsettled.end();
        }
    }

    fn done(&self, kept: Option<RecordedCheckpoint>, subject: &str, start: Instant) {
        let trouble = kept.as_ref().and_then(|kept| trouble(kept, subject));
        let mut done = self.done.borrow_mut();
        done.told = trouble.filter(|_| self.unsettled.tells());
        done.kept = kept;
        done.spent += start.elapsed();
    }

    /// Says what an action changed in its record, and to the person what cannot be undone.
    pub fn tell(&self, reviewed: &mut Reviewed, mask: &dyn Fn(&str) -> String) {
        let done = self.done.borrow();
        if let (Some(kept), Some(record), EventKind::AfterTool(..)) = (&done.kept, reviewed.records.first_mut(), &self.event.kind) {
            let mut kept = kept.clone();
            kept.mask(mask);
            record.checkpoint = Some(kept);
        }
        reviewed.reply.person.extend(done.told.as_deref().map(mask));
    }

    /// What came of keeping; none where nothing can be changed.
    fn take(&self, action: &Coming<'_>) -> Option<RecordedCheckpoint> {
        let projects = reach::projects(action.roots, &self.person);
        let policy = Policy { max_file: self.config.max_file, ..Policy::default() };
        let everything = Policy { ignored: Ignored::Keep, build_output: true, ..policy };
        let (what, roots, policy) = match reach::reach(action.facts, &projects, action.masked) {
            Reach::Nothing => return None,
            Reach::Anything { .. } if projects.is_empty() => {
                return Some(nothing(
                    action,
                    "it may change anything, and the session's folder is no project but a home folder, `/` or gone",
                ));
            }
            Reach::Anything { ignored } if ignored || self.config.ignored => (What::Tree, projects, everything),
            Reach::Anything { .. } => (What::Tree, projects, policy),
            Reach::Targets(targets) => {
                let roots = reach::roots_of(&targets, &projects);
                (What::Targets(targets.into_iter().collect()), roots, policy)
            }
        };
        let kept = own_id(&self.event.session, action.review).and_then(|id| {
            let request = Request { id, at: self.now, roots, what, policy, budget: self.config.budget };
            self.request(request, action)
        });
        Some(kept.unwrap_or_else(|error| nothing(action, &error.to_string())))
    }

    fn request(&self, request: Request, action: &Coming<'_>) -> Result<RecordedCheckpoint, CheckpointError> {
        let vault = self.vault()?;
        let named = action.call.and_then(|call| Id::new(call).ok());
        let called = Request { id: named.unwrap_or_else(|| request.id.clone()), ..request.clone() };
        let (id, taken) = match vault.take(&called) {
            // Another session had a call of that id.
            Err(CheckpointError::Exists { .. }) if called.id != request.id => (request.id.clone(), vault.take(&request)?),
            taken => (called.id, taken?),
        };
        let of = Owner { agent: self.event.agent.clone(), call: action.call.map(str::to_owned) };
        let unnoted = self.unsettled.add(&id, &of).err();
        Ok(RecordedCheckpoint {
            id: Some(id.to_string()),
            complete: taken.complete,
            files: Some(taken.files),
            bytes: Some(taken.bytes_stored),
            irreversible: loss::left_out(action.facts, &taken.left_out),
            problem: unnoted.map(|error| format!("the end of the action will not be noticed: {error}")),
            ..left_out(&taken.left_out)
        })
    }
}

impl Undo for Keeper<'_> {
    fn keep(&self, action: &Coming<'_>) -> Option<RecordedCheckpoint> {
        if !self.config.enabled || !matches!(self.event.kind, EventKind::BeforeTool(_)) {
            return None;
        }
        if self.done.borrow().kept.is_none() {
            let start = Instant::now();
            let kept = self.take(action);
            self.done(kept, &format!("`{}`", one_line(action.summary, 64)), start);
        }
        self.done.borrow().kept.clone()
    }

    fn kept(&self) -> Vec<Kept> {
        // Where nothing was ever kept, nothing is made.
        if self.config.enabled && folder(self.home.path()).exists() { self.of_session() } else { Vec::new() }
    }

    fn restore(&self, checkpoint: &str) -> RecordedRestore {
        let mut done = self.done.borrow_mut();
        let start = Instant::now();
        let restored = done.restored.get_or_insert_with(|| self.go_back(checkpoint)).clone();
        done.spent += start.elapsed();
        restored
    }
}

/// An id that no call has: that of the review, in other words.
fn own_id(session: &str, review: &str) -> Result<Id, CheckpointError> {
    let digest = blake3::hash(format!("checkpoint\0{session}\0{review}").as_bytes()).to_hex();
    Id::new(digest.chars().take(32).collect::<String>())
}

/// Whether any action can be over when this event comes.
const fn ends_something(event: &Event) -> bool {
    !matches!(event.kind, EventKind::BeforeTool(_) | EventKind::SubagentStart { .. } | EventKind::ConfigChange { .. } | EventKind::Other)
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

/// Nothing could be kept of what an action changes.
fn nothing(action: &Coming<'_>, why: &str) -> RecordedCheckpoint {
    RecordedCheckpoint { irreversible: loss::of_all(action.facts, why), ..problem(why) }
}

fn problem(what: &str) -> RecordedCheckpoint {
    RecordedCheckpoint { problem: Some(one_line(what, 512)), ..RecordedCheckpoint::default() }
}

fn left_out(found: &LeftOuts) -> RecordedCheckpoint {
    let named = |left: &portcullis_checkpoint::LeftOut| RecordedLeftOut {
        path: one_line(&left.path.to_string_lossy(), 512),
        why: left.why.to_string(),
    };
    // What is missing first: what is left out on purpose is no news.
    let (chosen, missing): (Vec<_>, Vec<_>) = found.first.iter().partition(|left| left.why.by_choice());
    RecordedCheckpoint {
        left_out: missing.into_iter().chain(chosen).take(MOST_NAMED).map(named).collect(),
        left_out_counts: found.counts.iter().map(|(why, count)| (why.to_string(), *count)).collect(),
        ..RecordedCheckpoint::default()
    }
}

/// What the person has to know: that an action cannot be undone, or not in full. Where that counts against it, the
/// verdict says so.
fn trouble(kept: &RecordedCheckpoint, subject: &str) -> Option<String> {
    let what = match &kept.problem {
        _ if kept.irreversible.is_some() => return None,
        Some(problem) => format!("what {subject} changes cannot be undone: {problem}"),
        None if kept.complete => return None,
        None => {
            let counts: Vec<String> = kept.left_out_counts.iter().map(|(why, count)| format!("{count} {why}")).collect();
            format!("what {subject} changes cannot be undone in full; left out: {}", counts.join(", "))
        }
    };
    Some(format!("Portcullis: {what}. The action goes on; this is said once a session, each record says it of its own action."))
}
