//! Calls in a client's transcript.

use portcullis_core::event::{CallEnd, CallResult};
use portcullis_core::pipeline::MissedCall;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A call that ended, according to a transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShownCall {
    /// The client's id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Its parameters.
    pub input: Map<String, Value>,
    /// True if it failed.
    pub failed: bool,
    /// Its result as text.
    pub output: String,
}

impl ShownCall {
    /// Converts it to the pipeline's type.
    pub fn into_missed(self, agent: Option<String>) -> MissedCall {
        let result = CallResult {
            failed: self.failed,
            end: CallEnd::Finished,
            error: if self.failed { self.output.clone() } else { String::new() },
            output: self.output,
            duration_ms: None,
            tokens: None,
            shown: Value::Null,
        };
        MissedCall { id: self.id, tool: self.tool, input: self.input, agent, result: Some(result) }
    }
}
