//! Adds our handlers to a settings file and removes them, changing nothing else.
//!
//! The result of either edit is checked before it is written: foreign parts must be the same before
//! and after.

use super::{FileForm, GroupedHooks};
use crate::hook_form::HookForm;
use crate::hook_handler::{Deviation, HookHandler};
use crate::invocation::Invocation;
use crate::json::{JsonDocument, NotJson};
use anyhow::{Result, anyhow, bail};
use serde_json::{Map, Value, json};

/// The most steps of an edit: more than a file of the client's greatest size could need, so
/// exceeding it is a defect.
const MOST_STEPS: usize = 10_000;

impl GroupedHooks {
    /// Returns the document with each of our handlers in its correct form, once for each event.
    ///
    /// # Errors
    /// Fails if `hooks` or one of our events in it has a shape that cannot be extended, or if the
    /// result would change something else.
    pub(crate) fn add(&self, document: &JsonDocument, wanted: &Invocation) -> Result<JsonDocument> {
        let mut edited = document.clone();
        for _ in 0..MOST_STEPS {
            match self.step(&edited, wanted).map_err(unfit)? {
                Some(next) => edited = next,
                None => return self.unchanged_elsewhere(document, edited, wanted),
            }
        }
        bail!("the hooks could not be put in order: please report it with the file");
    }

    /// Returns the document without our handlers and the containers that this leaves empty; `keep`
    /// names containers that stay, since they existed before.
    ///
    /// # Errors
    /// Fails if the result would change something else.
    pub(crate) fn remove(
        &self,
        document: &JsonDocument,
        wanted: &Invocation,
        keep: &[String],
    ) -> Result<JsonDocument> {
        let mut edited = document.clone();
        for _ in 0..MOST_STEPS {
            match self.find(edited.value(), wanted).iter().find(|handler| alone(handler)) {
                Some(handler) => {
                    edited = take_out(&edited, &handler.pointer, keep).map_err(unfit)?
                }
                None => return self.unchanged_elsewhere(document, edited, wanted),
            }
        }
        bail!("the hooks could not be taken out: please report it with the file");
    }

    /// Returns the empty containers that our handlers would use: they stay when the handlers are
    /// removed.
    #[must_use]
    pub(crate) fn empty_containers(&self, settings: &Value) -> Vec<String> {
        let empty = |pointer: &String| match settings.pointer(pointer) {
            Some(Value::Object(members)) => members.is_empty(),
            Some(Value::Array(elements)) => elements.is_empty(),
            Some(Value::Null) => true,
            _ => false,
        };
        let events = self.events.iter().map(|listened| format!("/hooks/{}", listened.event));
        std::iter::once("/hooks".to_owned()).chain(events).filter(empty).collect()
    }

    /// Makes the next change. There is one at a time, since each moves the positions after it.
    fn step(
        &self,
        document: &JsonDocument,
        wanted: &Invocation,
    ) -> Result<Option<JsonDocument>, NotJson> {
        let found = self.find(document.value(), wanted);
        let superfluous = |deviation: &Deviation| {
            matches!(deviation, Deviation::Repeated | Deviation::Event | Deviation::Matcher(_))
        };
        let mut own = found.iter().filter(|handler| alone(handler));
        if let Some(handler) =
            own.clone().find(|handler| handler.deviations.iter().any(superfluous))
        {
            return take_out(document, &handler.pointer, &[]).map(Some);
        }
        if let Some(handler) = own.find(|handler| !handler.deviations.is_empty()) {
            let listened = self.events.iter().find(|listened| listened.event == handler.event);
            return listened
                .map(|listened| {
                    document.replace_value(&handler.pointer, &(self.render)(wanted, listened))
                })
                .transpose();
        }
        let Some(listened) = self.missing(&found).into_iter().next() else { return Ok(None) };
        if let FileForm::Flat { version, .. } = self.form
            && document.value().get(VERSION).is_none()
        {
            return document.add_member("", VERSION, &json!(version)).map(Some);
        }
        let group = self.element((self.render)(wanted, listened));
        let above = format!("/hooks/{}", listened.event);
        match (document.value().get("hooks"), document.value().pointer(&above)) {
            (None, _) => document.add_member("", "hooks", &json!({})),
            (Some(Value::Null), _) => document.replace_value("/hooks", &json!({})),
            (Some(_), None) => document.add_member("/hooks", listened.event, &json!([group])),
            (Some(_), Some(Value::Null)) => document.replace_value(&above, &json!([group])),
            (Some(_), Some(_)) => document.add_element(&above, &group),
        }
        .map(Some)
    }

