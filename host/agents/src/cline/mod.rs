//! Cline CLI: its hook format, the files that it starts, and ours among them. Measured with 3.0.65.
//!
//! A hook is a file named after its event. One that dies, is missing or silent lets the action run,
//! so each of our files is a shell script that answers in our program's place then. A refusal ends
//! the run, and nobody is told why. One call can have several actions, which are judged together.

mod answer;
mod hooks;
mod parameters;
mod profile;
mod recording;
mod wire;

pub(crate) use profile::PROFILE;

use crate::find::find_program;
use crate::hook_form::HookForm;
use crate::hook_reply::HookReply;
use crate::hook_settings::HookSettings;
use crate::recorded::{KeptSessions, RecordingState, SessionFiles, TimedEvent};
use crate::settings::SettingsLayout;
use crate::version::Version;
use crate::{Agent, HookOutput, WireError};
use portcullis_core::client::ClientProfile;
use portcullis_core::event::{Event, Reply};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// The first version whose answers were measured.
const OLDEST: Version = Version(3, 0, 65);

/// Cline CLI.
#[derive(Clone, Copy, Debug)]
pub struct Cline;

impl Agent for Cline {
    fn profile(&self) -> &'static ClientProfile {
        &PROFILE
    }

    fn parse(&self, input: &[u8]) -> Result<Event, WireError> {
        wire::parse_event(input)
    }

    fn render(&self, event: &str, reply: &Reply) -> HookOutput {
        wire::render_reply(event, reply)
    }

    fn interpret_answer(&self, code: Option<i32>, stdout: &str, _stderr: &str) -> HookReply {
        answer::interpret_answer(code, stdout)
    }

    fn command_event(&self, session: &str, folder: &Path, command: &str) -> Value {
        wire::command_event(session, folder, command)
    }

    fn kept_sessions(&self) -> KeptSessions {
        KeptSessions::Files(SessionFiles {
            ending: ".messages.json",
            within: "",
            session_part: 0,
            is_document: true,
        })
    }

    fn recorded_folder(&self, recording: &Path) -> Option<String> {
        recording::find_folder(recording)
    }

    fn read_session_document(
        &self,
        document: &Map<String, Value>,
        state: &mut RecordingState,
    ) -> Vec<TimedEvent> {
        recording::read_document(document, state)
    }

    fn find_program(&self, home: &Path) -> Option<PathBuf> {
        find_program(PROFILE.name, &[".local/bin/cline", ".npm-global/bin/cline"], home)
    }

    fn oldest_version(&self) -> Version {
        OLDEST
    }

    fn hook_settings(&self) -> &'static dyn HookSettings {
        &Cline
    }

    fn resume_command(&self, session: &str) -> String {
        format!("cline --id {session}")
    }
}

impl HookSettings for Cline {
    fn layout(&self) -> &'static SettingsLayout {
        &hooks::LAYOUT
    }

    fn has_managed_file(&self) -> bool {
        // The client has no folder of the machine.
        false
    }

    fn hooks(&self) -> &'static dyn HookForm {
        &hooks::FILES
    }

    fn gate_event(&self) -> &'static str {
        hooks::GATE
    }

    fn off_switch(&self, _settings: &Value) -> Option<&'static str> {
        // A hook has none.
        None
    }
}
