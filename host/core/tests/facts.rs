//! Facts of calls: scopes, effects of file tools, unknown tools, and what observation adds.

use portcullis_core::action::{
    Command, Coverage, Direction, EffectKind, Entry, GitState, Intent, Operation, Origin, Reading,
    Redirection, Scope, Word,
};
use portcullis_core::event::Call;
use portcullis_core::facts::{self, CallFacts, CallLocation, normalise_path, scope_of};
use portcullis_core::fault::{Fault, FaultKind, OnFault};
use portcullis_core::run_files::FileReading;
use serde_json::{Value, json};

fn place() -> CallLocation {
    CallLocation {
        cwd: "/home/me/shop".into(),
        home: "/home/me".into(),
        roots: vec!["/home/me/shop".into()],
        paths: Vec::new(),
        scratch: ["/tmp", "~/.cache"].map(String::from).to_vec(),
        clients: portcullis_agents::PROFILES,
    }
}

fn found(tool: &str, input: Value) -> CallFacts {
    let call =
        Call { id: None, tool: tool.into(), input: input.as_object().cloned().unwrap_or_default() };
    facts::of_call(&call, &place(), &mut |_, _| Ok(reading()))
}

fn reading() -> Reading {
    Reading {
        commands: vec![],
        effects: vec![],
        forms: vec![],
        hosts: vec![],
        shape: String::new(),
        coverage: Coverage::Full,
        gaps: vec![],
        files: FileReading::default(),
    }
}

#[test]
fn paths_are_normalised() {
    for (path, expected) in [
        ("a/../b", "/home/me/shop/b"),
        ("./x//y/.", "/home/me/shop/x/y"),
        ("~/x", "/home/me/x"),
        ("$HOME/x", "/home/me/x"),
        ("${HOME}", "/home/me"),
        ("$HOMELY", "/home/me/shop/$HOMELY"),
        ("/a/../../..", "/"),
        ("~other/x", "/home/me/shop/~other/x"),
    ] {
        assert_eq!(normalise_path(path, "/home/me/shop", "/home/me"), expected, "{path}");
    }
}

#[test]
fn every_path_has_its_scope() {
    for (path, expected) in [
        ("/home/me/shop", Scope::Inside),
        ("/home/me/shop/src/a.rs", Scope::Inside),
        ("/home/me/shop/.env", Scope::Inside),
        ("/home/me/shopping", Scope::Outside),
        ("/home/me/other/a", Scope::Outside),
        ("/home/me", Scope::System),
        ("/home", Scope::System),
        ("/", Scope::System),
        ("/*", Scope::System),
        ("/home/me/*", Scope::System),
        ("/home/me/.ssh/id_rsa", Scope::System),
        ("/home/me/.bashrc", Scope::System),
        ("/home/me/.cache/x", Scope::Scratch),
        ("/home/me/.cache", Scope::Outside),
        ("/tmp/x", Scope::Scratch),
        ("/tmp/x/", Scope::Scratch),
        ("/tmp", Scope::Outside),
        ("/dev/null", Scope::Scratch),
        ("/dev/sda", Scope::System),
        ("/etc/passwd", Scope::System),
        ("/usr/bin/env", Scope::System),
        ("/srv/data", Scope::Outside),
        ("/home/me/$X/a", Scope::Unknown),
    ] {
        assert_eq!(scope_of(path, &place()), expected, "{path}");
    }
}

#[test]
fn a_home_in_a_temporary_folder_is_still_a_home() {
    let place = CallLocation {
        home: "/tmp/x/home".into(),
        roots: vec!["/tmp/x/home/shop".into()],
        ..place()
    };
    for (path, expected) in [
        ("/tmp/x/home", Scope::System),
        ("/tmp/x", Scope::System),
        ("/tmp/x/home/shop/a", Scope::Inside),
        ("/tmp/y", Scope::Scratch),
    ] {
        assert_eq!(scope_of(path, &place), expected, "{path}");
    }
}

#[test]
fn a_root_that_would_take_in_everything_is_none() {
    for root in ["/", "/home/me", "/home", "/etc", "/tmp"] {
        let place = CallLocation { roots: vec![root.into()], ..place() };
        assert_ne!(scope_of("/etc/passwd", &place), Scope::Inside, "{root}");
        assert_ne!(scope_of("/home/me/x", &place), Scope::Inside, "{root}");
    }
}

