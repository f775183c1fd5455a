//! Codex CLI: its hook format, its settings files, its record of trusted hooks, its transcript, and
//! our registration in them. Measured with 0.169.0.
//!
//! Every failure of a hook lets the action run, and nothing in a handler closes that: a crash, a
//! missing program, a timeout, an answer with an unknown part. So an answer is exact, and the hook
//! answers before the client's timeout. A hook runs only after a person has trusted its definition.

mod answer;
mod hooks;
mod listing;
mod profile;
mod requirements;
mod rollout;
mod script_names;
mod trust;
mod wire;

pub(crate) use profile::PROFILE;

use crate::find::find_program;
use crate::folder_trust::FolderTrust;
use crate::hook_form::HookForm;
use crate::hook_reply::HookReply;
use crate::hook_settings::HookSettings;
use crate::listing::HookListing;
use crate::recorded::{KeptSessions, RecordingState, SessionFiles, TimedEvent};
use crate::settings::SettingsLayout;
use crate::transcript::path_in;
use crate::trust::HookTrust;
use crate::version::Version;
use crate::{Agent, HookOutput, ShownCall, TokenReader, WireError};
use anyhow::Result;
use portcullis_core::client::ClientProfile;
use portcullis_core::event::{Event, Reply};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// The first version whose answers were measured.
const OLDEST: Version = Version(0, 169, 0);

/// Codex CLI.
#[derive(Clone, Copy, Debug)]
pub struct Codex;

impl Agent for Codex {
    fn profile(&self) -> &'static ClientProfile {
        &PROFILE
    }

    fn parse(&self, input: &[u8]) -> Result<Event, WireError> {
        wire::parse_event(input)
    }

    fn complete(&self, event: &mut Event, input: &[u8]) {
        rollout::add_end(event, input);
    }

    fn render(&self, event: &str, reply: &Reply) -> HookOutput {
        wire::render_reply(event, reply)
    }

    fn interpret_answer(&self, code: Option<i32>, stdout: &str, stderr: &str) -> HookReply {
        answer::interpret_answer(code, stdout, stderr)
    }

    fn shown_calls(&self, input: &[u8], since: u64) -> Vec<ShownCall> {
        let path = path_in(input);
        path.and_then(|path| rollout::calls(&path, since).ok()).unwrap_or_default()
    }

    fn token_reader(&self) -> Option<TokenReader> {
        Some(|input, _agent, cursor| rollout::read_tokens(&path_in(input)?, cursor).ok())
    }

    fn kept_sessions(&self) -> KeptSessions {
        KeptSessions::Files(SessionFiles {
            ending: ".jsonl",
            within: "",
            session_part: usize::MAX,
            is_document: false,
        })
    }

    fn read_transcript_line(
        &self,
        line: &Map<String, Value>,
        state: &mut RecordingState,
    ) -> Vec<TimedEvent> {
        rollout::read_line(line, state)
    }

    fn find_program(&self, home: &Path) -> Option<PathBuf> {
        find_program(PROFILE.name, &[".local/bin/codex"], home)
    }

    fn parse_version(&self, text: &str) -> Option<Version> {
        text.strip_prefix("codex-cli ")?.parse().ok()
    }

    fn oldest_version(&self) -> Version {
        OLDEST
    }

    fn query_listing(&self, program: &Path, folder: &Path) -> Result<Option<Box<dyn HookListing>>> {
        Ok(Some(Box::new(listing::query_listing(program, folder)?)))
    }

    fn hook_settings(&self) -> &'static dyn HookSettings {
        &Codex
    }

    fn trust(&self) -> Option<&'static dyn HookTrust> {
        Some(&trust::ConfigTrust)
    }

    fn resume_command(&self, session: &str) -> String {
        format!("codex resume {session}")
    }
}

impl HookSettings for Codex {
    fn layout(&self) -> &'static SettingsLayout {
        &hooks::LAYOUT
    }

    fn hooks(&self) -> &'static dyn HookForm {
        &requirements::CodexHooks
    }

    fn off_switch(&self, settings: &Value) -> Option<&'static str> {
        requirements::off_switch(settings)
    }

    fn on_switch(&self, settings: &Value) -> Option<&'static str> {
        requirements::on_switch(settings)
    }

    fn folder_trust(&self) -> Option<&'static FolderTrust> {
        Some(&trust::FOLDER_TRUST)
    }

    fn reaches_machine(&self) -> bool {
        // `features.hooks` in a person's configuration does, unless the machine's pins it.
        true
    }
}
