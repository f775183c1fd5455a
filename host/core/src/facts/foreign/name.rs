//! The words of a foreign tool's name, and what they tell about its parameters.

use super::tables::{DATABASES, DELETES, METADATA, PROGRAMS, SHELLS, WRITES};
use crate::action::EffectKind;
use crate::facts::verbs;

/// The words of a tool's own name, and those of its server.
pub(super) struct Name(pub(super) Vec<String>, pub(super) Vec<String>);

impl Name {
    pub(super) fn of(tool: &str) -> Self {
        let server = tool.strip_prefix("mcp__").and_then(|rest| rest.split("__").next());
        Self(verbs::words(tool), server.map(verbs::words).unwrap_or_default())
    }

    pub(super) fn says(&self, words: &[&str]) -> bool {
        self.0.iter().any(|word| words.contains(&word.as_str()))
    }

    /// Returns true if the tool or its server talks to a database.
    pub(super) fn asks_database(&self) -> bool {
        let server = self.1.iter().any(|word| DATABASES.contains(&word.as_str()));
        self.says(DATABASES) || (server && !self.says(&["search"]))
    }

    /// Returns the program of which the tool takes the words.
    pub(super) fn program(&self) -> Option<&'static str> {
        let named = |program: &&&str| self.0.iter().chain(&self.1).any(|word| word == **program);
        let program = PROGRAMS.iter().find(named).copied()?;
        Some(if program == "redis" { "redis-cli" } else { program })
    }

    /// Returns true if the tool shows facts about a file, and nothing that it holds.
    pub(super) fn asks_metadata(&self) -> bool {
        self.says(METADATA)
            && !self.says(SHELLS)
            && !self.says(WRITES)
            && !self.says(DELETES)
            && !self.says(&["content", "contents", "text"])
    }

    /// Returns the tool's effect on a path.
    pub(super) fn access(&self) -> EffectKind {
        if self.says(DELETES) {
            EffectKind::FileDelete
        } else if self.says(WRITES) {
            EffectKind::FileModify
        } else {
            EffectKind::FileRead
        }
    }
}
