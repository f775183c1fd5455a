//! The wire of each client but the first, both ways: the events that its hooks get, as they are
//! read, and the exact answer to every ruling on a call. `host/core/tests/all/wire.rs` has the first
//! client's.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use portcullis_agents::find_agent;
use portcullis_core::event::{Disposition, EventKind, Reply};
use serde_json::{Map, Value, json};

/// Returns an event's kind and what it says, in one line.
fn describe(kind: &EventKind) -> String {
    match kind {
        EventKind::BeforeTool(call) => {
            format!(
                "before {} {} {}",
                call.tool,
                show_id(call.id.as_deref()),
                Value::Object(call.input.clone())
            )
        }
        EventKind::AfterTool(call, result) => {
            let end = if result.failed { &result.error } else { &result.output };
            let id = show_id(call.id.as_deref());
            format!(
                "after {} {id} {} {end:?}",
                call.tool,
                if result.failed { "failed" } else { "ran" }
            )
        }
        EventKind::AfterBatch(calls) => format!("batch of {}", calls.len()),
        EventKind::Prompt(text) => format!("prompt {text:?}"),
        EventKind::SessionStart { source } => format!("start {source}"),
        EventKind::SessionEnd { reason } => format!("end {reason}"),
        EventKind::Stop => "stop".into(),
        EventKind::SubagentStart { agent_type } => format!("subagent {agent_type}"),
        EventKind::SubagentStop => "subagent stop".into(),
        EventKind::ConfigChange { source, .. } => format!("settings {source}"),
        EventKind::Other => "other".into(),
    }
}

fn show_id(id: Option<&str>) -> &str {
    id.unwrap_or("-")
}

/// Returns a payload as its client writes it: `base`, with other parts.
fn payload(client: &str, parts: &Value) -> Value {
    let mut whole = match client {
        "copilot" => json!({"sessionId": "s", "timestamp": 1, "cwd": "/w"}),
        "cline" => json!({"clineVersion": "", "timestamp": "2026-01-01T00:00:00.000Z",
            "taskId": "t", "sessionContext": {"rootSessionId": "s"}, "workspaceRoots": ["/w"],
            "userId": "u", "agent_id": "a", "parent_agent_id": null}),
        "cursor" => json!({"conversation_id": "s", "generation_id": "g", "model": "default",
            "session_id": "s", "cursor_version": "3.9.16", "workspace_roots": ["/w"],
            "user_email": null, "transcript_path": null}),
        "codex" => json!({"session_id": "s", "turn_id": "t", "transcript_path": null, "cwd": "/w",
            "model": "m", "permission_mode": "default"}),
        _ => json!({"session_id": "s", "transcript_path": "/t.jsonl", "cwd": "/w",
            "timestamp": "2026-01-01T00:00:00.000Z"}),
    };
    for (name, value) in parts.as_object().unwrap() {
        whole[name] = value.clone();
    }
    whole
}

