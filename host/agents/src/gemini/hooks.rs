//! The events that our hooks handle, the handler for each, the switches of the client, and the
//! places of its settings.

use crate::folder_trust::{FolderTrust, TrustSwitch, read_levels};
use crate::grouped_hooks::{FileForm, GroupedHooks};
use crate::invocation::{ANSWER_TIMEOUT, EventSubscription, Invocation, TIMEOUT};
use crate::json::JsonSyntax;
use crate::settings::{SettingsLayout, SettingsScope, managed_folder};
use serde_json::{Value, json};

/// The timeout at the end of a session, for which a person waits.
const END_TIMEOUT: u64 = 10;
/// The client's timeout for a handler that sets none, in seconds.
const DEFAULT_TIMEOUT: f64 = 60.0;
/// The client counts milliseconds.
const UNIT: u64 = 1000;

/// Every event that our hooks handle. None can be closed: the client goes on when a hook fails.
const EVENTS: &[EventSubscription] = &[
    EventSubscription { event: "BeforeTool", closed: false, timeout: ANSWER_TIMEOUT },
    EventSubscription { event: "AfterTool", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "BeforeAgent", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "AfterAgent", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "SessionStart", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "SessionEnd", closed: false, timeout: END_TIMEOUT },
];

/// Our hooks in the client's files.
pub(super) const HOOKS: GroupedHooks = GroupedHooks {
    events: EVENTS,
    render: render_handler,
    by_shell: true,
    form: FileForm::Groups,
    syntax: JsonSyntax::WithComments,
};

/// The places of the client's settings.
pub(super) const LAYOUT: SettingsLayout = SettingsLayout {
    person: ".gemini",
    // `GEMINI_CLI_HOME` names the folder that holds `.gemini`.
    person_variable: None,
    below_variable: "",
    project_variable: Some("GEMINI_PROJECT_DIR"),
    managed: managed_folder("/etc/gemini-cli", "/Library/Application Support/GeminiCli"),
    user_file: "settings.json",
    project_file: ".gemini/settings.json",
    further_files: &[],
    local_file: None,
    managed_file: "settings.json",
    drop_ins: None,
    own_drop_in: "",
    plugins: &["extensions"],
    // `.env` sets the client's variables, which name other settings.
    switch_files: &["trustedFolders.json", ".env"],
    project_switch_files: &[".gemini/.env"],
    switch_settings: &[(SettingsScope::Managed, "system-defaults.json")],
    transcripts: "tmp",
    writes: &[],
};

/// Trust in folders: in one that is not trusted, the client loads no hooks at all.
pub(super) const FOLDER_TRUST: FolderTrust = FolderTrust {
    file: "trustedFolders.json",
    read: read_levels,
    switch: Some(TrustSwitch { pointer: "/security/folderTrust/enabled", default: true }),
    reaches_all: true,
    fix: "start `gemini` there and choose to trust the folder with `/permissions`",
};

/// Returns the handler for an event, as in a settings file. A shell starts it: there is no other
/// form.
fn render_handler(invocation: &Invocation, listened: &EventSubscription) -> Value {
    json!({
        "type": "command",
        "command": invocation.shell_line(listened),
        "timeout": listened.timeout.saturating_mul(UNIT),
    })
}

/// Returns a handler's timeout in seconds.
pub(super) fn timeout(handler: &Value) -> f64 {
    let set = handler.get("timeout").and_then(Value::as_f64);
    set.map_or(DEFAULT_TIMEOUT, |units| units / UNIT as f64)
}

/// The key that switches all hooks on or off; of several files, the last one counts.
const ENABLED: &str = "hooksConfig.enabled";

/// Returns the key by which settings keep hooks on.
pub(super) fn on_switch(settings: &Value) -> Option<&'static str> {
    let enabled = settings.get("hooksConfig")?.get("enabled")?;
    (enabled == &Value::Bool(true)).then_some(ENABLED)
}

/// Returns the key by which settings switch hooks off: all, or ours by their command.
pub(super) fn off_switch(settings: &Value) -> Option<&'static str> {
    let config = settings.get("hooksConfig")?;
    let ours = |name: &Value| {
        name.as_str().is_some_and(|name| name.contains(crate::PROGRAM) && name.contains("hook"))
    };
    let disabled = config.get("disabled").and_then(Value::as_array);
    // The key that names our hooks comes first: no other file takes it back.
    if disabled.is_some_and(|names| names.iter().any(ours)) {
        return Some("hooksConfig.disabled");
    }
    (config.get("enabled") == Some(&Value::Bool(false))).then_some(ENABLED)
}

/// Returns true for a switch that older versions had among the events; the client passes over it.
pub(super) fn is_switch(pointer: &str) -> bool {
    let events = ["/hooks/enabled", "/hooks/disabled", "/hooks/notifications"];
    events.contains(&pointer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_found() {
        let ours = "/usr/local/bin/portcullis hook gemini --config /c --state /s";
        for (settings, expected) in [
            (json!({}), None),
            (json!({"hooksConfig": {"enabled": true, "disabled": ["other"]}}), None),
            (json!({"hooksConfig": {"enabled": false}}), Some("hooksConfig.enabled")),
            (json!({"hooksConfig": {"disabled": [ours]}}), Some("hooksConfig.disabled")),
        ] {
            assert_eq!(off_switch(&settings), expected, "{settings}");
        }
    }

    #[test]
    fn timeouts_are_seconds_here_and_milliseconds_there() {
        let invocation = Invocation { agent: "gemini", program: "/p".into(), pinned: None };
        let handler = render_handler(&invocation, &EVENTS[0]);
        assert_eq!(handler["timeout"], 300_000);
        assert!((timeout(&handler) - 300.0).abs() < f64::EPSILON);
        assert!((timeout(&json!({})) - DEFAULT_TIMEOUT).abs() < f64::EPSILON);
    }
}
