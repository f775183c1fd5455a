//! The complete processing of one event: state in, reply, records and new state out.
//!
//! This module only connects the stages. Everything that it needs from outside comes through
//! [`Ports`]: plugins, a look at the workspace, past steps. Called twice with the same input, it
//! returns the same bytes.

mod after;
mod before;
mod judge;
mod limited;
mod missed;
mod requested;
mod respond;
mod scripts;
mod session_events;
mod shadow;
mod undo;

use crate::action::Timestamp;
use crate::event::{Disposition, Event, EventKind, Reply};
use crate::exceptions::Exception;
use crate::facts::CallLocation;
use crate::fault::{Fault, OnFault};
use crate::finding::PastIntervention;
use crate::mask::Masker;
use crate::observe::Observer;
use crate::plugins::{Details, Plugins};
use crate::policy::{Mode, Policy};
use crate::record::{Record, RecordKind, RecordedPlugin};
use crate::session::{Measured, State};
use crate::text::{cut_text, list_lines, one_line};
use crate::undo::Undo;
use glob::Pattern;

pub use limited::{LIMITS as LIMITS_KEY, MEASURED as MEASURED_KEY};
pub use missed::{MOST_MISSED, MissedCall, missed_calls};

/// The pipeline's outside dependencies.
pub struct Ports<'a> {
    /// The sandboxed plugins.
    pub plugins: &'a mut dyn Plugins,
    /// Looks at the workspace.
    pub observe: &'a mut Observer<'a>,
    /// Returns past steps in full.
    pub details: &'a Details<'a>,
    /// Saves files before an action.
    pub undo: &'a dyn Undo,
}

/// The settings that stay the same over many events.
pub struct Settings<'a> {
    /// The operator's policy.
    pub policy: &'a Policy,
    /// Masks secrets.
    pub masker: &'a Masker,
    /// The person's home folder, absolute.
    pub home: &'a str,
    /// The exceptions that a person granted and that are neither used up nor revoked.
    pub exceptions: &'a [Exception],
    /// The gaps in the protection, one sentence each; reported when a session starts.
    pub unwhole: &'a [String],
    /// The agent's measurements for this event; `None` if there are none.
    pub measured: Option<&'a Measured>,
}

/// The result of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewOutcome {
    /// The client's reply. It may be sent only when the records are durable.
    pub reply: Reply,
    /// The journal's records, in order.
    pub records: Vec<Record>,
    /// The session's new state.
    pub state: State,
    /// Ids of the exceptions that this event used up; marking them as spent belongs to the same
    /// commit.
    pub spent: Vec<String>,
}

/// One event during processing.
struct Run<'a, 'p> {
    event: &'a Event,
    settings: &'a Settings<'a>,
    ports: &'a mut Ports<'p>,
    state: State,
    now: Timestamp,
    place: CallLocation,
    records: Vec<Record>,
    reply: Reply,
    spent: Vec<String>,
    /// Earlier interventions whose effectiveness became known with this event.
    judged: Vec<PastIntervention>,
    /// The time of the event before this one.
    before_this: Timestamp,
}

/// Reviews one event.
pub fn run_pipeline<'p>(
    event: &Event,
    state: State,
    now: Timestamp,
    settings: &Settings<'_>,
    ports: &mut Ports<'p>,
) -> ReviewOutcome {
    let mut state = state;
    // This comes before `touch_at`, which sets it to the time of this event.
    let before = state.session.last_event();
    state.session.touch_at(now, &event.cwd, &settings.policy.limits);
    if let Some(measured) = settings.measured {
        state.session.add_measured(&mut state.agent, measured);
    }
    state.take_position();
    let nothing_yet =
        ReviewOutcome { reply: Reply::default(), records: Vec::new(), state, spent: Vec::new() };
    let mut run = Run::resume(event, nothing_yet, now, settings, ports);
    run.before_this = before;
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
        EventKind::Stop => {
            run.session_event("");
            // The time until the next prompt is the person's: the time limit does not count it.
            run.state.session.clock.rest();
        }
        EventKind::SubagentStop => run.session_event(""),
        EventKind::Other => {}
    }
    run.reviewed()
}

/// The most bytes of one text in a reply.
const MOST_REPLY: usize = 8 * 1024;

/// Makes a reply unable to drive a terminal or hide words from a person, regardless of the origin
/// of its texts.
fn harmless(mut reply: Reply) -> Reply {
    let safe = |text: &mut String| *text = list_lines(text, MOST_REPLY);
    reply.agent.iter_mut().chain(&mut reply.person).for_each(safe);
    match &mut reply.ruling {
        Disposition::Ask(reason) | Disposition::Refuse(reason) | Disposition::Stop(reason) => {
            safe(reason)
        }
        // Escapes in a rewrite would change what runs.
        Disposition::None | Disposition::Rewrite(_) => {}
    }
    reply
}

/// Returns true if an event needs no session, no journal and no plugins at all.
#[must_use]
pub const fn needs_no_review(event: &Event) -> bool {
    matches!(event.kind, EventKind::Other)
}

