//! The events that our hooks handle, the handler for each, and the places of the client's hooks: a
//! file of our own, beside those of others.

use crate::grouped_hooks::{FileForm, GroupedHooks};
use crate::invocation::{EventSubscription, Invocation, TIMEOUT};
use crate::json::JsonSyntax;
use crate::settings::{SettingsLayout, SettingsScope};
use serde_json::{Value, json};

/// The timeout at the end of a session, for which a person waits.
const END_TIMEOUT: u64 = 10;
/// The client's timeout for a handler that sets none, in seconds.
const DEFAULT_TIMEOUT: f64 = 30.0;

/// Every event that our hooks handle. None can be closed: after a timeout the client goes on.
const EVENTS: &[EventSubscription] = &[
    EventSubscription { event: "preToolUse", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "postToolUse", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "postToolUseFailure", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "userPromptSubmitted", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "sessionStart", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "sessionEnd", closed: false, timeout: END_TIMEOUT },
    EventSubscription { event: "agentStop", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "subagentStart", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "subagentStop", closed: false, timeout: TIMEOUT },
];

/// Our hooks in the client's files.
pub(super) const HOOKS: GroupedHooks = GroupedHooks {
    events: EVENTS,
    render: render_handler,
    by_shell: false,
    form: FileForm::Flat { version: 1, typed: true },
    syntax: JsonSyntax::Strict,
};

/// The places of the client's files.
pub(super) const LAYOUT: SettingsLayout = SettingsLayout {
    person: ".copilot",
    person_variable: Some("COPILOT_HOME"),
    below_variable: "",
    project_variable: Some("COPILOT_PROJECT_DIR"),
    managed: "/etc/github-copilot",
    user_file: "hooks/portcullis.json",
    project_file: ".github/hooks/portcullis.json",
    further_files: &[],
    local_file: None,
    managed_file: "policy.d/portcullis.json",
    drop_ins: None,
    own_drop_in: "",
    plugins: &["installed-plugins"],
    switch_files: &["settings.json", "config.json"],
    project_switch_files: &[".github/copilot/settings.json", ".github/copilot/settings.local.json"],
    switch_settings: &[
        (SettingsScope::Project, ".github/copilot/settings.json"),
        (SettingsScope::Local, ".github/copilot/settings.local.json"),
        (SettingsScope::Managed, "managed-settings.json"),
    ],
    transcripts: "session-state",
    writes: &[".cache/copilot"],
};

/// Returns the handler for an event. The client starts the program without a shell.
fn render_handler(invocation: &Invocation, listened: &EventSubscription) -> Value {
    json!({
        "type": "command",
        "exec": invocation.program.to_string_lossy(),
        "args": invocation.event_arguments(listened),
        "timeoutSec": listened.timeout,
    })
}

/// Returns a handler's timeout in seconds.
pub(super) fn timeout(handler: &Value) -> f64 {
    handler.get("timeoutSec").and_then(Value::as_f64).unwrap_or(DEFAULT_TIMEOUT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook_handler::Deviation;
    use crate::json::JsonDocument;

    fn invocation() -> Invocation {
        let pinned = Some(("/c".into(), "/s".into()));
        Invocation { agent: "copilot", program: "/usr/local/bin/portcullis".into(), pinned }
    }

    fn document(text: &str) -> JsonDocument {
        JsonDocument::parse_document(text.as_bytes()).unwrap()
    }

    #[test]
    fn hooks_are_added_once_and_removed_and_the_rest_stays() {
        let other = r#"{"type": "command", "bash": "echo", "matcher": "bash"}"#;
        let foreign = format!(
            "{{\n  \"version\": 1,\n  \"hooks\": {{\n    \"preToolUse\": [{other}]\n  }}\n}}\n"
        );
        for text in ["{\n  \"version\": 1\n}\n", &foreign] {
            let before = document(text);
            assert!(HOOKS.find_problems(&before).is_empty());
            let added = HOOKS.add(&before, &invocation()).unwrap();
            assert_eq!(HOOKS.add(&added, &invocation()).unwrap().bytes(), added.bytes());
            assert!(HOOKS.find_problems(&added).is_empty());
            let found = HOOKS.find(added.value(), &invocation());
            assert_eq!(found.len(), EVENTS.len());
            assert!(found.iter().all(|handler| handler.deviations.is_empty()), "{found:?}");
            let removed = HOOKS.remove(&added, &invocation(), &[]).unwrap();
            assert_eq!(String::from_utf8(removed.bytes()).unwrap(), text);
        }
        let made = HOOKS.add(&document("{}"), &invocation()).unwrap();
        assert_eq!(made.value()["version"], 1);
        assert_eq!(made.value()["hooks"]["preToolUse"][0]["exec"], "/usr/local/bin/portcullis");
        assert_eq!(
            GroupedHooks::find_foreign(document(&foreign).value(), "preToolUse", &invocation()),
            ["echo"]
        );
    }

    #[test]
    fn deviations_and_mistakes_are_found() {
        let handler = |change: &dyn Fn(&mut Value)| {
            let mut handler = render_handler(&invocation(), &EVENTS[0]);
            change(&mut handler);
            json!({"version": 1, "hooks": {"preToolUse": [handler]}})
        };
        for (settings, expected) in [
            (handler(&|it| it["matcher"] = json!("bash")), Deviation::Matcher("bash".into())),
            (handler(&|it| it["timeoutSec"] = json!(1)), Deviation::Timeout("1".into())),
            (handler(&|it| it["args"] = json!(["hook", "copilot"])), Deviation::Arguments),
            (
                handler(&|it| {
                    *it = json!({"type": "command", "timeoutSec": 30,
                        "bash": invocation().shell_line(&EVENTS[0])});
                }),
                Deviation::Shell,
            ),
        ] {
            let found = HOOKS.find(&settings, &invocation());
            assert_eq!(found[0].deviations, [expected], "{settings}");
        }
        for (text, pointer) in [
            (r#"{"version": 2}"#, "/version"),
            (r#"{"version": 1, "hooks": {"preToolUse": {}}}"#, "/hooks/preToolUse"),
            (
                r#"{"hooks": {"x": [{"type": "command", "exec": "a", "timeoutSec": "3"}]}}"#,
                "/hooks/x/0/timeoutSec",
            ),
            (r#"{"hooks": {"x": [{"type": "command"}]}}"#, "/hooks/x/0"),
        ] {
            let problems = HOOKS.find_problems(&document(text));
            assert_eq!(problems[0].pointer, pointer, "{text}");
        }
    }
}
