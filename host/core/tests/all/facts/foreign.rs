//! Facts of tools without a table of their own, by their names and parameters.

use super::{found, place, reading};
use portcullis_core::action::{Coverage, EffectKind};
use portcullis_core::event::Call;
use portcullis_core::facts::{self, CallLocation};
use serde_json::{Value, json};

/// Returns the effects assumed for a tool without a table, and each text that was read as a command
/// line, after `$`.
fn foreign(tool: &str, input: Value) -> Vec<String> {
    let call =
        Call { id: None, tool: tool.into(), input: input.as_object().cloned().unwrap_or_default() };
    let mut described = Vec::new();
    let mut read = |text: &str, _: &CallLocation| {
        described.push(format!("$ {text}"));
        Ok(reading())
    };
    let facts = facts::of_call(&call, &place(), &mut read).facts;
    let effects = facts.effects.iter().filter(|effect| effect.kind != EffectKind::ProcessStart);
    described.extend(
        effects.map(|effect| {
            format!("{} {}", effect.kind.as_str(), effect.target).trim_end().to_owned()
        }),
    );
    described
}

#[test]
fn parameters_of_foreign_tools_tell_what_they_do() {
    let cases: &[(&str, Value, &[&str])] = &[
        ("mcp__box__shell", json!({"command": "ls"}), &["$ ls"]),
        ("mcp__box__runShell", json!({"args": {"cmd": "ls -l", "tries": 3}}), &["$ ls -l"]),
        ("mcp__box__shell", json!({"raw": "ls"}), &["$ ls"]),
        ("mcp__notes__add", json!({"raw": "ls"}), &[]),
        ("mcp__fs__read_file", json!({"path": "a.txt"}), &["file-read /home/me/shop/a.txt"]),
        (
            "mcp__fs__writeFile",
            json!({"args": {"path": "/etc/x", "content": "y"}}),
            &["file-modify /etc/x"],
        ),
        ("mcp__fs__delete_path", json!({"path": "a.txt"}), &["file-delete /home/me/shop/a.txt"]),
        (
            "mcp__fs__move",
            json!({"source": "a", "destination": "b"}),
            &["file-modify /home/me/shop/b", "file-modify /home/me/shop/a"],
        ),
        (
            "mcp__db__execute_query",
            json!({"sql": "select 'x'"}),
            &["$ psql -c 'select '\\''x'\\'''"],
        ),
        ("mcp__search__find", json!({"query": "drop"}), &[]),
        (
            "mcp__web__fetch",
            json!({"url": "https://api.example.org/x"}),
            &["$ curl 'https://api.example.org/x'", "network api.example.org"],
        ),
        (
            "mcp__web__request",
            json!({"body": "x", "url": "https://api.example.org/x"}),
            &["$ curl 'https://api.example.org/x'", "remote-change", "network api.example.org"],
        ),
        ("mcp__web__request", json!({"method": "DELETE"}), &["remote-delete"]),
        ("mcp__web__upload_file", json!({"file_path": "~/a"}), &["file-read /home/me/a", "send"]),
        (
            "mcp__mail__send_email",
            json!({"to": "a@example.org", "body": "hello `name`"}),
            &["remote-change a@example.org"],
        ),
        (
            "mcp__mail__send_email",
            json!({"to": "a@example.org", "body": "$(cat x)"}),
            &["$ : \"$(cat x)\"", "send a@example.org"],
        ),
        ("mcp__web__call", json!({"header": "${env.API_KEY}"}), &["secret-read"]),
        ("mcp__web__call", json!({"header": "${env.LANG}"}), &[]),
        ("mcp__notes__add", json!({"title": "run rm -rf / never"}), &[]),
        // lists of words, a program separate from its arguments, lines, a folder
        ("mcp__box__execute", json!({"cmd": ["rm", "-rf", "/opt/a b"]}), &["$ rm -rf '/opt/a b'"]),
        ("mcp__box__execute", json!({"argv": ["sh", "-c", "rm -rf /"]}), &["$ sh -c 'rm -rf /'"]),
        ("mcp__box__execute", json!({"args": ["rm", "-rf", "/"]}), &["$ rm -rf /"]),
        ("mcp__box__run", json!({"command": "rm", "args": ["-rf", "/opt"]}), &["$ rm -rf /opt"]),
        (
            "mcp__box__run",
            json!({"steps": [{"program": "rm", "arguments": ["-rf", "/"]}]}),
            &["$ rm -rf /"],
        ),
        ("mcp__box__run", json!({"commands": ["npm ci", "rm -rf /"]}), &["$ npm ci", "$ rm -rf /"]),
        ("mcp__box__run", json!({"commandLine": "ls"}), &["$ ls"]),
        ("mcp__box__run", json!({"shell-command": "ls"}), &["$ ls"]),
        // code
        (
            "mcp__box__run_code",
            json!({"language": "python", "code": "x('a')"}),
            &["$ python3 -c 'x('\\''a'\\'')'"],
        ),
        ("mcp__box__run_code", json!({"language": "bash", "code": "ls"}), &["$ ls"]),
        (
            "mcp__box__execute_code",
            json!({"code": "import os\nos.remove('a')"}),
            &["$ python3 -c 'import os\nos.remove('\\''a'\\'')'"],
        ),
        (
            "mcp__box__execute",
            json!({"code": "require('fs')"}),
            &["$ node -e 'require('\\''fs'\\'')'"],
        ),
        ("mcp__jupyter__execute_cell", json!({"source": "x()"}), &["$ python3 -c 'x()'"]),
        ("mcp__jupyter__notebook_run", json!({"code": "x()"}), &["$ python3 -c 'x()'"]),
        ("mcp__node__evaluate", json!({"script": "x()"}), &["$ node -e 'x()'"]),
        ("mcp__box__x", json!({"script": "ls"}), &["$ ls"]),
        ("mcp__lint__check_code", json!({"language": "bash", "code": "rm -rf /"}), &[]),
        // names
        ("mcp__github__delete_repository", json!({"repo": "a"}), &["remote-delete github"]),
        ("mcp__redis__flushall", json!({}), &["remote-delete redis"]),
        ("mcp__kube__delete_resource", json!({"kind": "Namespace"}), &["remote-delete kube"]),
        (
            "mcp__github__delete_file",
            json!({"repo": "a", "path": "x"}),
            &["remote-delete github", "file-delete /home/me/shop/x"],
        ),
        ("mcp__github__merge_pull_request", json!({"n": 1}), &["publish github"]),
        ("mcp__drive__share_file", json!({"id": "x"}), &["remote-change"]),
        ("mcp__gh__archive_repository", json!({"repo": "x"}), &["publish gh"]),
        ("mcp__kube__scale_deployment", json!({"replicas": 0}), &["remote-delete kube"]),
        ("mcp__kube__scale", json!({"spec": {"replicas": "0"}}), &["remote-delete kube"]),
        ("mcp__kube__scale_deployment", json!({"replicas": 3}), &[]),
        ("mcp__img__resize", json!({"width": 0}), &[]),
        ("mcp__tmux__send_keys", json!({"keys": "x"}), &["remote-change"]),
        // an address that is a file of this machine
        (
            "mcp__web__fetch",
            json!({"url": "file:///home/me/.ssh/a"}),
            &["file-read /home/me/.ssh/a", "secret-read /home/me/.ssh/a"],
        ),
        ("mcp__web__fetch", json!({"link": "FILE:/etc/passwd"}), &["file-read /etc/passwd"]),
        (
            "mcp__browser__navigate",
            json!({"url": "view-source:file://localhost/home/me/%2Essh/a"}),
            &["file-read /home/me/.ssh/a", "secret-read /home/me/.ssh/a"],
        ),
        ("mcp__web__fetch", json!({"note": "see file: a.txt"}), &[]),
        ("mcp__git__push", json!({"force": true}), &["publish git"]),
        ("mcp__git__push", json!({"branch": "topic"}), &[]),
        ("mcp__github__push_files", json!({"branch": "main"}), &["publish github"]),
        ("mcp__iam__grant_role", json!({}), &["privilege iam"]),
        ("mcp__bank__pay_invoice", json!({}), &["resource-use bank"]),
        ("mcp__memory__delete_entities", json!({}), &["remote-change memory"]),
        ("mcp__github__get_repository", json!({"repo": "a"}), &[]),
        ("mcp__audit__list_deletions", json!({}), &[]),
        ("mcp__github__create_merge_request", json!({}), &[]),
        ("mcp__stripe__create_refund", json!({"amount": 5}), &["resource-use stripe"]),
        ("mcp__bank__move", json!({"amount": 5, "iban": "x"}), &["resource-use bank"]),
        ("mcp__bank__get_rate", json!({"amount": 5, "currency": "EUR"}), &[]),
        ("mcp__aws__call", json!({"cli_command": "aws s3 ls"}), &["$ aws s3 ls"]),
        (
            "mcp__kubectl__run",
            json!({"command": "delete ns a"}),
            &["$ delete ns a", "$ kubectl delete ns a"],
        ),
        ("mcp__pg__call", json!({"sql": "drop table a"}), &["$ psql -c 'drop table a'"]),
        (
            "mcp__supabase__apply_migration",
            json!({"query": "drop table a"}),
            &["$ psql -c 'drop table a'"],
        ),
        (
            "mcp__fs__read_many",
            json!({"paths": ["a", "~/.ssh/id_rsa"]}),
            &[
                "file-read /home/me/.ssh/id_rsa",
                "file-read /home/me/shop/a",
                "secret-read /home/me/.ssh/id_rsa",
            ],
        ),
        (
            "mcp__fs__read",
            json!({"uri": "file://localhost/home/me/.ssh/id%5Frsa"}),
            &["file-read /home/me/.ssh/id_rsa", "secret-read /home/me/.ssh/id_rsa"],
        ),
        ("mcp__github__update_repo", json!({"private": false}), &["remote-change github"]),
        ("mcp__github__update_repo", json!({"private": true}), &[]),
        ("mcp__github__create_issue", json!({"body": "drop table a; rm -rf /"}), &[]),
        // prose that quotes a command, and texts that a shell would expand
        (
            "mcp__npc__chat",
            json!({"message": "Never run `rm -rf / tmp` or `curl x | sh`, since both would hurt this machine a lot."}),
            &[],
        ),
        ("mcp__npc__chat", json!({"message": "see `rm -rf /`"}), &["$ : \"see `rm -rf /`\""]),
        (
            "mcp__npc__chat",
            json!({"message": "In this text which is prose and nothing but prose: $(rm -rf /)"}),
            &["$ : \"In this text which is prose and nothing but prose: $(rm -rf /)\""],
        ),
    ];
    for (tool, input, expected) in cases {
        let mut described = foreign(tool, input.clone());
        let mut expected: Vec<String> = expected.iter().map(|text| (*text).to_owned()).collect();
        described.sort();
        expected.sort();
        assert_eq!(described, expected, "{tool} {input}");
    }
}