fn place(event: &Event, state: &State, settings: &Settings<'_>) -> CallLocation {
    let mut roots = state.session.roots.clone();
    roots.extend(settings.policy.scope.folders.iter().cloned());
    let cwd = if event.cwd.starts_with('/') {
        event.cwd.clone()
    } else {
        roots.first().cloned().unwrap_or_else(|| "/".into())
    };
    let paths = globs(&settings.policy.scope.paths, &state.session.roots, settings.home);
    CallLocation {
        cwd,
        home: settings.home.to_owned(),
        roots,
        paths,
        scratch: settings.policy.scope.scratch.clone(),
        client: event.client.clone(),
        clients: settings.policy.clients,
    }
}

/// Returns the globs of the expected scope; a relative one is applied to each of the project's
/// folders.
fn globs(paths: &[String], project: &[String], home: &str) -> Vec<Pattern> {
    let below = |folder: &str, rest: &str| {
        format!("{}/{rest}", Pattern::escape(folder.trim_end_matches('/')))
    };
    let whole = |path: &String| match path.strip_prefix("~/") {
        Some(rest) => vec![below(home, rest)],
        None if path.starts_with('/') => vec![path.clone()],
        None => project.iter().map(|folder| below(folder, path)).collect(),
    };
    // Invalid globs were refused when the configuration was read.
    paths.iter().flat_map(whole).filter_map(|glob| Pattern::new(&glob).ok()).collect()
}

impl<'a, 'p> Run<'a, 'p> {
    /// Continues an event with its results so far.
    fn resume(
        event: &'a Event,
        so_far: ReviewOutcome,
        now: Timestamp,
        settings: &'a Settings<'a>,
        ports: &'a mut Ports<'p>,
    ) -> Self {
        let ReviewOutcome { reply, records, state, spent } = so_far;
        let place = place(event, &state, settings);
        Self {
            event,
            settings,
            ports,
            state,
            now,
            place,
            records,
            reply,
            spent,
            judged: Vec::new(),
            before_this: now,
        }
    }
}

impl Run<'_, '_> {
    fn reviewed(mut self) -> ReviewOutcome {
        self.state.leave_position();
        let detail = self.settings.policy.detail;
        self.record_limits();
        let mut records = self.records;
        if let Some(first) = records.first_mut() {
            first.judged.extend(self.judged);
        }
        records.iter_mut().for_each(|record| record.reduce_to(detail));
        ReviewOutcome { reply: harmless(self.reply), records, state: self.state, spent: self.spent }
    }

    /// Reports a person's decision about a stop to the agent, with the first event whose answer
    /// reaches it.
    fn tell_terms(&mut self) {
        let reached = matches!(
            self.event.kind,
            EventKind::SessionStart { .. }
                | EventKind::Prompt(_)
                | EventKind::BeforeTool(_)
                | EventKind::AfterTool(..)
        );
        if reached && !self.observing() {
            self.reply.agent.extend(self.state.session.take_note());
        }
    }

    /// Returns an id that follows from the session and the event's position in it.
    fn id(&self, kind: RecordKind, part: usize) -> String {
        let seed = format!(
            "{}\0{}\0{}\0{kind}\0{part}",
            self.event.client, self.event.session, self.state.session.events
        );
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

/// Returns the answer if no review could be made at all: the fault's policy, and a clear message to
/// agent and person.
#[must_use]
pub fn fault_reply(fault: &Fault) -> Reply {
    let text = format!("Portcullis could not review this: {}", fault.detail);
    let ruling = match fault.policy {
        OnFault::Warn => Disposition::None,
        OnFault::Ask => Disposition::Ask(text.clone()),
        OnFault::Block => Disposition::Refuse(text.clone()),
    };
    let agent = if ruling == Disposition::None { vec![text.clone()] } else { Vec::new() };
    harmless(Reply { ruling, agent, person: vec![text], result: None })
}

/// The hook call that a fault came from, as far as its input could be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct FaultOrigin<'a> {
    /// The client's name.
    pub client: &'a str,
    /// The event's name.
    pub event: Option<&'a str>,
    /// The session.
    pub session: Option<&'a str>,
}

/// Returns the record of a fault outside any review. `seed` makes its id unique.
#[must_use]
pub fn fault_record(fault: &Fault, origin: FaultOrigin<'_>, now: Timestamp, seed: &str) -> Record {
    let event = origin.event.unwrap_or("unknown");
    Record {
        client: origin.client.into(),
        session: origin.session.unwrap_or_default().into(),
        faults: vec![fault.clone()],
        ..Record::outside_session(RecordKind::Fault, event, &fault.to_string(), now, seed)
    }
}

/// Records the plugins that were asked, with the cost of each.
fn record_plugins<T>(answers: &[crate::plugins::PluginResponse<T>]) -> Vec<RecordedPlugin> {
    answers
        .iter()
        .map(|answer| RecordedPlugin {
            name: answer.plugin.name.clone(),
            version: answer.plugin.version.clone(),
            digest: cut_text(&answer.plugin.digest, 16).trim_end_matches('…').to_owned(),
            fuel: answer.fuel,
            log: answer.log.clone(),
            uses: answer.uses.clone(),
        })
        .collect()
}
