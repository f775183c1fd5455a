//! Side effects by table: kind, severity, reversibility.

use super::SideEffectAnalysis;
use portcullis_builtin_shared::harness::check_refusals;
use portcullis_builtin_shared::sample::{Newest, shell};
use portcullis_plugin::risk_calculator::{RiskCalculator, SideEffect, SideEffectKind};
use portcullis_plugin::testing::{
    self, BuildAction, file_delete, file_edit, file_read, file_write,
};
use portcullis_plugin::types::{Action, EffectKind, GitState, Scope, Setting, Severity};

fn left_with(action: &Action, settings: &[Setting]) -> Vec<SideEffect> {
    let prepared = SideEffectAnalysis::prepare(settings).expect("the settings are right");
    SideEffectAnalysis::assess(&prepared, action, &testing::context())
        .expect("it answers")
        .side_effects
        .expect("it looked")
}

fn name(kind: &SideEffectKind) -> &str {
    match kind {
        SideEffectKind::FileWrite => "write",
        SideEffectKind::FileDeletion => "deletion",
        SideEffectKind::SystemChange => "system",
        SideEffectKind::Process => "process",
        SideEffectKind::Network => "network",
        SideEffectKind::ResourceUse => "resource",
        SideEffectKind::Other(name) => name,
    }
}

/// The expected side effects: kind, severity, reversible.
type Expected = &'static [(&'static str, Severity, bool)];

fn check(cases: Vec<(&str, Action, Expected)>) {
    for (case, action, expected) in cases {
        let left = left_with(&action, &[]);
        let found: Vec<(&str, Severity, bool)> =
            left.iter().map(|one| (name(&one.kind), one.severity, one.reversible)).collect();
        assert_eq!(found, expected, "{case}: {left:?}");
        assert!(
            left.iter().all(|one| one.mitigation.as_ref().is_some_and(|text| !text.is_empty())),
            "{case}"
        );
    }
}

use Severity::{Critical, High, Low, Medium};

#[test]
fn files() {
    check(vec![
        ("read", file_read("a"), &[]),
        ("ls", shell("ls"), &[]),
        ("to nowhere", shell("x").modifies("/dev/null"), &[]),
        ("new file", file_write("a", "x"), &[("write", Medium, true)]),
        (
            "overwritten",
            file_write("a", "x").path(|path| path.entry = portcullis_plugin::types::Entry::File),
            &[("write", Medium, false)],
        ),
        ("edit turns round", file_edit("a", "x", "y"), &[("write", Medium, true)]),
        ("changed by a command", shell("x").modifies("a"), &[("write", Medium, false)]),
        (
            "changed, clean in git",
            shell("x").modifies("a").git(GitState::Clean),
            &[("write", Medium, true)],
        ),
        (
            "changed, changed in git",
            shell("x").modifies("a").git(GitState::Changed),
            &[("write", Medium, false)],
        ),
        ("changed elsewhere", shell("x").modifies("/srv/a"), &[("write", Medium, false)]),
        ("changed in the system", shell("x").modifies("/etc/hosts"), &[("system", High, false)]),
        (
            "start-up of a person",
            shell("x").modifies("/home/me/.bashrc").scope(Scope::System),
            &[("write", Medium, false)],
        ),
        ("deleted", file_delete("a"), &[("deletion", High, false)]),
        ("deleted, ignored", file_delete("a").git(GitState::Ignored), &[("deletion", High, true)]),
        ("deleted, scratch", shell("rm x").deletes("/tmp/mine/x"), &[("deletion", High, true)]),
        ("deleted, not there", shell("rm x").deletes("a").absent(), &[("deletion", Low, true)]),
        (
            "deleted, partly known",
            shell("rm x").deletes("a").restorable().uncertain(),
            &[("deletion", High, false)],
        ),
    ]);
}

#[test]
fn losses_are_critical_only_past_the_project() {
    let tree = |path: &str| shell("rm -rf x").deletes(path).below();
    check(vec![
        ("file elsewhere", file_delete("/important/file.txt"), &[("deletion", Critical, false)]),
        (
            "clean in another repository",
            file_delete("/srv/other/a").git(GitState::Clean),
            &[("deletion", High, true)],
        ),
        ("folder inside", tree("src"), &[("deletion", High, false)]),
        ("the project", tree("/project"), &[("deletion", Critical, false)]),
        ("all of the project", tree("/project/*"), &[("deletion", Critical, false)]),
        (
            "a part of the project, partly known",
            tree("/project").uncertain(),
            &[("deletion", High, false)],
        ),
        ("its history", tree("/project/.git"), &[("deletion", Critical, false)]),
        (
            "one file named like it",
            shell("rm x").deletes("/project/.gitignore"),
            &[("deletion", High, false)],
        ),
        ("shared", tree("/tmp/*"), &[("deletion", Critical, false)]),
        (
            "a part of shared, partly known",
            tree("/tmp").scope(Scope::Outside).uncertain(),
            &[("deletion", High, false)],
        ),
        (
            "what mktemp made",
            shell("x").creates("/tmp").uncertain().deletes("/tmp").uncertain(),
            &[("deletion", High, true), ("write", Medium, true)],
        ),
        ("root", tree("/"), &[("deletion", Critical, false)]),
        ("not known", tree("x").scope(Scope::Unknown).uncertain(), &[("deletion", High, false)]),
    ]);
}

