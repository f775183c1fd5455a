//! Reads the text that a file tool writes, with the sandboxed reader. If something runs the file
//! later, the grave effects of its text count as effects of the write. So do the lines that do harm
//! without being a command, as one that leaves a check out.
//!
//! The reader gets the change as a patch, the form in which some agents write files anyway, so that
//! a file tool, a patch and a redirection take one way.

use super::parts::LIMIT;
use super::paths::normalise_path;
use super::{CallLocation, Collector, MOST_TEXT, ShellReader, unread};
use crate::action::{Effect, EffectKind, Reading};
use crate::fault::Fault;
use crate::text::floor_boundary;
use portcullis_autoruns::{
    find_autorun, find_code, holds_statements, may_do_harm, may_expose, may_leave_check_out,
    names_sources,
};
use serde_json::{Map, Value};

/// The part of a longer text that the reader gets at its end, in bytes.
const TAIL: usize = 16 * 1024;
/// The parameters that hold a whole text, the text of one edit, and the text that it replaces.
const WHOLE: &[&str] = &["content", "file_text", "contents", "fileText", "new_content"];
const NEW: &[&str] = &[
    "new_string",
    "new_source",
    "new_str",
    "newString",
    "newText",
    "new_text",
    "replacement",
    "replace",
];
const OLD: &[&str] =
    &["old_string", "old_str", "oldString", "oldText", "old_text", "search", "find"];
/// The parameters that hold a list of edits.
const LISTS: &[&str] = &["edits", "changes", "replacements"];
/// The most edits of one call.
const EDITS: usize = 64;
/// The most forms that a reading adds.
const FORMS: usize = 16;

/// Reads the text that a call writes to a path.
pub(super) fn read(
    input: &Map<String, Value>,
    path: &str,
    place: &CallLocation,
    facts: &mut Collector<'_>,
    read_shell: &mut ShellReader<'_>,
) -> Option<Fault> {
    if !is_run_later(input, path, &place.cwd, &place.home) {
        return None;
    }
    let patch = patch_of(input, path)?;
    match read_shell(&patch, place) {
        Ok(reading) => {
            take_planted(reading, path, facts);
            None
        }
        Err(fault) => {
            facts.gap(format!("the text could not be read ({})", fault.kind));
            Some(unread(fault))
        }
    }
}

/// Returns true if a call of a file tool brings a text with it that something will run, or that
/// says where packages come from. Of an ordinary file of code, only a text with a sign of harm is
/// read.
pub(super) fn is_run_later(input: &Map<String, Value>, path: &str, cwd: &str, home: &str) -> bool {
    let path = normalise_path(path, cwd, home);
    let brings = WHOLE.iter().chain(NEW).chain(LISTS).any(|name| input.contains_key(*name));
    brings
        && (find_autorun(&path, home).is_some()
            || names_sources(&path)
            || holds_statements(&path)
            || find_code(&path).is_some() && brings_text(input, &may_do_harm)
            || brings_text(input, &|text| {
                may_leave_check_out(&path, text) || may_expose(&path, text)
            }))
}

/// Returns true if a text that a call brings is such a one.
fn brings_text(input: &Map<String, Value>, is_such: &dyn Fn(&str) -> bool) -> bool {
    let brings = |map: &Map<String, Value>, names: &[&str]| {
        let texts = names.iter().filter_map(|name| map.get(*name)?.as_str());
        texts.into_iter().any(is_such)
    };
    let edits = edits_of(input).take(EDITS);
    brings(input, WHOLE) || brings(input, NEW) || edits.into_iter().any(|edit| brings(edit, NEW))
}

fn edits_of(input: &Map<String, Value>) -> impl Iterator<Item = &Map<String, Value>> {
    let list = LISTS.iter().find_map(|name| input.get(*name)?.as_array());
    list.into_iter().flatten().filter_map(Value::as_object)
}

/// Returns a call's change as a patch; none if it changes no text.
fn patch_of(input: &Map<String, Value>, path: &str) -> Option<String> {
    // A line break would let the path add lines of its own to the patch.
    if path.is_empty() || path.contains(['\n', '\r']) {
        return None;
    }
    let text = |map: &Map<String, Value>, names: &[&str]| {
        names.iter().find_map(|name| map.get(*name)?.as_str().map(str::to_owned))
    };
    let mut hunks: Vec<(String, String)> = Vec::new();
    let whole = text(input, WHOLE);
    if whole.is_none() {
        hunks.extend(text(input, NEW).map(|new| (text(input, OLD).unwrap_or_default(), new)));
        let edits = edits_of(input).take(EDITS);
        hunks.extend(
            edits.filter_map(|edit| Some((text(edit, OLD).unwrap_or_default(), text(edit, NEW)?))),
        );
    }
    if whole.is_none() && hunks.is_empty() {
        return None;
    }
    let mut patch = String::from("*** Begin Patch\n");
    match whole {
        Some(text) => {
            patch.push_str(&format!("*** Add File: {path}\n"));
            push_lines(&mut patch, '+', &text);
        }
        None => {
            patch.push_str(&format!("*** Update File: {path}\n"));
            for (old, new) in hunks {
                patch.push_str("@@\n");
                push_lines(&mut patch, '-', &old);
                push_lines(&mut patch, '+', &new);
            }
        }
    }
    patch.push_str("*** End Patch\n");
    Some(patch)
}

/// Adds the lines of a text, each behind a sign; of a text that is too long, both ends.
fn push_lines(patch: &mut String, sign: char, text: &str) {
    let mut push = |part: &str| {
        for line in part.split('\n') {
            patch.push(sign);
            patch.push_str(line);
            patch.push('\n');
        }
    };
    if text.is_empty() {
        return;
    }
    if text.len() <= MOST_TEXT + TAIL {
        return push(text.strip_suffix('\n').unwrap_or(text));
    }
    push(text.get(..floor_boundary(text, MOST_TEXT)).unwrap_or_default());
    push(text.get(floor_boundary(text, text.len() - TAIL)..).unwrap_or_default());
}

/// Takes what a reading says of the text: the forms in it, and that something runs it later.
fn take_planted(reading: Reading, path: &str, facts: &mut Collector<'_>) {
    let Reading { forms, effects, gaps, .. } = reading;
    let late = |form: &crate::action::Form| form.id == PLANTED || LATE.contains(&form.id.as_str());
    for form in forms.into_iter().filter(late).take(FORMS) {
        facts.facts.forms.push(crate::action::Form { command: None, ..form });
    }
    let planted = facts.facts.forms.iter().any(|form| form.id == PLANTED);
    let persists = |effect: &Effect| effect.kind == EffectKind::Persistence;
    if planted && effects.iter().any(persists) {
        facts.file_as_named(EffectKind::Persistence, path);
    }
    if names_sources(path) {
        let unseen = |effect: &Effect| effect.kind == EffectKind::UnseenCode;
        for effect in effects.iter().filter(|effect| unseen(effect)).take(1) {
            facts.effect(Effect { command: None, ..effect.clone() });
            gaps.iter()
                .filter(|gap| !gap.starts_with(LIMIT))
                .for_each(|gap| facts.gap(gap.clone()));
        }
    }
    for limit in gaps.iter().filter_map(|gap| gap.strip_prefix(LIMIT)) {
        facts.limit(crate::text::cut_text(limit, 512));
    }
}

/// The form that the reader reports for a command that is written to where it runs later.
const PLANTED: &str = "planted-command";
/// Those for a line that does harm once something runs or reads the file.
const LATE: &[&str] = &["late-exposed", "late-loss", "late-unchecked"];
