//! Events from a client's own recordings, and the files in which it keeps them.

use crate::environment::HookEnvironment;
use portcullis_core::event::{Call, CallResult, Event, EventKind};
use portcullis_fs::{Links, read_file};
use serde_json::{Map, Value};
use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

/// The most ended calls that are remembered, so that a line which repeats one adds nothing.
const MOST_ENDED: usize = 1000;

/// An event with its time.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedEvent {
    /// The event.
    pub event: Event,
    /// Its time in milliseconds since 1970, if the recording has it.
    pub at: Option<u64>,
}

/// The form in which a client keeps its sessions, and the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptSessions {
    /// Files below the client's folder of transcripts.
    Files(SessionFiles),
    /// A database, which is not read.
    Database {
        /// Its file, below the folder of the person's data (`~/.local/share`).
        file: &'static str,
        /// The command that writes a session as one JSON document, which is read.
        export: &'static str,
    },
}

/// Files of sessions below one folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionFiles {
    /// The end of their names.
    pub ending: &'static str,
    /// A folder that their paths contain; empty if any does.
    pub within: &'static str,
    /// The position of the part of their path that names the session, below the folder and from 0;
    /// in a shorter path the last part does.
    pub session_part: usize,
    /// True if a file is one JSON document, not one JSON object a line.
    pub is_document: bool,
}

impl KeptSessions {
    /// Returns the path of the database, if it is one.
    #[must_use]
    pub fn database(&self, home: &Path) -> Option<PathBuf> {
        let Self::Database { file, .. } = self else { return None };
        let data = HookEnvironment::of_process().folder("XDG_DATA_HOME");
        Some(data.unwrap_or_else(|| home.join(".local/share")).join(file))
    }
}

/// The state of a reader of a recording: what earlier parts of it said.
#[derive(Clone, Debug, Default)]
pub struct RecordingState {
    /// The session's id; empty until a line names it.
    pub session: String,
    /// The subagent that acts in the whole recording, if it is one's.
    pub agent: Option<String>,
    /// The folder in which the session runs, absolute; empty until it is known.
    pub cwd: String,
    /// The time of the newest event.
    latest: u64,
    /// Calls that were announced and have not ended, by id: tool and parameters.
    open: HashMap<String, (String, Map<String, Value>)>,
    ended: VecDeque<String>,
}

impl RecordingState {
    /// Creates the state before the first part of a recording of a session in `folder`, which is
    /// empty if it is not known.
    #[must_use]
    pub fn in_folder(folder: String) -> Self {
        Self { cwd: folder, ..Self::default() }
    }

    /// Returns tool and parameters of a call that was announced and has not ended.
    #[must_use]
    pub fn find_call(&self, id: &str) -> Option<(String, Map<String, Value>)> {
        self.open.get(id).cloned()
    }

    /// Notes the beginning or the end of the call of an event.
    pub fn note_event(&mut self, kind: &EventKind) {
        match kind {
            EventKind::BeforeTool(Call { id: Some(id), tool, input }) => {
                self.open.insert(id.clone(), (tool.clone(), input.clone()));
            }
            EventKind::AfterTool(Call { id: Some(id), .. }, _) => {
                self.open.remove(id);
                if self.ended.len() == MOST_ENDED {
                    self.ended.pop_front();
                }
                self.ended.push_back(id.clone());
            }
            _ => {}
        }
    }

    /// Returns true if a call was announced, whether it has ended or not.
    pub(crate) fn has_begun(&self, id: &str) -> bool {
        self.open.contains_key(id) || self.has_ended(id)
    }

    /// Returns true if a call has ended.
    pub(crate) fn has_ended(&self, id: &str) -> bool {
        self.ended.iter().any(|ended| ended == id)
    }

    /// Builds an event of this recording. Its time is at least that of the event before it.
    pub(crate) fn event(
        &mut self,
        client: &str,
        name: &str,
        at: Option<u64>,
        kind: EventKind,
    ) -> TimedEvent {
        self.latest = self.latest.max(at.unwrap_or_default());
        let event = Event {
            client: client.to_owned(),
            session: self.session.clone(),
            agent: self.agent.clone(),
            cwd: self.cwd.clone(),
            permission_mode: None,
            name: name.to_owned(),
            kind,
        };
        TimedEvent { event, at: at.map(|_| self.latest) }
    }

    /// Builds the event after a call; none if the call was not announced.
    pub(crate) fn end_event(
        &mut self,
        client: &str,
        name: &str,
        at: Option<u64>,
        id: &str,
        result: impl FnOnce(&Call) -> CallResult,
    ) -> Option<TimedEvent> {
        let (tool, input) = self.find_call(id)?;
        let call = Call { id: Some(id.to_owned()), tool, input };
        let result = result(&call);
        Some(self.event(client, name, at, EventKind::AfterTool(call, result)))
    }
}

/// Reads a file beside a recording; none if it is missing, a link, no file, or larger than 1 MiB.
pub(crate) fn read_beside(path: &Path) -> Option<Vec<u8>> {
    read_file(path, 1 << 20, Links::Refuse).ok().flatten()
}

/// Reads a time such as `2026-11-26T16:06:44.550Z`, in milliseconds since 1970.
pub(crate) fn parse_time(text: &str) -> Option<u64> {
    let time = text.parse::<jiff::Timestamp>().ok()?;
    u64::try_from(time.as_millisecond()).ok()
}
