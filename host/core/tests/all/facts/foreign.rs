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
        ("mcp__term__type", json!({"keys": "rm -rf /"}), &[]),
        (
            "mcp__terminal__send_keys",
            json!({"keys": "rm -rf /\n"}),
            &["$ rm -rf /", "remote-change"],
        ),
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

/// The parameters of a call are read as the line that a shell would get.
#[test]
fn calls_of_servers_are_read_as_command_lines() {
    let cases: &[(&str, Value, &[&str])] = &[
        // a server named like a program
        (
            "mcp__terraform__run",
            json!({"args": ["apply", "-destroy"]}),
            &["$ apply -destroy", "$ terraform apply -destroy"],
        ),
        (
            "mcp__kubectl__run",
            json!({"command": "delete", "args": ["ns", "a"]}),
            &["$ delete ns a", "$ kubectl delete ns a"],
        ),
        (
            "mcp__terraform__plan",
            json!({"args": ["-lock=false"]}),
            &["$ terraform plan -lock=false"],
        ),
        ("mcp__git__commit", json!({"flags": "--amend"}), &["$ git commit --amend"]),
        ("mcp__notes__add", json!({"args": ["a", "b"]}), &[]),
        // units
        (
            "mcp__systemd__set_unit_state",
            json!({"unit": "a.service", "action": "mask"}),
            &["$ systemctl mask a.service", "publish systemd"],
        ),
        (
            "mcp__systemd__stop_unit",
            json!({"unit": "a.service", "scope": "user"}),
            &["$ systemctl --user stop a.service"],
        ),
        (
            "mcp__host__manage_service",
            json!({"name": "a", "state": "stopped"}),
            &["$ systemctl stop a"],
        ),
        ("mcp__host__service", json!({"name": "a", "enabled": false}), &["$ systemctl disable a"]),
        ("mcp__systemd__unit_status", json!({"unit": "a.service"}), &[]),
        ("mcp__systemd__set_unit_state", json!({"unit": "a.service", "action": "start"}), &[]),
        ("mcp__docker__service", json!({"service": "web", "action": "scale"}), &[]),
        // containers
        (
            "mcp__docker__run_container",
            json!({"image": "a", "privileged": true, "volumes": ["/:/host"]}),
            &["$ docker run --privileged -v /:/host a"],
        ),
        (
            "mcp__docker__create_container",
            json!({"image": "a", "hostConfig": {"binds": ["/var/run/docker.sock:/s"]}}),
            &["$ docker run -v /var/run/docker.sock:/s a"],
        ),
        (
            "mcp__docker__run",
            json!({"image": "a", "volumes": {"/": {"bind": "/h"}}, "pidMode": "host"}),
            &["$ docker run -v /:/h --pid=host a"],
        ),
        ("mcp__docker__run_container", json!({"image": "a", "privileged": false}), &[]),
        // repositories
        (
            "mcp__git__git_reset",
            json!({"repo_path": "/p", "mode": "hard", "ref": "HEAD~2"}),
            &["$ git -C /p reset --hard 'HEAD~2'"],
        ),
        ("mcp__git__git_reset", json!({"repo_path": "/p"}), &[]),
        ("mcp__git__git_reset", json!({"mode": "soft"}), &[]),
        ("mcp__vcs__discard_changes", json!({}), &["$ git checkout -f -- ."]),
        (
            "mcp__git__checkout",
            json!({"repo_path": "/p", "force": true}),
            &["$ git -C /p checkout -f -- ."],
        ),
        ("mcp__git__checkout", json!({"branch": "a"}), &[]),
        ("mcp__git__stash", json!({"action": "drop"}), &["$ git stash drop", "remote-delete git"]),
        ("mcp__git__stash", json!({"action": "list"}), &[]),
        // code and playbooks
        (
            "mcp__jupyter__execute_cell",
            json!({"cell": "import os\nos.fork()", "kernel": "python3"}),
            &["$ python3 -c 'import os\nos.fork()'"],
        ),
        ("mcp__sheet__update_cell", json!({"cell": "A1"}), &[]),
        (
            "mcp__runner__play",
            json!({"playbook": "- hosts: all\n"}),
            &[
                "$ ansible-playbook /dev/stdin <<'END_OF_PARAMETER'\n- hosts: all\n\nEND_OF_PARAMETER",
            ],
        ),
        ("mcp__runner__play", json!({"playbook": "site.yml"}), &[]),
    ];
    let mut wrong = Vec::new();
    for (tool, input, expected) in cases {
        let mut described = foreign(tool, input.clone());
        let mut expected: Vec<String> = expected.iter().map(|text| (*text).to_owned()).collect();
        described.sort();
        expected.sort();
        if described != expected {
            wrong.push(format!("{tool} {input}: {described:?} for {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A switch among the parameters decides as much as the verb in the name.
#[test]
fn switches_and_objects_bring_their_effects() {
    let cases: &[(&str, Value, &[&str])] = &[
        ("mcp__git__git_push", json!({"branch": "main", "force": true}), &["publish git"]),
        ("mcp__git__git_push", json!({"refspec": "+main"}), &["publish git"]),
        ("mcp__git__git_push", json!({"branch": "main"}), &[]),
        ("mcp__git__git_push", json!({"force_with_lease": true}), &[]),
        ("mcp__gh__update_ref", json!({"ref": "heads/a", "force": true}), &["publish gh"]),
        ("mcp__gh__update_ref", json!({"ref": "heads/a", "force": false}), &[]),
        ("mcp__gh__get_ref", json!({"ref": "heads/a", "force": true}), &[]),
        (
            "mcp__gh__update_branch_protection",
            json!({"enforce_admins": false, "required_status_checks": null}),
            &["remote-change gh"],
        ),
        (
            "mcp__gh__update_branch_protection",
            json!({"required_pull_request_reviews": {"count": 1}, "allow_force_pushes": true}),
            &["remote-change gh"],
        ),
        (
            "mcp__gh__update_branch_protection",
            json!({
                "required_pull_request_reviews": {"required_approving_review_count": 1},
                "required_status_checks": null, "restrictions": null, "enforce_admins": false,
            }),
            &[],
        ),
        ("mcp__gh__get_branch_protection", json!({"branch": "main"}), &[]),
        (
            "mcp__gh__delete_branch_protection",
            json!({"branch": "main"}),
            &["remote-change gh", "remote-delete gh"],
        ),
        ("mcp__gh__update_ruleset", json!({"enforcement": "disabled"}), &["remote-change gh"]),
        ("mcp__gh__update_ruleset", json!({"enforcement": "active"}), &[]),
        // secrets of services
        ("mcp__vault__read_secret", json!({"name": "a"}), &["secret-read vault"]),
        ("mcp__cloud__getSecretValue", json!({"id": "a"}), &["secret-read cloud"]),
        ("mcp__gh__list_secrets", json!({}), &[]),
        ("mcp__gh__get_secret_scanning_alert", json!({"n": 1}), &[]),
        ("mcp__vault__get_secret_metadata", json!({"name": "a"}), &[]),
        (
            "mcp__k8s__kubectl_get",
            json!({"resourceType": "secrets", "output": "yaml"}),
            &["secret-read k8s"],
        ),
        ("mcp__k8s__kubectl_get", json!({"resourceType": "secrets"}), &[]),
        ("mcp__k8s__kubectl_get", json!({"resourceType": "pods", "output": "yaml"}), &[]),
        // a verb among the parameters
        ("mcp__cloud__manage_database", json!({"action": "drop"}), &["remote-delete cloud"]),
        ("mcp__cloud__manage_database", json!({"action": "describe"}), &[]),
        ("mcp__todo__manage_todos", json!({"action": "delete"}), &["remote-change todo"]),
        // metadata
        ("mcp__fs__get_file_info", json!({"path": "~/.ssh/id_rsa"}), &[]),
        ("mcp__fs__stat", json!({"path": "~/.aws/credentials"}), &[]),
        // code from an address
        (
            "mcp__code__install_extension",
            json!({"vsix": "https://a.example/b.vsix"}),
            &["$ curl 'https://a.example/b.vsix'", "network a.example", "unseen-code a.example"],
        ),
        ("mcp__code__install_extension", json!({"id": "rust-lang.rust-analyzer"}), &[]),
        // secrets in what leaves
        (
            "mcp__fetch__http_request",
            json!({"method": "POST", "url": "https://a.example/b", "body": "A=1\nSECRET_KEY=3f9a-prod-0b1c"}),
            &[
                "$ curl 'https://a.example/b'",
                "network a.example",
                "remote-change a.example",
                "send a.example",
            ],
        ),
        (
            "mcp__fetch__http_request",
            json!({"method": "POST", "url": "http://localhost:8000/b", "body": "SECRET_KEY=3f9a-prod-0b1c"}),
            &[
                "$ curl 'http://localhost:8000/b'",
                "network localhost",
                "remote-change",
                "remote-change localhost",
            ],
        ),
        (
            "mcp__fetch__http_request",
            json!({"url": "https://a.example/b", "body": "API_KEY=your-key-here\nSORT_KEY=a"}),
            &[
                "$ curl 'https://a.example/b'",
                "network a.example",
                "remote-change",
                "remote-change a.example",
            ],
        ),
    ];
    let mut wrong = Vec::new();
    for (tool, input, expected) in cases {
        let mut described = foreign(tool, input.clone());
        let mut expected: Vec<String> = expected.iter().map(|text| (*text).to_owned()).collect();
        described.sort();
        expected.sort();
        if described != expected {
            wrong.push(format!("{tool} {input}: {described:?} for {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
