//! Folders that a person trusts: some clients load hooks there only.

use crate::json::{JsonDocument, JsonSyntax};
use crate::settings::SettingsScope;
use serde_json::Value;
use std::path::Path;

/// A client's record of the folders that a person trusts.
#[derive(Debug)]
pub struct FolderTrust {
    /// The file of the record, below the person's folder.
    pub file: &'static str,
    /// Returns what the text of the record says of a folder; `None` if it says nothing.
    pub read: fn(text: &str, folder: &Path) -> Option<bool>,
    /// The setting that switches the whole on; `None` if nothing does.
    pub switch: Option<TrustSwitch>,
    /// True if no hook is loaded in an untrusted folder, not even a person's or the machine's.
    pub reaches_all: bool,
    /// The way to trust a folder.
    pub fix: &'static str,
}

/// A setting that switches trust in folders on.
#[derive(Clone, Copy, Debug)]
pub struct TrustSwitch {
    /// Its place: a JSON pointer.
    pub pointer: &'static str,
    /// Its value where no file has one.
    pub default: bool,
}

impl FolderTrust {
    /// Returns true if the client asks for trust at all. The files are the client's, in its order; a
    /// project's own says nothing about trust in it.
    #[must_use]
    pub fn is_on(&self, files: &[(SettingsScope, Option<&Value>)]) -> bool {
        let Some(switch) = self.switch else { return true };
        let mut own = files
            .iter()
            .rev()
            .filter(|(scope, _)| matches!(scope, SettingsScope::User | SettingsScope::Managed));
        let set =
            own.find_map(|(_, settings)| settings.as_ref()?.pointer(switch.pointer)?.as_bool());
        set.unwrap_or(switch.default)
    }
}

/// Reads a record in which each path has a level of trust: of the rules for a folder, the one with
/// the longest path counts.
pub(crate) fn read_levels(text: &str, folder: &Path) -> Option<bool> {
    let document = JsonDocument::parse_syntax(text.as_bytes(), JsonSyntax::WithComments).ok()?;
    let rules = document.value().as_object()?.iter().filter_map(|(path, level)| {
        let (level, path) = (level.as_str()?, Path::new(path));
        let reached = if level == "TRUST_PARENT" { path.parent().unwrap_or(path) } else { path };
        let trusted = match level {
            "TRUST_FOLDER" | "TRUST_PARENT" => true,
            "DO_NOT_TRUST" => false,
            _ => return None,
        };
        // The client compares where links lead.
        let reached = reached.canonicalize().unwrap_or_else(|_| reached.to_owned());
        folder.starts_with(reached).then_some((path.as_os_str().len(), trusted))
    });
    rules.max_by_key(|(length, trusted)| (*length, !trusted)).map(|(_, trusted)| trusted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find_agent;
    use serde_json::json;

    #[test]
    fn the_rule_with_the_longest_path_counts() {
        for (record, expected) in [
            (json!({}), None),
            (json!({"/p": "TRUST_FOLDER"}), Some(true)),
            (json!({"/p/other": "TRUST_PARENT"}), Some(true)),
            (json!({"/": "DO_NOT_TRUST"}), Some(false)),
            (json!({"/p": "TRUST_FOLDER", "/p/a": "DO_NOT_TRUST"}), Some(false)),
            (json!({"/p": "DO_NOT_TRUST", "/p/a": "TRUST_FOLDER"}), Some(true)),
            (json!({"/p/ab": "TRUST_FOLDER"}), None),
            (json!({"/p": "trusted"}), None),
            (json!({"/p": true}), None),
            (json!(["/p"]), None),
        ] {
            let read = read_levels(&record.to_string(), Path::new("/p/a"));
            assert_eq!(read, expected, "{record}");
        }
        assert_eq!(
            read_levels("{ // mine\n\"/p\": \"TRUST_FOLDER\"}", Path::new("/p")),
            Some(true)
        );
        assert_eq!(read_levels("{", Path::new("/p")), None);
    }

    #[test]
    fn a_project_says_nothing_about_trust_in_it() {
        use SettingsScope::{Managed, Project, User};
        let set = |on: bool| json!({"security": {"folderTrust": {"enabled": on}}});
        for (client, files, expected) in [
            ("gemini", vec![], true),
            ("qwen", vec![], false),
            ("codex", vec![], true),
            ("gemini", vec![(User, set(false))], false),
            ("gemini", vec![(Project, set(false))], true),
            ("gemini", vec![(User, set(false)), (Managed, set(true))], true),
            ("qwen", vec![(User, set(true))], true),
            ("qwen", vec![(Project, set(true))], false),
        ] {
            let trust = find_agent(client).unwrap().hook_settings().folder_trust().unwrap();
            let files: Vec<_> = files.iter().map(|(scope, value)| (*scope, Some(value))).collect();
            assert_eq!(trust.is_on(&files), expected, "{client} {files:?}");
        }
    }
}
