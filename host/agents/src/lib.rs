//! The clients of AI coding agents: their hook formats, settings files, transcripts and versions.
//!
//! Each client is one module that implements [`Agent`]; [`find_agent`] returns it by name. This
//! crate makes no decisions about actions and prints nothing. Nothing outside it names a client:
//! other crates take names, files and programs from [`Agent`] and from [`PROFILES`].

mod answer_text;
pub mod backup;
pub mod claude;
pub mod cline;
pub mod codex;
pub mod copilot;
pub mod cursor;
pub mod environment;
pub mod file;
mod find;
pub mod folder_trust;
pub mod gemini;
pub mod generic;
pub mod grouped_hooks;
pub mod hook_form;
pub mod hook_handler;
mod hook_output;
pub mod hook_reply;
pub mod hook_settings;
pub mod invocation;
pub mod json;
pub mod listing;
pub mod mcp_servers;
pub mod opencode;
mod others;
pub mod own_files;
mod payload;
pub mod qwen;
pub mod recorded;
#[cfg(test)]
mod recorded_tests;
pub mod request;
pub mod run;
pub mod settings;
pub mod settings_problem;
mod shown_call;
mod supervision;
mod transcript;
pub mod trust;
pub mod version;

pub use environment::HookEnvironment;
pub use hook_output::{HookOutput, WireError};
pub use invocation::Invocation;
pub use shown_call::ShownCall;
pub use supervision::Supervision;

use anyhow::Result;
use hook_reply::HookReply;
use hook_settings::HookSettings;
use listing::HookListing;
use portcullis_core::client::ClientProfile;
use portcullis_core::event::{CallEnd, Event, EventKind, Reply};
use portcullis_core::session::{TokenCursor, TokenReading};
use portcullis_store::Home;
use recorded::{KeptSessions, RecordingState, TimedEvent};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use trust::HookTrust;
use version::Version;

/// The program's name in settings files, hook commands and version lines.
pub const PROGRAM: &str = "portcullis";
/// The name of the small program that hands events to the resident service; hooks may start it in
/// place of the first.
pub const SMALL_HOOK: &str = "portcullis-hook";

/// Returns true if a hook's program has one of our names.
pub(crate) fn has_our_name(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    name == PROGRAM || name == SMALL_HOOK
}

/// A client of an AI coding agent.
pub trait Agent: Sync + std::fmt::Debug {
    /// Returns what the core needs to know about the client.
    fn profile(&self) -> &'static ClientProfile;

