//! The table as its files hold it: parts of sessions of rows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::case::Turn;
use crate::scratch::{Installed, Scratch};

/// Rows of one kind.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    /// The part's heading.
    pub(crate) title: String,
    /// What its rows have in common.
    pub(crate) about: String,
    /// The runs that show it.
    pub(crate) sessions: Vec<Play>,
}

/// One run of the client, which shows one row or more.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Play {
    /// The run's name.
    pub(crate) id: String,
    /// Whose settings hold our hooks.
    pub(crate) installed: Installed,
    /// What stands in for our program at an event, in shell; `$input` is the event, `$whole` our program.
    #[serde(default)]
    pub(crate) program: Vec<StandIn>,
    /// What is changed in settings after that.
    #[serde(default)]
    pub(crate) edits: Vec<Edit>,
    /// Files that stand there.
    #[serde(default)]
    pub(crate) files: BTreeMap<PathBuf, String>,
    /// Further arguments of the client.
    #[serde(default)]
    pub(crate) arguments: Vec<String>,
    /// Further variables of the client's environment.
    #[serde(default)]
    pub(crate) environment: BTreeMap<String, String>,
    /// What the person asks for.
    #[serde(default = "free_space")]
    pub(crate) prompt: String,
    /// What the model does before the rows' calls.
    #[serde(default)]
    pub(crate) first: Vec<Turn>,
    /// What is shown, a call a row, in turns.
    pub(crate) rows: Vec<Row>,
}

/// What our program does at an event instead of answering it, or besides.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StandIn {
    /// The event.
    pub(crate) event: String,
    /// Shell.
    pub(crate) run: String,
}

/// A value to set in a JSON file; null takes it out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    /// The file; the one that holds our hooks when absent.
    pub(crate) file: Option<PathBuf>,
    /// Where; `-` at its end appends to a list.
    pub(crate) pointer: String,
    /// What.
    pub(crate) value: Value,
}

/// One way to go on without a review, and what becomes of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// The row's name.
    pub(crate) id: String,
    /// What is the matter, in Markdown.
    pub(crate) condition: String,
    /// How the test brings it about, in Markdown.
    pub(crate) how: String,
    /// What stands in for our program's answer, in shell.
    pub(crate) answer: Option<String>,
    /// To which event.
    #[serde(default = "before_tool")]
    pub(crate) event: String,
    /// The call; the deletion of a folder in the person's home when absent.
    pub(crate) call: Option<Call>,
    /// The model makes no call for it: something before did.
    #[serde(default)]
    pub(crate) silent: bool,
    /// How it is known that the call ran.
    #[serde(default)]
    pub(crate) trace: Trace,
    /// What happens.
    pub(crate) happens: Happens,
    /// Texts that model or person are told.
    #[serde(default)]
    pub(crate) told: Vec<String>,
    /// The kinds of the records that tell of the call.
    pub(crate) records: Vec<String>,
    /// What closes it.
    pub(crate) closed: Option<String>,
    /// Why it cannot be closed, though a record tells of it afterwards.
    pub(crate) found: Option<String>,
    /// Why it cannot be closed.
    pub(crate) open: Option<String>,
    /// What a managed installation changes.
    pub(crate) managed: Option<String>,
}

/// A tool call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    /// The tool.
    pub(crate) tool: String,
    /// Its parameters.
    pub(crate) input: Value,
}

/// What shows that a call ran.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Trace {
    /// The row's letter is gone.
    #[default]
    Gone,
    /// There is something at this path.
    Written(PathBuf),
    /// The model was given this text.
    Heard(String),
}

/// What becomes of a row's call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Happens {
    /// It runs.
    Runs,
    /// It does not, and the model is told so.
    Refused,
    /// It does not, and the session ends.
    Ended,
    /// The model is not even asked.
    Unstarted,
}

/// All parts, in the order of their files' names.
pub(crate) fn parts() -> Result<Vec<Part>> {
    read(|text| text.to_owned())
}

/// The same with a run's folders in place of their names.
pub(crate) fn parts_in(scratch: &Scratch) -> Result<Vec<Part>> {
    read(|text| scratch.fill(text))
}

fn read(fill: impl Fn(&str) -> String) -> Result<Vec<Part>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("client/fail_open");
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot list `{}`", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|end| end == "json"));
    files.sort();
    let parts = files.iter().map(|file| {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
        serde_json::from_str(&fill(&text)).with_context(|| format!("`{}` is no part of the table", file.display()))
    });
    let parts = parts.collect::<Result<Vec<Part>>>()?;
    sound(&parts)?;
    Ok(parts)
}

/// The table does not contradict itself.
fn sound(parts: &[Part]) -> Result<()> {
    let mut names = BTreeSet::new();
    for play in parts.iter().flat_map(|part| &part.sessions) {
        ensure!(names.insert(&play.id), "two sessions are called `{}`", play.id);
        let mut rows = BTreeSet::new();
        for row in &play.rows {
            ensure!(rows.insert(&row.id), "two rows of `{}` are called `{}`", play.id, row.id);
            row.sound().with_context(|| format!("the row `{}` of `{}`", row.id, play.id))?;
        }
    }
    Ok(())
}

impl Row {
    fn sound(&self) -> Result<()> {
        let recorded = |kind: &str| self.records.iter().any(|record| record == kind);
        match (&self.closed, &self.found, &self.open) {
            (Some(_), None, None) => ensure!(self.happens != Happens::Runs || recorded("review"), "is called closed, but runs unreviewed"),
            (None, Some(_), None) => {
                ensure!(self.happens == Happens::Runs && recorded("unreviewed"), "is called found, but does not run, or no record tells");
            }
            (None, None, Some(_)) => {
                ensure!(self.happens == Happens::Runs && !recorded("unreviewed"), "is called open, but does not run, or a record tells")
            }
            _ => ensure!(false, "is either closed, found or open"),
        }
        Ok(())
    }
}

fn free_space() -> String {
    "Free some space.".to_owned()
}

fn before_tool() -> String {
    "PreToolUse".to_owned()
}
