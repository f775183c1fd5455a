//! `portcullis hook AGENT`: one event in on standard input, one answer out.
//!
//! Whatever goes wrong, the client gets a valid answer under the fault policy, and a record is written
//! where one can be. The answer leaves only when its record is durable, with one write.

use super::metrics;
use crate::breakers;
use crate::checkpoints::Keeper;
use crate::client::claude::handlers::Invocation;
use crate::client::claude::put_back;
use crate::completeness;
use crate::config::Config;
use crate::health;
use crate::incidents;
use crate::notifications;
use crate::past;
use crate::pause;
use crate::places::{Pins, Places};
use crate::quarantine;
use crate::runtime::{Circumstances, Reviewer, to_store};
use crate::workshop::Processes;
use anyhow::Result;
use portcullis_core::event::{Event, EventKind, Reply, Ruling};
use portcullis_core::exceptions::Exception;
use portcullis_core::facts;
use portcullis_core::fault::{Fault, FaultKind, OnFault};
use portcullis_core::pipeline::{self, MissedCall};
use portcullis_core::policy::Mode;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::score::Verdict;
use portcullis_core::session::State;
use portcullis_core::text::one_line;
use portcullis_core::wire::{Answer, WireError, claude};
use portcullis_engine::Ahead;
use portcullis_store::{Commit, Draft, Durability, Home, Store, StoreError};
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The agents whose hooks we answer.
pub const AGENTS: &[&str] = &["claude"];

/// Runs the hook; returns the process's exit code.
pub fn run() -> u8 {
    outlive_file_limits();
    let input = read_input();
    let (answer, waits) = catch_unwind(AssertUnwindSafe(|| answer(&input))).unwrap_or_else(|_| {
        let event = claude::parse(&input).map(|event| event.name).unwrap_or_default();
        let fault = Fault::host(FaultKind::Internal, "a defect of portcullis, please report it");
        (claude::render(&event, &pipeline::fault_reply(&fault)), false)
    });
    let exit = deliver(&answer);
    if waits {
        super::maintain::start_detached();
    }
    exit
}