    /// Returns the name on the command line and in records, such as `codex`.
    fn name(&self) -> &'static str {
        self.profile().name
    }

    /// Returns true if our hook refuses by itself when a review takes too long, since the client
    /// would run the tool after its timeout, or would wait as long as for a person.
    fn needs_deadline(&self) -> bool {
        self.hook_settings()
            .events()
            .iter()
            .any(|listened| listened.event == self.hook_settings().gate_event() && !listened.closed)
    }

    /// Returns true if the client itself asks the person, or refuses, after an answer that demands
    /// it. For any other client the hook has to wait for a person before it answers.
    fn asks_person(&self) -> bool {
        false
    }

    /// Returns true if the adapter was written from what the vendor publishes, and never run with
    /// the client.
    fn is_untested(&self) -> bool {
        false
    }

    /// Returns our command that installs the client's hooks.
    fn install_command(&self) -> String {
        format!("{PROGRAM} install {}", self.name())
    }

    /// Returns the name for people, such as `Codex CLI`.
    fn display_name(&self) -> &'static str {
        self.profile().display_name
    }

    /// Returns the most bytes that one event may have. Larger input is refused.
    fn max_input(&self) -> usize {
        payload::MAX_INPUT
    }

    /// Reads one event from a hook's standard input.
    ///
    /// # Errors
    /// Fails if the input is empty, too large, malformed, or lacks a part that every event has.
    fn parse(&self, input: &[u8]) -> Result<Event, WireError>;

    /// Adds to an event what only the client's transcript says, which a hook's standard input
    /// names.
    fn complete(&self, _event: &mut Event, _input: &[u8]) {}

    /// Formats the answer to an event of that name. A ruling that the client cannot express becomes
    /// the nearest stricter one.
    fn render(&self, event: &str, reply: &Reply) -> HookOutput;

    /// Interprets a hook's answer to a call as the client does: exit code (`None` after a signal),
    /// standard output and standard error.
    fn interpret_answer(&self, code: Option<i32>, stdout: &str, stderr: &str) -> HookReply;

    /// Returns the event before a shell command, as the client passes it to a hook. The session's
    /// name is the call's id too.
    fn command_event(&self, session: &str, folder: &Path, command: &str) -> Value {
        payload::command_event(self.hook_settings().gate_event(), session, folder, command)
    }

    /// Returns the variables that the client sets for the hooks of a session in `project`.
    fn hook_environment(&self, _project: &Path, _session: &str) -> Vec<(&'static str, OsString)> {
        Vec::new()
    }

    /// Returns the calls that ended at `since` (milliseconds since 1970) or later, according to the
    /// transcript that a hook's standard input names. Returns nothing without a readable
    /// transcript, or from a client whose hooks get no name of a call: a missing call proves
    /// nothing.
    fn shown_calls(&self, _input: &[u8], _since: u64) -> Vec<ShownCall> {
        Vec::new()
    }

    /// Returns the reader of the tokens in the client's transcripts; `None` if they hold none, or
    /// if its hooks get no transcript.
    fn token_reader(&self) -> Option<TokenReader> {
        None
    }

    /// Returns the variable in which the client names its own process to its hooks, if it does.
    fn process_variable(&self) -> Option<&'static str> {
        None
    }

    /// Returns the form in which the client keeps its sessions, and the files.
    fn kept_sessions(&self) -> KeptSessions;

    /// Returns the folder in which a recorded session ran, if only a file beside the recording says
    /// so.
    fn recorded_folder(&self, _recording: &Path) -> Option<String> {
        None
    }

    /// Returns the events of one line of the client's transcripts; none if the line is not an
    /// event. `state` has what earlier lines said.
    fn read_transcript_line(
        &self,
        _line: &Map<String, Value>,
        _state: &mut RecordingState,
    ) -> Vec<TimedEvent> {
        Vec::new()
    }

    /// Returns the events of a session that the client keeps or exports as one JSON document; none
    /// if the document is of another kind.
    fn read_session_document(
        &self,
        _document: &Map<String, Value>,
        _state: &mut RecordingState,
    ) -> Vec<TimedEvent> {
        Vec::new()
    }

    /// Returns the completeness of a failed call, by the result that the client shows for it.
    fn call_end(&self, _tool: &str, _result: &str) -> CallEnd {
        CallEnd::Finished
    }

    /// Returns the installed program that a person would start.
    fn find_program(&self, home: &Path) -> Option<PathBuf>;

    /// Reads the output of the client's `--version`.
    fn parse_version(&self, text: &str) -> Option<Version> {
        text.parse().ok()
    }

    /// Asks an installed client for its version.
    ///
    /// # Errors
    /// Fails if it cannot be started, does not answer in time, or does not print a version.
    fn query_version(&self, program: &Path) -> Result<Version> {
        version::query_version(program, |text| self.parse_version(text))
    }

    /// Returns the oldest supported version.
    fn oldest_version(&self) -> Version;

    /// Returns what an older client does not know, for a message.
    fn oldest_version_reason(&self) -> &'static str {
        "it is not known which answers of a hook it takes"
    }

    /// Checks that the version of an installed client is supported.
    ///
    /// # Errors
    /// Fails if it is older than [`Agent::oldest_version`].
    fn check_version(&self, program: &Path, found: Version) -> Result<()> {
        let oldest = self.oldest_version();
        anyhow::ensure!(
            found >= oldest,
            "`{}` is {} {found}, older than {oldest}: {}; update it first",
            program.display(),
            self.display_name(),
            self.oldest_version_reason()
        );
        Ok(())
    }

    /// Asks an installed client which hooks it loads when it is started in `folder`; `None` if the
    /// client does not tell.
    ///
    /// # Errors
    /// Fails if it cannot be started, does not answer in time, or does not know the request.
    fn query_listing(
        &self,
        _program: &Path,
        _folder: &Path,
    ) -> Result<Option<Box<dyn HookListing>>> {
        Ok(None)
    }

    /// Returns the client's settings files and our handlers in them.
    fn hook_settings(&self) -> &'static dyn HookSettings;

    /// Returns the client's record of trusted hooks; `None` if it runs every hook in its settings.
    fn trust(&self) -> Option<&'static dyn HookTrust> {
        None
    }

    /// Puts our hooks back into a settings file that `install` wrote; returns the missing parts, or
    /// `None` if nothing was missing, or if the client tells no hook of such a change.
    ///
    /// # Errors
    /// Fails if the file cannot be read, parsed or written.
    fn restore_hooks(
        &self,
        _home: &Home,
        _file: &Path,
        _invocation: &Invocation,
    ) -> Result<Option<String>> {
        Ok(None)
    }

    /// Returns the command with which a person continues a session.
    fn resume_command(&self, session: &str) -> String;

    /// Returns the way in which a program that starts the client supervises it; `None` if the
    /// client has no interface for that.
    fn supervision(&self) -> Option<&'static dyn Supervision> {
        None
    }
}

