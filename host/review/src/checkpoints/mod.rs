//! Undo: takes checkpoints of files before an action, and determines when an action has ended.
//!
//! Nothing here decides if an action runs: files that could not be kept are reported to the review,
//! which counts them against an action that destroys them. The record says so too, and the person
//! is notified once a session.

mod back;
pub mod comparing;
pub mod listing;
mod loss;
mod open_checkpoints;
mod reach;
pub mod restoring;

pub use back::{each_review, undo_id};
pub use open_checkpoints::sweep_older;

use open_checkpoints::{OpenCheckpoints, Owner};
use portcullis_checkpoint::{
    Bounds, CheckpointDurability, CheckpointError, CheckpointRequest, ExclusionPolicy, FileAccess,
    Id, Ignored, LeftOuts, Vault, What,
};
use portcullis_config::boundary::user_of_state;
use portcullis_core::event::{Event, EventKind};
use portcullis_core::pipeline::ReviewOutcome;
use portcullis_core::record::{RecordedCheckpoint, RecordedLeftOut, RecordedRestore};
use portcullis_core::text::one_line;
use portcullis_core::undo::{PendingAction, SessionCheckpoint, Undo};
use portcullis_encryption::DataKeys;
use portcullis_store::Home;
use reach::ChangeScope;
use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The vault's folder in the state folder.
const FOLDER: &str = "checkpoints";
/// The most left-out paths that a record names.
const MOST_NAMED: usize = 5;

/// Returns the vault's folder.
pub fn vault_folder(state: &Path) -> PathBuf {
    state.join(FOLDER)
}

/// Opens the vault with the home's keys, creating it if necessary. Behind a boundary its files are another user's, and
/// out of reach until somebody hands them over ([`Vault::with_files`]).
///
/// # Errors
/// Fails like [`Vault::open_folder`].
pub fn open_vault(
    state: &Path,
    keys: &DataKeys,
    config: &portcullis_config::Checkpoints,
) -> Result<Vault, CheckpointError> {
    let bounds = Bounds {
        max_bytes: config.max_total,
        durability: CheckpointDurability::Process,
        ..Bounds::default()
    };
    let files = match user_of_state(state) {
        None => FileAccess::default(),
        Some(_) => FileAccess::unreachable(),
    };
    Ok(Vault::open_folder(vault_folder(state), keys, bounds)?.with_files(files))
}

/// Takes checkpoints before the actions of one event, and settles those of ended actions.
pub struct CheckpointWriter<'e> {
    config: portcullis_config::Checkpoints,
    home: &'e Home,
    person: String,
    event: &'e Event,
    now: u64,
    /// The access to the files of the agent's user.
    files: FileAccess,
    unsettled: OpenCheckpoints,
    vault: OnceCell<Vault>,
    done: RefCell<SettleProgress>,
}

/// The work done so far.
#[derive(Default)]
struct SettleProgress {
    /// The time that it took.
    spent: Duration,
    kept: Option<RecordedCheckpoint>,
    warning: Option<String>,
    restored: Option<RecordedRestore>,
}

impl<'e> CheckpointWriter<'e> {
    /// Creates a writer for an event.
    pub fn new(
        config: portcullis_config::Checkpoints,
        home: &'e Home,
        person: &str,
        files: FileAccess,
        event: &'e Event,
        now: u64,
    ) -> Self {
        let unsettled = OpenCheckpoints::of(home.path(), &event.session);
        let (vault, done) = (OnceCell::new(), RefCell::default());
        let person = person.to_owned();
        Self { config, home, person, files, event, now, unsettled, vault, done }
    }

    /// Returns the time that the checkpoints took, which does not count as review time.
    pub fn spent(&self) -> Duration {
        self.done.borrow().spent
    }

    /// Opens the vault on first use.
    fn vault(&self) -> Result<&Vault, CheckpointError> {
        match self.vault.get() {
            Some(vault) => Ok(vault),
            None => open_vault(self.home.path(), self.home.data_keys(), &self.config)
                .map(|vault| self.vault.get_or_init(|| vault.with_files(self.files.clone()))),
        }
    }

