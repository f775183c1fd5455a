//! The hooks of one run: passed to the client on its command line, and confirmed as loaded by the
//! client before it gets the prompt.

use super::handlers::{EVENTS, render_handler};
use crate::grouped_hooks::group;
use crate::invocation::Invocation;
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

/// The sources from which neither a project nor an agent can remove hooks while the client runs.
const SURE: &[&str] = &["flagSettings", "policySettings"];

/// Appends the hooks to the person's settings.
///
/// # Errors
/// Fails if the client would not accept them.
pub(super) fn with_hooks(mut settings: Map<String, Value>, wanted: &Invocation) -> Result<String> {
    let wrong = "`hooks` in `--settings` has a form that the client does not accept: it holds a list of groups for each event";
    let hooks =
        settings.entry("hooks").or_insert_with(|| json!({})).as_object_mut().context(wrong)?;
    for listened in EVENTS {
        let groups = hooks
            .entry(listened.event)
            .or_insert_with(|| json!([]))
            .as_array_mut()
            .context(wrong)?;
        groups.push(group(&render_handler(wanted, listened)));
    }
    Ok(Value::Object(settings).to_string())
}

/// Checks the client's list of its hooks, and returns a warning if there is one.
///
/// # Errors
/// Fails if the list lacks one of our hooks for some event, since the agent would run unreviewed.
pub(super) fn check_loaded(listing: &Value, wanted: &Invocation) -> Result<Option<String>> {
    let hooks: Vec<&Value> =
        listing.get("hooks").and_then(Value::as_array).into_iter().flatten().collect();
    let sure =
        |event: &str| hooks.iter().any(|hook| of(hook, "event") == event && is_sure(hook, wanted));
    let missing: Vec<&str> =
        EVENTS.iter().map(|listened| listened.event).filter(|event| !sure(event)).collect();
    if !missing.is_empty() {
        bail!(
            "the client does not run our hooks for {}, so the agent was not given its prompt: `portcullis doctor` shows what switches them off",
            missing.join(", ")
        );
    }
    let before: Vec<&str> = hooks
        .iter()
        .filter(|hook| of(hook, "event") == "PreToolUse" && is_ours(hook, wanted))
        .map(|hook| of(hook, "commandText"))
        .collect();
    let other = before.iter().find(|text| before.first() != Some(text));
    Ok(other.map(|text| {
        let text = portcullis_core::text::one_line(text, 120);
        format!("Portcullis is installed as `{text}` too: each action is reviewed twice; uninstall that one, or run with that program")
    }))
}

fn is_sure(hook: &Value, wanted: &Invocation) -> bool {
    let everything = matches!(of(hook, "matcher"), "" | "*" | ".*");
    SURE.contains(&of(hook, "source"))
        && everything
        && hook.get("disabled") != Some(&Value::Bool(true))
        && is_ours(hook, wanted)
}

fn is_ours(hook: &Value, wanted: &Invocation) -> bool {
    let text = of(hook, "commandText");
    let named = text.split_whitespace().next().is_some_and(crate::has_our_name);
    (named || text.contains(&*wanted.program.to_string_lossy())) && text.contains("hook claude")
}

fn of<'a>(hook: &'a Value, name: &str) -> &'a str {
    hook.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claude::handlers::HOOKS;
    use crate::hook_form::HookForm;

    fn wanted() -> Invocation {
        Invocation {
            agent: "claude",
            program: "/opt/guard dog".into(),
            pinned: Some(("/c".into(), "/s".into())),
        }
    }

    /// Returns a listing in which one field of all our hooks has this value.
    fn listing(name: &str, value: Value) -> Value {
        let text = "/opt/guard dog hook claude --config /c --state /s";
        let mut hooks: Vec<Value> = EVENTS
            .iter()
            .map(|listened| json!({"event": listened.event, "matcher": "", "source": "flagSettings", "commandText": text}))
            .collect();
        hooks.last_mut().unwrap()[name] = value;
        json!({"hooks": hooks})
    }

    #[test]
    fn only_hooks_that_run_and_stay_count() {
        for (name, value, held) in [
            ("matcher", json!("*"), true),
            ("matcher", Value::Null, true),
            ("source", json!("policySettings"), true),
            ("disabled", json!(false), true),
            ("disabled", json!(true), false),
            ("source", json!("projectSettings"), false),
            ("source", json!("userSettings"), false),
            ("matcher", json!("Bash"), false),
            ("commandText", json!("/bin/true"), false),
            ("commandText", json!("/opt/guard dog status"), false),
            ("commandText", json!("/usr/bin/portcullis hook claude"), true),
            ("event", json!("Notification"), false),
        ] {
            let listing = listing(name, value);
            assert_eq!(check_loaded(&listing, &wanted()).is_ok(), held, "{listing}");
        }
        assert!(check_loaded(&Value::Null, &wanted()).is_err());
    }

    #[test]
    fn a_second_installation_is_reported() {
        let mut twice = listing("disabled", json!(false));
        let other = json!({"event": "PreToolUse", "matcher": "", "source": "userSettings", "commandText": "/usr/bin/portcullis hook claude"});
        twice["hooks"].as_array_mut().unwrap().push(other);
        let warning = check_loaded(&twice, &wanted()).unwrap();
        assert!(
            warning.as_ref().is_some_and(|warning| warning.contains("reviewed twice")),
            "{warning:?}"
        );
    }

    #[test]
    fn hooks_of_the_person_stay_before_ours() {
        let own = json!({"model": "x", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}});
        let merged: Value =
            serde_json::from_str(&with_hooks(own.as_object().unwrap().clone(), &wanted()).unwrap())
                .unwrap();
        assert_eq!(
            (&merged["model"], &merged["hooks"]["Stop"][0]),
            (&own["model"], &own["hooks"]["Stop"][0])
        );
        assert!(HOOKS.missing(&HOOKS.find(&merged, &wanted())).is_empty(), "{merged}");
        for wrong in [json!({"hooks": []}), json!({"hooks": {"Stop": {}}})] {
            assert!(with_hooks(wrong.as_object().unwrap().clone(), &wanted()).is_err(), "{wrong}");
        }
    }
}
