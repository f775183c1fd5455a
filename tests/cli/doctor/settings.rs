//! Breaks the client's settings, the program that they name, or the client itself.

use super::Row;
use super::installed::{Installed, mode};
use anyhow::Result;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

fn install(installed: &Installed) -> Result<()> {
    let ended = crate::common::process::run(
        installed.command(&installed.program(), &["install", "claude", "--yes"]),
        b"",
        std::time::Duration::from_secs(120),
    )?;
    anyhow::ensure!(ended.code == Some(0), "{}", ended.all());
    Ok(())
}

fn local(installed: &Installed) -> PathBuf {
    installed.site().project().join(".claude/settings.local.json")
}

fn client(installed: &Installed) -> PathBuf {
    installed.site().person().join(".local/bin/claude")
}

/// Returns a client of that version which reports that it loaded nothing.
fn deaf(version: &str) -> String {
    format!(
        r#"case "$1" in
--version) echo "{version} (Claude Code)" ;;
*)
  for name in get_hooks_listing get_settings; do
    printf '{{"type":"control_response","response":{{"subtype":"success","request_id":"%s","response":{{"policy":{{}},"sources":[]}}}}}}\n' $name
  done ;;
esac"#
    )
}

pub fn rows() -> Vec<Row> {
    [program(), files(), handlers(), others()].into_iter().flatten().collect()
}

fn program() -> Vec<Row> {
    vec![
        Row {
            name: "the program is gone",
            breaks: |installed| Ok(fs::remove_file(installed.program())?),
            check: "program",
            level: "problem",
            says: &["bin/portcullis", "there is no such file", "install claude"],
            fix: None,
        },
        Row {
            name: "the program lost its right to run",
            breaks: |installed| mode(&installed.program(), 0o644),
            check: "program",
            level: "problem",
            says: &["cannot be executed", "chmod 755"],
            fix: Some(|installed| mode(&installed.program(), 0o755)),
        },
        Row {
            name: "something else stands in the program's place",
            breaks: |installed| installed.script(&installed.program(), "echo hello"),
            check: "program",
            level: "problem",
            says: &["says `hello`", "install claude"],
            fix: None,
        },
        Row {
            name: "a program that fails stands in its place",
            breaks: |installed| installed.script(&installed.program(), "exit 1"),
            check: "program",
            level: "problem",
            says: &["does not say that it is portcullis", "code 1"],
            fix: None,
        },
        Row {
            name: "another version stands in its place",
            breaks: |installed| installed.script(&installed.program(), "echo portcullis 0.0.9"),
            check: "program",
            level: "problem",
            says: &["portcullis 0.0.9", "replace it with this version"],
            fix: None,
        },
        Row {
            name: "others can write the program",
            breaks: |installed| mode(&installed.program(), 0o777),
            check: "program",
            level: "problem",
            says: &["others can replace", "sudo install -o root"],
            fix: Some(|installed| mode(&installed.program(), 0o755)),
        },
        Row {
            name: "others can replace the program",
            breaks: |installed| mode(&installed.site().person().join("bin"), 0o777),
            check: "program",
            level: "problem",
            says: &["others can replace"],
            fix: Some(|installed| mode(&installed.site().person().join("bin"), 0o755)),
        },
        Row {
            name: "the program is in a build folder",
            breaks: |installed| {
                installed.put(
                    &installed.site().person().join("bin/CACHEDIR.TAG"),
                    "Signature: 8a477f597d28d172789f06886806bc55",
                )
            },
            check: "program",
            level: "warning",
            says: &["next build or clean-up"],
            fix: None,
        },
    ]
}

