//! The process that a client started for an event: this one, or one that handed its event on.

use anyhow::Result;
use portcullis_agents::{Agent, HookEnvironment};
use portcullis_config::paths::{PathOverrides, Paths};
use portcullis_core::text::one_line;
use std::env;
use std::path::PathBuf;

/// The key in a review's record for the reason that the resident service did not review it.
pub(crate) const WITHOUT_SERVICE: &str = "without_service";
/// The variable in which a hook passes that reason on to the embedded review.
const REASON_VARIABLE: &str = "PORTCULLIS_WITHOUT_SERVICE";
/// The most characters of such a reason.
const REASON_CHARS: usize = 240;

/// The process that a client started for an event.
#[derive(Clone)]
pub struct HookCaller {
    /// The client.
    pub agent: &'static dyn Agent,
    /// The environment of the process.
    pub environment: HookEnvironment,
    /// The folders that its command line pins.
    pub pins: PathOverrides,
    /// The folder that it runs in; empty if that is unknown.
    pub folder: PathBuf,
}

impl HookCaller {
    /// Returns this process as the hook of a client.
    #[must_use]
    pub fn of_process(agent: &'static dyn Agent) -> Self {
        Self {
            agent,
            environment: HookEnvironment::of_process(),
            pins: PathOverrides::held(),
            folder: env::current_dir().unwrap_or_default(),
        }
    }

    /// Returns the places of an event in `cwd`.
    pub(crate) fn find_paths(&self, cwd: &str) -> Result<Paths> {
        Paths::in_environment(cwd, self.environment.clone(), self.pins.clone())
    }

    /// Returns the places of the process, for what is recorded without an event.
    pub(crate) fn own_paths(&self) -> Result<Paths> {
        self.find_paths(&self.folder.to_string_lossy())
    }

    /// Returns the reason that the resident service did not review its event, if it asked.
    pub(crate) fn fallback_reason(&self) -> Option<String> {
        let reason = self.environment.text(REASON_VARIABLE)?;
        Some(one_line(&reason, REASON_CHARS))
    }
}
