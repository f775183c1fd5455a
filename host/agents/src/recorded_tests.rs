//! The recordings of each client: subagents, calls that did not end, texts that are not the
//! person's, and lines of other kinds.

use crate::find_agent;
use crate::recorded::RecordingState;
use portcullis_core::event::EventKind;
use serde_json::{Map, Value, json};

/// Returns each event of a recording as a line: session, agent, folder, and what happened.
fn read(agent: &str, parts: &[Value]) -> Vec<String> {
    let agent = find_agent(agent).unwrap();
    let mut state = RecordingState::in_folder("/beside".into());
    let mut found = Vec::new();
    for part in parts {
        let part = part.as_object().unwrap();
        let mut events = agent.read_transcript_line(part, &mut state);
        events.extend(agent.read_session_document(part, &mut state));
        for timed in events {
            state.note_event(&timed.event.kind);
            let event = timed.event;
            let place = format!(
                "{}{} {}",
                event.session,
                event.agent.map(|agent| format!("/{agent}")).unwrap_or_default(),
                event.cwd
            );
            let input = |input: Map<String, Value>| Value::Object(input).to_string();
            found.push(match event.kind {
                EventKind::BeforeTool(call) => {
                    format!("{place} before {} {}", call.tool, input(call.input))
                }
                EventKind::AfterTool(call, result) if result.failed => {
                    format!("{place} failed {} {}", call.tool, result.error)
                }
                EventKind::AfterTool(call, result) => {
                    format!("{place} after {} {}", call.tool, result.output)
                }
                EventKind::Prompt(text) => format!("{place} prompt {text}"),
                EventKind::SessionStart { .. } => format!("{place} start"),
                EventKind::SubagentStart { .. } => format!("{place} subagent"),
                _ => format!("{place} {}", event.name),
            });
        }
    }
    found
}

const TIME: &str = "2026-09-01T10:00:00.000Z";

#[test]
fn gemini_repeats_a_message_when_its_calls_have_ended() {
    let call = |id: &str, args: Value, status: &str, response: Value| {
        let mut call = json!({"id": id, "name": "run_shell_command", "args": args,
            "status": status, "timestamp": TIME});
        if !response.is_null() {
            call["result"] = json!([{"functionResponse": {"id": id, "response": response}}]);
        }
        call
    };
    let message = |calls: Value| json!({"id": "m", "timestamp": TIME, "type": "gemini", "content": "", "toolCalls": calls});
    let running = call("a", json!({"command": "ls"}), "executing", Value::Null);
    let ended =
        call("a", json!({"command": "ls"}), "success", json!({"output": "x\nExit Code: 1"}));
    let other = call(
        "b",
        json!({"command": "rm y", "dir_path": "sub"}),
        "cancelled",
        json!({"error": "no"}),
    );
    let words =
        |content: Value| json!({"id": "u", "timestamp": TIME, "type": "user", "content": content});
    let parts = [
        json!({"sessionId": "s", "projectHash": "h", "startTime": TIME, "kind": "main"}),
        words(json!([{"text": "<session_context>\nabout\n</session_context>"}])),
        words(json!("do it")),
        message(json!([running])),
        words(json!([{"functionResponse": {"id": "a"}}])),
        json!({"$set": {"messages": [message(json!([ended]))]}}),
        message(json!([ended])),
        message(json!([ended, other])),
        json!({"id": "m", "timestamp": TIME, "type": "gemini", "content": "", "toolCalls": [1]}),
    ];
    assert_eq!(
        read("gemini", &parts),
        [
            "s /beside start",
            "s /beside prompt do it",
            "s /beside before run_shell_command {\"command\":\"ls\"}",
            "s /beside failed run_shell_command x\nExit Code: 1",
            "s /beside/sub before run_shell_command {\"command\":\"rm y\",\"dir_path\":\"sub\"}",
            "s /beside/sub failed run_shell_command no",
        ]
    );
    let parts = [
        json!({"sessionId": "s", "projectHash": "h", "startTime": TIME, "kind": "subagent",
            "directories": ["/w"]}),
        words(json!([{"text": "list"}])),
    ];
    assert_eq!(read("gemini", &parts), ["s/s /w subagent"]);
}

