//! One case: a script of the model, and the expectations.

use crate::play::Site;
use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// What the case shows; for readers.
    #[serde(rename = "about")]
    _about: String,
    /// The way in which our hook fails, in a case of [the page of them](crate::failures).
    #[serde(default)]
    pub(crate) fails: Option<Failure>,
    /// What closes that failure, or what leaves it open.
    #[serde(default)]
    pub(crate) because: String,
    /// The tools that show [how far hooks see](portcullis_tests::coverage), which reads them.
    #[serde(default, rename = "covers")]
    _covers: Value,
    /// Our configuration, if it is not the default.
    #[serde(default)]
    pub(crate) config: String,
    /// True if our hooks are the machine's: `install --managed`, into a folder that stands for `/etc`.
    #[serde(default)]
    pub(crate) managed: bool,
    /// More arguments of the client.
    #[serde(default)]
    pub(crate) arguments: Vec<String>,
    /// A shell script that the hooks start in place of our program, which is `$PORTCULLIS` in it: a
    /// hook that fails. It is written after the installation, so that the client trusts it.
    #[serde(default)]
    pub(crate) hook: Option<String>,
    /// Files with their texts, before the run.
    #[serde(default)]
    pub(crate) files: BTreeMap<PathBuf, String>,
    /// The person's prompt.
    pub(crate) prompt: String,
    /// The answer of the person who watches to the action that waits; none if nobody watches.
    #[serde(default)]
    pub(crate) person: Option<Watching>,
    /// The model's answers to the main agent, in order.
    pub(crate) turns: Vec<Vec<Step>>,
    /// The same for subagents: keyed by a text in the subagent's own prompt.
    #[serde(default)]
    pub(crate) subagents: BTreeMap<String, Vec<Vec<Step>>>,
    pub(crate) expect: Expect,
}

/// A way in which our hook fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Failure {
    /// Its program is not there.
    Missing,
    /// It is killed.
    Killed,
    /// It ends with code 1.
    EndsWithCode,
    /// It ends well without an answer.
    Silent,
    /// It gets no end of its input, so it cannot answer.
    Slow,
    /// It cannot write its journal.
    Journal,
    /// It cannot read its configuration.
    Configuration,
}

impl Failure {
    /// All of them, in the order of the page.
    pub(crate) const ALL: &[Self] = &[
        Self::Missing,
        Self::Killed,
        Self::EndsWithCode,
        Self::Silent,
        Self::Slow,
        Self::Journal,
        Self::Configuration,
    ];

    /// Returns its description, for a table.
    pub(crate) const fn description(self) -> &'static str {
        match self {
            Self::Missing => "is missing",
            Self::Killed => "is killed",
            Self::EndsWithCode => "ends with code 1",
            Self::Silent => "answers nothing",
            Self::Slow => "takes too long",
            Self::Journal => "cannot write its journal",
            Self::Configuration => "cannot read its configuration",
        }
    }
}

/// The answer of a person who watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Watching {
    /// They allow the action.
    Allows,
    /// They allow it on the page of the service, in a browser.
    AllowsOnPage,
    /// They do not answer.
    Sleeps,
}

/// A part of the model's answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Step {
    /// Text for the person.
    Text(String),
    /// A call of the client's tool for commands.
    Shell(String),
    /// A call of its tool for patches.
    Patch(String),
    /// A call of any tool, by the model's name for it, which may begin with a namespace and a dot.
    Call(String, Value),
    /// A call of its tool for scripts, which call other tools.
    Script(String),
    /// Input for the command that runs.
    Input(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    /// Files with their texts after the run; `null` is a file that is not there.
    #[serde(default)]
    pub(crate) files: BTreeMap<PathBuf, Option<String>>,
    /// For each call of the main agent in order, parts of what the model is told.
    #[serde(rename = "told")]
    pub(crate) results: Vec<Vec<String>>,
    /// Texts that the model must not be told.
    #[serde(default, rename = "untold")]
    pub(crate) hidden: Vec<String>,
    /// Whether `doctor` finds a problem afterwards; it is not asked where that would take minutes.
    #[serde(default)]
    pub(crate) problem: Option<bool>,
    /// The verdicts that `replay` counts for the session as the client keeps or exports it; it is
    /// not asked in most cases.
    #[serde(default)]
    pub(crate) replayed: Option<BTreeMap<String, u64>>,
    /// All tools that the client offers the main agent, in order; not compared in most cases.
    #[serde(default)]
    pub(crate) offered: Option<Vec<String>>,
    /// The journal's records of actions: kind, tool and verdict of each, then `subagent` if it is
    /// that of one.
    pub(crate) journal: Vec<Vec<String>>,
}

impl Case {
    /// Reads a case without the paths of a site.
    pub(crate) fn read_unfilled(file: &Path) -> Result<Self> {
        Self::parse(file, &read_text(file)?)
    }

    /// Reads a case; folders are named as `@project@`, `@home@` and `@etc@`.
    pub(crate) fn read(file: &Path, site: &Site) -> Result<Self> {
        Self::parse(file, &site.fill(&read_text(file)?))
    }

    fn parse(file: &Path, text: &str) -> Result<Self> {
        serde_json::from_str(text).with_context(|| format!("`{}` is not a case", file.display()))
    }
}

fn read_text(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))
}
