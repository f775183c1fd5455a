//! One hook call of an agent's client: one event in, one answer out.
//!
//! After an error the client still gets a valid answer under the fault policy, and a record is
//! written if the journal is writable. The answer of a review is returned only after its record is
//! durable. A panic leaves no record, and its answer refuses in observe mode too.

mod across;
mod faults;
mod measured;
mod restored_hooks;
mod spans;
mod without_hook;

pub use crate::approvals::EventReply;
pub use crate::hook_caller::{AcrossBoundary, HookCaller};
pub use across::{answer_across, refuse_across};
pub use faults::{answer_late, answer_to_panic, fault_reply_for, record_late, record_unreadable};
pub use without_hook::{ReviewFailure, review_without_hook};

use crate::approvals::{
    AnswerPort, ApprovedAction, HeldAction, ReviewedEvent, list_changes, settle_question,
};
use crate::checkpoints::CheckpointWriter;
use crate::hook_caller::{FACTS_OF_USER, WITHOUT_SERVICE};
use crate::orders_trial::TriedOrders;
use crate::parts::{ReviewParts, ReviewerBasis};
use crate::reviewer::{ReviewContext, Reviewer};
use crate::stopped::{self, StopFile};
use crate::stored_records::to_store;
use crate::user_view::UserView;
use crate::{
    breakers, canary_session::CANARY_SESSION, health, incidents, notifications, quarantine,
    step_detail,
};
use faults::{configuration_fault, record_event_fault, refuse_unreadable, store_fault};
use measured::{installed_at, measure_agent};
use portcullis_agents::{HookOutput, PROFILES, WireError};
use portcullis_config::Config;
use portcullis_config::clock;
use portcullis_config::paths::Paths;
use portcullis_config::pause::{self, Pause};
use portcullis_core::event::{Disposition, Event, EventKind, Reply};
use portcullis_core::exceptions::Exception;
use portcullis_core::facts;
use portcullis_core::fault::{Fault, FaultKind, OnFault};
use portcullis_core::pipeline::{self, MissedCall};
use portcullis_core::policy::Mode;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::score::Verdict;
use portcullis_core::session::{State, StateError};
use portcullis_engine::Preload;
use portcullis_store::{
    Commit, Durability, Home, PendingCommit, SessionHistory, SessionSnapshot, Store, StoreError,
};
use std::path::Path;
use std::time::Instant;

/// The key in a review's record for its duration in microseconds, from the start of the hook to the
/// commit.
pub const REVIEW_US: &str = "review_us";

/// The answer to one hook call.
pub struct HookAnswer {
    /// The output of the hook process.
    pub output: HookOutput,
    /// True if work is due for `maintain`: notifications, retention, the journal's log.
    pub work_is_due: bool,
}

/// The message of a client that an event was read from.
#[derive(Clone, Copy)]
struct Payload<'a> {
    caller: &'a HookCaller,
    bytes: &'a [u8],
}

/// Reviews one event, parsed from `input`, and commits its records. An action that waits for a person
/// is held as long as `port` allows, if the client does not ask them.
#[must_use]
pub fn answer_event(
    caller: &HookCaller,
    input: &[u8],
    parsed: Result<Event, WireError>,
    port: &dyn AnswerPort,
    parts: &dyn ReviewParts,
) -> HookAnswer {
    let agent = caller.agent;
    let (now, begun) = (clock::now_ms(), Instant::now());
    let mut event = match parsed {
        Ok(event) => event,
        Err(error) => {
            return HookAnswer { output: refuse_unreadable(caller, &error), work_is_due: false };
        }
    };
    if caller.across.is_none() {
        agent.complete(&mut event, input);
    }
    if pipeline::needs_no_review(&event) {
        return HookAnswer {
            output: agent.render(&event.name, &Reply::default()),
            work_is_due: false,
        };
    }
    let _span = spans::enter_review(&event);
    let payload = Some(Payload { caller, bytes: input });
    let settled =
        review_at_its_paths(parts, payload, &event, (now, begun), None).and_then(|first| {
            settle_question(&event, first, port, |approved| {
                let moment = (clock::now_ms(), Instant::now());
                review_at_its_paths(parts, payload, &event, moment, Some(approved))
            })
        });
    let (reply, work_is_due) = match settled {
        Ok(answered) => (answered.reply, answered.work_is_due),
        Err(fault) => {
            spans::note_fault(&fault);
            record_event_fault(caller.own_paths(), &fault, &event, now);
            (fault_reply_for(&event, &fault), false)
        }
    };
    let reply = match &caller.across {
        None => reply,
        Some(across) => across::spell_commands(reply, across, input),
    };
    HookAnswer { output: agent.render(&event.name, &reply), work_is_due }
}

