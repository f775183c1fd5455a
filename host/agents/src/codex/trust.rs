//! The client's record of trusted hooks: a table for each in its `config.toml`, with the hash of
//! the definition that a person trusted.

use crate::folder_trust::FolderTrust;
use crate::hook_handler::HookHandler;
use crate::settings::Folders;
use crate::trust::HookTrust;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, Item, Table, value};

/// The path of the tables.
const HOOKS: &str = "hooks";
const STATE: &str = "state";
/// The key of the hash.
const HASH: &str = "trusted_hash";

/// Trust in folders: in one that is not trusted, the client passes over a project's hooks.
pub(super) const FOLDER_TRUST: FolderTrust = FolderTrust {
    file: "config.toml",
    read: read_projects,
    switch: None,
    reaches_all: false,
    fix: "start `codex` there and trust the folder, or install without `--project`",
};

/// Returns the level of a folder, or else of the repository around it.
fn read_projects(text: &str, folder: &Path) -> Option<bool> {
    let document = parse(text).ok()?;
    let projects = document.get("projects")?.as_table_like()?;
    let level = |folder: &Path| {
        let project = projects.get(folder.to_str()?)?.as_table_like()?;
        project.get("trust_level")?.as_str().map(|level| level == "trusted")
    };
    let repository = folder.ancestors().find(|above| above.join(".git").exists());
    level(folder).or_else(|| level(repository?))
}

/// Trust in `config.toml`.
pub(super) struct ConfigTrust;

impl HookTrust for ConfigTrust {
    fn file(&self, folders: &Folders) -> PathBuf {
        folders.person.join("config.toml")
    }

    fn add_trust(&self, text: &str, entries: &[(String, String)]) -> Result<String> {
        let mut document = parse(text)?;
        let hooks = table(document.as_table_mut(), HOOKS)?;
        let state = table(hooks, STATE)?;
        for (key, hash) in entries {
            table(state, key)?.insert(HASH, value(hash));
        }
        Ok(document.to_string())
    }

    fn key(&self, file: &Path, handler: &HookHandler) -> String {
        // `/hooks/PreToolUse/0/hooks/1` is handler 1 of group 0.
        let mut parts = handler.pointer.rsplit('/');
        let index = parts.next().unwrap_or_default();
        let group = parts.nth(1).unwrap_or_default();
        let event: String = handler
            .event
            .char_indices()
            .flat_map(|(at, c)| {
                let gap = (c.is_ascii_uppercase() && at > 0).then_some('_');
                gap.into_iter().chain(std::iter::once(c.to_ascii_lowercase()))
            })
            .collect();
        format!("{}:{event}:{group}:{index}", file.display())
    }

    fn remove_trust(&self, text: &str, keys: &[String]) -> Result<String> {
        let mut document = parse(text)?;
        let root = document.as_table_mut();
        let Some(hooks) = root.get_mut(HOOKS).and_then(Item::as_table_like_mut) else {
            return Ok(text.to_owned());
        };
        let Some(state) = hooks.get_mut(STATE).and_then(Item::as_table_like_mut) else {
            return Ok(text.to_owned());
        };
        let ours: Vec<&String> = keys.iter().filter(|key| state.contains_key(key)).collect();
        if ours.is_empty() {
            return Ok(text.to_owned());
        }
        for key in ours {
            state.remove(key);
        }
        if state.is_empty() {
            hooks.remove(STATE);
        }
        if hooks.is_empty() {
            root.remove(HOOKS);
        }
        Ok(document.to_string())
    }
}

fn parse(text: &str) -> Result<DocumentMut> {
    text.parse().context("it is not valid TOML")
}

/// Returns the table of that name, which is created if it is missing.
pub(super) fn table<'a>(parent: &'a mut Table, name: &str) -> Result<&'a mut Table> {
    let mut empty = Table::new();
    // Such a table has no header of its own unless it gets values.
    empty.set_implicit(true);
    parent
        .entry(name)
        .or_insert(Item::Table(empty))
        .as_table_mut()
        .with_context(|| format!("`{name}` in it is not a table of its own"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_trusted_itself_or_with_its_repository() {
        let folder = tempfile::tempdir().unwrap();
        let (repository, inner) = (folder.path().to_owned(), folder.path().join("a/b"));
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir(repository.join(".git")).unwrap();
        let level = |path: &Path, level: &str| {
            format!("[projects.{:?}]\ntrust_level = \"{level}\"\n", path.display().to_string())
        };
        for (text, expected) in [
            (String::new(), None),
            (level(&inner, "trusted"), Some(true)),
            (level(&repository, "trusted"), Some(true)),
            (level(&repository.join("a"), "trusted"), None),
            (level(&inner, "untrusted") + &level(&repository, "trusted"), Some(false)),
            ("projects = 3".to_owned(), None),
            ("[".to_owned(), None),
        ] {
            assert_eq!(read_projects(&text, &inner), expected, "{text}");
        }
    }

    #[test]
    fn trust_is_added_and_taken_back_and_the_rest_stays() {
        let entries = |hash: &str| -> Vec<(String, String)> {
            ["/h/.codex/hooks.json:pre_tool_use:0:0", "/h/.codex/hooks.json:stop:0:0"]
                .map(|key| (key.to_owned(), hash.to_owned()))
                .into()
        };
        let other = "[hooks.state.\"/x/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:1\"\n";
        for text in ["", "model = \"m\" # mine\n\n[a]\nb = 1\n", other] {
            let one = ConfigTrust.add_trust(text, &entries("sha256:a")).unwrap();
            let two = ConfigTrust.add_trust(&one, &entries("sha256:b")).unwrap();
            assert!(one.starts_with(text) && two.matches("sha256:b").count() == 2, "{two}");
            assert!(!two.contains("sha256:a"), "{two}");
            let ours: Vec<String> = entries("").into_iter().map(|(key, _)| key).collect();
            let back = ConfigTrust.remove_trust(&two, &ours).unwrap();
            assert_eq!(back.trim_end(), text.trim_end());
        }
        let handler = HookHandler {
            event: "PreToolUse".into(),
            pointer: "/hooks/PreToolUse/2/hooks/1".into(),
            program: String::new(),
            deviations: Vec::new(),
        };
        let key = ConfigTrust.key(Path::new("/h/.codex/hooks.json"), &handler);
        assert_eq!(key, "/h/.codex/hooks.json:pre_tool_use:2:1");
        for text in ["hooks = 1", "[hooks", "[hooks]\nstate = {}"] {
            assert!(ConfigTrust.add_trust(text, &entries("h")).is_err(), "{text}");
        }
    }
}
