//! The one list of events that we listen to, and the handler for each.
//!
//! Exec form (`args`): the client starts the program without a shell, so nothing in a path is read as
//! shell text, and a start costs half. The measured behaviour behind each choice is in the constants' docs.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// An event and how its handler is set.
#[derive(Clone, Copy, Debug)]
pub struct Listened {
    /// The client's name of the event.
    pub event: &'static str,
    /// The client refuses where the handler dies, hangs or is missing.
    pub closed: bool,
    /// Seconds after which the client ends the handler.
    pub timeout: u64,
}

/// Far more than a review takes, so that a loaded machine does not turn into refusals.
const TIMEOUT: u64 = 30;

/// All events' handlers together have 1.5 s when a session ends, unless one asks for more; it is the
/// time that a person may wait for their terminal.
const END_TIMEOUT: u64 = 10;

/// Every event that we listen to.
///
/// `onFailure: "block"` stands where refusing holds an action back: before and after a tool runs, after a
/// batch (the agent's loop ends, which is better than a loop whose outcomes nobody sees), and when settings
/// change. It does not stand on `UserPromptSubmit`, where it would cost the person their prompt and with it
/// the way to ask what is wrong: without us no tool runs anyway. On the others the client ignores it.
pub const EVENTS: &[Listened] = &[
    Listened { event: "PreToolUse", closed: true, timeout: TIMEOUT },
    Listened { event: "PostToolUse", closed: true, timeout: TIMEOUT },
    Listened { event: "PostToolUseFailure", closed: true, timeout: TIMEOUT },
    Listened { event: "PostToolBatch", closed: true, timeout: TIMEOUT },
    Listened { event: "UserPromptSubmit", closed: false, timeout: TIMEOUT },
    Listened { event: "SessionStart", closed: false, timeout: TIMEOUT },
    Listened { event: "SessionEnd", closed: false, timeout: END_TIMEOUT },
    Listened { event: "Stop", closed: false, timeout: TIMEOUT },
    Listened { event: "SubagentStart", closed: false, timeout: TIMEOUT },
    Listened { event: "SubagentStop", closed: false, timeout: TIMEOUT },
    Listened { event: "ConfigChange", closed: true, timeout: TIMEOUT },
];

/// What the client is to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The program: an absolute path, or a name for the client to look up.
    pub program: PathBuf,
    /// Configuration and state folder, where they are pinned: an agent can redirect the environment
    /// through the client's own settings.
    pub pinned: Option<(PathBuf, PathBuf)>,
}

impl Invocation {
    /// The arguments after the program.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut arguments = vec!["hook".to_owned(), "claude".to_owned()];
        if let Some((config, state)) = &self.pinned {
            arguments.extend(["--config".to_owned(), text(config), "--state".to_owned(), text(state)]);
        }
        arguments
    }

    /// The handler for an event, as it stands in a settings file.
    #[must_use]
    pub fn handler(&self, listened: &Listened) -> Value {
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

/// A group that holds one handler for everything.
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
        let invocation = Invocation { program: env!("CARGO_PKG_NAME").into(), pinned: None };
        let hooks: serde_json::Map<_, _> =
            EVENTS.iter().map(|listened| (listened.event.to_owned(), json!([group(&invocation.handler(listened))]))).collect();
        assert_eq!(plugin["hooks"], Value::Object(hooks));
    }

    #[test]
    fn pinned_folders_are_named_in_the_arguments() {
        let pinned = Some((PathBuf::from("/home/me/.config/portcullis"), PathBuf::from("/home/me/a b")));
        let invocation = Invocation { program: "/usr/local/bin/portcullis".into(), pinned };
        let handler = invocation.handler(&EVENTS[0]);
        assert_eq!(handler["args"], json!(["hook", "claude", "--config", "/home/me/.config/portcullis", "--state", "/home/me/a b"]));
        assert_eq!(handler["onFailure"], "block");
    }
}
