//! Protection of the guard itself: tables of actions that would change it, stop it or bypass it,
//! and of everyday actions that only come near. Command lines are read by the real reader.

mod harmless;
mod hostile;
mod reader;

use crate::harness::{Sent, World, pre, seen};
use portcullis_core::action::Entry;
use portcullis_core::guard::RULE;
use portcullis_core::observe::{ClimbTarget, Observed};
use portcullis_core::policy::{GuardedPath, Mode};
use portcullis_core::score::Verdict;
use serde_json::{Value, json};

/// Returns an installation: user-wide hooks, the project in `/home/me/shop`.
fn guarded() -> Vec<GuardedPath> {
    let user = |path: &str, what: &'static str| GuardedPath::new(path, what);
    let project = |path: &str, top: &str| GuardedPath {
        top: top.into(),
        present: false,
        ..GuardedPath::new(path, "settings of the project")
    };
    vec![
        GuardedPath {
            secret: true,
            ..user("/home/me/.local/state/portcullis/key", "the guard's key")
        },
        user("/home/me/.config/portcullis", "the guard's configuration"),
        user("/home/me/.local/state/portcullis", "the guard's journal and state"),
        GuardedPath { program: true, ..user("/usr/local/bin/portcullis", "the guard's program") },
        user("/home/me/.claude/settings.json", "the client's settings"),
        user("/home/me/.claude/plugins", "the client's plugins"),
        user("/etc/claude-code", "the client's managed settings"),
        user("/etc/portcullis", "the guard's managed configuration"),
        project("/home/me/shop/.claude/settings.json", "/home/me/shop/.claude"),
        project("/home/me/shop/.claude/settings.local.json", "/home/me/shop/.claude"),
        project("/home/me/shop/.portcullis/config.toml", "/home/me/shop/.portcullis"),
        project("/home/me/shop/portcullis.lock", "/home/me/shop/portcullis.lock"),
        user("**/portcullis.lock", "a project's lock"),
        user("**/.claude/settings.json", "a project's client settings"),
        user("**/.claude/settings.local.json", "a project's client settings"),
        user("**/.portcullis/config.toml", "a project's guard configuration"),
    ]
}

fn world() -> World {
    let mut world = World::default();
    world.plugins.read = Box::new(|text| Ok(reader::read(text)));
    world.plugins.watched = false;
    world.policy.guarded = guarded();
    let real = |path: &str| Observed { real: Some(path.into()), ..seen(Entry::File) };
    let folder = |path: &str| Observed { real: Some(path.into()), ..seen(Entry::Link) };
    let leads =
        |path: &str| Observed { leads: Some(ClimbTarget::To(path.into())), ..seen(Entry::File) };
    for (path, observed) in [
        // A link in the project, one to the folder, a hard link, and another name for the whole
        // disk.
        ("/home/me/shop/link.json", real("/home/me/.claude/settings.json")),
        ("/home/me/shop/conf", folder("/home/me/.claude")),
        ("/home/me/shop/conf/settings.json", real("/home/me/.claude/settings.json")),
        ("/home/me/shop/hard.json", real("/home/me/.claude/settings.json")),
        ("/proc/1234/fd/7", real("/home/me/.claude/settings.json")),
        ("/home/me/.CLAUDE/settings.json", real("/home/me/.claude/settings.json")),
        ("/tmp/plugins-link/../settings.json", real("/home/me/.claude/settings.json")),
        ("/home/me/shop/pl/../settings.json", leads("/home/me/.claude/settings.json")),
        ("/home/me/.claude", seen(Entry::Folder)),
        ("/home/me/.config", seen(Entry::Folder)),
        ("/home/me/bin", seen(Entry::Folder)),
    ] {
        world.observed.insert(path.into(), observed);
    }
    world
}

/// Returns true if the guard objected.
fn protects(sent: &Sent) -> bool {
    let findings = sent.records[0].findings.as_ref().expect("a review");
    findings
        .objections
        .iter()
        .any(|objection| objection.source == "portcullis" && objection.rule == RULE)
}

