//! The events that our hooks handle, the handler for each, and the places of the client's files.

use crate::grouped_hooks::{FileForm, GroupedHooks};
use crate::invocation::{ANSWER_TIMEOUT, EventSubscription, Invocation, TIMEOUT};
use crate::json::JsonSyntax;
use crate::settings::{SettingsLayout, managed_folder};
use serde_json::{Value, json};

/// The timeout at the end of a session, for which a person waits.
const END_TIMEOUT: u64 = 10;
/// The client's timeout for a handler that sets none, in seconds.
const DEFAULT_TIMEOUT: f64 = 60.0;

/// Every event that our hooks handle. For a command, the client also calls `beforeShellExecution`,
/// and likewise for servers and files: one review of each call is enough, and `preToolUse` is the
/// event that every tool has.
const EVENTS: &[EventSubscription] = &[
    EventSubscription { event: "preToolUse", closed: true, timeout: ANSWER_TIMEOUT },
    EventSubscription { event: "postToolUse", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "postToolUseFailure", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "beforeSubmitPrompt", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "sessionStart", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "sessionEnd", closed: false, timeout: END_TIMEOUT },
    EventSubscription { event: "stop", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "subagentStop", closed: false, timeout: TIMEOUT },
];

/// Our hooks in the client's files. The client cuts comments out at `//`, also inside a text.
pub(super) const HOOKS: GroupedHooks = GroupedHooks {
    events: EVENTS,
    render: render_handler,
    by_shell: true,
    form: FileForm::Flat { version: 1, typed: false },
    syntax: JsonSyntax::Strict,
};

/// The places of the client's files.
pub(super) const LAYOUT: SettingsLayout = SettingsLayout {
    person: ".cursor",
    person_variable: None,
    below_variable: "",
    project_variable: Some("CURSOR_PROJECT_DIR"),
    managed: managed_folder("/etc/cursor", "/Library/Application Support/Cursor"),
    user_file: "hooks.json",
    project_file: ".cursor/hooks.json",
    further_files: &[],
    local_file: None,
    managed_file: "hooks.json",
    drop_ins: None,
    own_drop_in: "",
    plugins: &["plugins"],
    switch_files: &[],
    project_switch_files: &[],
    switch_settings: &[],
    transcripts: "projects",
    writes: &[".local/share/cursor-agent", ".config/Cursor"],
};

/// Returns the handler for an event.
fn render_handler(invocation: &Invocation, listened: &EventSubscription) -> Value {
    let (command, timeout) = (invocation.shell_line(listened), listened.timeout);
    match listened.closed {
        true => json!({
            "type": "command", "command": command, "timeout": timeout, "failClosed": true,
        }),
        false => json!({ "type": "command", "command": command, "timeout": timeout }),
    }
}

/// Returns a handler's timeout in seconds.
pub(super) fn timeout(handler: &Value) -> f64 {
    handler.get("timeout").and_then(Value::as_f64).unwrap_or(DEFAULT_TIMEOUT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook_handler::Deviation;
    use crate::json::JsonDocument;

    fn invocation() -> Invocation {
        let pinned = Some(("/c".into(), "/s".into()));
        Invocation { agent: "cursor", program: "/usr/local/bin/portcullis".into(), pinned }
    }

    fn document(text: &str) -> JsonDocument {
        JsonDocument::parse_document(text.as_bytes()).unwrap()
    }

    #[test]
    fn hooks_are_added_once_and_removed_and_the_rest_stays() {
        let foreign = "{\n  \"version\": 1,\n  \"hooks\": {\n    \"preToolUse\": [{\"command\": \"./own.sh\", \"matcher\": \"Shell\"}]\n  }\n}\n";
        for text in ["{\n  \"version\": 1\n}\n", foreign] {
            let before = document(text);
            assert!(HOOKS.find_problems(&before).is_empty());
            let added = HOOKS.add(&before, &invocation()).unwrap();
            assert_eq!(HOOKS.add(&added, &invocation()).unwrap().bytes(), added.bytes());
            let found = HOOKS.find(added.value(), &invocation());
            assert_eq!(found.len(), EVENTS.len());
            assert!(found.iter().all(|handler| handler.deviations.is_empty()), "{found:?}");
            let removed = HOOKS.remove(&added, &invocation(), &[]).unwrap();
            assert_eq!(String::from_utf8(removed.bytes()).unwrap(), text);
        }
        let made = HOOKS.add(&document("{}"), &invocation()).unwrap();
        assert_eq!(made.value()["version"], 1);
        let gate = &made.value()["hooks"]["preToolUse"][0];
        assert_eq!(
            gate["command"],
            "/usr/local/bin/portcullis hook cursor --config /c --state /s --timeout 300"
        );
        assert_eq!(gate["failClosed"], true);
    }

    #[test]
    fn deviations_and_mistakes_are_found() {
        let handler = |change: &dyn Fn(&mut Value)| {
            let mut handler = render_handler(&invocation(), &EVENTS[0]);
            change(&mut handler);
            json!({"version": 1, "hooks": {"preToolUse": [handler]}})
        };
        for (settings, expected) in [
            (handler(&|it| it["failClosed"] = json!(false)), Deviation::Open),
            (handler(&|it| it["matcher"] = json!("Shell")), Deviation::Matcher("Shell".into())),
            (handler(&|it| it["timeout"] = json!(1)), Deviation::Timeout("1".into())),
        ] {
            let found = HOOKS.find(&settings, &invocation());
            assert_eq!(found[0].deviations, [expected], "{settings}");
        }
        for (text, pointer) in [
            (r#"{"version": "1"}"#, "/version"),
            (r#"{"version": 1, "hooks": {"stop": {}}}"#, "/hooks/stop"),
            (r#"{"version": 1, "hooks": {"stop": [{}]}}"#, "/hooks/stop/0"),
            (
                r#"{"version": 1, "hooks": {"stop": [{"command": "a", "timeout": "3"}]}}"#,
                "/hooks/stop/0/timeout",
            ),
        ] {
            let problems = HOOKS.find_problems(&document(text));
            assert_eq!(problems[0].pointer, pointer, "{text}");
        }
    }
}
