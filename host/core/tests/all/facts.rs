//! Facts of calls: scopes, effects of file tools, unknown tools, and what observation adds.

mod foreign;
mod later;

use portcullis_core::action::{
    Access, Command, Coverage, Direction, EffectKind, Entry, GitState, Intent, Operation, Origin,
    Reading, Redirection, Scope, Word,
};
use portcullis_core::client::{ClientProfile, ToolMeaning};
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
        client: "claude".into(),
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

/// Clients that give one name to tools with other parameters.
const RIVALS: &[&ClientProfile] = &[
    &ClientProfile {
        name: "first",
        tools: &[("edit", ToolMeaning::File("path", Access::Modify)), ("run", ToolMeaning::Shell)],
        ..UNNAMED
    },
    &ClientProfile {
        name: "second",
        tools: &[("edit", ToolMeaning::File("filePath", Access::Read))],
        ..UNNAMED
    },
    &ClientProfile {
        name: "third",
        tools: &[
            ("read_all", ToolMeaning::File("paths", Access::Read)),
            ("write_all", ToolMeaning::File("paths", Access::Create)),
            ("fetch_all", ToolMeaning::Fetch("urls")),
        ],
        ..UNNAMED
    },
];
const UNNAMED: ClientProfile = ClientProfile {
    name: "",
    display_name: "",
    programs: &[],
    packages: &[],
    package_folders: &[],
    marks: &[],
    start_up_files: &[],
    credential_files: &[],
    tools: &[],
    background: &[],
    drops_early_notes: false,
    hooked: None,
};

#[test]
fn a_tool_is_read_as_the_client_that_calls_it_means_it() {
    let input = json!({"path": "first.rs", "filePath": "second.rs", "command": "ls"});
    for (client, tool, read) in [
        ("first", "edit", Some((Intent::FileModification, "/home/me/shop/first.rs"))),
        ("second", "edit", Some((Intent::FileRead, "/home/me/shop/second.rs"))),
        ("unknown", "edit", Some((Intent::FileModification, "/home/me/shop/first.rs"))),
        ("second", "run", None),
    ] {
        let input = input.as_object().cloned().unwrap_or_default();
        let call = Call { id: None, tool: tool.into(), input };
        let place = CallLocation { client: client.into(), clients: RIVALS, ..place() };
        let mut asked = false;
        let found = facts::of_call(&call, &place, &mut |_, _| {
            asked = true;
            Ok(reading())
        });
        assert_eq!(asked, read.is_none(), "{client} {tool}");
        if let Some((intent, path)) = read {
            assert_eq!(found.intent, intent, "{client} {tool}");
            assert_eq!(found.facts.paths[0].text, path, "{client} {tool}");
        }
    }
}

/// One call with several files or addresses has the effects of all.
#[test]
fn a_list_of_files_or_addresses_is_read_as_a_whole() {
    let key = "/home/me/.ssh/id_rsa";
    for (tool, input, targets, coverage) in [
        (
            "read_all",
            json!({"paths": ["a", key]}),
            vec!["/home/me/shop/a", key, key],
            Coverage::Full,
        ),
        ("read_all", json!({"paths": "a"}), vec!["/home/me/shop/a"], Coverage::Full),
        ("read_all", json!({"paths": ["a", 1]}), vec!["/home/me/shop/a"], Coverage::Partial),
        ("read_all", json!({"paths": []}), vec![], Coverage::Partial),
        ("write_all", json!({"paths": ["a"]}), vec![], Coverage::Partial),
        (
            "fetch_all",
            json!({"urls": ["https://a.example/x", "https://b.example/y"]}),
            vec!["a.example", "b.example"],
            Coverage::Full,
        ),
    ] {
        let parameters = input.as_object().cloned().unwrap_or_default();
        let call = Call { id: None, tool: tool.into(), input: parameters };
        let place = CallLocation { client: "third".into(), clients: RIVALS, ..place() };
        let found = facts::of_call(&call, &place, &mut |_, _| Ok(reading()));
        let reached: Vec<&str> =
            found.facts.effects.iter().map(|effect| effect.target.as_str()).collect();
        assert_eq!(reached, targets, "{tool} {input}");
        assert_eq!(found.facts.coverage, coverage, "{tool} {input}");
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
            let needed = facts::needs_shell_reader(
                &call,
                &place.client,
                place.clients,
                &place.cwd,
                &place.home,
            );
            assert_eq!((asked, needed), (expected, expected), "{tool} {path}");
        }
    }
}
