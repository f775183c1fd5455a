//! A client that another program starts, follows and answers: `portcullis run`.

use crate::Invocation;
use crate::request::AgentRequest;
use anyhow::Result;
use serde_json::Value;

/// The supervision of one run of a client.
pub trait Supervision: Sync {
    /// Parses the command line of a run: the program and its arguments.
    ///
    /// # Errors
    /// Fails if it is not a command that can be followed and reviewed; the message names the
    /// argument and the fix.
    fn read_command(&self, words: &[String]) -> Result<AgentRequest>;

    /// Returns the settings of one run: those that the person gave, with our hooks.
    ///
    /// # Errors
    /// Fails if the given settings cannot be read, switch hooks off, or are not as the client takes
    /// them.
    fn run_settings(&self, asked: &AgentRequest, wanted: &Invocation) -> Result<String>;

    /// Checks a running client's list of its hooks, and returns a warning if there is one.
    ///
    /// # Errors
    /// Fails if the list lacks one of our hooks for some event, since the agent would run
    /// unreviewed.
    fn check_loaded_hooks(&self, listing: &Value, wanted: &Invocation) -> Result<Option<String>>;
}
