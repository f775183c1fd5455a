//! Events as Claude Code sends them.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The events of one session.
#[derive(Clone, Debug)]
pub struct Calls {
    session: String,
    project: PathBuf,
}

impl Calls {
    /// Creates the events of a session in a project.
    pub fn new(session: &str, project: &Path) -> Self {
        Self { session: session.to_owned(), project: project.to_owned() }
    }

    /// Creates any event; `more` holds its specific fields.
    pub fn event(&self, name: &str, more: Value) -> Value {
        let mut event = json!({
            "session_id": self.session,
            "transcript_path": "/dev/null",
            "cwd": self.project,
            "permission_mode": "default",
            "hook_event_name": name,
        });
        if let (Some(event), Value::Object(more)) = (event.as_object_mut(), more) {
            event.extend(more);
        }
        event
    }

    /// Creates the event before a tool runs.
    pub fn before(&self, id: &str, tool: &str, input: Value) -> Value {
        self.event(
            "PreToolUse",
            json!({ "tool_name": tool, "tool_input": input, "tool_use_id": id }),
        )
    }

    /// Creates the event before a shell command runs.
    pub fn bash(&self, id: &str, command: &str) -> Value {
        self.before(id, "Bash", json!({ "command": command }))
    }

    /// Creates the event after a successful shell command.
    pub fn bash_done(&self, id: &str, command: &str, output: &str) -> Value {
        self.event(
            "PostToolUse",
            json!({
                "tool_name": "Bash",
                "tool_input": { "command": command },
                "tool_response": { "stdout": output, "stderr": "", "interrupted": false },
                "tool_use_id": id,
                "duration_ms": 12,
            }),
        )
    }

    /// Creates the event after a failed shell command.
    pub fn bash_failed(&self, id: &str, command: &str, error: &str) -> Value {
        let input = json!({ "command": command });
        self.event(
            "PostToolUseFailure",
            json!({ "tool_name": "Bash", "tool_input": input, "tool_use_id": id, "error": error }),
        )
    }

    /// Creates the event of a person's prompt.
    pub fn prompt(&self, text: &str) -> Value {
        self.event("UserPromptSubmit", json!({ "prompt": text }))
    }
}
