//! Cursor and its CLI: the hook format, the files of hooks, and our registration in them.
//!
//! Nothing here is measured: the client needs an account. The module follows the vendor's published
//! types (hooks of version 1) and reports of people who measured them with 3.9 and 2026.09. Where
//! they leave a doubt, the stricter reading counts.

mod answer;
mod hooks;
mod profile;
mod wire;

pub(crate) use profile::PROFILE;

use crate::find::find_program;
use crate::hook_form::HookForm;
use crate::hook_reply::HookReply;
use crate::hook_settings::HookSettings;
use crate::recorded::{KeptSessions, SessionFiles};
use crate::settings::SettingsLayout;
use crate::version::Version;
use crate::{Agent, HookOutput, WireError};
use hooks::HOOKS;
use portcullis_core::client::ClientProfile;
use portcullis_core::event::{Event, Reply};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The first version of the CLI that calls a hook before every tool.
const OLDEST: Version = Version(2026, 5, 20);

/// Cursor.
#[derive(Clone, Copy, Debug)]
pub struct Cursor;

impl Agent for Cursor {
    fn profile(&self) -> &'static ClientProfile {
        &PROFILE
    }

    fn is_untested(&self) -> bool {
        true
    }

    fn needs_deadline(&self) -> bool {
        // Its handler closes a timeout, by the vendor's word. Our own deadline needs none.
        true
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

    fn hook_environment(&self, project: &Path, _session: &str) -> Vec<(&'static str, OsString)> {
        vec![("CURSOR_PROJECT_DIR", project.into())]
    }

    fn kept_sessions(&self) -> KeptSessions {
        KeptSessions::Files(SessionFiles {
            ending: ".jsonl",
            within: "agent-transcripts",
            session_part: 2,
            is_document: false,
        })
    }

    fn find_program(&self, home: &Path) -> Option<PathBuf> {
        let [program, ..] = PROFILE.programs else { return None };
        find_program(program, &[".local/bin/cursor-agent"], home)
    }

    fn oldest_version(&self) -> Version {
        OLDEST
    }

    fn oldest_version_reason(&self) -> &'static str {
        "it calls hooks for some tools only"
    }

    fn hook_settings(&self) -> &'static dyn HookSettings {
        &Cursor
    }

    fn resume_command(&self, session: &str) -> String {
        format!("cursor-agent --resume={session}")
    }
}

impl HookSettings for Cursor {
    fn layout(&self) -> &'static SettingsLayout {
        &hooks::LAYOUT
    }

    fn hooks(&self) -> &'static dyn HookForm {
        &HOOKS
    }

    fn gate_event(&self) -> &'static str {
        wire::GATE
    }

    fn timeout(&self, handler: &Value) -> f64 {
        hooks::timeout(handler)
    }

    fn refuses_on_failure(&self, handler: &Value) -> bool {
        handler.get("failClosed") == Some(&Value::Bool(true))
    }

    fn off_switch(&self, _settings: &Value) -> Option<&'static str> {
        None
    }
}