#[test]
fn qwen_names_the_tool_that_was_not_offered() {
    let line = |kind: &str, parts: Value, more: Value| {
        let mut line = json!({"uuid": "u", "sessionId": "s", "timestamp": TIME, "type": kind,
            "cwd": "/w", "message": {"role": "user", "parts": parts}});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line
    };
    let call = |id: &str, name: &str, args: Value| json!({"functionCall": {"id": id, "name": name, "args": args}});
    let result =
        |id: &str, response: Value| json!([{"functionResponse": {"id": id, "response": response}}]);
    let of_agent = json!({"agentId": "a", "isSidechain": true});
    let deferred = json!({"name": "monitor", "arguments": {"command": "ls", "directory": "/x"}});
    let parts = [
        line("user", json!([{"text": "do it"}]), json!({})),
        line("user", json!([{"text": "and more"}]), json!({"subtype": "mid_turn_user_message"})),
        line("user", json!([{"text": "ended"}]), json!({"subtype": "notification"})),
        line(
            "assistant",
            json!([{"text": "yes"}, call("1", "edit", json!({"file_path": "f"})), call("2", "tool_call", deferred)]),
            json!({}),
        ),
        line(
            "tool_result",
            result("2", json!({"output": "x"})),
            json!({"toolCallResult": {"status": "success"}}),
        ),
        line(
            "tool_result",
            result("1", json!({"error": "no"})),
            json!({"toolCallResult": {"status": "error"}}),
        ),
        line("tool_result", result("9", json!({"output": "unknown"})), json!({})),
        line("user", json!([{"text": "list"}]), of_agent.clone()),
        line(
            "assistant",
            json!([call("3", "run_shell_command", json!({"command": "ls"}))]),
            of_agent.clone(),
        ),
        line("tool_result", result("3", json!({"output": "x"})), of_agent),
        line("system", json!([]), json!({})),
        json!({"type": "user", "sessionId": "s", "message": {"content": "of another client"}}),
    ];
    assert_eq!(
        read("qwen", &parts),
        [
            "s /w prompt do it",
            "s /w prompt and more",
            "s /w before edit {\"file_path\":\"f\"}",
            "s /x before monitor {\"command\":\"ls\",\"directory\":\"/x\"}",
            "s /x after monitor x",
            "s /w failed edit no",
            "s/a /w before run_shell_command {\"command\":\"ls\"}",
            "s/a /w after run_shell_command x",
        ]
    );
}

#[test]
fn copilot_has_subagents_in_the_same_file() {
    let line =
        |kind: &str, data: Value| json!({"type": kind, "data": data, "id": "i", "timestamp": TIME});
    let of_agent = |mut line: Value| {
        line["agentId"] = json!("a");
        line
    };
    let start = |id: &str, arguments: Value| {
        line(
            "tool.execution_start",
            json!({"toolCallId": id, "toolName": "bash", "arguments": arguments}),
        )
    };
    let parts = [
        line("session.start", json!({"sessionId": "s", "context": {"cwd": "/w"}})),
        line("system.message", json!({"content": "about"})),
        line("user.message", json!({"content": "do it", "transformedContent": "now: do it"})),
        start("1", json!({"command": "ls"})),
        of_agent(line("subagent.started", json!({"agentType": "task"}))),
        of_agent(line("user.message", json!({"content": "list"}))),
        of_agent(start("2", json!({"command": "pwd"}))),
        of_agent(line(
            "tool.execution_complete",
            json!({"toolCallId": "2", "success": false, "error": {"message": "no"}}),
        )),
        of_agent(line("subagent.completed", json!({"toolCallId": "1"}))),
        line(
            "tool.execution_complete",
            json!({"toolCallId": "1", "success": true, "result": {"content": "x"}, "shellExecution": {"exitCode": 1}}),
        ),
        line("hook.start", json!({"input": {"toolName": "bash"}})),
    ];
    assert_eq!(
        read("copilot", &parts),
        [
            "s /w start",
            "s /w prompt do it",
            "s /w before bash {\"command\":\"ls\"}",
            "s/a /w subagent",
            "s/a /w before bash {\"command\":\"pwd\"}",
            "s/a /w failed bash no",
            "s/a /w subagentStop",
            "s /w failed bash x",
        ]
    );
}