/// Reviews an event at a moment: milliseconds since 1970, and the begin of the review.
fn review_at_its_paths(
    parts: &dyn ReviewParts,
    payload: Option<Payload<'_>>,
    event: &Event,
    (now, begun): (u64, Instant),
    approved: Option<&ApprovedAction>,
) -> Result<ReviewedEvent, Fault> {
    let places = match payload {
        Some(payload) => payload.caller.find_paths(&event.cwd),
        None => Paths::for_event(&event.cwd),
    };
    let places = places.map_err(configuration_fault)?;
    let reviewed = HookCall::open(parts, payload, &places, event, now, begun)
        .and_then(|call| call.review(approved));
    reviewed.map_err(|fault| {
        // Observe mode does not refuse because of our own faults either.
        if observes(&places, now) { Fault { policy: OnFault::Warn, ..fault } } else { fault }
    })
}

/// Returns true if the configuration or a pause asks to observe at `now` (milliseconds since 1970),
/// as far as either is readable.
#[must_use]
pub fn observes(places: &Paths, now: u64) -> bool {
    // A fleet's orders may say otherwise than the files, and are read with the home's key.
    let home = Home::open_root(&places.state).ok();
    Config::load(places, home.as_ref())
        .is_ok_and(|config| matches!(config.policy.mode, Mode::Observe | Mode::Off))
        || home.is_some_and(|home| matches!(pause::read_current(&home, now), Ok(Some(_))))
}

/// One hook call with everything that its review needs.
struct HookCall<'a> {
    parts: &'a dyn ReviewParts,
    /// The client's message; `None` for an event that no hook received.
    payload: Option<Payload<'a>>,
    places: &'a Paths,
    event: &'a Event,
    now: u64,
    begun: Instant,
    home: Home,
    pause: Option<Pause>,
    durability: Durability,
    /// A notice about a project configuration that nobody has trusted.
    untrusted: Option<String>,
    reviewer: Reviewer,
    /// The orders that the machine only tries.
    tried: Option<TriedOrders>,
}

impl<'a> HookCall<'a> {
    fn open(
        parts: &'a dyn ReviewParts,
        payload: Option<Payload<'a>>,
        places: &'a Paths,
        event: &'a Event,
        now: u64,
        begun: Instant,
    ) -> Result<Self, Fault> {
        let _span = spans::enter("open");
        // Open the home first: if configuration and state share a folder, its error is more
        // helpful.
        let home = Home::open_root(&places.state).map_err(|error| store_fault(&error))?;
        let ahead = if parts.loads_ahead() { preload(event, &places.person) } else { None };
        let engine = parts.open_engine(&home, ahead).map_err(configuration_fault)?;
        let mut config = parts.load_config(places, &home).map_err(configuration_fault)?;
        // A pause file that was not written by a person's command pauses nothing; `doctor` and the
        // session start report it.
        let pause = pause::read_current(&home, now).ok().flatten();
        if pause.is_some() && config.policy.mode != Mode::Off {
            std::sync::Arc::make_mut(&mut config).policy.mode = Mode::Observe;
        }
        let durability = config.durability;
        let untrusted = config.notice(places);
        let tries = matches!(event.kind, EventKind::BeforeTool(_))
            && pause.is_none()
            && !event.session.starts_with(CANARY_SESSION);
        let basis = ReviewerBasis { places, home: &home, engine: engine.clone(), config, now };
        let reviewer = parts.load_reviewer(basis, ahead).map_err(configuration_fault)?;
        let tried =
            if tries { TriedOrders::of_home(parts, places, &home, &engine, now) } else { None };
        Ok(Self {
            parts,
            payload,
            places,
            event,
            now,
            begun,
            home,
            pause,
            durability,
            untrusted,
            reviewer,
            tried,
        })
    }

