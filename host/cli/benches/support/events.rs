//! Events of an ordinary session. `@project@` stands for its folder; `@round@` and `@part@` for numbers, which make each
//! round another call.

/// Before a shell command.
pub const BEFORE: &str = r#"{"session_id":"bench","cwd":"@project@","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"cargo test --package part@part@ 2>&1 | tail -20","description":"run the tests"},"tool_use_id":"call_@round@"}"#;
/// After it.
pub const AFTER: &str = r#"{"session_id":"bench","cwd":"@project@","permission_mode":"default","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"cargo test --package part@part@ 2>&1 | tail -20","description":"run the tests"},"tool_response":{"stdout":"part@part@: test result: ok. 12 passed","stderr":""},"tool_use_id":"call_@round@"}"#;
/// Before an edit.
pub const EDIT: &str = r#"{"session_id":"bench","cwd":"@project@","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{"file_path":"@project@/part@part@/src/lib.rs","old_string":"a","new_string":"b@part@"},"tool_use_id":"edit_call_@round@"}"#;
/// After it.
pub const EDITED: &str = r#"{"session_id":"bench","cwd":"@project@","permission_mode":"default","hook_event_name":"PostToolUse","tool_name":"Edit","tool_input":{"file_path":"@project@/part@part@/src/lib.rs","old_string":"a","new_string":"b@part@"},"tool_response":{"filePath":"@project@/part@part@/src/lib.rs"},"tool_use_id":"edit_call_@round@"}"#;
/// The person's prompt.
pub const PROMPT: &str = r#"{"session_id":"bench","cwd":"@project@","hook_event_name":"UserPromptSubmit","prompt":"Let `b` stand for `a` in the next parts, and run the tests of each."}"#;
/// An event that nobody needs.
pub const OTHER: &str =
    r#"{"session_id":"bench","cwd":"@project@","hook_event_name":"Notification","message":"x"}"#;
