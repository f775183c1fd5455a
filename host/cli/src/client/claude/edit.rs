//! Puts our handlers into a settings file and takes them out again, and nothing else.
//!
//! Both are checked on their result before anyone writes it: what is not ours is the same before and after.

use super::handlers::{EVENTS, Invocation, group};
use super::registered::{Deviation, Registered, find, missing};
use crate::client::json::{Document, NotJson};
use anyhow::{Result, anyhow, bail};
use serde_json::{Map, Value, json};

/// More steps than a file of the client's greatest size could need mean a defect.
const MOST_STEPS: usize = 10_000;

/// The document with each of our handlers as it should be, once for each event.
///
/// # Errors
/// `hooks` or one of our events in it is of a shape that cannot be added to, or the result would change
/// something else.
pub fn install(document: &Document, wanted: &Invocation) -> Result<Document> {
    let mut edited = document.clone();
    for _ in 0..MOST_STEPS {
        match step(&edited, wanted).map_err(unfit)? {
            Some(next) => edited = next,
            None => return unchanged_elsewhere(document, edited, wanted),
        }
    }
    bail!("the hooks could not be put in order: please report it with the file");
}

/// The document without our handlers, and without what is empty because of that; `keep` names containers
/// that stay, since they were there before us.
///
/// # Errors
/// The result would change something else.
pub fn uninstall(document: &Document, wanted: &Invocation, keep: &[String]) -> Result<Document> {
    let mut edited = document.clone();
    for _ in 0..MOST_STEPS {
        match find(edited.value(), wanted).iter().find(|handler| alone(handler)) {
            Some(handler) => edited = take_out(&edited, &handler.pointer, keep).map_err(unfit)?,
            None => return unchanged_elsewhere(document, edited, wanted),
        }
    }
    bail!("the hooks could not be taken out: please report it with the file");
}

/// Containers on our way that are empty: they stay when our handlers go.
#[must_use]
pub fn empty_containers(settings: &Value) -> Vec<String> {
    let empty = |pointer: &String| match settings.pointer(pointer) {
        Some(Value::Object(members)) => members.is_empty(),
        Some(Value::Array(elements)) => elements.is_empty(),
        Some(Value::Null) => true,
        _ => false,
    };
    let events = EVENTS.iter().map(|listened| format!("/hooks/{}", listened.event));
    std::iter::once("/hooks".to_owned()).chain(events).filter(empty).collect()
}

/// A handler that is ours and nothing more.
fn alone(handler: &Registered) -> bool {
    !handler.deviations.contains(&Deviation::Mixed)
}

/// The next change, one at a time, since each moves what comes after it.
fn step(document: &Document, wanted: &Invocation) -> Result<Option<Document>, NotJson> {
    let found = find(document.value(), wanted);
    let superfluous = |deviation: &Deviation| matches!(deviation, Deviation::Repeated | Deviation::Event | Deviation::Matcher(_));
    let mut own = found.iter().filter(|handler| alone(handler));
    if let Some(handler) = own.clone().find(|handler| handler.deviations.iter().any(superfluous)) {
        return take_out(document, &handler.pointer, &[]).map(Some);
    }
    if let Some(handler) = own.find(|handler| !handler.deviations.is_empty()) {
        let listened = EVENTS.iter().find(|listened| listened.event == handler.event);
        return listened.map(|listened| document.replace(&handler.pointer, &wanted.handler(listened))).transpose();
    }
    let Some(listened) = missing(&found).into_iter().next() else { return Ok(None) };
    let group = group(&wanted.handler(listened));
    let above = format!("/hooks/{}", listened.event);
    match (document.value().get("hooks"), document.value().pointer(&above)) {
        (None, _) => document.add_member("", "hooks", &json!({})),
        (Some(Value::Null), _) => document.replace("/hooks", &json!({})),
        (Some(_), None) => document.add_member("/hooks", listened.event, &json!([group])),
        (Some(_), Some(Value::Null)) => document.replace(&above, &json!([group])),
        (Some(_), Some(_)) => document.add_element(&above, &group),
    }
    .map(Some)
}

/// Takes a handler out, then its group, its event and `hooks` where nothing else is in them.
fn take_out(document: &Document, pointer: &str, keep: &[String]) -> Result<Document, NotJson> {
    let mut edited = document.remove(pointer)?;
    let above = |pointer: &str, times: usize| {
        (0..times).fold(pointer.to_owned(), |at, _| at.rsplit_once('/').map_or_else(String::new, |(at, _)| at.to_owned()))
    };
    let group = above(pointer, 2);
    if edited.value().pointer(&group).is_some_and(idle) {
        edited = edited.remove(&group)?;
    }
    for container in [above(pointer, 3), above(pointer, 4)] {
        let value = edited.value().pointer(&container);
        if !keep.contains(&container) && value.is_some_and(|value| *value == json!([]) || *value == json!({})) {
            edited = edited.remove(&container)?;
        }
    }
    Ok(edited)
}

/// A group without handlers, which does nothing.
fn idle(group: &Value) -> bool {
    let known = |group: &Map<String, Value>| group.keys().all(|key| matches!(key.as_str(), "matcher" | "hooks"));
    group.get("hooks") == Some(&json!([])) && group.as_object().is_some_and(known)
}

fn unchanged_elsewhere(before: &Document, after: Document, wanted: &Invocation) -> Result<Document> {
    if rest(before.value(), wanted) == rest(after.value(), wanted) {
        Ok(after)
    } else {
        bail!("the edit would change more than the hooks of Portcullis: nothing was written, please report it with the file");
    }
}

/// A settings value without what is ours, and without containers that hold nothing.
fn rest(settings: &Value, wanted: &Invocation) -> Value {
    let ours: Vec<String> = find(settings, wanted)
        .into_iter()
        .filter(|handler| !handler.deviations.contains(&Deviation::Mixed))
        .map(|handler| handler.pointer)
        .collect();
    let mut settings = settings.clone();
    let Some(hooks) = settings.get_mut("hooks").and_then(Value::as_object_mut) else {
        if let Some(members) = settings.as_object_mut().filter(|members| members.get("hooks") == Some(&Value::Null)) {
            members.shift_remove("hooks");
        }
        return settings;
    };
    for (event, groups) in hooks.iter_mut() {
        let Some(groups) = groups.as_array_mut() else { continue };
        for (at, group) in groups.iter_mut().enumerate() {
            let Some(handlers) = group.get_mut("hooks").and_then(Value::as_array_mut) else { continue };
            let mut index = 0;
            handlers.retain(|_| {
                let pointer = format!("/hooks/{}/{at}/hooks/{index}", crate::client::json::escape(event));
                index += 1;
                !ours.contains(&pointer)
            });
        }
        groups.retain(|group| !idle(group));
    }
    hooks.retain(|_, groups| !groups.is_null() && groups != &json!([]));
    if hooks.is_empty() {
        settings.as_object_mut().map(|members| members.shift_remove("hooks"));
    }
    settings
}

fn unfit(error: NotJson) -> anyhow::Error {
    anyhow!("the hooks cannot be edited at {}: {}", error.place, error.what)
}