#[test]
fn names_of_foreign_tools_bring_their_forms() {
    for (tool, input, form) in [
        ("mcp__github__delete_repository", json!({}), Some("destroy-remote")),
        (
            "mcp__kube__delete_resource",
            json!({"resourceType": "namespace"}),
            Some("destroy-remote"),
        ),
        ("mcp__github__delete_comment", json!({}), Some("delete-remote")),
        ("mcp__git__push", json!({"force": true}), Some("force-push")),
        ("mcp__memory__delete_entities", json!({}), None),
        ("mcp__fs__delete_file", json!({"path": "a"}), None),
        ("mcp__github__list_repositories", json!({}), None),
        ("mcp__github__update_repo", json!({"visibility": "public"}), Some("open-to-all")),
        ("mcp__github__update_repo", json!({"visibility": "private"}), None),
        ("mcp__host__deploy", json!({"environment": "production"}), Some("to-production")),
        ("mcp__host__deploy", json!({"environment": "preview"}), None),
        ("mcp__host__deploy_production", json!({}), Some("to-production")),
    ] {
        let found = found(tool, input);
        assert_eq!(found.facts.forms.first().map(|form| form.id.as_str()), form, "{tool}");
    }
    // Another verb before or in place of `deploy` does not hide where it goes.
    for verb in ["rollback", "rollback_release", "promote", "post_release", "notify_and_deploy"] {
        for (stage, form) in [("production", Some("to-production")), ("preview", None)] {
            let tool = format!("mcp__ci__{verb}");
            let found = found(&tool, json!({"environment": stage}));
            let first = found.facts.forms.first().map(|form| form.id.as_str());
            assert_eq!(first, form, "{tool} {stage}");
        }
    }
}

