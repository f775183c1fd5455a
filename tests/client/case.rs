//! One case as its file tells it: what to set up, what the model says, what is to come of it.
//!
//! A case is data. It holds no code and no expectation that another case shares: what must hold in
//! every run (a reply that parses, a chain that verifies) is in `check`.

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
    /// What the case shows, for whoever reads the file.
    #[serde(rename = "about")]
    _about: String,
    /// Files that stand in the project and are committed before the run.
    #[serde(default)]
    pub(crate) committed: BTreeMap<PathBuf, String>,
    /// Files that are written after that commit.
    #[serde(default)]
    pub(crate) files: BTreeMap<PathBuf, String>,
    /// What the person asks for.
    pub(crate) prompt: String,
    /// What the model answers, turn by turn, to the main agent.
    pub(crate) turns: Vec<Turn>,
    /// The same for subagents: keyed by a text that stands in the subagent's own prompt.
    #[serde(default)]
    pub(crate) subagents: BTreeMap<String, Vec<Turn>>,
    /// What is to come of it.
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
        /// The call's id, by which expectations name it.
        id: String,
        /// Its parameters.
        input: Value,
    },
}

/// What is to come of a run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    /// The `terminal_reason` of the client's result; null where a prompt was refused.
    pub(crate) ended: Option<String>,
    /// Turns that nobody asked for.
    #[serde(default)]
    pub(crate) unplayed: usize,
    /// Files with exactly this text.
    #[serde(default)]
    pub(crate) files: BTreeMap<PathBuf, String>,
    /// Paths at which nothing may stand.
    #[serde(default)]
    pub(crate) absent: Vec<PathBuf>,
    /// Files that must stand somewhere below a folder.
    #[serde(default)]
    pub(crate) kept: Vec<Kept>,
    /// What the model was told of its calls.
    #[serde(default)]
    pub(crate) told: Vec<Told>,
    /// Texts that the model was given as context.
    #[serde(default)]
    pub(crate) context: Vec<String>,
    /// Texts that the person was shown.
    #[serde(default)]
    pub(crate) shown: Vec<String>,
    /// What our hooks answered.
    #[serde(default)]
    pub(crate) answers: Vec<Answer>,
    /// What the journal holds; null where the case leaves no journal that can be read.
    pub(crate) journal: Option<Vec<Entry>>,
    /// Texts that no file of ours may hold.
    #[serde(default)]
    pub(crate) hidden: Vec<String>,
}

/// A file that was moved, not lost.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kept {
    /// Where to look.
    pub(crate) below: PathBuf,
    /// The file's name.
    pub(crate) name: String,
    /// Its text.
    pub(crate) text: String,
}

/// What the model was told of one call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Told {
    /// The call.
    pub(crate) call: String,
    /// Whether it was told as an error.
    pub(crate) error: bool,
    /// Texts in it.
    #[serde(default)]
    pub(crate) has: Vec<String>,
    /// Texts that are not in it.
    #[serde(default)]
    pub(crate) lacks: Vec<String>,
}

/// What one of our hooks answered.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    /// The hook as the client names it, for example `PreToolUse:Bash`.
    pub(crate) hook: String,
    /// Which of them, from 0; all of them when absent.
    pub(crate) nth: Option<usize>,
    /// Its exit code.
    pub(crate) exit: i64,
    /// JSON pointers that must be there, with this value.
    #[serde(default)]
    pub(crate) holds: BTreeMap<String, Value>,
    /// JSON pointers at which there must be a value, whatever it is.
    #[serde(default)]
    pub(crate) present: Vec<String>,
    /// JSON pointers at which nothing may be.
    #[serde(default)]
    pub(crate) lacks: Vec<String>,
}

/// A record of the journal.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// JSON pointers into the record that must be there, with this value.
    pub(crate) holds: BTreeMap<String, Value>,
    /// JSON pointers at which there must be a value, whatever it is.
    #[serde(default)]
    pub(crate) present: Vec<String>,
    /// Texts that stand somewhere in it.
    #[serde(default)]
    pub(crate) has: Vec<String>,
    /// How many records match; at least one when absent.
    pub(crate) times: Option<usize>,
}

impl Case {
    /// Reads a case file for a run in `scratch`, whose folders replace `@project@`, `@home@` and
    /// `@state@`.
    pub(crate) fn read(file: &Path, scratch: &Scratch) -> Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
        let case: Self = serde_json::from_str(&scratch.fill(&text)).with_context(|| format!("`{}` is no case", file.display()))?;
        for path in case.committed.keys().chain(case.files.keys()) {
            ensure!(
                path.starts_with(scratch.root()),
                "`{}` names `{}`, which lies outside the scratch folder",
                file.display(),
                path.display()
            );
        }
        Ok(case)
    }

    /// What is played.
    pub(crate) fn session(&self) -> Session {
        let (prompt, turns, subagents) = (self.prompt.clone(), self.turns.clone(), self.subagents.clone());
        Session { prompt, turns, subagents, ..Session::default() }
    }
}
