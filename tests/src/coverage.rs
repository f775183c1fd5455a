//! The coverage of work beside the main agent's calls, as a case of a real client shows it.
//!
//! A case names the tool for each kind of work, `"covers": {"background": "bash"}`, or `null` if the
//! client has none. The rest follows from the files and the journal that the case expects, so that
//! nothing is claimed that its run does not show.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Work beside the main agent's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The calls of an agent that the main one starts.
    Subagent,
    /// A command that goes on while the agent does something else.
    Background,
    /// Input that the agent writes to such a command.
    Input,
}

impl Work {
    /// All of them, in the order of the page.
    pub const ALL: &[Self] = &[Self::Subagent, Self::Background, Self::Input];

    /// Returns its name in a case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Subagent => "subagent",
            Self::Background => "background",
            Self::Input => "input",
        }
    }
}

/// The coverage of such work by our hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// It is reviewed: a dangerous call is refused.
    Reviewed,
    /// It is reviewed, and its record does not tell the subagent from the main agent.
    Unattributed,
    /// It happens, and a record says that nobody reviewed it.
    Recorded,
    /// It happens, and no record says so.
    Missed,
    /// The client has no tool for it.
    Absent,
}

/// A record of the journal that a case expects.
struct Record {
    kind: String,
    tool: String,
    verdict: String,
    names_agent: bool,
}

/// Returns what a case shows; nothing if it does not say so.
///
/// # Errors
/// Fails if the file is not a case, or if what it names cannot be concluded from it.
pub fn read_coverage(file: &Path) -> Result<Vec<(Work, Coverage)>> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let case: Value = serde_json::from_str(&text)
        .with_context(|| format!("`{}` is not a case", file.display()))?;
    let Some(covers) = case.get("covers").and_then(Value::as_object) else {
        return Ok(Vec::new());
    };
    let known = |name: &&String| Work::ALL.iter().any(|work| work.name() == *name);
    if let Some(unknown) = covers.keys().find(|name| !known(name)) {
        bail!("`{}` covers `{unknown}`, which is no kind of work", file.display());
    }
    let named = Work::ALL.iter().filter_map(|work| Some((*work, covers.get(work.name())?)));
    named
        .map(|(work, tool)| {
            let found = conclude(work, tool.as_str(), &case);
            Ok((work, found.with_context(|| format!("{work:?} in `{}`", file.display()))?))
        })
        .collect()
}

fn conclude(work: Work, tool: Option<&str>, case: &Value) -> Result<Coverage> {
    let Some(tool) = tool else {
        let offered = case.pointer("/expect/offered").and_then(Value::as_array);
        ensure!(offered.is_some(), "a tool that is not there needs the list of those that are");
        return Ok(Coverage::Absent);
    };
    let records = read_journal(case)?;
    let of_tool: Vec<&Record> = records.iter().filter(|record| record.tool == tool).collect();
    let is_refused = |by_subagent: bool| {
        of_tool.iter().any(|record| {
            record.kind == "review"
                && record.verdict == "block"
                && record.names_agent == by_subagent
        })
    };
    let is_recorded = of_tool.iter().any(|record| record.kind == "unreviewed");
    Ok(match work {
        _ if is_recorded => Coverage::Recorded,
        _ if loses_file(case) => Coverage::Missed,
        Work::Subagent if is_refused(true) => Coverage::Reviewed,
        Work::Subagent if is_refused(false) => Coverage::Unattributed,
        Work::Background | Work::Input if is_refused(false) => Coverage::Reviewed,
        _ => Coverage::Missed,
    })
}

/// Returns true if the case expects that a file from before the run is not there afterwards.
fn loses_file(case: &Value) -> bool {
    let before = case.get("files").and_then(Value::as_object);
    let is_lost = |path: &str| {
        let after = case.pointer("/expect/files").and_then(|files| files.get(path));
        let absent = case.pointer("/expect/absent").and_then(Value::as_array);
        after == Some(&Value::Null)
            || absent.into_iter().flatten().any(|absent| absent.as_str() == Some(path))
    };
    before.into_iter().flatten().any(|(path, _)| is_lost(path))
}

/// Returns the records that a case expects. It writes a record as a list of words, or as an object
/// with what it `holds` by JSON pointers.
fn read_journal(case: &Value) -> Result<Vec<Record>> {
    let journal = case.pointer("/expect/journal").and_then(Value::as_array);
    let mut records = Vec::new();
    for entry in journal.context("it expects no journal")? {
        if entry.get("times").and_then(Value::as_u64) == Some(0) {
            continue;
        }
        let text = |place: usize, pointer: &str| {
            let held = entry.get("holds").and_then(|holds| holds.get(pointer));
            entry.get(place).or(held).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let present = entry.get("present").and_then(Value::as_array);
        let names_agent = entry.get(3).is_some()
            || present.into_iter().flatten().any(|pointer| pointer.as_str() == Some("/agent"));
        records.push(Record {
            kind: text(0, "/kind"),
            tool: text(1, "/subject"),
            verdict: text(2, "/verdict"),
            names_agent,
        });
    }
    Ok(records)
}