    /// Reviews the event, with a person's permission if there is one, and commits.
    fn review(mut self, approved: Option<&ApprovedAction>) -> Result<ReviewedEvent, Fault> {
        let mut store = self
            .parts
            .open_store(&self.home, self.durability)
            .map_err(|error| store_fault(&error))?;
        let known_stop = stopped::read_stop(&self.home, &self.event.session)
            .map_err(|error| Fault::from_host(FaultKind::Store, format!("{error:#}")))?;
        let weaknesses = self.find_weaknesses(&store)?;
        let keeper = CheckpointWriter::new(
            self.reviewer.config().checkpoints,
            &self.home,
            &self.places.person,
            self.payload.map(|payload| payload.caller.file_access()).unwrap_or_default(),
            self.event,
            self.now,
        );
        keeper.settle_ended();
        let missed = self.find_missed_calls(&store);
        // What a person allowed was counted when it was asked about.
        let mut tried = self.tried.take();
        let committed = commit_review(
            &mut self.reviewer,
            tried.as_mut().filter(|_| approved.is_none()),
            &mut store,
            &keeper,
            &Input {
                payload: self.payload,
                event: self.event,
                now: self.now,
                begun: self.begun,
                person: &self.places.person,
                missed: &missed,
                weaknesses: &weaknesses,
                known_stop: known_stop.as_ref(),
                approved,
            },
        );
        if let Some(tried) = tried {
            tried.put_back(self.parts);
        }
        let work_is_due = self.parts.is_work_due(&store, self.now);
        drop(keeper);
        let committed = match committed {
            Err(ReviewError::Changed) => return Ok(ReviewedEvent::changed()),
            other => other.map_err(ReviewError::into_fault),
        };
        let held = committed.as_ref().ok().and_then(|committed| self.hold_action(committed));
        let Self {
            parts, payload, event, now, home, pause, durability, untrusted, reviewer, ..
        } = self;
        parts.put_back(reviewer, store);
        let CommittedEvent { mut reply, stop, .. } = committed?;
        if let Some(stop) = stop.filter(|_| !event.session.starts_with(CANARY_SESSION)) {
            // The stop is in the journal. If its file cannot be written, the session's next event
            // retries.
            let _written = stopped::save_stop(&home, &stop, known_stop.as_ref());
        }
        match (&event.kind, pause) {
            (EventKind::Prompt(_), Some(pause)) => reply.person.push(pause.notice()),
            (EventKind::ConfigChange { file: Some(file), .. }, None)
                if matches!(reply.ruling, Disposition::Refuse(_)) =>
            {
                // Managed hooks are not in that file, and only its user could write it.
                let own = payload.filter(|payload| payload.caller.across.is_none());
                let restored = own.and_then(|payload| {
                    restored_hooks::restore_hooks(
                        payload.caller,
                        &home,
                        Path::new(file),
                        event,
                        now,
                        durability,
                    )
                });
                reply.person.extend(restored);
            }
            (EventKind::SessionStart { .. }, _) => reply.person.extend(untrusted),
            _ => {}
        }
        let answered = EventReply { reply, work_is_due };
        Ok(ReviewedEvent { answered, held, has_changed: false })
    }