#[test]
fn cline_has_a_document_for_each_agent() {
    let message =
        |role: &str, content: Value| json!({"id": "m", "role": role, "content": content, "ts": 1});
    let call = |id: &str, name: &str, input: Value| json!({"type": "tool_use", "id": id, "name": name, "input": input});
    let result = |id: &str, content: Value| json!([{"type": "tool_result", "tool_use_id": id, "content": content}]);
    let messages = json!([
        message(
            "user",
            json!([{"type": "text", "text": "<user_input mode=\"act\">do it</user_input>"}])
        ),
        message(
            "assistant",
            json!([{"type": "text", "text": "yes"},
            call("1", "run_commands", json!({"commands": ["ls", "pwd"]})),
            call("2", "editor", json!({"path": "f", "new_text": "n"}))])
        ),
        message(
            "user",
            result(
                "1",
                json!([{"query": "ls", "result": "x", "success": true},
            {"query": "pwd", "result": "y", "success": false}])
            )
        ),
        message("user", result("2", json!("{\"result\": \"done\", \"success\": true}"))),
        message("assistant", json!([call("3", "fetch_web_content", json!({"requests": []}))])),
        message(
            "user",
            json!([{"type": "tool_result", "tool_use_id": "3", "content": "no", "is_error": true}])
        ),
    ]);
    let of = |origin: Value| json!({"version": 1, "agent": "lead", "sessionId": "s", "origin": origin, "messages": messages});
    assert_eq!(
        read("cline", &[of(json!({"mode": "user"}))]),
        [
            "s /beside prompt do it",
            "s /beside before run_commands {\"command\":\"bash -c ls\\nbash -c pwd\"}",
            "s /beside before editor {\"path\":\"f\",\"new_string\":\"n\"}",
            "s /beside failed run_commands x\ny",
            "s /beside after editor done",
            "s /beside before fetch_web_content {}",
            "s /beside failed fetch_web_content no",
        ]
    );
    let sub = read("cline", &[of(json!({"parentThreadId": "p", "subagent": "a"}))]);
    assert_eq!(sub.len(), 6, "{sub:?}");
    assert!(sub.iter().all(|line| line.starts_with("p/a /beside ")), "{sub:?}");
}

#[test]
fn opencode_and_kilo_export_one_form() {
    let tool = |tool: &str, state: Value| json!({"type": "tool", "tool": tool, "callID": "c", "state": state});
    let message = |role: &str, parts: Value| json!({"info": {"role": role, "time": {"created": 1}}, "parts": parts});
    let session = |info: Value| {
        json!({"info": info, "messages": [
            message("user", json!([{"type": "text", "text": "do it"},
                {"type": "text", "text": "a file", "synthetic": true}])),
            message("assistant", json!([
                {"type": "step-start"},
                tool("bash", json!({"status": "completed", "input": {"command": "ls", "workdir": "sub"},
                    "output": "x", "metadata": {"exit": 1}})),
                tool("apply_patch", json!({"status": "error", "input": {"patchText": "p"}, "error": "no"})),
                tool("read", json!({"status": "running", "input": {"filePath": "f"}})),
                {"type": "tool", "tool": "of another form"},
            ])),
        ]})
    };
    for client in ["opencode", "kilo"] {
        assert_eq!(
            read(client, &[session(json!({"id": "s", "directory": "/w"}))]),
            [
                "s /w start",
                "s /w prompt do it",
                "s /w/sub before bash {\"command\":\"ls\",\"workdir\":\"sub\"}",
                "s /w/sub failed bash x",
                "s /w before apply_patch {\"command\":\"p\"}",
                "s /w failed apply_patch no",
                "s /w before read {\"filePath\":\"f\"}",
            ]
        );
    }
    let sub = read("kilo", &[session(json!({"id": "a", "directory": "/w", "parentID": "s"}))]);
    assert_eq!(sub.len(), 6, "{sub:?}");
    assert!(sub.iter().all(|line| line.starts_with("s/a /w")), "{sub:?}");
}

#[test]
fn codex_names_its_session_once() {
    let line =
        |kind: &str, payload: Value| json!({"timestamp": TIME, "type": kind, "payload": payload});
    let parts = [
        line("session_meta", json!({"id": "s", "cwd": "/w"})),
        line("session_meta", json!({"id": "origin", "cwd": "/o"})),
        line("event_msg", json!({"type": "user_message", "message": "do it"})),
    ];
    assert_eq!(read("codex", &parts), ["s /w prompt do it"]);
}
