//! OpenCode and Kilo CLI, which have the same interface for plugins: our plugin, the events that it
//! passes on, and its place in their settings. Measured with OpenCode 1.18.33 and Kilo 7.7.9.
//!
//! A plugin runs in the client's own process: it refuses by an error, and changes parameters and
//! results in place. So every failure of a hook is a refusal; only a plugin that is not loaded lets
//! actions run.

mod answer;
mod hooks;
mod listing;
mod profile;
mod recording;
mod tokens;
mod wire;

pub(crate) use profile::{KILO as KILO_PROFILE, OPENCODE as OPENCODE_PROFILE};

use crate::find::find_program;
use crate::hook_form::HookForm;
use crate::hook_reply::HookReply;
use crate::hook_settings::HookSettings;
use crate::listing::HookListing;
use crate::payload;
use crate::recorded::{KeptSessions, RecordingState, TimedEvent};
use crate::settings::SettingsLayout;
use crate::version::Version;
use crate::{Agent, HookOutput, TokenReader, WireError};
use anyhow::Result;
use hooks::PLUGIN;
use portcullis_core::client::ClientProfile;
use portcullis_core::event::{Event, Reply};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// A client with this interface for plugins.
#[derive(Clone, Copy, Debug)]
pub struct OpenCode {
    profile: &'static ClientProfile,
    settings: &'static PluginSettings,
    /// The paths used by its installers, below the home folder.
    usual: &'static [&'static str],
    /// The form in which it keeps its sessions.
    kept: KeptSessions,
    /// The first version whose behaviour was measured.
    oldest: Version,
}

/// OpenCode.
pub const OPENCODE: OpenCode = OpenCode {
    profile: &OPENCODE_PROFILE,
    settings: &PluginSettings(&hooks::OPENCODE),
    usual: &[".opencode/bin/opencode", ".local/bin/opencode"],
    kept: KeptSessions::Database {
        file: "opencode/opencode.db",
        export: "opencode export SESSION > FILE",
    },
    oldest: Version(1, 18, 33),
};

/// Kilo CLI.
pub const KILO: OpenCode = OpenCode {
    profile: &KILO_PROFILE,
    settings: &PluginSettings(&hooks::KILO),
    usual: &[".kilo/bin/kilo", ".local/bin/kilo"],
    kept: KeptSessions::Database { file: "kilo/kilo.db", export: "kilo export SESSION > FILE" },
    oldest: Version(7, 7, 7),
};

impl Agent for OpenCode {
    fn profile(&self) -> &'static ClientProfile {
        self.profile
    }

    fn parse(&self, input: &[u8]) -> Result<Event, WireError> {
        wire::parse_event(input, self.profile.name)
    }

    fn render(&self, event: &str, reply: &Reply) -> HookOutput {
        wire::render_reply(event, reply, self.profile.display_name)
    }

    fn interpret_answer(&self, code: Option<i32>, stdout: &str, _stderr: &str) -> HookReply {
        answer::interpret_answer(code, stdout)
    }

    fn needs_deadline(&self) -> bool {
        // Our plugin waits for a person, and would wait as long for a slow review.
        true
    }

    fn command_event(&self, session: &str, folder: &Path, command: &str) -> Value {
        let gate = self.settings.gate_event();
        let mut event = payload::command_event(gate, session, folder, command);
        if let Some(parts) = event.as_object_mut() {
            parts.insert("tool_name".to_owned(), "bash".into());
        }
        event
    }

    fn token_reader(&self) -> Option<TokenReader> {
        Some(tokens::read_tokens)
    }

    fn kept_sessions(&self) -> KeptSessions {
        self.kept
    }

    fn read_session_document(
        &self,
        document: &Map<String, Value>,
        state: &mut RecordingState,
    ) -> Vec<TimedEvent> {
        recording::read_document(document, self.profile.name, state)
    }

    fn find_program(&self, home: &Path) -> Option<PathBuf> {
        find_program(self.profile.name, self.usual, home)
    }

    fn oldest_version(&self) -> Version {
        self.oldest
    }

    fn oldest_version_reason(&self) -> &'static str {
        "it is not known whether it stops a tool when a plugin refuses"
    }

    fn query_listing(&self, program: &Path, folder: &Path) -> Result<Option<Box<dyn HookListing>>> {
        Ok(Some(Box::new(listing::query_listing(program, folder)?)))
    }

    fn hook_settings(&self) -> &'static dyn HookSettings {
        self.settings
    }

    fn resume_command(&self, session: &str) -> String {
        format!("{} --session {session}", self.profile.name)
    }
}

/// The places of our plugin.
#[derive(Clone, Copy, Debug)]
struct PluginSettings(&'static SettingsLayout);

impl HookSettings for PluginSettings {
    fn layout(&self) -> &'static SettingsLayout {
        self.0
    }

    fn has_managed_file(&self) -> bool {
        // The machine's settings name a plugin by its path, and `--pure` drops it all the same.
        false
    }

    fn hooks(&self) -> &'static dyn HookForm {
        &PLUGIN
    }

    fn off_switch(&self, _settings: &Value) -> Option<&'static str> {
        // A plugin has none.
        None
    }
}
