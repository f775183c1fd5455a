//! The events that our hooks handle, the file for each, and the places of the client's hooks.

use crate::invocation::{EventSubscription, TIMEOUT};
use crate::own_files::{OwnFiles, StartData};
use crate::settings::SettingsLayout;

/// The time after which the client goes on without a hook's answer, in seconds. No file changes it;
/// before an action it is the time that a person has.
const CLIENT_TIMEOUT: u64 = 120;

const fn open(event: &'static str) -> EventSubscription {
    EventSubscription { event, closed: false, timeout: TIMEOUT }
}

/// Every event that our hooks handle, by the names of their files. None is closed: the client goes
/// on when a hook is too late, and only the text of our files closes other failures.
const EVENTS: &[EventSubscription] = &[
    EventSubscription { event: GATE, closed: false, timeout: CLIENT_TIMEOUT },
    open("PostToolUse"),
    open("UserPromptSubmit"),
    open("TaskStart"),
    open("TaskResume"),
    open("TaskComplete"),
    open("TaskCancel"),
    open("TaskError"),
    open("SessionShutdown"),
];

/// The file before an action.
pub(super) const GATE: &str = "PreToolUse";

/// Our files: a shell script for each event. The client passes a program to a shell too, which
/// cannot read it.
pub(super) const FILES: OwnFiles = OwnFiles {
    events: EVENTS,
    template: include_str!("hook.sh"),
    before: "# HOOK = ",
    after: "",
    by_name: true,
    shell_line: Some(start_line),
};

/// The places of the client's hooks.
pub(super) const LAYOUT: SettingsLayout = SettingsLayout {
    person: ".cline",
    person_variable: Some("CLINE_DIR"),
    below_variable: "",
    project_variable: None,
    managed: "/etc/cline",
    user_file: "hooks/PreToolUse",
    project_file: ".cline/hooks/PreToolUse",
    further_files: &[
        "PostToolUse",
        "UserPromptSubmit",
        "TaskStart",
        "TaskResume",
        "TaskComplete",
        "TaskCancel",
        "TaskError",
        "SessionShutdown",
    ],
    local_file: None,
    managed_file: "hooks/PreToolUse",
    drop_ins: None,
    own_drop_in: "",
    // Another hook can put other parameters in the place of those that were reviewed.
    plugins: &["hooks", "plugins", "../Documents/Cline/Hooks"],
    switch_files: &["data/settings/global-settings.json"],
    project_switch_files: &[".cline/hooks", ".clinerules/hooks", ".cline/plugins"],
    switch_settings: &[],
    transcripts: "data/sessions",
    writes: &[],
};

/// Returns the line that starts our program.
fn start_line(data: &StartData) -> String {
    format!("answer=$({})", data.shell_line())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_has_a_file() {
        let further = LAYOUT.further_files.iter().copied();
        let files: Vec<&str> = std::iter::once(GATE).chain(further).collect();
        let events: Vec<&str> = EVENTS.iter().map(|listened| listened.event).collect();
        assert_eq!(files, events);
        assert!(LAYOUT.user_file.ends_with(GATE) && LAYOUT.project_file.ends_with(GATE));
    }
}
