//! Programs that replace ours and report its version, but answer differently: the client's reaction
//! to each answer.

use super::Row;
use super::installed::Installed;
use anyhow::Result;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn answers(installed: &Installed, script: &str) -> Result<()> {
    let version = format!("[ \"$1\" = --version ] && {{ echo portcullis {VERSION}; exit; }}");
    installed.script(&installed.program(), &format!("{version}\n{script}"))
}

const DENY: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#;

pub fn rows() -> Vec<Row> {
    let row = |name, breaks, says| Row {
        name,
        breaks,
        check: "canary",
        level: "problem",
        says,
        fix: None,
    };
    vec![
        row(
            "a hook that allows everything",
            |installed| answers(installed, "echo '{}'"),
            &["known-bad action (`rm -rf ~`) runs"],
        ),
        row(
            "a hook that refuses everything",
            |installed| answers(installed, &format!("echo '{DENY}'; exit 2")),
            &["an ordinary action (`ls`) is refused: no", "portcullis pause"],
        ),
        row(
            "a hook that says nothing",
            |installed| answers(installed, "exit 0"),
            &["answered nothing", "runs unreviewed"],
        ),
        row(
            "a hook whose answer is cut",
            |installed| answers(installed, "printf '{\"hookSpecific'"),
            &["not a JSON object", "runs unreviewed"],
        ),
        row(
            "a hook that talks beside its answer",
            |installed| answers(installed, "echo ready; echo '{}'"),
            &["not a JSON object"],
        ),
        row(
            "a hook that answers twice",
            |installed| answers(installed, "echo '{}'; echo '{}'"),
            &["more than one JSON", "refuses every action"],
        ),
        row(
            "a hook that fails",
            |installed| answers(installed, "exit 3"),
            &["code 3", "refuses every action"],
        ),
        row(
            "a hook that dies",
            |installed| answers(installed, "kill -KILL $$"),
            &["a signal ended it", "refuses every action"],
        ),
        row(
            "a hook that hangs",
            |installed| {
                installed.edit_guard(|handler| handler["timeout"] = serde_json::json!(1))?;
                answers(installed, "sleep 60")
            },
            &["did not answer within 1 s", "refuses every action"],
        ),
        row(
            "a hook that fails open",
            |installed| {
                installed.edit_guard(|handler| {
                    drop(handler.as_object_mut().map(|fields| fields.remove("onFailure")))
                })?;
                answers(installed, "exit 3")
            },
            &["code 3", "runs every action unreviewed"],
        ),
        row(
            "a program that the project brings along",
            |installed| {
                let program = installed.site().project().join("portcullis");
                installed.script(&program, "touch ran")?;
                let hook = serde_json::json!({ "type": "command", "command": program, "args": ["hook", "claude"], "timeout": 30 });
                let settings =
                    serde_json::json!({ "hooks": { "PreToolUse": [{ "hooks": [hook] }] } });
                installed.put(
                    &installed.site().project().join(".claude/settings.json"),
                    settings.to_string(),
                )
            },
            &["from inside the project", "was not started"],
        ),
    ]
}
