//! Hooks in the form that several clients share: below `hooks` in a JSON file, a list of groups for
//! each event, and in each group a list of handlers.

mod edit;
mod find;
mod problems;

use crate::invocation::{EventSubscription, Invocation};
use serde_json::{Value, json};

/// Our hooks in such a file.
#[derive(Debug)]
pub struct GroupedHooks {
    /// Every event that our hooks handle.
    pub(crate) events: &'static [EventSubscription],
    /// Returns the handler for an event in its correct form.
    pub(crate) render: fn(&Invocation, &EventSubscription) -> Value,
    /// True if the client passes the command to a shell.
    pub(crate) by_shell: bool,
}

/// Returns a group with one handler for everything.
#[must_use]
pub(crate) fn group(handler: &Value) -> Value {
    json!({ "hooks": [handler] })
}