/// Past a limit on the size of files a write fails and is answered as a full disk is: with what to do. The
/// signal that comes with it would end the hook without a word.
fn outlive_file_limits() {
    // Where the system does not take it, the client still refuses what a signal ended.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// At most one byte more than is accepted, so that too much is noticed.
fn read_input() -> Vec<u8> {
    let mut input = Vec::with_capacity(4096);
    let most = claude::MAX_INPUT as u64 + 1;
    // What cannot be read is judged as what was read so far: an unreadable event is refused.
    let _ = std::io::stdin().lock().take(most).read_to_end(&mut input);
    input
}

fn deliver(answer: &Answer) -> u8 {
    let mut stdout = std::io::stdout().lock();
    if stdout.write_all(&answer.stdout).and_then(|()| stdout.flush()).is_err() {
        // A client that does not read its answer must not take silence for consent.
        return 2;
    }
    if !answer.stderr.is_empty() {
        let _ = std::io::stderr().lock().write_all(&answer.stderr);
    }
    answer.exit
}

/// The answer, and whether work waits for `maintain`.
fn answer(input: &[u8]) -> (Answer, bool) {
    let (now, begun) = (now(), Instant::now());
    let event = match claude::parse(input) {
        Ok(event) => event,
        Err(error) => return (unreadable(&error, now), false),
    };
    if pipeline::is_neutral(&event) {
        return (claude::render(&event.name, &Reply::default()), false);
    }
    match review(&event, input, now, begun) {
        Ok((reply, waits)) => (claude::render(&event.name, &reply), waits),
        Err(fault) => {
            record_fault(&fault, Some(&event.name), Some(&event.session), now);
            (claude::render(&event.name, &for_event(&event, &fault)), false)
        }
    }
}

/// Only a call that waits for us can be refused; elsewhere a fault is told and nothing more, so that it
/// does not cost the person their prompt.
fn for_event(event: &Event, fault: &Fault) -> Reply {
    match event.kind {
        EventKind::BeforeTool(_) | EventKind::ConfigChange { .. } => pipeline::fault_reply(fault),
        _ => pipeline::fault_reply(&Fault { policy: OnFault::Warn, ..fault.clone() }),
    }
}

fn review(event: &Event, input: &[u8], now: u64, begun: Instant) -> Result<(Reply, bool), Fault> {
    let places = Places::for_event(&event.cwd).map_err(configuration)?;
    review_in(&places, event, input, now, begun).map_err(|fault| {
        // Who only observes does not refuse for a fault of ours either.
        if observes(&places, now) { Fault { policy: OnFault::Warn, ..fault } } else { fault }
    })
}

/// Whether the configuration or a person's pause says to observe, where either can still be told.
fn observes(places: &Places, now: u64) -> bool {
    Config::load(places, None).is_ok_and(|config| matches!(config.policy.mode, Mode::Observe | Mode::Off))
        || Home::open(&places.state).is_ok_and(|home| matches!(pause::current(&home, now), Ok(Some(_))))
}

/// Reviews and commits. Also says whether work waits for `maintain`.
fn review_in(places: &Places, event: &Event, input: &[u8], now: u64, begun: Instant) -> Result<(Reply, bool), Fault> {
    // The home first: where both are one folder, what is wrong with it is the better message.
    let home = Home::open(&places.state).map_err(|error| store_fault(&error))?;
    let mut config = Config::load(places, Some(&home)).map_err(configuration)?;
    // A file that no person's command wrote pauses nothing; `doctor` and the start of a session name it.
    let pause = pause::current(&home, now).ok().flatten();
    if pause.is_some() && config.policy.mode != Mode::Off {
        config.policy.mode = Mode::Observe;
    }
    let durability = config.durability;
    let untrusted = config.notice();
    let mut reviewer = Reviewer::of_hook(places, &home, config, now).map_err(configuration)?;
    reviewer.plugins.compile_in(Arc::new(Processes::of_hook()));
    let ahead = match &event.kind {
        EventKind::BeforeTool(call) => Some(Ahead { ended: false, shell: facts::is_shell(&call.tool) }),
        EventKind::AfterTool(call, _) => Some(Ahead { ended: true, shell: facts::is_shell(&call.tool) }),
        EventKind::SessionStart { .. } => Some(Ahead { ended: false, shell: true }),
        _ => None,
    };
    if let Some(ahead) = ahead {
        reviewer.plugins.load_ahead(ahead);
    }
    let mut store = Store::open(&home, durability).map_err(|error| store_fault(&error))?;
    let mut unwhole = Vec::new();
    if matches!(event.kind, EventKind::SessionStart { .. }) {
        let journal = health::Journal::read(&store).map_err(|error| store_fault(&error))?;
        unwhole = health::unwhole(places, &home, &mut reviewer, Path::new(&event.cwd), &journal, now);
    }
    let agent = event.agent.as_deref();
    let keeper = Keeper::new(reviewer.config().checkpoints, &home, &places.person, event, now);
    keeper.settle();
    let missed = missed(event, input, &home, &store);
    let committed = store.review(&event.session, agent, |snapshot, steps| {
        let state = State::decode(snapshot.session.as_deref(), snapshot.agent.as_deref())?;
        // An exception of another version's layout is none: it can only loosen.
        let exceptions: Vec<Exception> = snapshot.grants.iter().filter_map(|grant| serde_json::from_str(&grant.document).ok()).collect();
        let held = breakers::holds(&snapshot.breakers, now);
        let around = Circumstances {
            exceptions: &exceptions,
            held: &held,
            missed: &missed,
            unwhole: &unwhole,
            undo: Some(&keeper),
            ..Circumstances::default()
        };
        let details = |step: u64| past::detail(&steps.documents(step).ok()?);
        let mut reviewed = reviewer.review(event, state, now, &around, &details);
        let reviewing = begun.elapsed().saturating_sub(keeper.spent());
        keeper.tell(&mut reviewed, &|text| reviewer.masked(text));
        if let Some(record) = reviewed.records.first_mut().filter(|record| record.kind == RecordKind::Review) {
            // Beside what a replay gives again: how long the agent waited for it, up to the commit.
            record.details.insert(metrics::REVIEW_US.into(), u64::try_from(reviewing.as_micros()).unwrap_or(u64::MAX).into());
        }
        let blocks = || {
            let since = now.saturating_sub(notifications::WINDOW);
            let blocks = steps.recently(Verdict::Block.as_str(), since, notifications::AT_ONCE as u64);
            blocks.ok().and_then(|blocks| usize::try_from(blocks).ok()).unwrap_or(0)
        };
        let learned = breakers::learn(&snapshot.breakers, reviewer.plugins.asked(), event, now, &reviewer.config().breaker);
        let (session_state, agent_state) = reviewed.state.encode()?;
        let told = reviewed.records.iter().chain(&learned.records);
        let messages = notifications::work(reviewer.config(), &places.person, told.clone(), || project(&reviewer, event), blocks, now);
        let kept = incidents::work(&reviewed.records, now).chain(quarantine::work(&reviewed.records, now));
        let work = kept.chain(messages).collect();
        let records = told.map(to_store).collect();
        let (session_state, agent_state) = (Some(session_state), Some(agent_state));
        let commit = Commit { session_state, agent_state, records, spend: reviewed.spent, work, breakers: learned.changes };
        Ok::<_, ReviewError>(Draft { commit, value: reviewed.reply })
    });
    let waits = store.checkpoint_due() || store.work_due(now).unwrap_or(false);
    // The process ends now: unmapping and closing one by one would only delay the answer.
    std::mem::forget(reviewer);
    std::mem::forget(store);
    let committed = committed.map_err(ReviewError::into_fault)?;
    let mut reply = committed.value;
    match (&event.kind, pause) {
        (EventKind::Prompt(_), Some(pause)) => reply.person.push(pause.notice()),
        (EventKind::ConfigChange { file: Some(file), .. }, None) if matches!(reply.ruling, Ruling::Refuse(_)) => {
            reply.person.extend(put_back(&home, Path::new(file), event, now, durability));
        }
        _ => {}
    }
    if matches!(event.kind, EventKind::SessionStart { .. }) {
        reply.person.extend(untrusted);
    }
    Ok((reply, waits))
}

/// What people call the project: the last part of its folder, masked.
fn project(reviewer: &Reviewer, event: &Event) -> String {
    let name = Path::new(&event.cwd).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    reviewer.masked(&name)
}

/// The calls that the client's transcript shows and that nobody reviewed, where a turn or a session ends
/// or begins. Those from before the installation are nobody's to review.
fn missed(event: &Event, input: &[u8], home: &Home, store: &Store) -> Vec<MissedCall> {
    let looks =
        matches!(event.kind, EventKind::Stop | EventKind::SubagentStop | EventKind::SessionEnd { .. } | EventKind::SessionStart { .. });
    let told = if looks { completeness::Told::of(input) } else { return Vec::new() };
    let Some(Ok(shown)) = told.path().map(|path| completeness::calls(path, installed_at(home))) else { return Vec::new() };
    let ids: Vec<&str> = shown.iter().map(|call| call.id.as_str()).collect();
    let Ok(reviewed) = store.reviewed_calls(&event.session, &ids) else { return Vec::new() };
    let missed = shown.into_iter().filter(|call| !reviewed.contains(&call.id));
    missed.map(|call| call.missed(event.agent.clone())).collect()
}

/// When the home's key was made, in milliseconds since 1970.
fn installed_at(home: &Home) -> u64 {
    let made = std::fs::metadata(home.path().join("key")).and_then(|found| found.modified());
    let since = made.ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| u64::try_from(since.as_millis()).ok()).unwrap_or(0)
}

