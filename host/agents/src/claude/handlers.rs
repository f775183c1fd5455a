//! The one list of events that our hooks handle, and the handler for each.
//!
//! Exec form (`args`): the client starts the program without a shell, so nothing in a path is
//! parsed as shell text, and a start costs half. The measured behaviour behind each choice is in
//! the constants' docs.

use crate::grouped_hooks::{FileForm, GroupedHooks};
use crate::invocation::{EventSubscription, Invocation, TIMEOUT};
use crate::json::JsonSyntax;
use serde_json::{Value, json};

/// The timeout at the end of a session. All handlers then have 1.5 s together, unless one asks for
/// more; a person may wait that long for their terminal.
const END_TIMEOUT: u64 = 10;

/// Every event that our hooks handle.
///
/// `onFailure: "block"` is set if refusing holds an action back: before and after a tool runs,
/// after a batch (it ends the agent's loop, which is better than a loop with unreviewed outcomes),
/// and when settings change. It is not set on `UserPromptSubmit`, since it would cost the person
/// their prompt, and with it the way to ask about the problem: without our hooks no tool runs
/// anyway. On the other events the client ignores it.
pub(super) const EVENTS: &[EventSubscription] = &[
    EventSubscription { event: "PreToolUse", closed: true, timeout: TIMEOUT },
    EventSubscription { event: "PostToolUse", closed: true, timeout: TIMEOUT },
    EventSubscription { event: "PostToolUseFailure", closed: true, timeout: TIMEOUT },
    EventSubscription { event: "PostToolBatch", closed: true, timeout: TIMEOUT },
    EventSubscription { event: "UserPromptSubmit", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "SessionStart", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "SessionEnd", closed: false, timeout: END_TIMEOUT },
    EventSubscription { event: "Stop", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "SubagentStart", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "SubagentStop", closed: false, timeout: TIMEOUT },
    EventSubscription { event: "ConfigChange", closed: true, timeout: TIMEOUT },
];

/// Returns the handler for an event, as in a settings file.
#[must_use]
pub(super) fn render_handler(invocation: &Invocation, listened: &EventSubscription) -> Value {
    let mut handler = json!({
        "type": "command",
        "command": invocation.program.to_string_lossy(),
        "args": invocation.event_arguments(listened),
        "timeout": listened.timeout,
    });
    if let Some(fields) = handler.as_object_mut().filter(|_| listened.closed) {
        fields.insert("onFailure".to_owned(), json!("block"));
    }
    handler
}

/// Our hooks in the client's settings files.
pub(super) const HOOKS: GroupedHooks = GroupedHooks {
    events: EVENTS,
    render: render_handler,
    by_shell: false,
    form: FileForm::Groups,
    syntax: JsonSyntax::Strict,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grouped_hooks::group;
    use std::path::{Path, PathBuf};

    #[test]
    fn the_plugin_has_the_same_hooks() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../claude-plugin/hooks/hooks.json");
        let plugin: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let invocation =
            Invocation { agent: "claude", program: crate::PROGRAM.into(), pinned: None };
        let hooks: serde_json::Map<_, _> = EVENTS
            .iter()
            .map(|listened| {
                (listened.event.to_owned(), json!([group(&render_handler(&invocation, listened))]))
            })
            .collect();
        assert_eq!(plugin["hooks"], Value::Object(hooks));
    }

    #[test]
    fn pinned_folders_are_named_in_the_arguments() {
        let pinned =
            Some((PathBuf::from("/home/me/.config/portcullis"), PathBuf::from("/home/me/a b")));
        let invocation =
            Invocation { agent: "claude", program: "/usr/local/bin/portcullis".into(), pinned };
        let handler = render_handler(&invocation, &EVENTS[0]);
        assert_eq!(
            handler["args"],
            json!([
                "hook",
                "claude",
                "--config",
                "/home/me/.config/portcullis",
                "--state",
                "/home/me/a b"
            ])
        );
        assert_eq!(handler["onFailure"], "block");
    }
}