    /// Settles the checkpoints of calls that ended with this event. Each record lists the changes
    /// of its call.
    pub fn settle_ended(&self) {
        if !self.config.enabled || !ends_something(self.event) {
            return;
        }
        let start = Instant::now();
        for waiting in
            self.unsettled.all().into_iter().filter(|waiting| has_ended(&waiting.of, self.event))
        {
            let left = self.config.budget.saturating_sub(start.elapsed());
            if left.is_zero() {
                break;
            }
            let settled =
                self.vault().and_then(|vault| vault.settle_checkpoint(&waiting.id, self.now, left));
            // A checkpoint that another process kept from being settled is retried at the next
            // event.
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
                    Err(error) => RecordedCheckpoint {
                        id: Some(waiting.id.to_string()),
                        ..problem(&error.to_string())
                    },
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
        done.warning = trouble.filter(|_| self.unsettled.tells());
        done.kept = kept;
        done.spent += start.elapsed();
    }

    /// Adds the changes to an action's record, and a notice for the person about changes that
    /// cannot be undone.
    pub fn record_changes(&self, reviewed: &mut ReviewOutcome, mask: &dyn Fn(&str) -> String) {
        let done = self.done.borrow();
        if let (Some(kept), Some(record), EventKind::AfterTool(..)) =
            (&done.kept, reviewed.records.first_mut(), &self.event.kind)
        {
            let mut kept = kept.clone();
            kept.mask_texts(mask);
            record.checkpoint = Some(kept);
        }
        reviewed.reply.person.extend(done.warning.as_deref().map(mask));
    }

    /// Takes a checkpoint for the action; returns `None` if it cannot change any file.
    fn take(&self, action: &PendingAction<'_>) -> Option<RecordedCheckpoint> {
        let projects = reach::projects(&self.files, action.roots, &self.person);
        let policy =
            ExclusionPolicy { max_file: self.config.max_file, ..ExclusionPolicy::default() };
        let everything = ExclusionPolicy { ignored: Ignored::Keep, build_output: true, ..policy };
        let (what, roots, policy) = match reach::change_scope(
            action.facts,
            &projects,
            action.masked,
        ) {
            ChangeScope::Nothing => return None,
            ChangeScope::Anything { .. } if projects.is_empty() => {
                return Some(nothing(
                    action,
                    "it may change anything, and the session's folder is not a project but a home folder, `/` or gone",
                ));
            }
            ChangeScope::Anything { ignored } if ignored || self.config.ignored => {
                (What::Tree, projects, everything)
            }
            ChangeScope::Anything { .. } => (What::Tree, projects, policy),
            ChangeScope::Targets(targets) => {
                let roots = reach::roots_of(&self.files, &targets, &projects);
                (What::Targets(targets.into_iter().collect()), roots, policy)
            }
        };
        let kept = own_id(&self.event.session, action.review).and_then(|id| {
            let request = CheckpointRequest {
                id,
                at: self.now,
                roots,
                what,
                policy,
                budget: self.config.budget,
            };
            self.request(request, action)
        });
        Some(kept.unwrap_or_else(|error| nothing(action, &error.to_string())))
    }

    fn request(
        &self,
        request: CheckpointRequest,
        action: &PendingAction<'_>,
    ) -> Result<RecordedCheckpoint, CheckpointError> {
        let vault = self.vault()?;
        let named = action.call.and_then(|call| Id::new(call).ok());
        let called = CheckpointRequest {
            id: named.unwrap_or_else(|| request.id.clone()),
            ..request.clone()
        };
        let (id, taken) = match vault.take_checkpoint(&called) {
            // Another session used the same call id.
            Err(CheckpointError::Exists { .. }) if called.id != request.id => {
                (request.id.clone(), vault.take_checkpoint(&request)?)
            }
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
            problem: unnoted
                .map(|error| format!("the end of the action will not be noticed: {error}")),
            ..left_out(&taken.left_out)
        })
    }
}

