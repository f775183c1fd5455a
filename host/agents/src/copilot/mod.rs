//! Copilot CLI: its hook format, its files of hooks, and our registration in them.
//! Measured with 1.0.102.
//!
//! A hook that dies or is missing refuses the action; one that is silent or late lets it run, and
//! nothing in a handler closes that. The client names neither event nor call in a hook's input: its
//! parts tell the event, and an outcome joins the review of the same action.

mod answer;
mod hooks;
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
use anyhow::Result;
use hooks::HOOKS;
use portcullis_core::client::ClientProfile;
use portcullis_core::event::{Event, Reply};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The first version that refuses after a question which nobody can answer.
const OLDEST: Version = Version(1, 0, 97);

/// Copilot CLI.
#[derive(Clone, Copy, Debug)]
pub struct Copilot;

impl Agent for Copilot {
    fn profile(&self) -> &'static ClientProfile {
        &PROFILE
    }

    fn parse(&self, input: &[u8]) -> Result<Event, WireError> {
        wire::parse_event(input)
    }

    fn render(&self, event: &str, reply: &Reply) -> HookOutput {
        wire::render_reply(event, reply)
    }

    fn interpret_answer(&self, code: Option<i32>, stdout: &str, stderr: &str) -> HookReply {
        answer::interpret_answer(code, stdout, stderr)
    }

    fn asks_person(&self) -> bool {
        true
    }

    fn command_event(&self, session: &str, folder: &Path, command: &str) -> Value {
        wire::command_event(session, folder, command)
    }

    fn hook_environment(&self, project: &Path, _session: &str) -> Vec<(&'static str, OsString)> {
        vec![("COPILOT_CLI", "1".into()), ("COPILOT_PROJECT_DIR", project.into())]
    }

    fn kept_sessions(&self) -> KeptSessions {
        KeptSessions::Files(SessionFiles {
            ending: "events.jsonl",
            within: "",
            session_part: 0,
            is_document: false,
        })
    }

    fn read_transcript_line(
        &self,
        line: &Map<String, Value>,
        state: &mut RecordingState,
    ) -> Vec<TimedEvent> {
        recording::read_line(line, state)
    }

    fn find_program(&self, home: &Path) -> Option<PathBuf> {
        find_program(PROFILE.name, &[".local/bin/copilot", ".npm-global/bin/copilot"], home)
    }

    fn parse_version(&self, text: &str) -> Option<Version> {
        text.strip_prefix("GitHub Copilot CLI ")?.parse().ok()
    }

    fn oldest_version(&self) -> Version {
        OLDEST
    }

    fn oldest_version_reason(&self) -> &'static str {
        "it can run an action after a question that nobody can answer"
    }

    fn hook_settings(&self) -> &'static dyn HookSettings {
        &Copilot
    }

    fn resume_command(&self, session: &str) -> String {
        format!("copilot --resume={session}")
    }
}

impl HookSettings for Copilot {
    fn layout(&self) -> &'static SettingsLayout {
        &hooks::LAYOUT
    }

    fn hooks(&self) -> &'static dyn HookForm {
        &HOOKS
    }

    fn gate_event(&self) -> &'static str {
        "preToolUse"
    }

    fn timeout(&self, handler: &Value) -> f64 {
        hooks::timeout(handler)
    }
}
