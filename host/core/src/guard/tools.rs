//! Tools of servers and unknown tools: a guarded path among their arguments counts as changed,
//! unless the tool's name says that it only reads.

use super::GuardInput;
use super::mention::names;
use crate::action::Operation;
use crate::facts::normalise_path;
use crate::policy::GuardedPath;
use serde_json::Value;

/// Words that the names of reading tools begin with...
const READS: &[&str] = &[
    "cat",
    "describe",
    "diff",
    "directory",
    "exists",
    "fetch",
    "find",
    "get",
    "glob",
    "grep",
    "head",
    "info",
    "inspect",
    "list",
    "ls",
    "lookup",
    "open",
    "query",
    "read",
    "resolve",
    "search",
    "show",
    "stat",
    "status",
    "tail",
    "tree",
    "view",
    "watch",
];
/// ...unless the name also contains one of these.
const CHANGES: &[&str] = &[
    "add", "append", "apply", "chmod", "copy", "create", "delete", "edit", "exec", "execute",
    "insert", "modify", "move", "patch", "put", "remove", "rename", "replace", "run", "set",
    "update", "upload", "write",
];
/// Arguments that people or programs read: a path in them is only a mention.
const TEXTS: &[&str] = &[
    "body",
    "caption",
    "comment",
    "content",
    "contents",
    "description",
    "message",
    "new_string",
    "new_text",
    "newText",
    "note",
    "old_string",
    "old_text",
    "oldText",
    "prompt",
    "query",
    "subject",
    "summary",
    "text",
    "title",
];

/// Returns the first guarded path that a tool is given and may change.
pub(super) fn hit<'a>(input: &GuardInput<'a>) -> Option<&'a GuardedPath> {
    let Operation::Tool(tool) = &input.action.operation else { return None };
    // The client's own bookkeeping has no effects at all.
    if input.action.facts.effects.is_empty() || reads(&tool.name) {
        return None;
    }
    let runs = words(&tool.name).any(|word| {
        matches!(
            word.as_str(),
            "exec" | "execute" | "run" | "eval" | "shell" | "bash" | "command" | "code"
        )
    });
    let mut open: Vec<(&str, &Value)> =
        input.parameters.iter().map(|(name, value)| (name.as_str(), value)).collect();
    let mut seen = 0;
    while let Some((name, value)) = open.pop() {
        seen += 1;
        match value {
            // Many values must not hide the guarded path: past the limit the whole text is
            // searched.
            _ if seen > MOST_VALUES => {
                return input
                    .guarded
                    .iter()
                    .find(|guarded| names(&input.action.parameters, guarded));
            }
            Value::String(text) => {
                if let Some(guarded) =
                    input.guarded.iter().find(|guarded| touches(input, name, text, runs, guarded))
                {
                    return Some(guarded);
                }
            }
            Value::Array(items) => open.extend(items.iter().map(|item| (name, item))),
            Value::Object(object) => {
                open.extend(object.iter().map(|(name, value)| (name.as_str(), value)))
            }
            _ => {}
        }
    }
    None
}

/// The most values of one call that are examined one by one.
const MOST_VALUES: usize = 4096;

fn touches(
    input: &GuardInput<'_>,
    name: &str,
    text: &str,
    runs: bool,
    guarded: &GuardedPath,
) -> bool {
    if TEXTS.contains(&name) && !runs {
        return false;
    }
    let path = text.strip_prefix("file://").unwrap_or(text);
    let exact = text.len() < 4096 && !text.contains('\n') && {
        use super::path_relation::{PathRelation, relation};
        matches!(
            relation(&normalise_path(path, &input.place.cwd, &input.place.home), guarded),
            Some(PathRelation::Same | PathRelation::Inside)
        )
    };
    exact || names(text, guarded)
}

/// Returns true if the tool's name says that it only reads.
fn reads(name: &str) -> bool {
    let mut all = words(name);
    let first = all.next().unwrap_or_default();
    READS.contains(&first.as_str()) && !all.any(|word| CHANGES.contains(&word.as_str()))
}

/// Splits a name into words: `read_text_file`, `readTextFile`, `read-file`.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut parted = String::with_capacity(name.len() + 8);
    for c in name.chars().take(128) {
        if c.is_uppercase() {
            parted.push(' ');
        }
        parted.extend(c.to_lowercase());
    }
    parted
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect::<Vec<_>>()
        .into_iter()
}