    /// Returns the action, if its client does not ask the person whom it waits for.
    fn hold_action(&self, committed: &CommittedEvent) -> Option<HeldAction> {
        let asks = self.payload.is_some_and(|payload| payload.caller.agent.asks_person());
        let is_canary = self.event.session.starts_with(CANARY_SESSION);
        let waits = matches!(committed.reply.ruling, Disposition::Ask(_)) && !asks && !is_canary;
        let record = committed.review.clone().filter(|_| waits)?;
        let mask = |text: &str| self.reviewer.mask_text(text);
        // The service of a boundary opens no path that a user names.
        let is_across = self.payload.is_some_and(|payload| payload.caller.across.is_some());
        let disk: Option<&dyn Fn(&str) -> String> = (!is_across).then_some(&mask);
        let changes = record.action.as_ref().map(|action| list_changes(action, disk));
        Some(HeldAction {
            changes: changes.unwrap_or_default(),
            record,
            config: self.reviewer.config().clone(),
            state: self.places.state.clone(),
            person: self.places.person.clone(),
            project: project_name(&self.reviewer, self.event),
        })
    }

    /// Returns the weaknesses of the protection at a session start, one sentence each.
    fn find_weaknesses(&mut self, store: &Store) -> Result<Vec<String>, Fault> {
        let Some(Payload { caller: HookCaller { agent, .. }, .. }) =
            self.payload.filter(|_| matches!(self.event.kind, EventKind::SessionStart { .. }))
        else {
            return Ok(Vec::new());
        };
        if self.payload.is_some_and(|payload| payload.caller.across.is_some()) {
            // The installation is root's, and `doctor` checks it.
            return Ok(Vec::new());
        }
        let journal = health::Journal::read_journal(store).map_err(|error| store_fault(&error))?;
        Ok(health::find_weaknesses(
            *agent,
            self.places,
            &self.home,
            &mut self.reviewer,
            Path::new(&self.event.cwd),
            &journal,
            self.now,
        ))
    }

    /// Returns calls in the client's transcript that were not reviewed, when a turn or a session
    /// ends or begins. Calls from before the installation do not count.
    fn find_missed_calls(&self, store: &Store) -> Vec<MissedCall> {
        let looks = matches!(
            self.event.kind,
            EventKind::Stop
                | EventKind::SubagentStop
                | EventKind::SessionEnd { .. }
                | EventKind::SessionStart { .. }
        );
        let Some(Payload { caller, bytes }) = self.payload.filter(|_| looks) else {
            return Vec::new();
        };
        let since = installed_at(&self.home);
        let shown = match caller.view() {
            None => caller.agent.shown_calls(bytes, since),
            Some(view) => view.shown_calls(since),
        };
        let ids: Vec<&str> = shown.iter().map(|call| call.id.as_str()).collect();
        let Ok(reviewed) = store.reviewed_calls(&self.event.session, &ids) else {
            return Vec::new();
        };
        let missed = shown.into_iter().filter(|call| !reviewed.contains(&call.id));
        missed.map(|call| call.into_missed(self.event.agent.clone())).collect()
    }
}

/// Returns the plugins to load while the store is being opened; `None` for events that plugins
/// rarely review.
fn preload(event: &Event, home: &str) -> Option<Preload> {
    let shell = |call| facts::needs_shell_reader(call, &event.client, PROFILES, &event.cwd, home);
    match &event.kind {
        EventKind::BeforeTool(call) => Some(Preload { ended: false, shell: shell(call) }),
        EventKind::AfterTool(call, _) => Some(Preload { ended: true, shell: shell(call) }),
        EventKind::SessionStart { .. } => Some(Preload { ended: false, shell: true }),
        _ => None,
    }
}

