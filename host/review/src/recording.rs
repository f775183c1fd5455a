//! Recorded sessions: reads every format that `replay` understands into events.
//!
//! - hook payloads, one JSON object a line, as the client sends them; `at` (milliseconds) is optional;
//! - our own journal, as `audit export --exporter jsonl` writes it, with what the workspace looked like;
//! - the clients' own transcripts;
//! - trajectories: `{"id", "goal", "steps": [{"tool", "input", "result", "is_error"}]}` a line.
//!
//! A recording without times counts one second a step.

mod journal;
mod made_files;
pub mod past;
mod trajectory;

use anyhow::{Context, Result, bail};
use portcullis_core::event::{Call, Event, EventKind};
use portcullis_core::observe::Observations;
use portcullis_core::record::RecordedCheckpoint;
use portcullis_core::session::Measured;
use portcullis_core::text::one_line;
use serde_json::{Map, Value};
use std::collections::HashMap;
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
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the recording `{}`", path.display()))?;
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    parse_recordings(&text, &name).with_context(|| format!("in the recording `{}`", path.display()))
}

/// Reads sessions from text.
///
/// # Errors
/// Fails like `read`.
pub fn parse_recordings(text: &str, name: &str) -> Result<Vec<Recording>> {
    let mut collector = Collector::new(name);
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
    if collector.sessions.is_empty() {
        bail!("it contains no session");
    }
    for session in &mut collector.sessions {
        made_files::note_made_files(&mut session.items);
    }
    Ok(collector.sessions)
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
    /// Calls whose end has not been seen yet, by id: tool and parameters.
    open: HashMap<String, (String, Map<String, Value>)>,
}

impl Collector {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), clock: EPOCH, sessions: Vec::new(), open: HashMap::new() }
    }

    /// Returns tool and parameters of a call that was announced before and has not ended.
    fn call_of(&self, id: Option<&str>) -> Option<(String, Map<String, Value>)> {
        self.open.get(id?).cloned()
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
        if object.contains_key("sessionId") || object.contains_key("type") {
            self.transcript_line(&object);
            return Ok(());
        }
        bail!(
            "it is not a hook payload, journal record, transcript line or trajectory: it has none of `hook_event_name`, `document`, `type`, `steps`"
        )
    }

    fn transcript_line(&mut self, line: &Map<String, Value>) {
        let open = &mut self.open;
        let mut take = |id: &str| open.remove(id);
        let read =
            portcullis_agents::ALL.iter().map(|agent| agent.read_transcript_line(line, &mut take));
        let events = read.into_iter().find(|events| !events.is_empty()).unwrap_or_default();
        for event in events {
            self.push(event.event, event.at, None);
        }
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
        match &event.kind {
            EventKind::BeforeTool(Call { id: Some(id), tool, input }) => {
                self.open.insert(id.clone(), (tool.clone(), input.clone()));
            }
            EventKind::AfterTool(Call { id: Some(id), .. }, _) => drop(self.open.remove(id)),
            _ => {}
        }
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
