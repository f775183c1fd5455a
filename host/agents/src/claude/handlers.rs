//! The one list of events that our hooks handle, and the handler for each.
//!
//! Exec form (`args`): the client starts the program without a shell, so nothing in a path is
//! parsed as shell text, and a start costs half. The measured behaviour behind each choice is in
//! the constants' docs.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// An event with the settings of its handler.
#[derive(Clone, Copy, Debug)]
pub struct EventSubscription {
    /// The client's name of the event.
    pub event: &'static str,
    /// True if the client refuses when the handler dies, hangs or is missing.
    pub closed: bool,
    /// The timeout after which the client kills the handler, in seconds.
    pub timeout: u64,
}

/// A timeout far above the time of a review, so that a loaded machine does not cause refusals.
const TIMEOUT: u64 = 30;

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
pub const EVENTS: &[EventSubscription] = &[
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

/// The command that the client starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The program: an absolute path, or a name that the client looks up.
    pub program: PathBuf,
    /// Configuration and state folder, if they are pinned: an agent can redirect the environment
    /// through the client's own settings.
    pub pinned: Option<(PathBuf, PathBuf)>,
}

impl Invocation {
    /// Returns the arguments after the program.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut arguments = vec!["hook".to_owned(), "claude".to_owned()];
        if let Some((config, state)) = &self.pinned {
            arguments.extend([
                "--config".to_owned(),
                text(config),
                "--state".to_owned(),
                text(state),
            ]);
        }
        arguments
    }

    /// Returns the handler for an event, as in a settings file.
    #[must_use]
    pub fn handler(&self, listened: &EventSubscription) -> Value {
        let mut handler = json!({
            "type": "command",
            "command": self.program.to_string_lossy(),
            "args": self.arguments(),
            "timeout": listened.timeout,
        });
        if let Some(fields) = handler.as_object_mut().filter(|_| listened.closed) {
            fields.insert("onFailure".to_owned(), json!("block"));
        }
        handler
    }
}

/// Returns a group with one handler for everything.
#[must_use]
pub fn group(handler: &Value) -> Value {
    json!({ "hooks": [handler] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_has_the_same_hooks() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../claude-plugin/hooks/hooks.json");
        let plugin: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let invocation = Invocation { program: crate::PROGRAM.into(), pinned: None };
        let hooks: serde_json::Map<_, _> = EVENTS
            .iter()
            .map(|listened| {
                (listened.event.to_owned(), json!([group(&invocation.handler(listened))]))
            })
            .collect();
        assert_eq!(plugin["hooks"], Value::Object(hooks));
    }

    #[test]
    fn pinned_folders_are_named_in_the_arguments() {
        let pinned =
            Some((PathBuf::from("/home/me/.config/portcullis"), PathBuf::from("/home/me/a b")));
        let invocation = Invocation { program: "/usr/local/bin/portcullis".into(), pinned };
        let handler = invocation.handler(&EVENTS[0]);
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