#[test]
fn commands_of_foreign_tools_run_in_their_folder() {
    for (input, folder) in [
        (json!({"command": "ls", "cwd": "/opt"}), "/opt"),
        (json!({"command": "ls", "working_directory": "../x"}), "/home/me/x"),
        (json!({"command": "ls"}), "/home/me/shop"),
    ] {
        let call = Call {
            id: None,
            tool: "mcp__box__run".into(),
            input: input.as_object().cloned().unwrap_or_default(),
        };
        let mut seen = String::new();
        facts::of_call(&call, &place(), &mut |_: &str, place: &CallLocation| {
            seen.clone_from(&place.cwd);
            Ok(reading())
        });
        assert_eq!(seen, folder, "{input}");
    }
}

#[test]
fn parameters_of_foreign_tools_are_bounded() {
    let wide: serde_json::Map<String, Value> =
        (0..1000).map(|n| (format!("k{n}"), json!("v"))).collect();
    let deep = (0..100).fold(json!("v"), |inner, _| json!({ "k": inner }));
    for input in [Value::Object(wide), json!({ "k": deep })] {
        let found = found("mcp__a__b", input);
        assert_eq!(found.facts.coverage, Coverage::Partial);
        assert!(
            found.facts.limits.iter().any(|limit| limit.contains("parameters")),
            "{:?}",
            found.facts
        );
    }
}
