//! Our handlers in a client's settings files.

use crate::folder_trust::FolderTrust;
use crate::hook_form::HookForm;
use crate::hook_handler::HookHandler;
use crate::invocation::{EventSubscription, Invocation};
use crate::json::{JsonDocument, NotJson};
use crate::settings::{SettingsLayout, SettingsScope};
use crate::settings_problem::SettingsProblem;
use anyhow::Result;
use serde_json::Value;
use std::path::Path;

/// The usual limit of a file that is read, in bytes.
const MOST_BYTES: u64 = 2 * 1024 * 1024;
/// The key with which a machine runs its own hooks only.
pub const MANAGED_ONLY: &str = "allowManagedHooksOnly";
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

    /// Returns true if a handler tells the client to refuse the action when it fails.
    fn refuses_on_failure(&self, handler: &Value) -> bool {
        handler.get("onFailure").and_then(Value::as_str) == Some("block")
    }

    /// Returns the client's record of trusted folders; `None` if it loads hooks in every folder, or
    /// if it is not known where it keeps the record.
    fn folder_trust(&self) -> Option<&'static FolderTrust> {
        None
    }

    /// Returns the key by which these settings switch all hooks off, if they do.
    fn off_switch(&self, settings: &Value) -> Option<&'static str> {
        let key = "disableAllHooks";
        (settings.get(key) == Some(&Value::Bool(true))).then_some(key)
    }

    /// Returns the key by which these settings keep the hooks on, whatever the files before them
    /// say.
    fn on_switch(&self, _settings: &Value) -> Option<&'static str> {
        None
    }

    /// Returns true if a switch in any file reaches the machine's hooks too.
    fn reaches_machine(&self) -> bool {
        false
    }

    /// Returns the file, by its number, and the key in it, that switch the hooks of a scope off. The
    /// files are those of [`Folders::files`](crate::settings::Folders::files), in that order.
    fn find_switch(
        &self,
        files: &[(SettingsScope, Option<&Value>)],
        scope: SettingsScope,
    ) -> Option<(usize, &'static str)> {
        let mut found: Option<(usize, &'static str)> = None;
        for (index, (place, settings)) in files.iter().enumerate() {
            let Some(settings) = settings else { continue };
            let of_machine = *place == SettingsScope::Managed;
            if !of_machine && scope == SettingsScope::Managed && !self.reaches_machine() {
                continue;
            }
            if of_machine && found.is_some_and(|(_, key)| self.on_switch(settings) == Some(key)) {
                found = None;
            }
            let is_alone = of_machine
                && scope != SettingsScope::Managed
                && settings.get(MANAGED_ONLY) == Some(&Value::Bool(true));
            let key = self.off_switch(settings).or(is_alone.then_some(MANAGED_ONLY));
            // Of several, the machine's own is named: only the superuser can change it.
            if found.is_none() || of_machine {
                found = key.map(|key| (index, key)).or(found);
            }
        }
        found
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find_agent;
    use serde_json::json;
    use std::path::Path;

    #[test]
    fn clients_differ_in_the_files_that_count_and_in_what_they_reach() {
        use SettingsScope::{Local, Managed, Project, User};
        let all = |off: bool| json!({ "disableAllHooks": off });
        let config = |on: bool| json!({ "hooksConfig": { "enabled": on } });
        let alone = json!({ "allowManagedHooksOnly": true });
        for (client, scopes, of_user, of_machine) in [
            ("copilot", vec![(Project, all(true))], true, false),
            ("copilot", vec![(Local, all(true))], true, false),
            ("copilot", vec![(Project, all(false))], false, false),
            ("copilot", vec![(Managed, alone.clone())], true, false),
            ("qwen", vec![(User, all(true))], true, true),
            ("qwen", vec![(Project, all(true))], true, true),
            ("qwen", vec![(Project, all(true)), (Managed, all(false))], false, false),
            ("qwen", vec![(Managed, all(false)), (Project, all(true))], true, true),
            ("gemini", vec![(Project, config(false))], true, true),
            ("gemini", vec![(Project, config(false)), (Managed, config(true))], false, false),
            ("gemini", vec![(Project, config(false)), (User, config(true))], true, true),
            ("gemini", vec![(Managed, config(false))], true, true),
            ("claude", vec![(Project, all(true)), (Managed, all(false))], true, false),
        ] {
            let hooks = find_agent(client).unwrap().hook_settings();
            let files: Vec<_> = scopes.iter().map(|(scope, value)| (*scope, Some(value))).collect();
            let is_off = |scope| hooks.find_switch(&files, scope).is_some();
            assert_eq!(
                (is_off(User), is_off(Managed)),
                (of_user, of_machine),
                "{client} {files:?}"
            );
        }
    }

    #[test]
    fn every_place_of_a_switch_is_read() {
        for (client, file) in [
            ("copilot", "/p/.github/copilot/settings.json"),
            ("copilot", "/p/.github/copilot/settings.local.json"),
            ("copilot", "/etc/github-copilot/managed-settings.json"),
            ("gemini", "/p/.gemini/settings.json"),
            ("gemini", "/etc/gemini-cli/system-defaults.json"),
            ("qwen", "/p/.qwen/settings.json"),
            ("qwen", "/etc/qwen-code/system-defaults.json"),
            ("claude", "/p/.claude/settings.local.json"),
        ] {
            let layout = find_agent(client).unwrap().hook_settings().layout();
            let files = layout.usual_folders(Path::new("/h"), Path::new("/p")).files();
            assert!(files.iter().any(|(_, path)| path == Path::new(file)), "{client}: {files:?}");
        }
    }
}
