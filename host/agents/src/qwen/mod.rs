//! Qwen Code: its hook format, its settings files, its transcript, and our registration in them.
//! Measured with 0.24.4.
//!
//! A hook that dies, is missing, silent or late lets the action run, and nothing in a handler
//! closes that. Another hook's `allow` wins over a plain refusal, so ours says `continue: false`
//! too. The client takes no other input from a hook: a rewrite is a refusal that names the other
//! form. Calls that reached no hook before a tool are in the event after their batch.

mod answer;
mod hooks;
mod profile;
mod recording;
mod tokens;
mod wire;

pub(crate) use profile::PROFILE;

use crate::find::find_program;
use crate::folder_trust::FolderTrust;
use crate::hook_form::HookForm;
use crate::hook_reply::HookReply;
use crate::hook_settings::HookSettings;
use crate::recorded::{KeptSessions, RecordingState, SessionFiles, TimedEvent};
use crate::settings::SettingsLayout;
use crate::transcript::path_in;
use crate::version::Version;
use crate::{Agent, HookOutput, TokenReader, WireError};
use anyhow::Result;
use hooks::HOOKS;
use portcullis_core::client::ClientProfile;
use portcullis_core::event::{Event, Reply};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The first version whose answers were measured.
const OLDEST: Version = Version(0, 24, 4);

/// Qwen Code.
#[derive(Clone, Copy, Debug)]
pub struct Qwen;

impl Agent for Qwen {
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

    fn command_event(&self, session: &str, folder: &Path, command: &str) -> Value {
        wire::command_event(session, folder, command)
    }

    fn hook_environment(&self, project: &Path, session: &str) -> Vec<(&'static str, OsString)> {
        vec![("QWEN_PROJECT_DIR", project.into()), ("QWEN_CODE_SESSION_ID", session.into())]
    }

    fn token_reader(&self) -> Option<TokenReader> {
        Some(|input, _agent, cursor| tokens::read_tokens(&path_in(input)?, cursor).ok())
    }

    fn kept_sessions(&self) -> KeptSessions {
        KeptSessions::Files(SessionFiles {
            ending: ".jsonl",
            within: "",
            session_part: 2,
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
        find_program(PROFILE.name, &[".local/bin/qwen", ".npm-global/bin/qwen"], home)
    }

    fn oldest_version(&self) -> Version {
        OLDEST
    }

    fn hook_settings(&self) -> &'static dyn HookSettings {
        &Qwen
    }

    fn resume_command(&self, session: &str) -> String {
        format!("qwen --resume {session}")
    }
}

impl HookSettings for Qwen {
    fn layout(&self) -> &'static SettingsLayout {
        &hooks::LAYOUT
    }

    fn hooks(&self) -> &'static dyn HookForm {
        &HOOKS
    }

    fn timeout(&self, handler: &Value) -> f64 {
        hooks::timeout(handler)
    }

    fn on_switch(&self, settings: &Value) -> Option<&'static str> {
        let key = "disableAllHooks";
        (settings.get(key) == Some(&Value::Bool(false))).then_some(key)
    }

    fn folder_trust(&self) -> Option<&'static FolderTrust> {
        Some(&hooks::FOLDER_TRUST)
    }

    fn reaches_machine(&self) -> bool {
        true
    }
}