#[test]
fn file_tools_have_their_effects() {
    use EffectKind::{FileCreate, FileDelete, FileModify, FileRead, Persistence, SecretRead};
    for (tool, input, kinds, intent) in [
        ("Read", json!({"file_path": "/home/me/shop/a"}), vec![FileRead], Intent::FileRead),
        (
            "Read",
            json!({"file_path": "/home/me/.ssh/id_rsa"}),
            vec![FileRead, SecretRead],
            Intent::FileRead,
        ),
        (
            "Read",
            json!({"file_path": "/home/me/.ssh/id_rsa.pub"}),
            vec![FileRead],
            Intent::FileRead,
        ),
        (
            "Read",
            json!({"file_path": "/home/me/shop/.env.example"}),
            vec![FileRead],
            Intent::FileRead,
        ),
        (
            "Write",
            json!({"file_path": "a", "content": "x"}),
            vec![FileCreate],
            Intent::FileCreation,
        ),
        (
            "Write",
            json!({"file_path": "~/.bashrc", "content": "x"}),
            vec![FileCreate, Persistence],
            Intent::FileCreation,
        ),
        (
            "Edit",
            json!({"file_path": "a", "old_string": "x", "new_string": "y"}),
            vec![FileModify],
            Intent::FileModification,
        ),
        (
            "Edit",
            json!({"file_path": ".git/hooks/pre-commit", "old_string": "x", "new_string": "y"}),
            vec![FileModify, Persistence],
            Intent::FileModification,
        ),
        (
            "Write",
            json!({"file_path": "~/.ssh/config", "content": "x"}),
            vec![FileCreate],
            Intent::FileCreation,
        ),
        (
            "Write",
            json!({"file_path": ".git/config", "content": "x"}),
            vec![FileCreate, Persistence],
            Intent::FileCreation,
        ),
        (
            "Write",
            json!({"file_path": "sub/.envrc", "content": "x"}),
            vec![FileCreate, Persistence],
            Intent::FileCreation,
        ),
        (
            "Write",
            json!({"file_path": ".husky/pre-push", "content": "x"}),
            vec![FileCreate, Persistence],
            Intent::FileCreation,
        ),
        (
            "Write",
            json!({"file_path": ".github/workflows/ci.yml", "content": "x"}),
            vec![FileCreate],
            Intent::FileCreation,
        ),
        (
            "Write",
            json!({"file_path": "package.json", "content": "{}"}),
            vec![FileCreate],
            Intent::FileCreation,
        ),
        ("Delete", json!({"file_path": "a"}), vec![FileDelete], Intent::FileDeletion),
        ("Grep", json!({"pattern": "x"}), vec![FileRead], Intent::FileRead),
        ("TodoWrite", json!({"todos": []}), vec![], Intent::Message),
    ] {
        let found = found(tool, input.clone());
        let effects: Vec<EffectKind> =
            found.facts.effects.into_iter().map(|effect| effect.kind).collect();
        assert_eq!((effects, found.intent), (kinds, intent), "{tool} {input}");
        assert_eq!(found.facts.coverage, Coverage::Full, "{tool}");
    }
}

#[test]
fn unknown_parts_are_reported() {
    for (tool, input, gap) in [
        ("Teleport", json!({"to": "x"}), "the tool `Teleport` is not known"),
        ("Bash", json!({}), "the parameter `command` of `Bash` is missing"),
        ("Bash", json!({"command": 5}), "the parameter `command` of `Bash` is missing or not text"),
        ("Write", json!({"content": "x"}), "the parameter `file_path`"),
    ] {
        let found = found(tool, input);
        assert_eq!(found.facts.coverage, Coverage::Partial, "{tool}");
        assert!(
            found.facts.gaps.iter().any(|found| found.contains(gap)),
            "{tool}: {:?}",
            found.facts.gaps
        );
    }
    let mcp =
        found("mcp__files__write", json!({"path": "a", "url": "https://me:pw@Example.com:8443/x"}));
    assert_eq!(
        mcp.facts.coverage,
        Coverage::Full,
        "a server's tool is unknown in its effects, not as a tool"
    );
    assert!(
        mcp.facts
            .effects
            .iter()
            .any(|effect| effect.kind == EffectKind::ProcessStart && !effect.certain)
    );
    assert_eq!(mcp.facts.hosts, ["example.com"]);
    assert!(
        matches!(mcp.operation, Operation::Tool(tool) if tool.server.as_deref() == Some("files") && tool.name == "write")
    );
}

#[test]
fn a_reader_that_fails_leaves_the_action_to_a_person() {
    let call = Call {
        id: None,
        tool: "Bash".into(),
        input: json!({"command": "ls"}).as_object().cloned().unwrap(),
    };
    let found = facts::of_call(&call, &place(), &mut |_, _| {
        Err(Fault::from_host(FaultKind::OutOfFuel, "used up"))
    });
    assert_eq!(found.facts.coverage, Coverage::Partial);
    assert_eq!(found.fault.map(|fault| fault.policy), Some(OnFault::Ask));
}