#[test]
fn every_event_is_read_as_what_it_is() {
    let ls = json!({"command": "ls"});
    let patch = "*** Begin Patch\n*** Delete File: a\n*** End Patch";
    let patched = json!({"command": patch}).to_string();
    let mut wrong = Vec::new();
    for (client, parts, expected) in [
        (
            "codex",
            json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": ls, "tool_use_id": "1"}),
            "before Bash 1 {\"command\":\"ls\"}",
        ),
        (
            "codex",
            json!({"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": ls, "tool_use_id": "1", "tool_response": "a"}),
            "after Bash 1 ran \"a\"",
        ),
        (
            "codex",
            json!({"hook_event_name": "PreToolUse", "tool_name": "apply_patch", "tool_input": {"command": patch}, "tool_use_id": "1"}),
            &format!("before apply_patch 1 {patched}"),
        ),
        ("codex", json!({"hook_event_name": "UserPromptSubmit", "prompt": "go"}), "prompt \"go\""),
        ("codex", json!({"hook_event_name": "SessionStart", "source": "startup"}), "start startup"),
        (
            "codex",
            json!({"hook_event_name": "Stop", "stop_hook_active": false, "last_assistant_message": "ok"}),
            "stop",
        ),
        (
            "gemini",
            json!({"hook_event_name": "BeforeTool", "tool_name": "run_shell_command", "tool_input": ls}),
            "before run_shell_command - {\"command\":\"ls\"}",
        ),
        (
            "gemini",
            json!({"hook_event_name": "AfterTool", "tool_name": "run_shell_command", "tool_input": ls, "tool_response": {"llmContent": "Output: a\nExit Code: 3", "returnDisplay": "a"}}),
            "after run_shell_command - failed \"Output: a\\nExit Code: 3\"",
        ),
        (
            "gemini",
            json!({"hook_event_name": "AfterTool", "tool_name": "write_file", "tool_input": {"file_path": "/w/a", "content": ""}, "tool_response": {"llmContent": "made", "returnDisplay": {}}}),
            "after write_file - ran \"made\"",
        ),
        ("gemini", json!({"hook_event_name": "BeforeAgent", "prompt": "go"}), "prompt \"go\""),
        (
            "gemini",
            json!({"hook_event_name": "SessionStart", "source": "startup"}),
            "start startup",
        ),
        ("gemini", json!({"hook_event_name": "SessionEnd", "reason": "exit"}), "end exit"),
        (
            "gemini",
            json!({"hook_event_name": "AfterAgent", "prompt": "go", "prompt_response": "ok", "stop_hook_active": false}),
            "stop",
        ),
        ("gemini", json!({"hook_event_name": "PreCompress", "trigger": "auto"}), "other"),
        (
            "qwen",
            json!({"hook_event_name": "PreToolUse", "permission_mode": "yolo", "tool_name": "run_shell_command", "tool_input": ls, "tool_use_id": "1", "tool_call_id": "c"}),
            "before run_shell_command c {\"command\":\"ls\"}",
        ),
        (
            "qwen",
            json!({"hook_event_name": "PostToolUse", "tool_name": "run_shell_command", "tool_input": ls, "tool_use_id": "1", "tool_response": {"llmContent": "a"}}),
            "after run_shell_command 1 ran \"a\"",
        ),
        (
            "qwen",
            json!({"hook_event_name": "PostToolUseFailure", "tool_name": "read_file", "tool_input": {"file_path": "/w/a"}, "tool_use_id": "1", "error": "no file", "is_interrupt": false}),
            "after read_file 1 failed \"no file\"",
        ),
        ("qwen", json!({"hook_event_name": "UserPromptSubmit", "prompt": "go"}), "prompt \"go\""),
        (
            "qwen",
            json!({"hook_event_name": "SubagentStart", "agent_id": "a1", "agent_type": "general"}),
            "subagent general",
        ),
        ("qwen", json!({"hook_event_name": "MessageDisplay"}), "other"),
        (
            "copilot",
            json!({"toolName": "bash", "toolArgs": ls}),
            "before bash - {\"command\":\"ls\"}",
        ),
        (
            "copilot",
            json!({"toolName": "bash", "toolArgs": ls, "toolResult": {"resultType": "success", "textResultForLlm": "a"}}),
            "after bash - ran \"a\"",
        ),
        (
            "copilot",
            json!({"toolName": "view", "toolArgs": {"path": "/w/a"}, "error": "no file"}),
            "after view - failed \"no file\"",
        ),
        ("copilot", json!({"prompt": "go"}), "prompt \"go\""),
        ("copilot", json!({"source": "new", "initialPrompt": "go"}), "start new"),
        ("copilot", json!({"reason": "complete"}), "end complete"),
        (
            "copilot",
            json!({"agentId": "a", "agentName": "task", "agentType": "task", "parentAgentId": "s"}),
            "subagent task",
        ),
        (
            "opencode",
            json!({"hook_event_name": "PreToolUse", "tool_name": "bash", "tool_input": ls, "tool_use_id": "1"}),
            "before bash 1 {\"command\":\"ls\"}",
        ),
        (
            "opencode",
            json!({"hook_event_name": "PreToolUse", "tool_name": "apply_patch", "tool_input": {"command": patch}, "tool_use_id": "1"}),
            &format!("before apply_patch 1 {patched}"),
        ),
        (
            "opencode",
            json!({"hook_event_name": "PostToolUse", "tool_name": "bash", "tool_input": ls, "tool_use_id": "1", "tool_result": "a"}),
            "after bash 1 ran \"a\"",
        ),
        (
            "opencode",
            json!({"hook_event_name": "UserPromptSubmit", "prompt": "go"}),
            "prompt \"go\"",
        ),
        (
            "kilo",
            json!({"hook_event_name": "PreToolUse", "tool_name": "write", "tool_input": {"filePath": "/w/a", "content": ""}, "tool_use_id": "1"}),
            "before write 1 {\"filePath\":\"/w/a\",\"content\":\"\"}",
        ),
        (
            "kilo",
            json!({"hook_event_name": "PostToolUse", "tool_name": "bash", "tool_input": ls, "tool_use_id": "1", "tool_result": "no", "tool_failed": true}),
            "after bash 1 failed \"no\"",
        ),
        (
            "cline",
            json!({"hookName": "tool_call", "iteration": 1, "tool_call": {"id": "1", "name": "run_commands", "input": {"commands": ["ls", "id"]}}, "preToolUse": {"toolName": "run_commands", "parameters": {"commands": "[\"ls\",\"id\"]"}}}),
            "before run_commands 1 {\"command\":\"bash -c ls\\nbash -c id\"}",
        ),
        (
            "cline",
            json!({"hookName": "tool_call", "iteration": 1, "tool_call": {"id": "1", "name": "t__echo", "input": {"x": 1}}}),
            "before t__echo 1 {\"x\":1}",
        ),
        (
            "cline",
            json!({"hookName": "tool_result", "tool_result": {"id": "1", "name": "t__echo", "input": {"x": 1}, "output": {"content": [{"type": "text", "text": "a"}]}}}),
            "after t__echo 1 ran \"a\"",
        ),
        ("cline", json!({"hookName": "agent_start"}), "start startup"),
        (
            "cursor",
            json!({"hook_event_name": "preToolUse", "tool_name": "Shell", "tool_input": ls, "tool_use_id": "1", "cwd": ""}),
            "before Shell 1 {\"command\":\"ls\"}",
        ),
        (
            "cursor",
            json!({"hook_event_name": "preToolUse", "tool_name": "Read", "tool_input": {"file_path": "/w/a"}, "tool_use_id": "1"}),
            "before Read 1 {\"file_path\":\"/w/a\"}",
        ),
        (
            "cursor",
            json!({"hook_event_name": "preToolUse", "tool_name": "Write", "tool_input": {"path": "/w/a", "contents": ""}, "tool_use_id": "1"}),
            "before Write 1 {\"path\":\"/w/a\",\"contents\":\"\",\"file_path\":\"/w/a\"}",
        ),
        (
            "cursor",
            json!({"hook_event_name": "preToolUse", "tool_name": "MCP:echo", "tool_input": {"x": 1}, "tool_use_id": "1"}),
            "before MCP:echo 1 {\"x\":1}",
        ),
        (
            "cursor",
            json!({"hook_event_name": "postToolUse", "tool_name": "Shell", "tool_input": ls, "tool_use_id": "1", "tool_output": "{\"output\":\"a\\n\",\"exitCode\":0}", "duration": 7.5}),
            "after Shell 1 ran \"a\\n\"",
        ),
        (
            "cursor",
            json!({"hook_event_name": "postToolUse", "tool_name": "Shell", "tool_input": ls, "tool_use_id": "1", "tool_output": "{\"output\":\"no\",\"exitCode\":3}"}),
            "after Shell 1 failed \"no\"",
        ),
        (
            "cursor",
            json!({"hook_event_name": "postToolUseFailure", "tool_name": "Read", "tool_input": {"file_path": "/w/a"}, "tool_use_id": "1", "error_message": "no file", "failure_type": "error", "is_interrupt": false}),
            "after Read 1 failed \"no file\"",
        ),
        (
            "cursor",
            json!({"hook_event_name": "beforeShellExecution", "command": "ls", "cwd": "", "sandbox": false}),
            "before Shell - {\"command\":\"ls\"}",
        ),
        (
            "cursor",
            json!({"hook_event_name": "afterShellExecution", "command": "ls", "output": "a", "duration": 1}),
            "after Shell - ran \"a\"",
        ),
        (
            "cursor",
            json!({"hook_event_name": "beforeMCPExecution", "tool_name": "echo", "tool_input": "{\"x\":1}", "url": "http://127.0.0.1"}),
            "before MCP:echo - {\"x\":1}",
        ),
        (
            "cursor",
            json!({"hook_event_name": "afterMCPExecution", "tool_name": "echo", "tool_input": "{\"x\":1}", "result_json": "{}"}),
            "after MCP:echo - ran \"{}\"",
        ),
        (
            "cursor",
            json!({"hook_event_name": "beforeReadFile", "file_path": "/w/a", "content": "secret", "attachments": []}),
            "before Read - {\"file_path\":\"/w/a\"}",
        ),
        (
            "cursor",
            json!({"hook_event_name": "afterFileEdit", "file_path": "/w/a", "edits": [{"old_string": "", "new_string": "x"}]}),
            "after Write - ran \"\"",
        ),
        (
            "cursor",
            json!({"hook_event_name": "beforeSubmitPrompt", "prompt": "go", "attachments": []}),
            "prompt \"go\"",
        ),
        (
            "cursor",
            json!({"hook_event_name": "sessionStart", "is_background_agent": false, "composer_mode": "agent"}),
            "start startup",
        ),
        (
            "cursor",
            json!({"hook_event_name": "sessionEnd", "reason": "completed"}),
            "end completed",
        ),
        (
            "cursor",
            json!({"hook_event_name": "stop", "status": "completed", "loop_count": 0}),
            "stop",
        ),
        (
            "cursor",
            json!({"hook_event_name": "subagentStart", "subagent_id": "a", "subagent_type": "explore"}),
            "subagent explore",
        ),
        ("cursor", json!({"hook_event_name": "preCompact", "trigger": "auto"}), "other"),
    ] {
        let agent = find_agent(client).unwrap();
        let event = agent.parse(payload(client, &parts).to_string().as_bytes());
        let event = event.unwrap_or_else(|error| panic!("{client} {parts}: {error}"));
        let read = describe(&event.kind);
        if read != expected || event.session != "s" || event.cwd != "/w" {
            let (session, folder) = (&event.session, &event.cwd);
            wrong.push(format!("{client} {parts}\n  {read} in {session}, {folder}"));
        }
    }
    assert!(wrong.is_empty(), "read otherwise:\n{}", wrong.join("\n"));
}

