//! Claude Code: its hook format, its settings files and their validation, its transcript, and our
//! registration in it.

mod answer;
mod call_end;
mod command_line;
mod handlers;
#[cfg(test)]
mod handlers_tests;
mod listing;
mod profile;
mod restore_hooks;
mod run_hooks;
mod settings;
mod shapes;
mod tools;
mod transcript;
mod transcript_line;
mod transcript_tokens;
mod validate;
pub mod wire;

pub(crate) use profile::PROFILE;

use crate::find::find_program;
use crate::hook_form::HookForm;
use crate::hook_reply::HookReply;
use crate::hook_settings::HookSettings;
use crate::json::JsonDocument;
use crate::listing::HookListing;
use crate::recorded::{KeptSessions, RecordingState, SessionFiles, TimedEvent};
use crate::request::AgentRequest;
use crate::settings::SettingsLayout;
use crate::settings_problem::SettingsProblem;
use crate::transcript::{path_in, session_path_in};
use crate::version::Version;
use crate::{Agent, HookOutput, Invocation, ShownCall, Supervision, TokenReader, WireError};
use anyhow::Result;
use handlers::HOOKS;
use portcullis_core::client::ClientProfile;
use portcullis_core::event::{CallEnd, Event, Reply};
use portcullis_store::Home;
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The first version in which a handler can set `onFailure`. Older clients silently ignore the key,
/// and the tool runs whenever the hook dies.
const OLDEST: Version = Version(2, 1, 295);

/// The paths used by the client's own installers, below the home folder.
const USUAL: &[&str] = &[".local/bin/claude", ".claude/local/claude"];

/// Claude Code.
#[derive(Clone, Copy, Debug)]
pub struct Claude;

impl Agent for Claude {
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

    fn hook_environment(&self, project: &Path, session: &str) -> Vec<(&'static str, OsString)> {
        vec![
            ("CLAUDECODE", "1".into()),
            ("CLAUDE_PROJECT_DIR", project.into()),
            ("CLAUDE_CODE_SESSION_ID", session.into()),
        ]
    }

    fn shown_calls(&self, input: &[u8], since: u64) -> Vec<ShownCall> {
        let path = path_in(input);
        path.and_then(|path| transcript::calls(&path, since).ok()).unwrap_or_default()
    }

    fn token_reader(&self) -> Option<TokenReader> {
        Some(|input, agent, cursor| {
            let transcript = session_path_in(input)?;
            let transcript = transcript_tokens::find_transcript(&transcript, agent)?;
            transcript_tokens::read_tokens(&transcript, agent.is_some(), cursor).ok()
        })
    }

    fn process_variable(&self) -> Option<&'static str> {
        Some("CLAUDE_PID")
    }

    fn kept_sessions(&self) -> KeptSessions {
        KeptSessions::Files(SessionFiles {
            ending: ".jsonl",
            within: "",
            session_part: 1,
            is_document: false,
        })
    }

    fn read_transcript_line(
        &self,
        line: &Map<String, Value>,
        state: &mut RecordingState,
    ) -> Vec<TimedEvent> {
        transcript_line::read_line(line, state)
    }

    fn asks_person(&self) -> bool {
        true
    }

    fn call_end(&self, tool: &str, result: &str) -> CallEnd {
        call_end::call_end(tool, result)
    }

    fn find_program(&self, home: &Path) -> Option<PathBuf> {
        find_program(PROFILE.name, USUAL, home)
    }

    fn oldest_version(&self) -> Version {
        OLDEST
    }

    fn oldest_version_reason(&self) -> &'static str {
        "it runs a tool whenever a hook fails, since it does not know `onFailure`"
    }

    fn query_listing(&self, program: &Path, folder: &Path) -> Result<Option<Box<dyn HookListing>>> {
        Ok(Some(Box::new(listing::query_listing(program, folder)?)))
    }

    fn hook_settings(&self) -> &'static dyn HookSettings {
        &Claude
    }

    fn restore_hooks(
        &self,
        home: &Home,
        file: &Path,
        invocation: &Invocation,
    ) -> Result<Option<String>> {
        restore_hooks::restore_hooks(home, file, invocation)
    }

    fn resume_command(&self, session: &str) -> String {
        format!("claude --resume {session}")
    }

    fn supervision(&self) -> Option<&'static dyn Supervision> {
        Some(&Self)
    }
}

impl Supervision for Claude {
    fn read_command(&self, words: &[String]) -> Result<AgentRequest> {
        command_line::read_command(words)
    }

    fn run_settings(&self, asked: &AgentRequest, wanted: &Invocation) -> Result<String> {
        run_hooks::with_hooks(command_line::own_settings(asked)?, wanted)
    }

    fn check_loaded_hooks(&self, listing: &Value, wanted: &Invocation) -> Result<Option<String>> {
        run_hooks::check_loaded(listing, wanted)
    }
}

impl HookSettings for Claude {
    fn layout(&self) -> &'static SettingsLayout {
        &settings::LAYOUT
    }

    fn most_bytes(&self) -> u64 {
        validate::MOST_BYTES
    }

    fn hooks(&self) -> &'static dyn HookForm {
        &HOOKS
    }

    fn find_problems(&self, document: &JsonDocument) -> Vec<SettingsProblem> {
        validate::problems(document)
    }

    fn transcript_switch(&self) -> Option<&'static str> {
        Some("CLAUDE_CODE_SKIP_PROMPT_HISTORY")
    }
}
