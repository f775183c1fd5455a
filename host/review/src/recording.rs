//! Recorded sessions: reads every format that `replay` understands into events.
//!
//! - hook payloads, one JSON object a line, as the client sends them; `at` (milliseconds) is
//!   optional;
//! - our own journal, as `audit export --exporter jsonl` writes it, with what the workspace looked
//!   like;
//! - the clients' own transcripts, as JSON lines or one JSON document, and their exports;
//! - trajectories: `{"id", "goal", "steps": [{"tool", "input", "result", "is_error"}]}` a line.
//!
//! A recording without times counts one second a step.

mod journal;
mod made_files;
pub mod past;
mod trajectory;

use anyhow::{Context, Result, bail};
use portcullis_agents::Agent;
use portcullis_agents::recorded::{KeptSessions, RecordingState};
use portcullis_core::event::{Call, Event, EventKind};
use portcullis_core::observe::Observations;
use portcullis_core::record::RecordedCheckpoint;
use portcullis_core::session::Measured;
use portcullis_core::text::one_line;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::path::Path;

/// The time at which a recording without times begins: 2026-01-01.
pub const EPOCH: u64 = 1_767_225_600_000;

/// One event of a recording.
#[derive(Clone, Debug)]
pub struct RecordedEvent {
    /// The event.
    pub event: Event,
    /// The time, in milliseconds since 1970.
    pub at: u64,
    /// The state of the machine, if it was recorded.
    pub seen: Option<MachineContext>,
    /// The file that the call is about to make, absolute: its result says that it is new.
    pub makes: Option<String>,
}

/// The state of the machine, as a record holds it.
#[derive(Clone, Debug)]
pub struct MachineContext {
    /// The workspace.
    pub observed: Observations,
    /// The person's home folder; `None` in records that do not contain it.
    pub home: Option<String>,
    /// The checkpoint that was taken of files before the action, and how complete it is.
    pub kept: Option<RecordedCheckpoint>,
    /// The agent's measurements.
    pub measured: Option<Measured>,
}

/// One session of a recording.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Its name.
    pub name: String,
    /// The events, in order.
    pub items: Vec<RecordedEvent>,
}

/// Reads the sessions of a file.
///
/// # Errors
/// Fails if the file cannot be read, or if a line is of no known format; the message names the
/// line.
pub fn read_recordings(path: &Path) -> Result<Vec<Recording>> {
    let bytes = std::fs::read(path)
        .with_context(|| format!("cannot read the recording `{}`", path.display()))?;
    let read = || {
        if bytes.starts_with(DATABASE) {
            bail!("it is a database, which is not read: {}", describe_exports());
        }
        let text = std::str::from_utf8(&bytes).context("it is not text")?;
        collect_recordings(text, Collector::of_file(path))
    };
    read().with_context(|| format!("in the recording `{}`", path.display()))
}

/// The beginning of an SQLite database.
const DATABASE: &[u8] = b"SQLite format 3\0";

/// Returns the commands that write a session of the clients which keep theirs in a database.
fn describe_exports() -> String {
    let exports = portcullis_agents::ALL.iter().filter_map(|agent| match agent.kept_sessions() {
        KeptSessions::Database { export, .. } => {
            Some(format!("`{export}` writes a session of {}", agent.display_name()))
        }
        KeptSessions::Files(_) => None,
    });
    exports.collect::<Vec<_>>().join(", ")
}

/// Returns the forms of a recording, for a message.
fn describe_forms() -> String {
    let clients: Vec<&str> =
        portcullis_agents::ALL.iter().map(|agent| agent.display_name()).collect();
    format!(
        "known forms are hook payloads, an exported journal, trajectories, and sessions of {} (for \
         those in a database, {})",
        clients.join(", "),
        describe_exports()
    )
}

/// Reads sessions from text.
///
/// # Errors
/// Fails like `read_recordings`.
pub fn parse_recordings(text: &str, name: &str) -> Result<Vec<Recording>> {
    collect_recordings(text, Collector::new(name))
}

fn collect_recordings(text: &str, mut collector: Collector) -> Result<Vec<Recording>> {
    if let Some(document) = parse_document(text) {
        collector.line(document)?;
    } else {
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let object: Value = serde_json::from_str(line)
                .with_context(|| format!("line {} is not valid JSON", index + 1))?;
            let Value::Object(object) = object else {
                bail!("line {} is JSON but not an object", index + 1)
            };
            collector.line(object).with_context(|| format!("line {}", index + 1))?;
        }
    }
    if collector.sessions.is_empty() {
        bail!("it contains no session: {}", describe_forms());
    }
    for session in &mut collector.sessions {
        made_files::note_made_files(&mut session.items);
    }
    Ok(collector.sessions)
}

