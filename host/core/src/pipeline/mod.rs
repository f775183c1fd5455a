//! The whole way of one event: state in, reply, records and new state out.
//!
//! This module only connects the stages. What it needs from outside comes through [`Ports`]: plugins,
//! a look at the workspace, past steps. Called twice with the same input it answers the same bytes.

mod after;
mod before;
mod judge;
mod missed;
mod respond;
mod session_events;
mod shadow;
mod undo;

use crate::action::Timestamp;
use crate::event::{Event, EventKind, Reply, Ruling};
use crate::exceptions::Exception;
use crate::facts::Place;
use crate::fault::{Fault, OnFault};
use crate::finding::PastIntervention;
use crate::mask::Masker;
use crate::observe::Observer;
use crate::plugins::{Details, Plugins};
use crate::policy::{Mode, Policy};
use crate::record::{Record, RecordKind, RecordedPlugin};
use crate::session::State;
use crate::text::{cut, lines, one_line};
use crate::undo::Undo;
use glob::Pattern;

pub use missed::{MOST_MISSED, MissedCall, missed_calls};

/// What the pipeline needs from outside.
pub struct Ports<'a> {
    /// The sandboxed plugins.
    pub plugins: &'a mut dyn Plugins,
    /// Looks at the workspace.
    pub observe: &'a mut Observer<'a>,
    /// Gives past steps in full.
    pub details: &'a Details<'a>,
    /// Keeps files before an action.
    pub undo: &'a dyn Undo,
}

/// What stays the same over many events.
pub struct Settings<'a> {
    /// The operator's policy.
    pub policy: &'a Policy,
    /// Masks secrets.
    pub masker: &'a Masker,
    /// The person's home folder, absolute.
    pub home: &'a str,
    /// What a person allowed: those exceptions that are neither spent nor taken back.
    pub exceptions: &'a [Exception],
    /// What of the protection is not whole, a sentence each; told when a session starts.
    pub unwhole: &'a [String],
}

/// What came of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Reviewed {
    /// For the client. It may leave only when the records are durable.
    pub reply: Reply,
    /// For the journal, in order.
    pub records: Vec<Record>,
    /// The session from now on.
    pub state: State,
    /// Ids of the exceptions that this event used up; spending them belongs to the same commit.
    pub spent: Vec<String>,
}

/// One event on its way.
struct Run<'a, 'p> {
    event: &'a Event,
    settings: &'a Settings<'a>,
    ports: &'a mut Ports<'p>,
    state: State,
    now: Timestamp,
    place: Place,
    records: Vec<Record>,
    reply: Reply,
    spent: Vec<String>,
    /// Earlier interventions whose effectiveness is known since this event.
    judged: Vec<PastIntervention>,
}

/// Reviews one event.
pub fn run<'p>(event: &Event, state: State, now: Timestamp, settings: &Settings<'_>, ports: &mut Ports<'p>) -> Reviewed {
    let mut state = state;
    state.session.touch(now, &event.cwd, &settings.policy.limits);
    state.take_position();
    let place = place(event, &state, settings);
    let (records, spent, judged) = (Vec::new(), Vec::new(), Vec::new());
    let mut run = Run { event, settings, ports, state, now, place, records, reply: Reply::default(), spent, judged };
    run.tell_terms();
    match &event.kind {
        EventKind::BeforeTool(call) => run.before(call),
        EventKind::AfterTool(call, result) => run.after(call, result),
        EventKind::AfterBatch(calls) => run.after_batch(calls),
        EventKind::Prompt(text) => run.prompt(text),
        EventKind::ConfigChange { source, file } => run.config_change(source, file.as_deref()),
        EventKind::SessionEnd { reason } => run.session_end(reason),
        EventKind::SessionStart { source } => run.session_start(source),
        EventKind::SubagentStart { agent_type } => run.session_event(agent_type),
        EventKind::Stop | EventKind::SubagentStop => run.session_event(""),
        EventKind::Other => {}
    }
    run.reviewed()
}

/// The most bytes of one text in a reply.
const MOST_REPLY: usize = 8 * 1024;

/// A reply that cannot drive a terminal or hide words from a person, whoever wrote the texts in it.
fn harmless(mut reply: Reply) -> Reply {
    let safe = |text: &mut String| *text = lines(text, MOST_REPLY);
    reply.agent.iter_mut().chain(&mut reply.person).for_each(safe);
    match &mut reply.ruling {
        Ruling::Ask(reason) | Ruling::Refuse(reason) | Ruling::Stop(reason) => safe(reason),
        Ruling::None | Ruling::Rewrite(_) => {}
    }
    reply
}

/// Whether an event needs no session, no journal and no plugins at all.
#[must_use]
pub const fn is_neutral(event: &Event) -> bool {
    matches!(event.kind, EventKind::Other)
}

