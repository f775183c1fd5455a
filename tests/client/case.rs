//! A case, as described in its file: the setup, the model's script, and the expectations.
//!
//! A case is data. It contains no code and no expectation that another case shares: general
//! requirements for every run (a reply that parses, a chain that verifies) are in `check`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::run::Session;
use crate::scratch::Scratch;

/// One run of the client.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// The purpose of the case, for readers of the file.
    #[serde(rename = "about")]
    _about: String,
    /// Files of the project that are committed before the run.
    #[serde(default)]
    pub(crate) committed: BTreeMap<PathBuf, String>,
    /// Files that are written after that commit.
    #[serde(default)]
    pub(crate) files: BTreeMap<PathBuf, String>,
    /// The person's prompt.
    pub(crate) prompt: String,
    /// The model's answers to the main agent, turn by turn.
    pub(crate) turns: Vec<Turn>,
    /// The same for subagents: keyed by a text in the subagent's own prompt.
    #[serde(default)]
    pub(crate) subagents: BTreeMap<String, Vec<Turn>>,
    /// The tools that show [how far hooks see](portcullis_tests::coverage), which reads them.
    #[serde(default, rename = "covers")]
    _covers: Value,
    /// The expected results.
    pub(crate) expect: Expect,
}

/// One answer of the model.
pub(crate) type Turn = Vec<Block>;

/// One block of an answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum Block {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A tool call.
    Tool {
        /// The tool's name.
        tool: String,
        /// The call's id, which expectations refer to.
        id: String,
        /// Its parameters.
        input: Value,
    },
}

/// The expected results of a run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    /// The `terminal_reason` of the client's result; null if a prompt was refused.
    pub(crate) ended: Option<String>,
    /// The number of turns that were not requested.
    #[serde(default)]
    pub(crate) unplayed: usize,
    /// Files with exactly this text.
    #[serde(default)]
    pub(crate) files: BTreeMap<PathBuf, String>,
    /// Paths that must not exist.
    #[serde(default)]
    pub(crate) absent: Vec<PathBuf>,
    /// Files that must exist somewhere below a folder.
    #[serde(default)]
    pub(crate) kept: Vec<Kept>,
    /// All tools that the client offers the main agent, in order; not compared in most cases.
    #[serde(default)]
    pub(crate) offered: Option<Vec<String>>,
    /// The model's information about its calls.
    #[serde(default)]
    pub(crate) results: Vec<ExpectedResult>,
    /// Texts that the model was given as context.
    #[serde(default)]
    pub(crate) context: Vec<String>,
    /// Texts that the person was shown.
    #[serde(default)]
    pub(crate) shown: Vec<String>,
    /// The answers of our hooks.
    #[serde(default)]
    pub(crate) answers: Vec<Answer>,
    /// The contents of the journal; null if the case leaves no readable journal.
    pub(crate) journal: Option<Vec<Entry>>,
    /// Texts that none of our files may contain.
    #[serde(default)]
    pub(crate) hidden: Vec<String>,
}

/// A file that was moved, not lost.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kept {
    /// The folder to search.
    pub(crate) below: PathBuf,
    /// The file's name.
    pub(crate) name: String,
    /// Its text.
    pub(crate) text: String,
}

/// The model's information about one call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectedResult {
    /// The call.
    pub(crate) call: String,
    /// True if it was reported as an error.
    pub(crate) error: bool,
    /// Texts in it.
    #[serde(default)]
    pub(crate) has: Vec<String>,
    /// Texts that are not in it.
    #[serde(default)]
    pub(crate) lacks: Vec<String>,
}

/// An answer of one of our hooks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    /// The hook's name in the client, for example `PreToolUse:Bash`.
    pub(crate) hook: String,
    /// Its index among them, from 0; all of them when absent.
    pub(crate) nth: Option<usize>,
    /// Its exit code.
    pub(crate) exit: i64,
    /// JSON pointers that must exist, with this value.
    #[serde(default)]
    pub(crate) holds: BTreeMap<String, Value>,
    /// JSON pointers at which there must be any value.
    #[serde(default)]
    pub(crate) present: Vec<String>,
    /// JSON pointers that must not exist.
    #[serde(default)]
    pub(crate) lacks: Vec<String>,
}

/// A record of the journal.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// JSON pointers into the record that must exist, with this value.
    pub(crate) holds: BTreeMap<String, Value>,
    /// JSON pointers at which there must be any value.
    #[serde(default)]
    pub(crate) present: Vec<String>,
    /// Texts that occur anywhere in it.
    #[serde(default)]
    pub(crate) has: Vec<String>,
    /// The number of matching records; at least one when absent.
    pub(crate) times: Option<usize>,
}

impl Case {
    /// Reads a case file for a run in `scratch`, whose folders replace `@project@`, `@home@` and
    /// `@state@`.
    pub(crate) fn read(file: &Path, scratch: &Scratch) -> Result<Self> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read `{}`", file.display()))?;
        let case: Self = serde_json::from_str(&scratch.fill(&text))
            .with_context(|| format!("`{}` is not a case", file.display()))?;
        for path in case.committed.keys().chain(case.files.keys()) {
            ensure!(
                path.starts_with(scratch.root()),
                "`{}` names `{}`, which is outside the scratch folder",
                file.display(),
                path.display()
            );
        }
        Ok(case)
    }

    /// Returns the session to play.
    pub(crate) fn session(&self) -> Session {
        let (prompt, turns, subagents) =
            (self.prompt.clone(), self.turns.clone(), self.subagents.clone());
        Session { prompt, turns, subagents, ..Session::default() }
    }
}
