//! Hooks in the form that several clients share: below `hooks` in a JSON file, a list of groups for
//! each event, and in each group a list of handlers.

mod edit;
mod find;
mod problems;

use crate::hook_form::HookForm;
use crate::hook_handler::HookHandler;
use crate::invocation::{EventSubscription, Invocation};
use crate::json::JsonDocument;
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
}

impl HookForm for GroupedHooks {
    fn events(&self) -> &'static [EventSubscription] {
        self.events
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