#[test]
fn secrets_code_and_services() {
    use EffectKind::*;
    let on = |kind: EffectKind| shell("x").affects(kind, "t");
    check(vec![
        ("secret", on(SecretRead), &[("secret-read", Medium, false)]),
        (
            "secret fetched",
            on(SecretRead).contacts("example.org"),
            &[("secret-read", Medium, false), ("network", Medium, false)],
        ),
        (
            "secret sent",
            on(SecretRead).affects(Send, "example.org"),
            &[("credentials-leave", Critical, false), ("network", Medium, false)],
        ),
        (
            "secret flows out",
            on(SecretRead).form("secret-egress", 300),
            &[("credentials-leave", Critical, false)],
        ),
        (
            "secret to this machine",
            on(SecretRead).affects(Send, "127.0.0.1"),
            &[("secret-read", Medium, false), ("network", Low, true)],
        ),
        (
            "secret published",
            on(SecretRead).affects(Publish, "npm"),
            &[("credentials-leave", Critical, false), ("publish", High, false)],
        ),
        ("unseen", on(UnseenCode), &[("unseen-code", High, false)]),
        (
            "unseen and remote",
            on(UnseenCode).contacts("example.org"),
            &[("remote-code", Critical, false), ("network", Medium, false)],
        ),
        ("fetch", testing::fetch("https://example.org"), &[("network", Medium, true)]),
        (
            "request by a command",
            shell("curl x").contacts("example.org"),
            &[("network", Medium, false)],
        ),
        ("start", on(ProcessStart), &[("process", Medium, true)]),
        ("stop", on(ProcessStop), &[("process", Medium, true)]),
        ("push", on(Publish), &[("publish", High, false)]),
        ("remote change", on(RemoteChange), &[("remote-change", Medium, false)]),
        ("remote loss", on(RemoteDelete), &[("remote-delete", High, false)]),
        (
            "remote damage",
            on(RemoteDelete).form("drop-database", 200),
            &[("remote-delete", Critical, false)],
        ),
        ("light form", on(RemoteDelete).form("no-verify", 100), &[("remote-delete", High, false)]),
        ("system change", on(SystemChange), &[("system", High, false)]),
        (
            "system damage",
            on(SystemChange).form("format-disk", 300),
            &[("system", Critical, false)],
        ),
        (
            "disk overwritten",
            shell("dd").modifies("/dev/sda").form("disk-write", 300),
            &[("system", Critical, false)],
        ),
        ("start-up", on(Persistence), &[("persistence", High, false)]),
        (
            "a setting of git",
            shell("git").affects(Persistence, "core.hookspath"),
            &[("persistence", High, true)],
        ),
        (
            "sudo on build output",
            on(Privilege).form("recursive-force-delete", 200),
            &[("privilege", High, false)],
        ),
        ("a commit past its hooks", on(Evade).form("skip-checks", 100), &[("evasion", High, true)]),
        ("removed traces", on(Evade).form("history-clear", 100), &[("evasion", High, false)]),
        ("fork bomb", on(ResourceUse).form("fork-bomb", 300), &[("resource", Critical, true)]),
        ("much disk", on(ResourceUse), &[("resource", Medium, true)]),
        ("unknown", on(Other("teleport".to_owned())), &[("teleport", Medium, false)]),
    ]);
}

#[test]
fn a_form_of_another_command_damages_nothing() {
    let mut action =
        shell("a ; b").affects(EffectKind::SystemChange, "t").by(0).form("format-disk", 300);
    action.facts.forms.iter_mut().for_each(|form| form.command = Some(1));
    assert_eq!(left_with(&action, &[]).first().map(|one| one.severity), Some(High));
}

#[test]
fn extra_effects_are_summed_up() {
    let many = (0..200)
        .fold(shell("rm"), |action, index| action.deletes(&["a", &index.to_string()].concat()));
    let many = many.deletes("/srv/x").contacts(&"h".repeat(9000));
    let left = left_with(&many, &[]);
    assert_eq!(left.len(), 64);
    assert_eq!(
        left.first().map(|one| (one.target.as_str(), one.severity)),
        Some(("/srv/x", Critical)),
        "the worst is not summed up"
    );
    let last = left.last().expect("there are 64");
    assert_eq!((last.target.as_str(), last.severity, last.reversible), ("139 more", High, false));
    assert!(left.iter().all(|one| one.target.len() <= 1024));
}

#[test]
fn settings_change_the_levels_and_bad_ones_are_named() {
    let settings = [Setting::new("severity.file_write", "low")];
    assert_eq!(
        left_with(&file_write("a", "x"), &settings).first().map(|one| one.severity),
        Some(Low)
    );
    check_refusals(
        SideEffectAnalysis::prepare,
        &[
            ("severity.file_write", "none", "one of `low`"),
            ("severity.filewrite", "low", "did you mean `severity.file_write`"),
        ],
    );
    assert!(
        SideEffectAnalysis::assess(b"\x01\x00\x00\x00\x00", &file_read("a"), &testing::context())
            .is_err(),
        "foreign settings"
    );
}