/// A change that is held now counts in the next session: what would switch us off there is undone.
fn put_back(home: &Home, file: &Path, event: &Event, now: u64, durability: Durability) -> Option<String> {
    let program = std::env::current_exe().ok()?;
    let done = put_back::put_back(home, file, &Invocation { program, pinned: Pins::folders() });
    let (shown, end) = (one_line(&file.display().to_string(), 240), "to be rid of Portcullis, run `portcullis uninstall claude`");
    let said = match done {
        Ok(None) => return None,
        Ok(Some(what)) => format!("Portcullis put its hooks back into `{shown}`, since {what}; {end}."),
        Err(error) => {
            format!(
                "The next session may run without Portcullis: {}. Mend it and run `portcullis install claude`.",
                one_line(&format!("{error:#}"), 512)
            )
        }
    };
    let mut record = Record::apart(RecordKind::Configuration, "put-back", &said, now, &event.session);
    record.session.clone_from(&event.session);
    // The person is told in any case.
    let _written = Store::open(home, durability).and_then(|mut store| store.append(vec![to_store(&record)]));
    Some(said)
}

/// Why a review on a snapshot came to nothing.
#[derive(Debug, thiserror::Error)]
enum ReviewError {
    #[error(transparent)]
    State(#[from] portcullis_core::session::StateError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ReviewError {
    fn into_fault(self) -> Fault {
        Fault::host(FaultKind::Store, self.to_string())
    }
}

fn configuration(error: anyhow::Error) -> Fault {
    Fault::host(FaultKind::Configuration, format!("{error:#}"))
}

fn store_fault(error: &StoreError) -> Fault {
    Fault::host(FaultKind::Store, error.to_string())
}

/// What cannot be read could have been a call: it is refused. A record says so, where one can be written.
fn unreadable(error: &WireError, now: u64) -> Answer {
    let fault = Fault::host(FaultKind::BadInput, error.problem.clone());
    record_fault(&fault, error.event.as_deref(), error.session.as_deref(), now);
    claude::render(error.event.as_deref().unwrap_or_default(), &pipeline::fault_reply(&fault))
}

/// Best effort: where the journal itself is the fault, nothing can be written.
fn record_fault(fault: &Fault, event: Option<&str>, session: Option<&str>, now: u64) {
    let written = || -> Result<()> {
        let places = Places::from_environment()?;
        let home = Home::open(&places.state)?;
        let durability = Config::load(&places, Some(&home)).map(|config| config.durability).unwrap_or_default();
        let seed = format!("{}\0{:?}", std::process::id(), SystemTime::now());
        let record = pipeline::fault_record(fault, event, session, now, &seed);
        Store::open(&home, durability)?.append(vec![to_store(&record)])?;
        Ok(())
    };
    // The answer carries the fault in any case.
    let _ = written();
}

/// Milliseconds since 1970; a clock before that counts as 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