impl Undo for CheckpointWriter<'_> {
    fn keep(&self, action: &PendingAction<'_>) -> Option<RecordedCheckpoint> {
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

    fn kept(&self) -> Vec<SessionCheckpoint> {
        // Without an existing vault there are no checkpoints, and none is created here.
        if self.config.enabled && vault_folder(self.home.path()).exists() {
            self.of_session()
        } else {
            Vec::new()
        }
    }

    fn restore(&self, checkpoint: &str) -> RecordedRestore {
        let mut done = self.done.borrow_mut();
        let start = Instant::now();
        let restored = done.restored.get_or_insert_with(|| self.go_back(checkpoint)).clone();
        done.spent += start.elapsed();
        restored
    }
}

/// Returns an id that no call has, derived from the review's id.
fn own_id(session: &str, review: &str) -> Result<Id, CheckpointError> {
    let digest = blake3::hash(format!("checkpoint\0{session}\0{review}").as_bytes()).to_hex();
    Ok(Id::new(digest.chars().take(32).collect::<String>())?)
}

/// Returns true if this event can mean that any action has ended.
const fn ends_something(event: &Event) -> bool {
    !matches!(
        event.kind,
        EventKind::BeforeTool(_)
            | EventKind::SubagentStart { .. }
            | EventKind::ConfigChange { .. }
            | EventKind::Other
    )
}

/// Returns true if an action has ended when this event arrives. Calls of one message may run in
/// parallel, so the beginning of another call does not end any.
fn has_ended(of: &Owner, event: &Event) -> bool {
    match &event.kind {
        EventKind::AfterTool(..) => is_of(of, event),
        EventKind::AfterBatch(_)
        | EventKind::Stop
        | EventKind::SubagentStop
        | EventKind::Prompt(_) => of.agent == event.agent,
        EventKind::SessionStart { .. } | EventKind::SessionEnd { .. } => true,
        EventKind::BeforeTool(_)
        | EventKind::SubagentStart { .. }
        | EventKind::ConfigChange { .. }
        | EventKind::Other => false,
    }
}

/// Returns true if the event reports the end of exactly that call.
fn is_of(of: &Owner, event: &Event) -> bool {
    matches!(&event.kind, EventKind::AfterTool(call, _) if call.id == of.call && event.agent == of.agent)
}

/// Builds the result for an action of whose changes nothing could be kept.
fn nothing(action: &PendingAction<'_>, why: &str) -> RecordedCheckpoint {
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
    // Unintended omissions come first: intentional ones are expected.
    let (chosen, missing): (Vec<_>, Vec<_>) =
        found.first.iter().partition(|left| left.why.by_choice());
    RecordedCheckpoint {
        left_out: missing.into_iter().chain(chosen).take(MOST_NAMED).map(named).collect(),
        left_out_counts: found
            .counts
            .iter()
            .map(|(why, count)| (why.to_string(), *count))
            .collect(),
        ..RecordedCheckpoint::default()
    }
}

/// Returns the notice for the person if an action cannot be undone, or not completely. If that
/// counts against the action, the verdict reports it instead.
fn trouble(kept: &RecordedCheckpoint, subject: &str) -> Option<String> {
    let what = match &kept.problem {
        _ if kept.irreversible.is_some() => return None,
        Some(problem) => format!("the changes of {subject} cannot be undone: {problem}"),
        None if kept.complete => return None,
        None => {
            let counts: Vec<String> =
                kept.left_out_counts.iter().map(|(why, count)| format!("{count} {why}")).collect();
            format!(
                "the changes of {subject} cannot be undone in full; left out: {}",
                counts.join(", ")
            )
        }
    };
    Some(format!(
        "Portcullis: {what}. The action goes on; this note appears once a session; each record \
         describes its own action."
    ))
}