fn files() -> Vec<Row> {
    vec![
        Row {
            name: "the settings cannot be read",
            breaks: |installed| mode(&installed.settings(), 0o000),
            check: "settings",
            level: "problem",
            says: &["settings.json", "Permission denied"],
            fix: Some(|installed| mode(&installed.settings(), 0o600)),
        },
        Row {
            name: "the settings are a link that leads nowhere",
            breaks: |installed| {
                fs::remove_file(installed.settings())?;
                Ok(symlink("/nowhere/settings.json", installed.settings())?)
            },
            check: "settings",
            level: "problem",
            says: &["leads nowhere"],
            fix: None,
        },
        Row {
            name: "the settings are no JSON",
            breaks: |installed| installed.put(&installed.settings(), "{ // mine\n}"),
            check: "settings",
            level: "problem",
            says: &["drops all of", "line 1", "strict JSON"],
            fix: Some(install_anew),
        },
        Row {
            name: "a timeout is a text",
            breaks: |installed| installed.edit_guard(|handler| handler["timeout"] = json!("30")),
            check: "settings",
            level: "problem",
            says: &["drops all of", "/hooks/PreToolUse/0/hooks/0/timeout", "number"],
            fix: Some(|installed| installed.edit_guard(|handler| handler["timeout"] = json!(30))),
        },
        Row {
            name: "an unknown onFailure",
            breaks: |installed| {
                installed.edit_guard(|handler| handler["onFailure"] = json!("deny"))
            },
            check: "settings",
            level: "problem",
            says: &["drops all of", "/onFailure", "block"],
            fix: Some(|installed| {
                installed.edit_guard(|handler| handler["onFailure"] = json!("block"))
            }),
        },
        Row {
            name: "an unrelated bad key",
            breaks: |installed| installed.edit(|settings| settings["permissions"] = json!("all")),
            check: "settings",
            level: "problem",
            says: &["drops all of", "/permissions", "object"],
            fix: Some(|installed| {
                installed.edit(|settings| {
                    drop(settings.as_object_mut().map(|keys| keys.remove("permissions")))
                })
            }),
        },
        Row {
            name: "another file of the client is broken",
            breaks: |installed| installed.put(&local(installed), "{\"permissions\": 1}"),
            check: "settings",
            level: "problem",
            says: &["settings.local.json"],
            fix: Some(|installed| Ok(fs::remove_file(local(installed))?)),
        },
        Row {
            name: "disableAllHooks",
            breaks: |installed| {
                installed.edit(|settings| settings["disableAllHooks"] = json!(true))
            },
            check: "switches",
            level: "problem",
            says: &["disableAllHooks", "settings.json", "remove that line"],
            fix: Some(|installed| {
                installed.edit(|settings| settings["disableAllHooks"] = json!(false))
            }),
        },
        Row {
            name: "disableAllHooks in the project",
            breaks: |installed| installed.put(&local(installed), "{\"disableAllHooks\": true}"),
            check: "switches",
            level: "problem",
            says: &["disableAllHooks", "settings.local.json"],
            fix: Some(|installed| Ok(fs::remove_file(local(installed))?)),
        },
        Row {
            name: "foreign code in the environment",
            breaks: |installed| {
                installed.put(&local(installed), "{\"env\": {\"LD_PRELOAD\": \"/tmp/x.so\"}}")
            },
            check: "switches",
            level: "warning",
            says: &["env.LD_PRELOAD", "settings.local.json"],
            fix: Some(|installed| Ok(fs::remove_file(local(installed))?)),
        },
        Row {
            name: "no transcript, and a limit of tokens that nobody set",
            breaks: |installed| {
                installed.edit(|settings| {
                    settings["env"] = json!({ "CLAUDE_CODE_SKIP_PROMPT_HISTORY": "1" })
                })
            },
            check: "limits",
            level: "note",
            says: &["not measured", "`limits.token_usage`", "SKIP_PROMPT_HISTORY", "settings.json"],
            fix: None,
        },
        Row {
            name: "no transcript, and a limit of tokens",
            breaks: |installed| {
                installed.put(&installed.state("config.toml"), "limits.token_usage = 1000\n")?;
                installed.edit(|settings| {
                    settings["env"] = json!({ "CLAUDE_CODE_SKIP_PROMPT_HISTORY": "1" })
                })
            },
            check: "limits",
            level: "warning",
            says: &["not measured", "`limits.token_usage`", "remove that variable"],
            fix: Some(|installed| {
                installed.edit(|settings| {
                    settings["env"] = json!({ "CLAUDE_CODE_SKIP_PROMPT_HISTORY": "0" })
                })
            }),
        },
        Row {
            name: "bypassPermissions",
            breaks: |installed| {
                installed.edit(|settings| {
                    settings["permissions"] = json!({ "defaultMode": "bypassPermissions" })
                })
            },
            check: "switches",
            level: "note",
            says: &["bypassPermissions"],
            fix: None,
        },
    ]
}

fn install_anew(installed: &Installed) -> Result<()> {
    fs::remove_file(installed.settings())?;
    install(installed)
}

