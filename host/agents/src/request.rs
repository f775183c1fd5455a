//! A person's request to start an agent.

use std::path::PathBuf;

/// The request of a person to the agent.
#[derive(Debug, Default, PartialEq)]
pub struct AgentRequest {
    /// The program, as it was written.
    pub program: String,
    /// The arguments that are passed on: without the prompt and `--settings`.
    pub options: Vec<String>,
    /// The prompt, if it is an argument.
    pub prompt: Option<String>,
    /// The given settings, a file or JSON.
    pub settings: Option<String>,
    /// Additional folders that the agent works in.
    pub folders: Vec<PathBuf>,
}

/// Shortens a text for a message.
pub(crate) fn short(text: &str) -> String {
    portcullis_core::text::one_line(text, 60)
}
