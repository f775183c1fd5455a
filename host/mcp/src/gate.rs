//! The rulings that the gateway asks for.

use crate::definition::ListedTool;
use crate::pin_store::{PinError, ToolState};
use crate::tool_call::{GatewayCall, ToolResult};
use serde_json::{Map, Value};

/// The ruling on a call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallRuling {
    /// The server gets it as the client wrote it, and its result is reviewed.
    Forward,
    /// The same, but the result passes too: somebody else reviews both.
    ForwardReviewed,
    /// The server gets it with this input, in the form of [`GatewayCall::reviewed_input`], and the
    /// result gets these notes for the agent.
    Rewrite(Map<String, Value>, Vec<String>),
    /// It does not run. Holds the text for the agent.
    Refuse(String),
}

/// The ruling on a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultRuling {
    /// The text that the agent gets in place of the result.
    pub withheld: Option<String>,
    /// The result, or the error, that takes the place of the server's, in the same form.
    pub replacement: Option<Value>,
    /// Texts that are added for the agent.
    pub notes: Vec<String>,
}

/// Rules on everything that the gateway does not just pass on.
pub trait Gate: Send + Sync {
    /// Rules on a call. It runs only after this returned, and not if `is_given_up` is true by then:
    /// the client no longer waits for it.
    fn review_call(&self, call: &GatewayCall, is_given_up: &dyn Fn() -> bool) -> CallRuling;

    /// Rules on a result. The client gets it only after this returned.
    fn review_result(&self, call: &GatewayCall, result: &ToolResult) -> ResultRuling;

    /// Returns the state of each tool of a page of the server's list. `first_use` is true if the
    /// page belongs to the first list of a server that was not known.
    ///
    /// # Errors
    /// Fails if the agreed tools cannot be read or written.
    fn review_tools(
        &self,
        tools: &[ListedTool],
        first_use: bool,
    ) -> Result<Vec<ToolState>, PinError>;

    /// Returns true if nothing is known of the server: its first list is the agreed one.
    fn is_first_use(&self) -> bool;

    /// Takes note of something that did not pass, for the person.
    fn report(&self, what: &str);
}