#[test]
fn hostile_actions_are_blocked() {
    let mut missed = Vec::new();
    let mut world = world();
    for (index, command) in hostile::COMMANDS.iter().enumerate() {
        let sent = world.bash(command, &format!("c{index}"));
        if !protects(&sent) || sent.verdict() != Verdict::Block || sent.effect() == "stop" {
            missed.push(format!(
                "`{command}`: {:?}",
                sent.records[0].action.as_ref().unwrap().facts.effects
            ));
        }
    }
    for (index, (tool, input)) in hostile::tools().into_iter().enumerate() {
        let sent = world.send(&pre(tool, input.clone(), &format!("t{index}")));
        if !protects(&sent) || sent.verdict() != Verdict::Block {
            missed.push(format!("{tool} {input}"));
        }
    }
    assert!(missed.is_empty(), "not noticed ({}):\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn harmless_actions_are_not() {
    let mut wrong = Vec::new();
    let mut world = world();
    let commands = harmless::COMMANDS.iter().map(|command| ("Bash", json!({ "command": command })));
    for (index, (tool, input)) in commands.chain(harmless::tools()).enumerate() {
        let sent = world.send(&pre(tool, input.clone(), &format!("h{index}")));
        if protects(&sent) {
            let reason = &sent.records[0].findings.as_ref().unwrap().objections[0].reason;
            wrong.push(format!("{tool} {input}: {reason}"));
        }
    }
    assert!(wrong.is_empty(), "objected to ({}):\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_answer_says_what_it_is_and_how_a_person_does_it() {
    for (command, expected) in [
        ("echo '{}' > ~/.claude/settings.json", "the client's settings"),
        ("cat ~/.local/state/portcullis/key", "which nobody but the guard itself may read"),
        ("portcullis allow last", "a person has to run this in a terminal of their own"),
        ("portcullis approvals allow k7m2x9qd", "`portcullis approvals allow` is for a person"),
        ("portcullis approvals deny k7m2x9qd", "`portcullis approvals deny` is for a person"),
        ("portcullis --state /s approvals watch", "`portcullis approvals watch` is for a person"),
        ("echo '{\"hook_event_name\":\"Stop\"}' | portcullis", "would be a false record"),
        ("portcullis < event.json", "would be a false record"),
        ("/usr/local/bin/portcullis --state /tmp/s <<< \"$EVENT\"", "would be a false record"),
        ("claude --bare -p hi", "with `--bare`"),
        ("pkill portcullis", "stops processes of the guard"),
    ] {
        let sent = world().bash(command, "t1");
        let reason = sent
            .at("/hookSpecificOutput/permissionDecisionReason")
            .and_then(Value::as_str)
            .unwrap();
        assert!(
            reason.contains(expected) && reason.contains("in an editor or a terminal of their own"),
            "{command}: {reason}"
        );
        assert_eq!(
            (sent.effect(), sent.answer.exit, sent.decision().stops.as_deref()),
            ("deny", 2, None),
            "{command}: the session goes on"
        );
        assert!(
            sent.decision().check_exceptable().unwrap_err().contains("protects the guard itself"),
            "{command}: no exception lifts it"
        );
    }
}

#[test]
fn observe_mode_records_and_refuses_nothing() {
    let mut world = world();
    world.policy.mode = Mode::Observe;
    let sent = world.bash("rm ~/.claude/settings.json", "t1");
    assert_eq!((protects(&sent), sent.verdict(), sent.effect()), (true, Verdict::Block, "none"));
}

#[test]
fn without_a_list_only_its_own_names_are_protected() {
    let mut world = world();
    world.policy.guarded.clear();
    assert!(!protects(&world.bash("rm ~/.claude/settings.json", "t1")));
    assert!(protects(&world.bash("portcullis pause", "t2")));
}
