//! The places of the client's settings.

use crate::settings::{SettingsLayout, SettingsScope, managed_folder};

/// The places of the client's settings.
pub(super) const LAYOUT: SettingsLayout = SettingsLayout {
    person: ".claude",
    person_variable: Some("CLAUDE_CONFIG_DIR"),
    below_variable: "",
    project_variable: Some("CLAUDE_PROJECT_DIR"),
    managed: managed_folder("/etc/claude-code", "/Library/Application Support/ClaudeCode"),
    user_file: "settings.json",
    project_file: ".claude/settings.json",
    further_files: &[],
    local_file: Some(".claude/settings.local.json"),
    managed_file: "managed-settings.json",
    drop_ins: Some("managed-settings.d"),
    // It is read after `managed-settings.json`, and nobody else edits it.
    own_drop_in: "50-portcullis.json",
    plugins: &["plugins"],
    switch_files: &[],
    project_switch_files: &[],
    switch_settings: &[],
    transcripts: "projects",
    writes: &[
        ".claude.json",
        ".cache/claude",
        ".cache/claude-cli-nodejs",
        ".local/state/claude",
        ".local/share/claude",
    ],
};

/// Returns the scope's name in the client's own listings.
pub(super) const fn source(scope: SettingsScope) -> &'static str {
    match scope {
        SettingsScope::User => "userSettings",
        SettingsScope::Project => "projectSettings",
        SettingsScope::Local => "localSettings",
        SettingsScope::Managed => "policySettings",
    }
}
