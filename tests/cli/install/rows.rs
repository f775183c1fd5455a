//! Settings files as people, editors and the client leave them.

/// Returns files to which our hooks can be added; `None` means that there is no file.
pub fn good() -> Vec<(&'static str, Option<Vec<u8>>)> {
    let text = |text: &str| Some(text.as_bytes().to_vec());
    let other = r#"{"type": "command", "command": "/usr/bin/other"}"#;
    vec![
        ("missing", None),
        ("empty", text("")),
        ("space", text(" \n\t\n")),
        ("{}", text("{}")),
        ("{} with a newline", text("{}\n")),
        ("{ } spread over lines", text("{\n\n}\n")),
        ("compact", text(r#"{"model":"opus","env":{"A":"1"}}"#)),
        ("in one line with spaces", text("{\"model\": \"opus\", \"env\": {\"A\": \"1\"}}\n")),
        (
            "two spaces",
            text(
                "{\n  \"model\": \"opus\",\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(ls)\"\n    ]\n  }\n}\n",
            ),
        ),
        ("four spaces, no newline at the end", text("{\n    \"model\": \"opus\"\n}")),
        ("tabs", text("{\n\t\"model\": \"opus\",\n\t\"env\": {\n\t\t\"A\": \"1\"\n\t}\n}\n")),
        (
            "CRLF",
            text(
                "{\r\n  \"model\": \"opus\",\r\n  \"hooks\": {\r\n    \"Stop\": []\r\n  }\r\n}\r\n",
            ),
        ),
        ("CR and LF mixed", text("{\r\n  \"model\": \"opus\",\n  \"verbose\": true\r\n}\n")),
        ("a byte order mark", text("\u{feff}{\n  \"model\": \"opus\"\n}\n")),
        (
            "unicode, escapes",
            text("{\n  \"env\": {\"Ünï\": \"\u{1f980} \\u00e9\\n\\\"\", \"/~0\": \"\"}\n}\n"),
        ),
        ("odd spacing", text("{ \"a\" :1 ,\n\n\n   \"b\":[1 ,2 ] , \"env\" : { }  }\n\n\n")),
        (
            "numbers that a writer would change",
            text("{\n  \"x\": [1.0, 1e2, -0, 100000000000000000000000, 0.1000]\n}\n"),
        ),
        ("a name that is given twice elsewhere", text("{\n  \"x\": 1,\n  \"x\": 2\n}\n")),
        ("hooks: null", text("{\n  \"hooks\": null,\n  \"model\": \"opus\"\n}\n")),
        ("hooks: {}", text("{\n  \"hooks\": {},\n  \"model\": \"opus\"\n}\n")),
        ("hooks first, compact", text(r#"{"hooks":{},"model":"opus"}"#)),
        ("an event: null", text("{\n  \"hooks\": {\n    \"PreToolUse\": null\n  }\n}\n")),
        ("an event: []", text("{\n  \"hooks\": {\n    \"PreToolUse\": []\n  }\n}\n")),
        (
            "an empty group",
            text("{\n  \"hooks\": {\n    \"PreToolUse\": [{\"hooks\": []}]\n  }\n}\n"),
        ),
        (
            "another hook before ours",
            text(&format!(
                "{{\n  \"hooks\": {{\n    \"PreToolUse\": [\n      {{\n        \"matcher\": \"Bash\",\n        \"hooks\": [\n          {other}\n        ]\n      }}\n    ]\n  }}\n}}\n"
            )),
        ),
        (
            "others on several events, compact",
            text(&format!(
                "{{\"hooks\":{{\"PreToolUse\":[{{\"hooks\":[{other}]}}],\"Stop\":[{{\"hooks\":[{other}]}},{{\"hooks\":[{other}]}}]}}}}"
            )),
        ),
        (
            "events in an order of their own",
            text(&format!(
                "{{\n  \"hooks\": {{\n    \"Stop\": [{{\"hooks\": [{other}]}}],\n    \"Notification\": [{{\"hooks\": [{other}]}}],\n    \"PreToolUse\": [{{\"hooks\": [{other}]}}]\n  }},\n  \"model\": \"opus\"\n}}\n"
            )),
        ),
        (
            "events that nobody knows",
            text("{\n  \"hooks\": {\n    \"Tomorrow\": \"anything\"\n  }\n}\n"),
        ),
        (
            "hooks of every type",
            text(
                "{\n  \"hooks\": {\n    \"PostToolUse\": [{\"hooks\": [\n      {\"type\": \"http\", \"url\": \"http://127.0.0.1:1/x\", \"headers\": {\"A\": \"b\"}},\n      {\"type\": \"mcp_tool\", \"server\": \"s\", \"tool\": \"t\", \"input\": {}},\n      {\"type\": \"prompt\", \"prompt\": \"p\", \"timeout\": 1.5},\n      {\"type\": \"agent\", \"prompt\": \"p\"}\n    ]}]\n  }\n}\n",
            ),
        ),
        (
            "settings of every kind",
            text(
                "{\n  \"$schema\": \"https://json.schemastore.org/claude-code-settings.json\",\n  \"permissions\": {\"allow\": [\"Bash(ls)\", 1], \"defaultMode\": \"plan\"},\n  \"statusLine\": {\"type\": \"command\", \"command\": \"x\", \"padding\": 0},\n  \"enabledPlugins\": {\"a@b\": true, \"c@d\": [\"x\"]},\n  \"attribution\": false,\n  \"cleanupPeriodDays\": 30,\n  \"env\": {\"N\": 1, \"B\": true}\n}\n",
            ),
        ),
        ("a key that nobody knows", text("{\n  \"tomorrow\": {\"deep\": [[[{}]]]}\n}\n")),
        (
            "nearly the client's limit",
            text(&format!("{{\n  \"x\": \"{}\"\n}}\n", "a".repeat((2 << 20) - 8192))),
        ),
    ]
}

/// Returns files that the client would ignore or read differently than they seem, with the expected
/// message.
pub fn refused() -> Vec<(&'static str, Vec<u8>)> {
    let text = |text: &str| text.as_bytes().to_vec();
    vec![
        ("no JSON", text("{")),
        ("comments", text("{\n  // mine\n}")),
        ("a trailing comma", text("{\"a\": 1,}")),
        ("null", text("null")),
        ("an array", text("[]")),
        ("two documents", text("{}{}")),
        ("UTF-16", "{}".encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("Latin-1", b"{\"a\": \"\xe9\"}".to_vec()),
        ("too deep", text(&format!("{{\"a\": {}{}}}", "[".repeat(200), "]".repeat(200)))),
        ("larger than the client reads", text(&format!("{{\"x\": \"{}\"}}", "a".repeat(2 << 20)))),
        ("an unrelated bad key", text("{\n  \"permissions\": \"all\"\n}")),
        ("a bad key deep down", text("{\"permissions\": {\"defaultMode\": \"yolo\"}}")),
        ("a list with one wrong element", text("{\"availableModels\": [\"a\", 2]}")),
        ("disableAllHooks as text", text("{\"disableAllHooks\": \"true\"}")),
        ("hooks: an array", text("{\"hooks\": []}")),
        ("an event: an object", text("{\"hooks\": {\"Stop\": {}}}")),
        ("a group without hooks", text("{\"hooks\": {\"Stop\": [{\"matcher\": \"x\"}]}}")),
        (
            "a handler without type",
            text("{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"x\"}]}]}}"),
        ),
        (
            "a handler of no known type",
            text("{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"shell\"}]}]}}"),
        ),
        (
            "a handler without command",
            text("{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\"}]}]}}"),
        ),
        (
            "a timeout as text",
            text(
                "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"x\", \"timeout\": \"30\"}]}]}}",
            ),
        ),
        (
            "an onFailure that nobody knows",
            text(
                "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"x\", \"onFailure\": \"deny\"}]}]}}",
            ),
        ),
        ("an event that is given twice", text("{\"hooks\": {\"Stop\": [], \"Stop\": []}}")),
        ("several at once", text("{\n\"model\": 1,\n\"permissions\": 2,\n\"hooks\": 3\n}")),
    ]
}
