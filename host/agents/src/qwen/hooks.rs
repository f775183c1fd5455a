//! The events that our hooks handle, the handler for each, and the places of the client's settings.

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
/// The number from which on the client reads milliseconds.
const MILLISECONDS: f64 = 1000.0;

/// Every event that our hooks handle. None can be closed: the client goes on when a hook fails.
const EVENTS: &[EventSubscription] = &[
    EventSubscription { event: "PreToolUse", closed: false, timeout: ANSWER_TIMEOUT },
    EventSubscription { event: "PostToolUse", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "PostToolUseFailure", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "PostToolBatch", closed: false, timeout: TIMEOUT },
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
    syntax: JsonSyntax::WithComments,
};

/// The places of the client's settings.
pub(super) const LAYOUT: SettingsLayout = SettingsLayout {
    person: ".qwen",
    person_variable: Some("QWEN_HOME"),
    below_variable: "",
    project_variable: Some("QWEN_PROJECT_DIR"),
    managed: managed_folder("/etc/qwen-code", "/Library/Application Support/QwenCode"),
    user_file: "settings.json",
    project_file: ".qwen/settings.json",
    further_files: &[],
    local_file: None,
    managed_file: "settings.json",
    drop_ins: None,
    own_drop_in: "",
    plugins: &["extensions"],
    // `.env` sets the client's variables, which name other settings.
    switch_files: &["trustedFolders.json", ".env"],
    project_switch_files: &[".qwen/.env"],
    switch_settings: &[(SettingsScope::Managed, "system-defaults.json")],
    transcripts: "projects",
    writes: &[],
};

/// Trust in folders: in one that is not trusted, the client loads no hooks at all.
pub(super) const FOLDER_TRUST: FolderTrust = FolderTrust {
    file: "trustedFolders.json",
    read: read_levels,
    switch: Some(TrustSwitch { pointer: "/security/folderTrust/enabled", default: false }),
    reaches_all: true,
    fix: "start `qwen` there and choose to trust the folder with `/permissions`",
};

/// Returns the handler for an event, as in a settings file. A shell starts it: the client drops
/// `args`.
fn render_handler(invocation: &Invocation, listened: &EventSubscription) -> Value {
    json!({
        "type": "command",
        "command": invocation.shell_line(listened),
        "timeout": listened.timeout,
    })
}

/// Returns a handler's timeout in seconds.
pub(super) fn timeout(handler: &Value) -> f64 {
    match handler.get("timeout").and_then(Value::as_f64) {
        None => DEFAULT_TIMEOUT,
        Some(units) if units < MILLISECONDS => units,
        Some(units) => units / MILLISECONDS,
    }
}
