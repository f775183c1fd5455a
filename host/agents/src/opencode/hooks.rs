//! The events that our plugin passes on, its file, and the places of the clients' settings.

use crate::invocation::{ANSWER_TIMEOUT, EventSubscription, TIMEOUT};
use crate::own_files::OwnFiles;
use crate::settings::{SettingsLayout, managed_folder};

/// Every event that our hooks handle. A failure before and after a tool is a refusal: the plugin
/// throws, and the client then runs no tool, or shows the error in place of the result.
pub(super) const EVENTS: &[EventSubscription] = &[
    EventSubscription { event: "PreToolUse", closed: true, timeout: ANSWER_TIMEOUT },
    EventSubscription { event: "PostToolUse", closed: true, timeout: TIMEOUT },
    EventSubscription { event: "UserPromptSubmit", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "SessionStart", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "Stop", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "SubagentStart", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "SubagentStop", closed: false, timeout: TIMEOUT },
];

/// Our plugin: one file for all events.
pub(super) const PLUGIN: OwnFiles = OwnFiles {
    events: EVENTS,
    template: include_str!("portcullis.js"),
    before: "const HOOK = ",
    after: "",
    by_name: false,
    shell_line: None,
};

/// The name of our plugin's file, below the clients' folders.
pub(super) const FILE: &str = "plugins/portcullis.js";

/// The places of OpenCode's settings.
pub(super) const OPENCODE: SettingsLayout = SettingsLayout {
    person: ".config/opencode",
    person_variable: Some("XDG_CONFIG_HOME"),
    below_variable: "opencode",
    project_variable: None,
    managed: managed_folder("/etc/opencode", "/Library/Application Support/opencode"),
    user_file: FILE,
    project_file: ".opencode/plugins/portcullis.js",
    further_files: &[],
    local_file: None,
    managed_file: FILE,
    drop_ins: None,
    own_drop_in: "",
    plugins: &["plugins", "plugin"],
    switch_files: &["opencode.json", "opencode.jsonc", "config.json"],
    project_switch_files: &[
        "opencode.json",
        "opencode.jsonc",
        ".opencode/opencode.json",
        ".opencode/opencode.jsonc",
        ".opencode/plugins",
        ".opencode/plugin",
    ],
    switch_settings: &[],
    transcripts: "sessions",
    writes: &[".local/share/opencode", ".local/state/opencode", ".cache/opencode"],
};

/// The places of Kilo's settings.
pub(super) const KILO: SettingsLayout = SettingsLayout {
    person: ".config/kilo",
    below_variable: "kilo",
    managed: "/etc/kilo",
    project_file: ".kilo/plugins/portcullis.js",
    switch_files: &["kilo.json", "kilo.jsonc", "config.json"],
    project_switch_files: &[
        "kilo.json",
        "kilo.jsonc",
        ".kilo/kilo.json",
        ".kilo/kilo.jsonc",
        ".kilo/plugins",
        ".kilo/plugin",
    ],
    switch_settings: &[],
    writes: &[".local/share/kilo", ".local/state/kilo", ".cache/kilo"],
    ..OPENCODE
};
