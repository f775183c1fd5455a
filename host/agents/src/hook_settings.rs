//! Our handlers in a client's settings files.

use crate::hook_form::HookForm;
use crate::hook_handler::HookHandler;
use crate::invocation::{EventSubscription, Invocation};
use crate::json::{JsonDocument, NotJson};
use crate::settings::SettingsLayout;
use crate::settings_problem::SettingsProblem;
use anyhow::Result;
use serde_json::Value;
use std::path::Path;

/// The usual limit of a file that is read, in bytes.
const MOST_BYTES: u64 = 2 * 1024 * 1024;
/// The usual timeout of a handler that sets none, in seconds.
const DEFAULT_TIMEOUT: f64 = 600.0;

/// The files in which a client keeps its hooks.
pub trait HookSettings: Sync {
    /// Returns the places of the files.
    fn layout(&self) -> &'static SettingsLayout;

    /// Returns true if the machine's settings are a file like the others.
    fn has_managed_file(&self) -> bool {
        true
    }

    /// Returns the most bytes that are read of one file.
    fn most_bytes(&self) -> u64 {
        MOST_BYTES
    }

    /// Returns our hooks in the files.
    fn hooks(&self) -> &'static dyn HookForm;

    /// Returns every event that our hooks handle.
    fn events(&self) -> &'static [EventSubscription] {
        self.hooks().events()
    }

    /// Returns the event before an action, which can refuse it.
    fn gate_event(&self) -> &'static str {
        "PreToolUse"
    }

    /// Returns all values in a file that the client does not accept, in its order.
    fn find_problems(&self, document: &JsonDocument) -> Vec<SettingsProblem> {
        self.hooks().find_problems(document)
    }

    /// Returns the variable with which the client writes no transcript, if there is one.
    fn transcript_switch(&self) -> Option<&'static str> {
        None
    }

    /// Returns the time that the client gives a handler, in seconds.
    fn timeout(&self, handler: &Value) -> f64 {
        handler.get("timeout").and_then(Value::as_f64).unwrap_or(DEFAULT_TIMEOUT)
    }

    /// Returns the key by which these settings switch all hooks off, if they do.
    fn off_switch(&self, settings: &Value) -> Option<&'static str> {
        let key = "disableAllHooks";
        (settings.get(key) == Some(&Value::Bool(true))).then_some(key)
    }

    /// Reads a file as settings.
    ///
    /// # Errors
    /// Fails if the client could not read it either.
    fn read_document(&self, bytes: &[u8]) -> Result<JsonDocument, NotJson> {
        self.hooks().read_document(bytes)
    }

    /// Returns a file's bytes.
    fn write_document(&self, document: &JsonDocument) -> Vec<u8> {
        self.hooks().write_document(document)
    }

    /// Returns our handlers in settings, compared with `wanted`.
    fn find_handlers(&self, settings: &Value, wanted: &Invocation) -> Vec<HookHandler> {
        self.hooks().find(settings, wanted)
    }

    /// Returns the commands of foreign handlers for an event, shortened.
    fn foreign_commands(&self, settings: &Value, event: &str, wanted: &Invocation) -> Vec<String> {
        self.hooks().find_foreign(settings, event, wanted)
    }

    /// Returns the settings of `file` with each of our handlers in its correct form, once for each
    /// event.
    ///
    /// # Errors
    /// Fails if they have a shape that cannot be extended, or if the result would change something
    /// else.
    fn add_handlers(
        &self,
        file: &Path,
        document: &JsonDocument,
        wanted: &Invocation,
    ) -> Result<JsonDocument> {
        self.hooks().add(file, document, wanted)
    }

    /// Returns the document without our handlers and the containers that this leaves empty; `keep`
    /// names containers that stay, since they existed before.
    ///
    /// # Errors
    /// Fails if the result would change something else.
    fn remove_handlers(
        &self,
        document: &JsonDocument,
        wanted: &Invocation,
        keep: &[String],
    ) -> Result<JsonDocument> {
        self.hooks().remove(document, wanted, keep)
    }

    /// Returns the empty containers that our handlers would use: they stay when the handlers are
    /// removed.
    fn empty_containers(&self, settings: &Value) -> Vec<String> {
        self.hooks().empty_containers(settings)
    }
}