/// Returns the tokens that the acting agent has used since a cursor, according to the transcript
/// that a hook's standard input names; none without a readable transcript. The second parameter is
/// the agent's id, if it is a subagent.
pub type TokenReader = fn(&[u8], Option<&str>, Option<&TokenCursor>) -> Option<TokenReading>;

/// All clients that can be reviewed, in the order in which help texts list them.
pub const ALL: &[&dyn Agent] = &[
    &claude::Claude,
    &codex::Codex,
    &gemini::Gemini,
    &qwen::Qwen,
    &copilot::Copilot,
    &opencode::OPENCODE,
    &opencode::KILO,
    &cline::Cline,
    &cursor::Cursor,
];

/// The client that commands mean if they name none.
pub const DEFAULT: &dyn Agent = &claude::Claude;

/// All known clients, also those that cannot be reviewed: their files are protected, and their
/// programs count as agents.
pub const PROFILES: &[&ClientProfile] = &[
    &claude::PROFILE,
    &codex::PROFILE,
    &gemini::PROFILE,
    &qwen::PROFILE,
    &copilot::PROFILE,
    &opencode::OPENCODE_PROFILE,
    &opencode::KILO_PROFILE,
    &cline::PROFILE,
    &cursor::PROFILE,
    &others::CONTINUE,
    &generic::PROFILE,
];

/// Returns the command that installs the hooks of the client that commands mean if they name none.
#[must_use]
pub fn install_command() -> String {
    DEFAULT.install_command()
}

/// Returns the client that a command line starts, by its program; the default one if it is no
/// known program.
#[must_use]
pub fn find_by_program(words: &[String]) -> &'static dyn Agent {
    let name =
        words.first().map(Path::new).and_then(Path::file_name).and_then(|name| name.to_str());
    let named = name.and_then(|name| ALL.iter().find(|agent| agent.profile().is_program(name)));
    named.copied().unwrap_or(DEFAULT)
}

/// Returns the client of that name.
#[must_use]
pub fn find_agent(name: &str) -> Option<&'static dyn Agent> {
    ALL.iter().copied().find(|agent| agent.name() == name)
}

/// Reads a recorded hook payload that does not name its client: the first client that knows the
/// event counts.
///
/// # Errors
/// Fails if no client can read it, with the problem that the default client found.
pub fn parse_payload(payload: &[u8]) -> Result<Event, WireError> {
    let read: Vec<Event> = ALL.iter().filter_map(|agent| agent.parse(payload).ok()).collect();
    // A client reads another's event as one that means nothing to it.
    let known = read.iter().position(|event| event.kind != EventKind::Other);
    let read = read.into_iter().nth(known.unwrap_or(0));
    read.map_or_else(|| DEFAULT.parse(payload), Ok)
}

/// Returns the completeness of a failed call of a recording that does not name its client.
#[must_use]
pub fn call_end(tool: &str, result: &str) -> CallEnd {
    let ends = ALL.iter().map(|agent| agent.call_end(tool, result));
    ends.into_iter().find(|end| *end != CallEnd::Finished).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_is_among_the_profiles_and_has_its_own_name() {
        for agent in ALL {
            assert!(PROFILES.contains(&agent.profile()), "{}", agent.name());
            assert!(agent.profile().hooked.is_some(), "{}", agent.name());
        }
        let mut names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PROFILES.len());
    }
}