/// Returns text that is one JSON object on several lines.
fn parse_document(text: &str) -> Option<Map<String, Value>> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    let is_line = serde_json::from_str::<IgnoredAny>(first).is_ok();
    if is_line { None } else { serde_json::from_str(text).ok() }
}

/// Returns the session that records of our own journal describe.
///
/// # Errors
/// Fails if one of them cannot be read by this version, or if none describes anything that can be
/// reviewed again.
pub fn from_records(session: &str, documents: &[String]) -> Result<Vec<Recording>> {
    parse_recordings(&documents.join("\n"), session)
        .with_context(|| format!("in the session `{}` of the journal", one_line(session, 120)))
}

/// Sorts events into their sessions.
struct Collector {
    name: String,
    clock: u64,
    sessions: Vec<Recording>,
    state: RecordingState,
    /// True once a line was a client's own: its other lines need not be known.
    is_transcript: bool,
}

impl Collector {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            clock: EPOCH,
            sessions: Vec::new(),
            state: RecordingState::default(),
            is_transcript: false,
        }
    }

    /// Creates a collector for a file, which gives the session its name if nothing else does.
    fn of_file(path: &Path) -> Self {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let folder = portcullis_agents::ALL.iter().find_map(|agent| agent.recorded_folder(path));
        let state = RecordingState::in_folder(folder.unwrap_or_default());
        Self { state, ..Self::new(&stem.unwrap_or_default()) }
    }

    /// Returns tool and parameters of a call that was announced before and has not ended.
    fn call_of(&self, id: Option<&str>) -> Option<(String, Map<String, Value>)> {
        self.state.find_call(id?)
    }

    fn line(&mut self, object: Map<String, Value>) -> Result<()> {
        if object.contains_key("hook_event_name") {
            return self.payload(&object);
        }
        if object.contains_key("steps") {
            self.sessions.push(trajectory::read(&object)?);
            return Ok(());
        }
        if object.contains_key("document")
            || (object.contains_key("kind") && object.contains_key("client"))
        {
            return journal::read(&object, self);
        }
        let is_transcript = self.transcript_line(&object)
            || object.contains_key("sessionId")
            || object.contains_key("type");
        self.is_transcript |= is_transcript;
        if self.is_transcript {
            return Ok(());
        }
        bail!(
            "it is not a hook payload, journal record, transcript line or trajectory: it has none \
             of `hook_event_name`, `document`, `type`, `steps`"
        )
    }

    /// Reads a part of a client's recording; returns true if it had an event.
    fn transcript_line(&mut self, line: &Map<String, Value>) -> bool {
        let state = &mut self.state;
        let lines = |agent: &&dyn Agent| agent.read_transcript_line(line, state);
        let read = portcullis_agents::ALL.iter().map(lines).find(|events| !events.is_empty());
        let state = &mut self.state;
        let documents = |agent: &&dyn Agent| agent.read_session_document(line, state);
        let events = read.or_else(|| {
            portcullis_agents::ALL.iter().map(documents).find(|events| !events.is_empty())
        });
        let events = events.unwrap_or_default();
        let any = !events.is_empty();
        for event in events {
            self.push(event.event, event.at, None);
        }
        any
    }

    fn payload(&mut self, object: &Map<String, Value>) -> Result<()> {
        let mut object = object.clone();
        let at = object.remove("at").and_then(|at| at.as_u64());
        let bytes = serde_json::to_vec(&object)?;
        let event =
            portcullis_agents::parse_payload(&bytes).map_err(|error| anyhow::anyhow!(error))?;
        self.push(event, at, None);
        Ok(())
    }

    fn push(&mut self, event: Event, at: Option<u64>, seen: Option<MachineContext>) {
        self.clock = at.unwrap_or(self.clock + 1000);
        self.state.note_event(&event.kind);
        let item = RecordedEvent { at: self.clock, seen, event, makes: None };
        let session = item.event.session.clone();
        let name = if session.is_empty() { self.name.clone() } else { session };
        match self.sessions.iter_mut().find(|recording| recording.name == name) {
            Some(recording) => recording.items.push(item),
            None => self.sessions.push(Recording { name, items: vec![item] }),
        }
    }
}

/// Builds an event of a recording that is not a hook payload.
fn event(client: &str, session: &str, cwd: &str, name: &str, kind: EventKind) -> Event {
    Event {
        client: client.into(),
        session: session.into(),
        agent: None,
        cwd: cwd.into(),
        permission_mode: None,
        name: name.into(),
        kind,
    }
}

fn call(id: Option<String>, tool: &str, input: Map<String, Value>) -> Call {
    Call { id, tool: tool.into(), input }
}
