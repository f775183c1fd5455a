//! Gemini CLI: its hook format, its settings files, its transcript, and our registration in them.
//! Measured with 0.61.0.
//!
//! A hook that dies without a word, is silent or late lets the action run, and nothing in a handler
//! closes that; a missing program is a refusal. The client names no call: an outcome joins the
//! review of the same action.

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
use crate::json::JsonDocument;
use crate::recorded::{KeptSessions, RecordingState, SessionFiles, TimedEvent};
use crate::settings::SettingsLayout;
use crate::settings_problem::SettingsProblem;
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
const OLDEST: Version = Version(0, 61, 0);

/// Gemini CLI.
#[derive(Clone, Copy, Debug)]
pub struct Gemini;

impl Agent for Gemini {
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
        vec![
            ("GEMINI_PROJECT_DIR", project.into()),
            ("GEMINI_CWD", project.into()),
            ("GEMINI_SESSION_ID", session.into()),
        ]
    }

    fn token_reader(&self) -> Option<TokenReader> {
        Some(|input, _agent, cursor| tokens::read_tokens(&path_in(input)?, cursor).ok())
    }

    fn kept_sessions(&self) -> KeptSessions {
        KeptSessions::Files(SessionFiles {
            ending: ".jsonl",
            within: "chats",
            session_part: 2,
            is_document: false,
        })
    }

    fn recorded_folder(&self, recording: &Path) -> Option<String> {
        recording::find_folder(recording)
    }

    fn read_transcript_line(
        &self,
        line: &Map<String, Value>,
        state: &mut RecordingState,
    ) -> Vec<TimedEvent> {
        recording::read_line(line, state)
    }

    fn find_program(&self, home: &Path) -> Option<PathBuf> {
        find_program(PROFILE.name, &[".local/bin/gemini", ".npm-global/bin/gemini"], home)
    }

    fn oldest_version(&self) -> Version {
        OLDEST
    }

    fn hook_settings(&self) -> &'static dyn HookSettings {
        &Gemini
    }

    fn resume_command(&self, session: &str) -> String {
        format!("gemini --resume {session}")
    }
}

impl HookSettings for Gemini {
    fn layout(&self) -> &'static SettingsLayout {
        &hooks::LAYOUT
    }

    fn hooks(&self) -> &'static dyn HookForm {
        &HOOKS
    }

    fn gate_event(&self) -> &'static str {
        "BeforeTool"
    }

    fn find_problems(&self, document: &JsonDocument) -> Vec<SettingsProblem> {
        let problems = HOOKS.find_problems(document).into_iter();
        problems.filter(|problem| !hooks::is_switch(&problem.pointer)).collect()
    }

    fn timeout(&self, handler: &Value) -> f64 {
        hooks::timeout(handler)
    }

    fn off_switch(&self, settings: &Value) -> Option<&'static str> {
        hooks::off_switch(settings)
    }

    fn on_switch(&self, settings: &Value) -> Option<&'static str> {
        hooks::on_switch(settings)
    }

    fn folder_trust(&self) -> Option<&'static FolderTrust> {
        Some(&hooks::FOLDER_TRUST)
    }

    fn reaches_machine(&self) -> bool {
        true
    }
}