#[test]
fn shape_and_identity_tell_what_is_the_same() {
    let a = found("Edit", json!({"file_path": "a", "old_string": "x", "new_string": "y"}));
    let b = found("Edit", json!({"file_path": "b", "old_string": "x", "new_string": "y"}));
    let c = found("Write", json!({"file_path": "a", "content": "y"}));
    assert_eq!(a.facts.shape, b.facts.shape);
    assert_ne!(a.facts.identity, b.facts.identity);
    assert_ne!(a.facts.shape, c.facts.shape);
    let one = found("Bash", json!({"command": "ls", "description": "one"}));
    let two = found("Bash", json!({"command": "ls", "description": "two"}));
    assert_eq!(one.facts.identity, two.facts.identity, "a description does nothing");
}

#[test]
fn a_path_that_nobody_looked_at_is_unknown() {
    let found = found("Write", json!({"file_path": "a", "content": "x"}));
    let path = &found.facts.paths[0];
    assert_eq!((path.entry, path.git, path.restorable), (Entry::Unknown, GitState::Unknown, false));
}

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

#[test]
fn unread_text_is_a_limit() {
    let call = Call {
        id: None,
        tool: "Bash".into(),
        input: json!({"command": "x"}).as_object().cloned().unwrap(),
    };
    let gaps = || {
        ["limit: more text than is read", "a construct without its end"].map(String::from).to_vec()
    };
    let found = facts::of_call(&call, &place(), &mut |_, _| {
        Ok(Reading { coverage: Coverage::Partial, gaps: gaps(), ..reading() })
    });
    assert_eq!(
        (found.facts.limits, found.facts.gaps),
        (vec!["more text than is read".to_owned()], vec!["a construct without its end".to_owned()])
    );
}

/// Returns a reader's result for a command at this place, whose heredoc is too long to be listed.
fn fed(program: &str, end: u32) -> Reading {
    let target = Word { text: "x\u{fffd}".into(), known: false, quoted: true };
    let redirections = vec![Redirection { descriptor: 0, direction: Direction::Heredoc, target }];
    let command = Command {
        program: program.into(),
        words: vec![],
        assignments: vec![],
        redirections,
        wrappers: vec![],
        origin: Origin::Plain,
        input_from: None,
        start: 0,
        end,
        privileged: false,
    };
    Reading { commands: vec![command], ..reading() }
}

#[test]
fn a_long_command_is_cut_where_only_data_follows() {
    let long = "x".repeat(100_000);
    for (read, limited) in [
        (fed("cat", 40), false),
        (fed("tee", 40), false),
        (fed("bash", 40), true),
        (fed("cat", 99_000), true),
        (
            Reading { coverage: Coverage::Partial, gaps: vec!["a part".into()], ..fed("cat", 40) },
            true,
        ),
    ] {
        let call = Call {
            id: None,
            tool: "Bash".into(),
            input: json!({"command": long}).as_object().cloned().unwrap(),
        };
        let program = read.commands[0].program.clone();
        let found = facts::of_call(&call, &place(), &mut |_, _| Ok(read.clone()));
        assert_eq!(!found.facts.limits.is_empty(), limited, "{program}: {:?}", found.facts);
    }
}

#[test]
fn more_hosts_than_are_listed_are_a_limit() {
    let hosts = (0..65).map(|n| format!("h{n}.example")).collect();
    let call = Call {
        id: None,
        tool: "Bash".into(),
        input: json!({"command": "x"}).as_object().cloned().unwrap(),
    };
    let found = facts::of_call(&call, &place(), &mut |_, _| {
        Ok(Reading { hosts: Vec::clone(&hosts), ..reading() })
    });
    assert!(!found.facts.limits.is_empty());
}

#[test]
fn the_reader_is_asked_about_texts_that_run_alone() {
    let text = json!("x");
    for (path, expected) in [
        ("/home/me/shop/src/a.rs", false),
        ("/home/me/shop/README.md", false),
        ("/home/me/shop/src/hooks.rs", false),
        ("/home/me/shop/.git/hooks/pre-commit", true),
        ("/home/me/shop/src/../.git/hooks/pre-commit", true),
        (".github/workflows/build.yml", true),
        ("Makefile", true),
        ("~/.bashrc", true),
        ("$HOME/.zshrc", true),
        ("/etc/cron.d/x", true),
    ] {
        for (tool, input) in [
            ("Write", json!({"file_path": path, "content": text})),
            ("Edit", json!({"file_path": path, "old_string": "a", "new_string": text})),
        ] {
            let input = input.as_object().cloned().unwrap_or_default();
            let call = Call { id: None, tool: tool.into(), input };
            let place = place();
            let mut asked = false;
            facts::of_call(&call, &place, &mut |_, _| {
                asked = true;
                Ok(reading())
            });
            let needed = facts::needs_shell_reader(&call, place.clients, &place.cwd, &place.home);
            assert_eq!((asked, needed), (expected, expected), "{tool} {path}");
        }
    }
}