fn place(event: &Event, state: &State, settings: &Settings<'_>) -> Place {
    let mut roots = state.session.roots.clone();
    roots.extend(settings.policy.scope.folders.iter().cloned());
    let cwd = if event.cwd.starts_with('/') { event.cwd.clone() } else { roots.first().cloned().unwrap_or_else(|| "/".into()) };
    let paths = globs(&settings.policy.scope.paths, &state.session.roots, settings.home);
    Place { cwd, home: settings.home.to_owned(), roots, paths, scratch: settings.policy.scope.scratch.clone() }
}

/// The globs of the expected scope; a relative one for each of the project's folders.
fn globs(paths: &[String], project: &[String], home: &str) -> Vec<Pattern> {
    let below = |folder: &str, rest: &str| format!("{}/{rest}", Pattern::escape(folder.trim_end_matches('/')));
    let whole = |path: &String| match path.strip_prefix("~/") {
        Some(rest) => vec![below(home, rest)],
        None if path.starts_with('/') => vec![path.clone()],
        None => project.iter().map(|folder| below(folder, path)).collect(),
    };
    // What is no glob was refused when the configuration was read.
    paths.iter().flat_map(whole).filter_map(|glob| Pattern::new(&glob).ok()).collect()
}

impl Run<'_, '_> {
    fn reviewed(mut self) -> Reviewed {
        self.state.leave_position();
        let detail = self.settings.policy.detail;
        let mut records = self.records;
        if let Some(first) = records.first_mut() {
            first.judged.extend(self.judged);
        }
        records.iter_mut().for_each(|record| record.reduce(detail));
        Reviewed { reply: harmless(self.reply), records, state: self.state, spent: self.spent }
    }

    /// What a person decided about a stop is told to the agent with the first event whose answer reaches it.
    fn tell_terms(&mut self) {
        let reached = matches!(
            self.event.kind,
            EventKind::SessionStart { .. } | EventKind::Prompt(_) | EventKind::BeforeTool(_) | EventKind::AfterTool(..)
        );
        if reached && !self.observing() {
            self.reply.agent.extend(self.state.session.take_note());
        }
    }

    /// An id that follows from the session and the event's position in it.
    fn id(&self, kind: RecordKind, part: usize) -> String {
        let seed = format!("{}\0{}\0{}\0{kind}\0{part}", self.event.client, self.event.session, self.state.session.events);
        blake3::hash(seed.as_bytes()).to_hex().as_str().get(..16).unwrap_or_default().to_owned()
    }

    fn record(&self, kind: RecordKind, subject: &str, summary: String) -> Record {
        Record {
            version: 1,
            id: self.id(kind, self.records.len()),
            at: self.now,
            kind,
            client: self.event.client.clone(),
            session: self.event.session.clone(),
            agent: self.event.agent.clone(),
            event: self.event.name.clone(),
            step: None,
            call: None,
            subject: one_line(subject, 256),
            summary,
            mode: self.settings.policy.mode,
            action: None,
            decision: None,
            findings: None,
            detections: Vec::new(),
            outcome: None,
            intervention: None,
            judged: Vec::new(),
            faults: Vec::new(),
            plugins: Vec::new(),
            shadow: Vec::new(),
            checkpoint: None,
            quarantined: Vec::new(),
            masked: Vec::new(),
            details: serde_json::Map::new(),
        }
    }

    const fn observing(&self) -> bool {
        matches!(self.settings.policy.mode, Mode::Observe | Mode::Off)
    }

    const fn off(&self) -> bool {
        matches!(self.settings.policy.mode, Mode::Off)
    }
}

/// The answer when no review could be made at all: the fault's policy, and a clear word to both.
#[must_use]
pub fn fault_reply(fault: &Fault) -> Reply {
    let text = format!("Portcullis could not review this: {}", fault.detail);
    let ruling = match fault.policy {
        OnFault::Warn => Ruling::None,
        OnFault::Ask => Ruling::Ask(text.clone()),
        OnFault::Block => Ruling::Refuse(text.clone()),
    };
    let agent = if ruling == Ruling::None { vec![text.clone()] } else { Vec::new() };
    harmless(Reply { ruling, agent, person: vec![text], result: None })
}

/// A record of a fault outside any review. `seed` makes its id unique; the other fields are what could
/// still be told of the event.
#[must_use]
pub fn fault_record(fault: &Fault, event: Option<&str>, session: Option<&str>, now: Timestamp, seed: &str) -> Record {
    let event = event.unwrap_or("unknown");
    Record {
        client: "claude".into(),
        session: session.unwrap_or_default().into(),
        faults: vec![fault.clone()],
        ..Record::apart(RecordKind::Fault, event, &fault.to_string(), now, seed)
    }
}

/// Takes down who was asked and what it cost.
fn taken_down<T>(answers: &[crate::plugins::Answer<T>]) -> Vec<RecordedPlugin> {
    answers
        .iter()
        .map(|answer| RecordedPlugin {
            name: answer.plugin.name.clone(),
            version: answer.plugin.version.clone(),
            digest: cut(&answer.plugin.digest, 16).trim_end_matches('…').to_owned(),
            fuel: answer.fuel,
            log: answer.log.clone(),
            uses: answer.uses.clone(),
        })
        .collect()
}
