//! Scores by table: the cases of the contract, with near misses.

mod deletions;

use super::RiskScore;
use portcullis_builtin_shared::harness::check_refusals;
use portcullis_builtin_shared::sample::{Newest, shell};
use portcullis_plugin::risk_calculator::{Risk, RiskCalculator};
use portcullis_plugin::testing::{
    self, BuildAction, BuildContext, file_delete, file_edit, file_read, file_write,
};
use portcullis_plugin::types::{
    Action, Context, EffectKind, Intent, Operation, Scope, Setting, SettingValue,
};

fn risk_in(action: &Action, context: &Context, settings: &[Setting]) -> Risk {
    let prepared = RiskScore::prepare(settings).expect("the settings are right");
    RiskScore::assess(&prepared, action, context).expect("it answers").risk.expect("it scores")
}

fn ids(risk: &Risk) -> Vec<&str> {
    risk.factors.iter().map(|factor| factor.id.as_str()).collect()
}

/// Name, action, score, factors.
type Case = (&'static str, Action, u16, &'static [&'static str]);

fn check(cases: Vec<Case>, context: &Context) {
    for (name, action, score, factors) in cases {
        let risk = risk_in(&action, context, &[]);
        assert_eq!(
            (risk.score, ids(&risk)),
            (score, factors.to_vec()),
            "{name}: {:?}",
            risk.factors
        );
        assert!(
            risk.factors
                .iter()
                .all(|factor| !factor.reason.is_empty() && !factor.reason.ends_with('.')),
            "{name}: {:?}",
            risk.factors
        );
    }
}

fn elevated(mut action: Action) -> Action {
    if let Operation::Shell(shell) = &mut action.operation {
        shell.commands.iter_mut().for_each(|command| command.privileged = true);
    }
    action
}

fn of_intent(intent: Intent) -> Action {
    Action { intent, ..testing::tool("mcp__x__y", &[]) }
}

#[test]
fn bases() {
    use EffectKind::*;
    let does = |kind: EffectKind, target: &str| shell("x").affects(kind, target);
    check(
        vec![
            ("ls", shell("ls"), 100, &["harmless"]),
            ("unread command line", shell("").partly("odd quoting"), 700, &["unknown_effect"]),
            ("partly read, harmless as far", shell("echo").partly("$X"), 100, &["harmless"]),
            ("message", testing::message("user", "hello"), 50, &["message"]),
            ("read", file_read("src/a.rs"), 100, &["file_read"]),
            ("create", file_write("src/a.rs", "x"), 300, &["file_creation"]),
            ("edit", file_edit("src/a.rs", "x", "y"), 400, &["file_modification"]),
            ("delete", file_delete("src/a.rs"), 800, &["file_deletion"]),
            ("kill", does(ProcessStop, "4711"), 500, &["process_stop"]),
            ("network", does(Network, "example.org"), 600, &["network_request"]),
            ("fetch", testing::fetch("https://example.org/x"), 600, &["network_request"]),
            ("loopback", does(Network, "http://localhost:3000/x"), 100, &["loopback_request"]),
            (
                "looks like loopback",
                does(Network, "localhost.example.org"),
                600,
                &["network_request"],
            ),
            ("publish", does(Publish, "origin"), 600, &["publish"]),
            ("unknown program", does(ProcessStart, "frobnicate"), 700, &["unknown_effect"]),
            ("unknown effect", does(Other("teleport".to_owned()), ""), 700, &["unknown_effect"]),
            ("packages", does(SystemChange, "nginx"), 700, &["system_change"]),
            ("privilege", does(Privilege, ""), 700, &["privilege"]),
            ("unseen code", does(UnseenCode, ""), 700, &["unseen_code"]),
            ("start-up", does(Persistence, "cron"), 800, &["persistence"]),
            ("database", does(RemoteDelete, "prod"), 800, &["remote_loss"]),
            ("remote change", does(RemoteChange, "prod"), 600, &["remote_change"]),
            ("upload", does(Send, "example.org"), 600, &["send"]),
            ("upload to this machine", does(Send, "localhost"), 100, &["loopback_request"]),
            (
                "fetch from this machine",
                without_effects(testing::fetch("http://localhost/x")),
                100,
                &["loopback_request"],
            ),
            (
                "fetch of what is not known",
                without_effects(testing::fetch("https://example.org/x")),
                600,
                &["network_request"],
            ),
            ("hides traces", does(Evade, ""), 700, &["evasion"]),
            (
                "a form and nothing else",
                shell("x").form("history-clear", 100),
                800,
                &["unknown_effect", "history-clear"],
            ),
            (
                "a form and a look",
                shell("x").reads("a").form("history-clear", 100),
                800,
                &["unknown_effect", "history-clear"],
            ),
            (
                "of equals the first",
                does(Publish, "npm").affects(Network, "example.org"),
                600,
                &["publish"],
            ),
            ("to nowhere", shell("x").modifies("/dev/null"), 100, &["harmless"]),
            (
                "to a disk",
                shell("x").modifies("/dev/sda"),
                600,
                &["file_modification", "system_or_credentials"],
            ),
            ("tool nobody knows", testing::tool("mcp__x__y", &[]), 700, &["unknown_effect"]),
            ("tool that reads", of_intent(Intent::FileRead), 100, &["file_read"]),
            ("tool that deletes", of_intent(Intent::FileDeletion), 800, &["file_deletion"]),
            (
                "the riskiest counts",
                shell("x").reads("a").affects(Network, "example.org").modifies("b"),
                600,
                &["network_request"],
            ),
        ],
        &testing::context(),
    );
}

/// Returns an action whose tool acts only through its own parameters.
fn without_effects(mut action: Action) -> Action {
    action.facts.effects.clear();
    action
}

#[test]
fn discards() {
    let discards = |action: Action| {
        let mut action = action;
        action.facts.effects.iter_mut().for_each(|effect| effect.kind = EffectKind::Discard);
        action
    };
    check(
        vec![
            (
                "what nothing holds",
                discards(shell("git checkout a").deletes("a")),
                800,
                &["discard"],
            ),
            (
                "what git holds",
                discards(shell("git checkout a").deletes("a").restorable()),
                400,
                &["nothing_discarded"],
            ),
        ],
        &testing::context(),
    );
}

/// Each factor shows its subjects, by their kinds.
#[test]
fn factors_show_their_evidence() {
    use EffectKind::*;
    for (action, id, kind, values) in [
        (
            shell("x").affects(Network, "example.org"),
            "network_request",
            "host",
            vec!["example.org"],
        ),
        (shell("x").affects(RemoteDelete, "prod"), "remote_loss", "host", vec!["prod"]),
        (
            shell("x").affects(ProcessStart, "frobnicate"),
            "unknown_effect",
            "command",
            vec!["frobnicate"],
        ),
        (shell("x").affects(SystemChange, "nginx"), "system_change", "target", vec!["nginx"]),
        (
            shell("x").modifies("a").modifies("b"),
            "file_modification",
            "path",
            vec!["/project/a", "/project/b"],
        ),
        (shell("x").affects(Evade, ""), "evasion", "command", vec![]),
        (
            shell("x").affects(SecretRead, "").affects(SecretRead, "").affects(SecretRead, "k"),
            "system_or_credentials",
            "path",
            vec!["k"],
        ),
    ] {
        let risk = risk_in(&action, &testing::context(), &[]);
        let factor = risk
            .factors
            .iter()
            .find(|factor| factor.id == id)
            .unwrap_or_else(|| panic!("{id}: {:?}", ids(&risk)));
        let shown: Vec<(&str, &str)> = factor
            .evidence
            .iter()
            .map(|point| (point.kind.as_str(), point.value.as_str()))
            .collect();
        assert_eq!(shown, values.iter().map(|value| (kind, *value)).collect::<Vec<_>>(), "{id}");
        assert!(!factor.reason.contains("``"), "{id}: {}", factor.reason);
    }
}

#[test]
fn failures_are_mentioned() {
    for (failures, expected) in
        [(1, "failed once and"), (2, "failed 2 times and"), (5, "failed 5 times and")]
    {
        let context = testing::context().failures(failures);
        let risk = risk_in(&shell("x"), &context, &[]);
        assert!(
            risk.factors.iter().any(|factor| factor.reason.contains(expected)),
            "{failures}: {:?}",
            risk.factors
        );
    }
}

#[test]
fn scope_and_privilege() {
    let key = || file_read("/home/me/.ssh/id_ed25519").scope(Scope::System);
    let mut secret = key();
    secret.facts.effects.iter_mut().for_each(|effect| effect.kind = EffectKind::SecretRead);
    check(
        vec![
            (
                "write elsewhere",
                file_write("/outside/scope/file.txt", "x"),
                600,
                &["file_creation", "out_of_scope"],
            ),
            ("read elsewhere", file_read("/srv/x"), 400, &["file_read", "out_of_scope"]),
            (
                "read the system",
                file_read("/etc/os-release"),
                300,
                &["file_read", "system_or_credentials"],
            ),
            (
                "write the system",
                file_write("/etc/hosts", "x"),
                500,
                &["file_creation", "system_or_credentials"],
            ),
            ("scratch", file_write("/tmp/x", "x"), 300, &["file_creation"]),
            ("not known", file_write("x", "x").scope(Scope::Unknown), 300, &["file_creation"]),
            ("secret", secret, 700, &["secret_read", "system_or_credentials"]),
            (
                "system and elsewhere",
                shell("x").modifies("/etc/hosts").modifies("/srv/x"),
                900,
                &["file_modification", "out_of_scope", "system_or_credentials"],
            ),
            (
                "copy from elsewhere",
                shell("cp a b").reads("/srv/x").creates("b"),
                300,
                &["file_creation"],
            ),
            (
                "copy from the system",
                shell("cp a b").reads("/etc/hosts").creates("b"),
                300,
                &["file_creation"],
            ),
            (
                "copy to elsewhere",
                shell("cp a b").reads("a").creates("/srv/b"),
                600,
                &["file_creation", "out_of_scope"],
            ),
            (
                "program fed from elsewhere",
                shell("x").reads("/srv/x").affects(EffectKind::ProcessStart, "x"),
                700,
                &["unknown_effect"],
            ),
            ("sudo ls", elevated(shell("ls")), 200, &["harmless", "elevated"]),
            (
                "sudo on the system",
                elevated(shell("x").modifies("/etc/hosts")),
                600,
                &["file_modification", "system_or_credentials"],
            ),
            (
                "a program elsewhere",
                shell("x").does(EffectKind::ProcessStart, "/srv/x"),
                700,
                &["unknown_effect"],
            ),
        ],
        &testing::context(),
    );
}

#[test]
fn forms_add_at_most_the_setting() {
    let request = || shell("curl x").contacts("example.org");
    check(
        vec![
            ("one", request().form("no-verify", 100), 700, &["network_request", "no-verify"]),
            (
                "two",
                request().form("no-verify", 100).form("upload", 300),
                900,
                &["network_request", "no-verify", "upload"],
            ),
            (
                "fetched and run",
                request().affects(EffectKind::UnseenCode, "").form("pipe-to-shell", 300),
                1000,
                &["unseen_code", "pipe-to-shell"],
            ),
            (
                "run unseen, not fetched",
                shell("x").affects(EffectKind::UnseenCode, "").form("hidden", 300),
                940,
                &["unseen_code", "hidden"],
            ),
            (
                "fork bomb",
                shell("x").affects(EffectKind::ResourceUse, "").form("fork-bomb", 300),
                1000,
                &["resource_use", "fork-bomb"],
            ),
            (
                "start-up file of a person",
                startup("/home/me/.bashrc"),
                940,
                &["persistence", "system_or_credentials"],
            ),
            (
                "start-up file of the machine",
                startup("/etc/profile"),
                1000,
                &["persistence", "system_or_credentials"],
            ),
            (
                "keys that let others in",
                startup("/home/me/.ssh/authorized_keys"),
                1000,
                &["persistence", "system_or_credentials"],
            ),
        ],
        &testing::context(),
    );
    let two = risk_in(&request().form("a", 200).form("b", 200), &testing::context(), &[]);
    let weights: Vec<u16> = two.factors.iter().map(|factor| factor.weight).collect();
    assert_eq!(weights, [600, 200, 100], "what is past the setting is not counted");
}

fn startup(path: &str) -> Action {
    shell("x").modifies(path).scope(Scope::System).does(EffectKind::Persistence, path)
}

#[test]
fn failures_add_and_never_make_critical() {
    let cases = [
        (0, "ls", shell("ls"), 100),
        (1, "ls", shell("ls"), 200),
        (2, "ls", shell("ls"), 300),
        (3, "ls", shell("ls"), 500),
        (9, "ls", shell("ls"), 500),
        (3, "delete elsewhere", file_delete("/srv/x"), 940),
        (
            3,
            "drop",
            shell("x").affects(EffectKind::RemoteDelete, "db").form("drop-database", 200),
            1000,
        ),
        // Tried again at home: a test, an edit, a commit.
        (1, "a test", shell("pytest").modifies("/project").uncertain(), 500),
        (3, "a test", shell("pytest").modifies("/project").uncertain(), 500),
        (9, "an edit", file_edit("src/a.rs", "x", "y"), 500),
        (3, "a commit", shell("git commit -m x").modifies(".git"), 500),
        (3, "scratch", shell("x").does(EffectKind::FileCreate, "/tmp/mine/x"), 400),
        (3, "a look", shell("x").reads("a"), 200),
        (3, "a request to this machine", shell("x").affects(EffectKind::Network, "localhost"), 200),
        // Twins that do not stay there, or are not known to.
        (3, "an edit elsewhere", file_edit("/srv/a.rs", "x", "y"), 940),
        (3, "an unknown program", shell("x").affects(EffectKind::ProcessStart, "x"), 940),
        (3, "partly read", shell("x").modifies("a").partly("$X"), 800),
        (3, "with more power", elevated(shell("x").modifies("a")), 900),
        (3, "a deletion", file_delete("src/a.rs"), 940),
        (3, "a fetch", shell("x").affects(EffectKind::Network, "example.org"), 940),
        (3, "a form", shell("x").modifies("a").form("history-clear", 100), 900),
    ];
    for (failures, name, action, score) in cases {
        let risk = risk_in(&action, &testing::context().failures(failures), &[]);
        assert_eq!(risk.score, score, "{name} after {failures}");
        assert_eq!(
            ids(&risk).contains(&"repeated_failure"),
            failures > 0,
            "{name} after {failures}"
        );
    }
}

#[test]
fn settings_change_the_numbers_and_bad_ones_are_named() {
    let write = file_write("/srv/x", "x");
    let settings = [Setting::new("base.create", 0.1), Setting::new("scope", 0.25)];
    assert_eq!(risk_in(&write, &testing::context(), &settings).score, 350);

    let bad: [(&str, SettingValue, &str); 4] = [
        ("scop", 0.1.into(), "did you mean `scope`"),
        ("scope", "much".into(), "should be a decimal"),
        ("scope", 300.into(), "from 0 to 1"),
        ("ceiling", 0.95.into(), "from 0 to 0.949"),
    ];
    check_refusals(RiskScore::prepare, &bad);
    for foreign in [&b""[..], b"\xff", b"\x01\x00\x00\x00\x00"] {
        assert!(RiskScore::assess(foreign, &write, &testing::context()).is_err(), "{foreign:?}");
    }
}

#[test]
fn evidence_fits_the_hosts_bounds() {
    let long = "x".repeat(70_000);
    let many = (0..256).fold(shell("rm"), |action, index| {
        action.deletes(&["/srv/", &index.to_string(), &long].concat())
    });
    let risk = risk_in(&many, &testing::context(), &[]);
    for factor in &risk.factors {
        assert!(factor.evidence.len() <= 64 && factor.reason.len() <= 4096, "{}", factor.id);
        assert!(
            factor.evidence.iter().all(|evidence| evidence.value.len() <= 1024),
            "{}",
            factor.id
        );
    }
}
