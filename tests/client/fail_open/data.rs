//! The table, as its files define it: parts, which have sessions, which have rows.

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
    /// The common property of its rows.
    pub(crate) about: String,
    /// The runs that demonstrate it.
    pub(crate) sessions: Vec<Play>,
}

/// One run of the client, which demonstrates at least one row.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Play {
    /// The run's name.
    pub(crate) id: String,
    /// The scope of the settings with our hooks.
    pub(crate) installed: Installed,
    /// Shell code that replaces our program at an event; `$input` is the event, `$whole` our
    /// program.
    #[serde(default)]
    pub(crate) program: Vec<StandIn>,
    /// Later changes to settings.
    #[serde(default)]
    pub(crate) edits: Vec<Edit>,
    /// Existing files.
    #[serde(default)]
    pub(crate) files: BTreeMap<PathBuf, String>,
    /// Additional arguments of the client.
    #[serde(default)]
    pub(crate) arguments: Vec<String>,
    /// Additional variables of the client's environment.
    #[serde(default)]
    pub(crate) environment: BTreeMap<String, String>,
    /// The person's prompt.
    #[serde(default = "free_space")]
    pub(crate) prompt: String,
    /// The model's actions before the rows' calls.
    #[serde(default)]
    pub(crate) first: Vec<Turn>,
    /// The demonstrated rows, one call per row, in turns.
    pub(crate) rows: Vec<Row>,
}

/// An action of our program at an event instead of its answer, or in addition to it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StandIn {
    /// The event.
    pub(crate) event: String,
    /// The shell code.
    pub(crate) run: String,
}

/// A value to set in a JSON file; null removes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    /// The file; the one with our hooks when absent.
    pub(crate) file: Option<PathBuf>,
    /// The location; `-` at its end appends to a list.
    pub(crate) pointer: String,
    /// The value.
    pub(crate) value: Value,
}

/// One way to continue without a review, and its outcome.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// The row's name.
    pub(crate) id: String,
    /// The condition, in Markdown.
    pub(crate) condition: String,
    /// The way the test causes it, in Markdown.
    pub(crate) how: String,
    /// Shell code that replaces our program's answer.
    pub(crate) answer: Option<String>,
    /// The event that it answers.
    #[serde(default = "before_tool")]
    pub(crate) event: String,
    /// The call; by default the deletion of a folder in the person's home.
    pub(crate) call: Option<Call>,
    /// True if the model makes no call for it, since an earlier action did.
    #[serde(default)]
    pub(crate) silent: bool,
    /// The evidence that the call ran.
    #[serde(default)]
    pub(crate) trace: Trace,
    /// The outcome.
    pub(crate) happens: Happens,
    /// Texts that the model or the person receives.
    #[serde(default)]
    pub(crate) messages: Vec<String>,
    /// The kinds of the records about the call.
    pub(crate) records: Vec<String>,
    /// The protection that closes it.
    pub(crate) closed: Option<String>,
    /// The reason why it cannot be closed, though a later record reports it.
    pub(crate) found: Option<String>,
    /// The reason why it cannot be closed.
    pub(crate) open: Option<String>,
    /// The difference with a managed installation.
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

/// The evidence that a call ran.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Trace {
    /// The row's letter was deleted.
    #[default]
    Gone,
    /// This path exists.
    Written(PathBuf),
    /// The model was given this text.
    Heard(String),
}

/// The outcome of a row's call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Happens {
    /// It runs.
    Runs,
    /// It does not run, and the model is informed.
    Refused,
    /// It does not run, and the session ends.
    Ended,
    /// The model is not even called.
    Unstarted,
}

/// Returns all parts, in the order of their files' names.
pub(crate) fn parts() -> Result<Vec<Part>> {
    read(|text| text.to_owned())
}

/// Returns the parts with a run's folders instead of their names.
pub(crate) fn parts_in(scratch: &Scratch) -> Result<Vec<Part>> {
    read(|text| scratch.fill(text))
}

fn read(fill: impl Fn(&str) -> String) -> Result<Vec<Part>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("client/fail_open");
    let entries =
        fs::read_dir(&folder).with_context(|| format!("cannot list `{}`", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|end| end == "json"));
    files.sort();
    let parts = files.iter().map(|file| {
        let text = fs::read_to_string(file)
            .with_context(|| format!("cannot read `{}`", file.display()))?;
        serde_json::from_str(&fill(&text))
            .with_context(|| format!("`{}` is not a part of the table", file.display()))
    });
    let parts = parts.collect::<Result<Vec<Part>>>()?;
    sound(&parts)?;
    Ok(parts)
}

/// Checks that the table does not contradict itself.
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
            (Some(_), None, None) => ensure!(
                self.happens != Happens::Runs || recorded("review"),
                "is called closed, but runs unreviewed"
            ),
            (None, Some(_), None) => {
                ensure!(
                    self.happens == Happens::Runs && recorded("unreviewed"),
                    "is called found, but does not run, or no record tells"
                );
            }
            (None, None, Some(_)) => {
                ensure!(
                    self.happens == Happens::Runs && !recorded("unreviewed"),
                    "is called open, but does not run, or a record tells"
                )
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