    fn unchanged_elsewhere(
        &self,
        before: &JsonDocument,
        after: JsonDocument,
        wanted: &Invocation,
    ) -> Result<JsonDocument> {
        if self.rest(before.value(), wanted) == self.rest(after.value(), wanted) {
            Ok(after)
        } else {
            bail!(
                "the edit would change more than the hooks of Portcullis: nothing was written, please report it with the file"
            );
        }
    }

    /// Returns settings without our parts and without empty containers.
    fn rest(&self, settings: &Value, wanted: &Invocation) -> Value {
        let ours: Vec<String> = self
            .find(settings, wanted)
            .into_iter()
            .filter(|handler| !handler.deviations.contains(&Deviation::Mixed))
            .map(|handler| handler.pointer)
            .collect();
        let mut settings = settings.clone();
        // Adding a hook may have added the version too.
        if let (FileForm::Flat { version, .. }, Some(members)) =
            (self.form, settings.as_object_mut())
            && members.get(VERSION) == Some(&json!(version))
        {
            members.shift_remove(VERSION);
        }
        let Some(hooks) = settings.get_mut("hooks").and_then(Value::as_object_mut) else {
            if let Some(members) = settings
                .as_object_mut()
                .filter(|members| members.get("hooks") == Some(&Value::Null))
            {
                members.shift_remove("hooks");
            }
            return settings;
        };
        for (event, elements) in hooks.iter_mut() {
            let Some(elements) = elements.as_array_mut() else { continue };
            let above = format!("/hooks/{}", crate::json::escape_name(event));
            for (at, element) in elements.iter_mut().enumerate() {
                if let Some(handlers) = element.get_mut("hooks").and_then(Value::as_array_mut) {
                    remove_ours(handlers, &format!("{above}/{at}/hooks"), &ours);
                }
            }
            remove_ours(elements, &above, &ours);
            elements.retain(|element| !idle(element));
        }
        // Edits turn `null` and empty lists into own containers, and leave none behind.
        hooks.retain(|_, groups| !groups.is_null() && groups != &json!([]));
        if hooks.is_empty() {
            settings.as_object_mut().map(|members| members.shift_remove("hooks"));
        }
        settings
    }
}

/// Removes the elements of the list at `above` that are among `ours`.
fn remove_ours(elements: &mut Vec<Value>, above: &str, ours: &[String]) {
    let mut index = 0;
    elements.retain(|_| {
        let pointer = format!("{above}/{index}");
        index += 1;
        !ours.contains(&pointer)
    });
}

/// The key of the version of a file's form.
const VERSION: &str = "version";

/// Returns true for a handler that contains nothing foreign.
fn alone(handler: &HookHandler) -> bool {
    !handler.deviations.contains(&Deviation::Mixed)
}

/// Removes a handler, then its group, its event and `hooks`, each if it is empty then.
fn take_out(
    document: &JsonDocument,
    pointer: &str,
    keep: &[String],
) -> Result<JsonDocument, NotJson> {
    let mut edited = document.remove_value(pointer)?;
    let above = |pointer: &str, times: usize| {
        (0..times).fold(pointer.to_owned(), |at, _| {
            at.rsplit_once('/').map_or_else(String::new, |(at, _)| at.to_owned())
        })
    };
    // `/hooks/EVENT/0`, or `/hooks/EVENT/0/hooks/0` in a group.
    let event = if pointer.split('/').count() > 4 { 3 } else { 1 };
    let group = above(pointer, 2);
    // A comment in a container is somebody's.
    let is_idle = edited.value().pointer(&group).is_some_and(idle) && !edited.has_comment(&group);
    if event == 3 && is_idle {
        edited = edited.remove_value(&group)?;
    }
    for container in [above(pointer, event), above(pointer, event.saturating_add(1))] {
        let value = edited.value().pointer(&container);
        if !keep.contains(&container)
            && !edited.has_comment(&container)
            && value.is_some_and(|value| *value == json!([]) || *value == json!({}))
        {
            edited = edited.remove_value(&container)?;
        }
    }
    Ok(edited)
}

/// Returns true for a group without handlers, which has no effect.
fn idle(group: &Value) -> bool {
    let known = |group: &Map<String, Value>| {
        group.keys().all(|key| matches!(key.as_str(), "matcher" | "hooks"))
    };
    group.get("hooks") == Some(&json!([])) && group.as_object().is_some_and(known)
}

fn unfit(error: NotJson) -> anyhow::Error {
    anyhow!("the hooks cannot be edited at {}: {}", error.place, error.what)
}