/// Returns all rulings on a call, by name.
fn rulings() -> [(&'static str, Disposition); 5] {
    let input: Map<String, Value> = json!({"command": "ls -l"}).as_object().unwrap().clone();
    [
        ("none", Disposition::None),
        ("rewrite", Disposition::Rewrite(input)),
        ("ask", Disposition::Ask("why".into())),
        ("refuse", Disposition::Refuse("why".into())),
        ("stop", Disposition::Stop("why".into())),
    ]
}

#[test]
fn every_ruling_on_a_call_has_its_exact_answer() {
    let mut found = String::new();
    for client in ["codex", "gemini", "qwen", "copilot", "opencode", "kilo", "cline", "cursor"] {
        let agent = find_agent(client).unwrap();
        let gate = agent.hook_settings().gate_event();
        for (name, ruling) in rulings() {
            let reply = Reply {
                ruling,
                agent: vec!["for the agent".into()],
                person: vec!["for the person".into()],
                result: None,
            };
            // A client without a name for its events gets the answer of the event that refuses.
            for event in [gate, ""] {
                let output = agent.render(event, &reply);
                let answer = String::from_utf8(output.stdout).unwrap();
                assert!(answer.ends_with('\n') && answer.matches('\n').count() == 1, "{answer}");
                let line = format!("{client} {name} {} {answer}", output.exit);
                if event == gate {
                    found.push_str(&line);
                } else {
                    assert!(found.ends_with(&line), "{client} {name}: {answer}");
                }
            }
        }
    }
    let expected = include_str!("wire/answers.txt");
    assert!(
        found == expected,
        "the answers are not those of `host/agents/tests/wire/answers.txt`:\n{found}"
    );
}
