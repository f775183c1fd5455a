//! Both ends of one hook call: bytes that are not an event, and the process's output.

use serde_json::{Map, Value};

/// Input that is not a valid event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct WireError {
    /// The problem, with its place in the input.
    pub problem: String,
    /// The event's name, if the input still shows it.
    pub event: Option<String>,
    /// The session, if the input still shows it.
    pub session: Option<String>,
}

/// The output of a hook process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookOutput {
    /// One JSON document, written with one write.
    pub stdout: Vec<u8>,
    /// The reason of a refusal, otherwise empty.
    pub stderr: Vec<u8>,
    /// The exit code.
    pub exit: u8,
}

impl HookOutput {
    /// Writes an answer; the reason of a refusal goes to standard error too, with exit code 2.
    pub(crate) fn from_answer(answer: Map<String, Value>, refusal: Option<String>) -> Self {
        let mut stdout = Value::Object(answer).to_string().into_bytes();
        stdout.push(b'\n');
        match refusal {
            Some(reason) => Self { stdout, stderr: format!("{reason}\n").into_bytes(), exit: 2 },
            None => Self { stdout, stderr: Vec::new(), exit: 0 },
        }
    }
}
