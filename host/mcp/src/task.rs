//! Calls that a server goes on with in the background.

use crate::message::fold_case;
use serde_json::Value;

/// The start of the methods about such calls.
const TASKS: &str = "tasks/";
/// The start of the notifications about them.
const TASK_NOTIFICATIONS: &str = "notifications/tasks";
/// The members that hold the end of a call.
const OUTCOMES: &[&str] = &["result", "error"];

/// Returns true for a method about calls in the background.
pub(crate) fn is_about_tasks(method: &str) -> bool {
    fold_case(method.trim()).starts_with(TASKS)
}

/// Returns true for a notification about such calls.
pub(crate) fn is_task_notification(method: &str) -> bool {
    fold_case(method.trim()).starts_with(TASK_NOTIFICATIONS)
}

/// Returns true if the state of a task, or of one in a list, holds the end of its call, which
/// nobody has reviewed.
pub(crate) fn has_outcome(state: &Value) -> bool {
    match state {
        Value::Array(states) => states.iter().any(has_outcome),
        Value::Object(members) => members.iter().any(|(name, value)| {
            let name = fold_case(name);
            let is_outcome = OUTCOMES.contains(&name.as_str()) && !value.is_null();
            is_outcome || (matches!(name.as_str(), "task" | "tasks") && has_outcome(value))
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_end_of_a_call_in_the_state_of_its_task_is_seen() {
        for (state, has) in [
            (json!({ "taskId": "a", "status": "working", "ttl": 1 }), false),
            (json!({ "taskId": "a", "status": "completed", "result": null }), false),
            (json!({ "taskId": "a", "status": "completed", "result": { "content": [] } }), true),
            (json!({ "taskId": "a", "status": "failed", "error": { "message": "x" } }), true),
            (json!({ "taskId": "a", "Result": {} }), true),
            (json!({ "task": { "result": {} } }), true),
            (json!({ "tasks": [{ "taskId": "a" }, { "taskId": "b", "result": {} }] }), true),
            (json!({ "tasks": [{ "taskId": "a" }] }), false),
            (json!("result"), false),
        ] {
            assert_eq!(has_outcome(&state), has, "{state}");
        }
    }

    #[test]
    fn methods_about_tasks_are_known_in_any_case() {
        assert!(is_about_tasks("tasks/get") && is_about_tasks("Tasks/Get "));
        assert!(!is_about_tasks("tools/list"));
        assert!(is_task_notification("notifications/tasks"));
        assert!(is_task_notification("notifications/tasks/status"));
        assert!(!is_task_notification("notifications/progress"));
    }
}
