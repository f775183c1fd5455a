//! The events that our hooks handle, the handler for each, and the places of the client's settings.

use crate::grouped_hooks::{FileForm, GroupedHooks};
use crate::invocation::{ANSWER_TIMEOUT, EventSubscription, Invocation, TIMEOUT};
use crate::json::JsonSyntax;
use crate::settings::{SettingsLayout, SettingsScope};
use serde_json::{Value, json};

/// The timeout at the end of a session; the client cuts a longer one.
const END_TIMEOUT: u64 = 3;

/// Every event that our hooks handle. None can be closed: the client goes on when a hook fails.
pub(super) const EVENTS: &[EventSubscription] = &[
    EventSubscription { event: "PreToolUse", closed: false, timeout: ANSWER_TIMEOUT },
    EventSubscription { event: "PostToolUse", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "UserPromptSubmit", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "SessionStart", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "SessionEnd", closed: false, timeout: END_TIMEOUT },
    EventSubscription { event: "Stop", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "SubagentStart", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "SubagentStop", closed: false, timeout: TIMEOUT },
];

/// Our hooks in the client's files.
pub(super) const HOOKS: GroupedHooks = GroupedHooks {
    events: EVENTS,
    render: render_handler,
    by_shell: true,
    form: FileForm::Groups,
    syntax: JsonSyntax::Strict,
};

/// The places of the client's settings.
pub(super) const LAYOUT: SettingsLayout = SettingsLayout {
    person: ".codex",
    person_variable: Some("CODEX_HOME"),
    below_variable: "",
    project_variable: None,
    managed: "/etc/codex",
    user_file: "hooks.json",
    project_file: ".codex/hooks.json",
    further_files: &[],
    local_file: None,
    managed_file: "requirements.toml",
    drop_ins: None,
    own_drop_in: "",
    plugins: &["plugins"],
    switch_files: &["config.toml"],
    project_switch_files: &[".codex/config.toml"],
    switch_settings: &[
        (SettingsScope::User, "config.toml"),
        (SettingsScope::Project, ".codex/config.toml"),
    ],
    transcripts: "sessions",
    writes: &[],
};

/// Returns the handler for an event, as in a file of hooks. A shell starts it: there is no other
/// form.
fn render_handler(invocation: &Invocation, listened: &EventSubscription) -> Value {
    json!({
        "type": "command",
        "command": invocation.shell_line(listened),
        "timeout": listened.timeout,
    })
}
