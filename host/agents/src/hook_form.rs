//! The form in which a client keeps hooks: groups in a JSON file, or files of our own.

use crate::hook_handler::HookHandler;
use crate::invocation::{EventSubscription, Invocation};
use crate::json::{JsonDocument, NotJson};
use crate::settings_problem::SettingsProblem;
use anyhow::Result;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Our hooks in the files of one client.
pub trait HookForm: Sync {
    /// Returns every event that our hooks handle.
    fn events(&self) -> &'static [EventSubscription];

    /// Returns true if a file holds our hooks and nothing else: without them it is removed.
    fn has_own_files(&self) -> bool {
        false
    }

    /// Reads a file as settings with our handlers at `/hooks/EVENT/0/hooks/0`.
    ///
    /// # Errors
    /// Fails if the client could not read it either.
    fn read_document(&self, bytes: &[u8]) -> Result<JsonDocument, NotJson> {
        JsonDocument::parse_document(bytes)
    }

    /// Returns the file's bytes.
    fn write_document(&self, document: &JsonDocument) -> Vec<u8> {
        document.bytes()
    }

    /// Returns all values in a file that the client does not accept, in its order.
    fn find_problems(&self, _document: &JsonDocument) -> Vec<SettingsProblem> {
        Vec::new()
    }

    /// Returns our handlers in settings, compared with `wanted`.
    fn find(&self, settings: &Value, wanted: &Invocation) -> Vec<HookHandler>;

    /// Returns the commands of foreign handlers for an event, shortened.
    fn find_foreign(&self, settings: &Value, event: &str, wanted: &Invocation) -> Vec<String>;

    /// Returns the other hooks in a folder that answer an event, if each hook is a file.
    fn find_rivals(&self, _folder: &Path, _event: &str) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Returns the settings of `file` with each of our handlers in its correct form, once for each
    /// event.
    ///
    /// # Errors
    /// Fails if the settings have a shape that cannot be extended, or if the result would change
    /// something else.
    fn add(
        &self,
        file: &Path,
        document: &JsonDocument,
        wanted: &Invocation,
    ) -> Result<JsonDocument>;

    /// Returns the settings without our handlers and the containers that this leaves empty; `keep`
    /// names containers that stay, since they existed before.
    ///
    /// # Errors
    /// Fails if the result would change something else.
    fn remove(
        &self,
        document: &JsonDocument,
        wanted: &Invocation,
        keep: &[String],
    ) -> Result<JsonDocument>;

    /// Returns the empty containers that our handlers would use: they stay when the handlers are
    /// removed.
    fn empty_containers(&self, settings: &Value) -> Vec<String>;

    /// Returns our events without a correct handler.
    fn missing(&self, found: &[HookHandler]) -> Vec<&'static EventSubscription> {
        let has = |listened: &&EventSubscription| {
            found
                .iter()
                .any(|handler| handler.event == listened.event && handler.deviations.is_empty())
        };
        self.events().iter().filter(|listened| !has(listened)).collect()
    }
}
