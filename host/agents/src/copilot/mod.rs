//! Copilot CLI: its hook format, its files of hooks, and our registration in them.
//! Measured with 1.0.102.
//!
//! A hook that dies or is missing refuses the action; one that is silent or late lets it run, and
//! nothing in a handler closes that. The client names neither event nor call in a hook's input: its
//! parts tell the event, and an outcome joins the review of the same action.

mod answer;
mod hooks;
mod profile;
mod wire;

pub(crate) use profile::PROFILE;

use crate::find::find_program;
use crate::grouped_hooks::GroupedHooks;
use crate::hook_reply::HookReply;
use crate::hook_settings::HookSettings;
use crate::json::JsonDocument;
use crate::listing::HookListing;
use crate::payload::MAX_INPUT;
use crate::recorded::{OpenCalls, TimedEvent};
use crate::settings::SettingsLayout;
use crate::settings_problem::SettingsProblem;
use crate::version::Version;
use crate::{Agent, HookOutput, ShownCall, WireError};
use anyhow::Result;
use hooks::HOOKS;
use portcullis_core::client::ClientProfile;
use portcullis_core::event::{CallEnd, Event, Reply};
use portcullis_core::session::{TokenCursor, TokenReading};
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

    fn max_input(&self) -> usize {
        MAX_INPUT
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
        vec![("COPILOT_CLI", "1".into()), ("COPILOT_PROJECT_DIR", project.into())]
    }

    /// A hook's input names no call, so a call in the transcript cannot be told from a reviewed one.
    fn shown_calls(&self, _input: &[u8], _since: u64) -> Vec<ShownCall> {
        Vec::new()
    }

    fn read_tokens(
        &self,
        _input: &[u8],
        _agent: Option<&str>,
        _cursor: Option<&TokenCursor>,
    ) -> Option<TokenReading> {
        None
    }

    fn process_variable(&self) -> Option<&'static str> {
        None
    }

    fn read_transcript_line(
        &self,
        _line: &Map<String, Value>,
        _open: &mut OpenCalls<'_>,
    ) -> Vec<TimedEvent> {
        Vec::new()
    }

    fn call_end(&self, _tool: &str, _result: &str) -> CallEnd {
        CallEnd::Finished
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

    fn query_listing(
        &self,
        _program: &Path,
        _folder: &Path,
    ) -> Result<Option<Box<dyn HookListing>>> {
        Ok(None)
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

    fn most_bytes(&self) -> u64 {
        hooks::MOST_BYTES
    }

    fn hooks(&self) -> &'static GroupedHooks {
        &HOOKS
    }

    fn gate_event(&self) -> &'static str {
        "preToolUse"
    }

    fn find_problems(&self, document: &JsonDocument) -> Vec<SettingsProblem> {
        HOOKS.find_problems(document)
    }

    fn timeout(&self, handler: &Value) -> f64 {
        hooks::timeout(handler)
    }

    fn off_switch(&self, _settings: &Value) -> Option<&'static str> {
        // A file of hooks has none.
        None
    }
}
