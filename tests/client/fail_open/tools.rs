//! A server of tools (MCP over standard input and output) with one tool, which deletes a folder.

use std::env;
use std::fs;
use std::io::{BufRead, Write};

use anyhow::Result;
use serde_json::{Value, json};

/// The variable that marks the server's process.
const SERVER: &str = "PORTCULLIS_TEST_TOOLS";

/// Returns true if this process is to be the server.
pub(crate) fn wanted() -> bool {
    env::var_os(SERVER).is_some()
}

/// Answers until the input ends.
pub(crate) fn serve() -> Result<()> {
    let (input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    for line in input.lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let Some(id) = request.get("id") else { continue };
        let answer = match answer(&request) {
            Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            None => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "method not found"}})
            }
        };
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

fn answer(request: &Value) -> Option<Value> {
    match request.get("method")?.as_str()? {
        "initialize" => Some(json!({
            "protocolVersion": request.pointer("/params/protocolVersion"), "capabilities": {"tools": {}},
            "serverInfo": {"name": "files", "version": "1"},
        })),
        "ping" => Some(json!({})),
        "tools/list" => {
            let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
            Some(
                json!({"tools": [{"name": "delete", "description": "Deletes a folder.", "inputSchema": schema}]}),
            )
        }
        "tools/call" => {
            let done = request
                .pointer("/params/arguments/path")
                .and_then(Value::as_str)
                .map(fs::remove_dir_all);
            let text = if matches!(done, Some(Ok(()))) { "deleted" } else { "not deleted" };
            Some(json!({"content": [{"type": "text", "text": text}]}))
        }
        _ => None,
    }
}