/// One event, as [`commit_review`] takes it.
struct Input<'a> {
    payload: Option<Payload<'a>>,
    event: &'a Event,
    now: u64,
    begun: Instant,
    /// The person's home folder.
    person: &'a str,
    missed: &'a [MissedCall],
    weaknesses: &'a [String],
    /// The stop of this session that is recorded in a file outside the journal.
    known_stop: Option<&'a StopFile>,
    /// A person's permission for this action.
    approved: Option<&'a ApprovedAction>,
}

/// The result of a commit.
struct CommittedEvent {
    reply: Reply,
    stop: Option<StopFile>,
    /// The record of the review, if a person has to decide.
    review: Option<Box<Record>>,
}

/// Reviews on a snapshot of the store, and commits the records together with all follow-up work.
fn commit_review(
    reviewer: &mut Reviewer,
    mut tried: Option<&mut TriedOrders>,
    store: &mut Store,
    keeper: &CheckpointWriter<'_>,
    input: &Input<'_>,
) -> Result<CommittedEvent, ReviewError> {
    let event = input.event;
    // Entered at the end of the review below, and left after the commit.
    let mut committing = None;
    let committed =
        store.review_in_session(&event.session, event.agent.as_deref(), |snapshot, steps| {
            committing = None;
            let tried = tried.as_deref_mut();
            let mut reviewed = review_snapshot(reviewer, tried, keeper, input, snapshot, steps)?;
            let view = input.payload.and_then(|payload| payload.caller.view());
            if let Some(problem) = view.and_then(UserView::problem) {
                return Err(ReviewError::View(problem));
            }
            let approval = take_approval(input.approved, &mut reviewed)?;
            let reviewing = input.begun.elapsed().saturating_sub(keeper.spent());
            keeper.record_changes(&mut reviewed, &|text| reviewer.mask_text(text));
            if let Some(record) =
                reviewed.records.first_mut().filter(|record| record.kind == RecordKind::Review)
            {
                let microseconds = u64::try_from(reviewing.as_micros()).unwrap_or(u64::MAX);
                record.details.insert(REVIEW_US.into(), microseconds.into());
                if let Some(reason) =
                    input.payload.and_then(|payload| payload.caller.fallback_reason())
                {
                    record.details.insert(WITHOUT_SERVICE.into(), reason.into());
                }
                if let Some(across) =
                    input.payload.and_then(|payload| payload.caller.across.as_ref())
                {
                    record.details.insert(FACTS_OF_USER.into(), across.user.into());
                }
            }
            if let Some(record) = reviewed.records.first() {
                spans::note_record(record);
            }
            let learned = breakers::learn_outcomes(
                &snapshot.breakers,
                reviewer.plugins.file_outcomes(),
                event,
                input.now,
                &reviewer.config().breaker,
            );
            let (session_state, agent_state) = reviewed.state.encode()?;
            let stop = StopFile::from_state(&event.session, &reviewed.state.session, input.now);
            let records = || reviewed.records.iter().chain(&learned.records);
            let recent_blocks = || {
                let since = input.now.saturating_sub(notifications::WINDOW);
                let blocks = steps.count_recent(
                    Verdict::Block.as_str(),
                    since,
                    notifications::AT_ONCE as u64,
                );
                blocks.ok().and_then(|blocks| usize::try_from(blocks).ok()).unwrap_or(0)
            };
            let project = || project_name(reviewer, event);
            let messages = notifications::message_tasks(
                reviewer.config(),
                input.person,
                records(),
                project,
                recent_blocks,
                input.now,
            );
            let kept = incidents::incident_tasks(&reviewed.records, input.now)
                .chain(quarantine::quarantine_tasks(&reviewed.records, input.now));
            let commit = Commit {
                session_state: Some(session_state),
                agent_state: Some(agent_state),
                work: kept.chain(messages).collect(),
                records: records().map(to_store).collect(),
                spend: reviewed.spent,
                approval,
                breakers: learned.changes,
            };
            let asks = matches!(reviewed.reply.ruling, Disposition::Ask(_));
            let review = reviewed.records.into_iter().next().filter(|_| asks).map(Box::new);
            let value = CommittedEvent { reply: reviewed.reply, stop, review };
            committing = Some(spans::enter("commit"));
            Ok::<_, ReviewError>(PendingCommit { commit, value })
        });
    drop(committing);
    Ok(committed?.value)
}