fn handlers() -> Vec<Row> {
    let row = |name, breaks, level, says| Row {
        name,
        breaks,
        check: "handlers",
        level,
        says,
        fix: Some(install),
    };
    vec![
        row(
            "no hooks at all",
            |installed| installed.edit(|settings| settings["hooks"] = json!({})),
            "problem",
            &["nothing is reviewed", "install claude"],
        ),
        row(
            "no hook for PreToolUse",
            |installed| installed.edit(|settings| settings["hooks"]["PreToolUse"] = json!([])),
            "problem",
            &["none of our hooks covers PreToolUse", "unreviewed"],
        ),
        row(
            "no hook for ConfigChange",
            |installed| {
                installed.edit(|settings| {
                    drop(
                        settings["hooks"]
                            .as_object_mut()
                            .map(|events| events.remove("ConfigChange")),
                    )
                })
            },
            "problem",
            &["none of our hooks covers ConfigChange"],
        ),
        row(
            "a hook twice",
            |installed| {
                installed.edit(|settings| {
                    let again = settings["hooks"]["PreToolUse"][0].clone();
                    settings["hooks"]["PreToolUse"]
                        .as_array_mut()
                        .into_iter()
                        .for_each(|groups| groups.push(again.clone()));
                })
            },
            "warning",
            &["PreToolUse", "more than once"],
        ),
        row(
            "a matcher that narrows",
            |installed| {
                installed.edit(|settings| {
                    settings["hooks"]["PreToolUse"][0]["matcher"] = json!("Write|Edit")
                })
            },
            "problem",
            &["PreToolUse", "matcher `Write|Edit`"],
        ),
        row(
            "a condition that narrows",
            |installed| installed.edit_guard(|handler| handler["if"] = json!("Bash(git *)")),
            "problem",
            &["PreToolUse", "condition `Bash(git *)`"],
        ),
        row(
            "onFailure is missing",
            |installed| {
                installed.edit_guard(|handler| {
                    drop(handler.as_object_mut().map(|fields| fields.remove("onFailure")))
                })
            },
            "problem",
            &["PreToolUse", "onFailure"],
        ),
        row(
            "an async hook",
            |installed| installed.edit_guard(|handler| handler["async"] = json!(true)),
            "problem",
            &["does not wait"],
        ),
        row(
            "a hook in shell form",
            |installed| {
                installed.edit_guard(|handler| {
                    let words: Vec<&str> = handler["args"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(Value::as_str)
                        .collect();
                    let line = format!(
                        "{} {}",
                        handler["command"].as_str().unwrap_or_default(),
                        words.join(" ")
                    );
                    handler["command"] = json!(line);
                    drop(handler.as_object_mut().map(|fields| fields.remove("args")));
                })
            },
            "warning",
            &["PreToolUse", "a shell starts it"],
        ),
        row(
            "too little time",
            |installed| installed.edit_guard(|handler| handler["timeout"] = json!(1)),
            "warning",
            &["waits 1 s"],
        ),
        row(
            "a longer wait than the client's",
            |installed| {
                installed.edit_guard(|handler| {
                    let arguments = handler["args"].as_array_mut().into_iter();
                    arguments.for_each(|words| words.extend([json!("--timeout"), json!("300")]));
                })
            },
            "problem",
            &["PreToolUse", "longer than the client waits for it"],
        ),
        row(
            "another folder is pinned",
            |installed| {
                installed.edit_handlers(|handler| {
                    handler["args"] =
                        json!(["hook", "claude", "--config", "/tmp/other", "--state", "/tmp/other"])
                })
            },
            "problem",
            &["all 11 events", "it uses `/tmp/other`", "--state /tmp/other doctor"],
        ),
        row(
            "no folder is pinned",
            |installed| {
                installed.edit_handlers(|handler| handler["args"] = json!(["hook", "claude"]))
            },
            "warning",
            &["names no folders"],
        ),
    ]
}

fn others() -> Vec<Row> {
    vec![
        Row {
            name: "the environment leads hooks elsewhere",
            breaks: |installed| {
                installed.edit_handlers(|handler| handler["args"] = json!(["hook", "claude"]))?;
                installed
                    .edit(|settings| settings["env"] = json!({ "PORTCULLIS_HOME": "/tmp/other" }))
            },
            check: "switches",
            level: "problem",
            says: &["env.PORTCULLIS_HOME", "another configuration or state"],
            fix: Some(|installed| {
                installed.edit(|settings| {
                    drop(settings.as_object_mut().map(|keys| keys.remove("env")))
                })?;
                install(installed)
            }),
        },
        Row {
            name: "a rival that may rewrite",
            breaks: |installed| {
                installed.edit(|settings| {
                    let rival = json!({ "matcher": "Bash", "hooks": [{ "type": "command", "command": "/opt/formatter --fix" }] });
                    settings["hooks"]["PreToolUse"].as_array_mut().into_iter().for_each(|groups| groups.push(rival.clone()));
                })
            },
            check: "other hooks",
            level: "warning",
            says: &["/opt/formatter --fix", "two rewrites", "updatedInput"],
            fix: Some(|installed| {
                installed.edit(|settings| {
                    settings["hooks"]["PreToolUse"]
                        .as_array_mut()
                        .into_iter()
                        .for_each(|groups| groups.truncate(1))
                })
            }),
        },
        Row {
            name: "the client is too old",
            breaks: |installed| {
                installed.script(&client(installed), "echo '2.1.197 (Claude Code)'")
            },
            check: "version",
            level: "problem",
            says: &["2.1.197", "onFailure", "2.1.295"],
            fix: Some(|installed| Ok(fs::remove_file(client(installed))?)),
        },
        Row {
            name: "the client did not load the hooks",
            breaks: |installed| installed.script(&client(installed), &deaf("2.1.329")),
            check: "loaded",
            level: "problem",
            says: &["the client does not run the hooks", "PreToolUse"],
            fix: Some(|installed| Ok(fs::remove_file(client(installed))?)),
        },
    ]
}
