//! Hooks in the forms that several clients share: below `hooks` in a JSON file, for each event a
//! list of handlers, in most clients in groups.

mod edit;
mod find;
mod problems;

use crate::hook_form::HookForm;
use crate::hook_handler::HookHandler;
use crate::invocation::{EventSubscription, Invocation};
use crate::json::{JsonDocument, JsonSyntax, NotJson};
use crate::settings_problem::SettingsProblem;
use anyhow::Result;
use serde_json::{Value, json};
use std::path::Path;

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
    pub(crate) form: FileForm,
    /// The form of JSON that the client reads.
    pub(crate) syntax: JsonSyntax,
}

/// The form of a file with hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileForm {
    /// An event has groups, and a group has handlers below `hooks`.
    Groups,
    /// An event has handlers. The file has the `version` of its form.
    Flat {
        /// That version.
        version: u64,
        /// True if each handler has to name its type.
        typed: bool,
    },
}

impl GroupedHooks {
    /// Returns the element of an event's list that holds a handler for everything.
    fn element(&self, handler: Value) -> Value {
        match self.form {
            FileForm::Groups => group(&handler),
            FileForm::Flat { .. } => handler,
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

impl HookForm for GroupedHooks {
    fn events(&self) -> &'static [EventSubscription] {
        self.events
    }

    fn read_document(&self, bytes: &[u8]) -> Result<JsonDocument, NotJson> {
        JsonDocument::parse_syntax(bytes, self.syntax)
    }

    fn find_problems(&self, document: &JsonDocument) -> Vec<SettingsProblem> {
        Self::find_problems(self, document)
    }

    fn find(&self, settings: &Value, wanted: &Invocation) -> Vec<HookHandler> {
        Self::find(self, settings, wanted)
    }

    fn find_foreign(&self, settings: &Value, event: &str, wanted: &Invocation) -> Vec<String> {
        Self::find_foreign(settings, event, wanted)
    }

    fn add(
        &self,
        _file: &Path,
        document: &JsonDocument,
        wanted: &Invocation,
    ) -> Result<JsonDocument> {
        Self::add(self, document, wanted)
    }

    fn remove(
        &self,
        document: &JsonDocument,
        wanted: &Invocation,
        keep: &[String],
    ) -> Result<JsonDocument> {
        Self::remove(self, document, wanted, keep)
    }

    fn empty_containers(&self, settings: &Value) -> Vec<String> {
        Self::empty_containers(self, settings)
    }
}

/// Returns a group with one handler for everything.
#[must_use]
pub(crate) fn group(handler: &Value) -> Value {
    json!({ "hooks": [handler] })
}