/// Takes a person's permission out of the exceptions that a review relied on, and returns its id if
/// the action runs.
fn take_approval(
    approved: Option<&ApprovedAction>,
    reviewed: &mut pipeline::ReviewOutcome,
) -> Result<Option<String>, ReviewError> {
    let Some(approved) = approved else { return Ok(None) };
    let id = &approved.exception.id;
    // The store keeps this one among its approvals, and knows no exception of that id.
    reviewed.spent.retain(|spent| spent != id);
    let runs = matches!(reviewed.reply.ruling, Disposition::None | Disposition::Rewrite(_));
    if runs && approved.has_changed(&reviewed.records) {
        return Err(ReviewError::Changed);
    }
    Ok(runs.then(|| id.clone()))
}

/// Reviews the event against a snapshot's state. The store may call this up to three times per
/// event.
fn review_snapshot(
    reviewer: &mut Reviewer,
    tried: Option<&mut TriedOrders>,
    keeper: &CheckpointWriter<'_>,
    input: &Input<'_>,
    snapshot: &SessionSnapshot,
    steps: &SessionHistory<'_>,
) -> Result<pipeline::ReviewOutcome, StateError> {
    let mut state = State::decode_state(snapshot.session.as_deref(), snapshot.agent.as_deref())?;
    stopped::apply_stop(&mut state, input.known_stop);
    // An exception in another version's layout is skipped: exceptions can only loosen a verdict.
    let others = snapshot.exceptions.iter();
    let others = others.filter_map(|grant| serde_json::from_str(&grant.document).ok());
    // An answer to this very action counts before what it allows later.
    let approved = input.approved.map(|approved| approved.exception.clone());
    let exceptions: Vec<Exception> = approved.into_iter().chain(others).collect();
    let held = breakers::engine_holds(&snapshot.breakers, input.now);
    let measured = measure_agent(input, &state);
    let around = ReviewContext {
        exceptions: &exceptions,
        held: &held,
        missed: input.missed,
        unwhole: input.weaknesses,
        measured: Some(&measured),
        view: input.payload.and_then(|payload| payload.caller.view()),
        undo: Some(keeper),
        ..ReviewContext::default()
    };
    let past = reviewer.past_steps();
    let read = |step: u64| steps.step_records(step).ok();
    let details = |step: u64| match &past {
        Some(past) => past.find_step(steps.step_hashes(step).ok()?, || read(step)),
        None => step_detail::parse_records(&read(step)?),
    };
    let before = tried.is_some().then(|| state.clone());
    let mut reviewed = reviewer.review_event(input.event, state, input.now, &around, &details);
    if let (Some(tried), Some(before)) = (tried, before) {
        let moment = (input.event, before, input.now);
        tried.compare(&mut reviewed, moment, &around, &details, input.begun);
    }
    Ok(reviewed)
}

/// Returns the project's name for people: the last part of its folder, masked.
fn project_name(reviewer: &Reviewer, event: &Event) -> String {
    let name = Path::new(&event.cwd)
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    reviewer.mask_text(&name)
}

/// A failed review on a snapshot.
#[derive(Debug, thiserror::Error)]
enum ReviewError {
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the action is not the one that a person allowed")]
    Changed,
    #[error("the hook did not say what its user's files are like: {0}")]
    View(String),
}

impl ReviewError {
    fn into_fault(self) -> Fault {
        let kind = match self {
            Self::View(_) => FaultKind::BadInput,
            Self::State(_) | Self::Store(_) | Self::Changed => FaultKind::Store,
        };
        Fault::from_host(kind, self.to_string())
    }
}
