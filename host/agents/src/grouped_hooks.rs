//! Hooks in the forms that several clients share: below `hooks` in a JSON file, for each event a list
//! of handlers, in most clients in groups.

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
    /// The form of the file.
    pub(crate) form: HookForm,
}

/// The form of a file with hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookForm {
    /// An event has groups, and a group has handlers below `hooks`.
    Groups,
    /// An event has handlers. The file has the `version` of its form.
    Flat {
        /// That version.
        version: u64,
    },
}

impl GroupedHooks {
    /// Returns the element of an event's list that holds a handler for everything.
    fn element(&self, handler: Value) -> Value {
        match self.form {
            HookForm::Groups => group(&handler),
            HookForm::Flat { .. } => handler,
        }
    }
}

/// Returns the handlers in an element of an event's list, each with its pointer below the element.
fn handlers_in(element: &Value) -> Vec<(String, &Value)> {
    match element.get("hooks").and_then(Value::as_array) {
        Some(handlers) => {
            let named = handlers.iter().enumerate();
            named.map(|(index, handler)| (format!("/hooks/{index}"), handler)).collect()
        }
        None => vec![(String::new(), element)],
    }
}

/// Returns a group with one handler for everything.
#[must_use]
pub(crate) fn group(handler: &Value) -> Value {
    json!({ "hooks": [handler] })
}
