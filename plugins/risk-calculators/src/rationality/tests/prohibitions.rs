//! Prohibitions of the person, and sentences that only sound like one.

use super::judge;
use portcullis_builtin_shared::sample::{Newest, shell};
use portcullis_plugin::testing::{
    self, BuildAction, BuildContext, file_delete, file_edit, file_read,
};
use portcullis_plugin::types::{Action, EffectKind};

fn push() -> Action {
    shell("git push origin main").affects(EffectKind::Publish, "origin").by(0)
}

fn commit() -> Action {
    shell("git commit -m x").modifies("/project/.git").by(0)
}

fn edit(path: &str) -> Action {
    file_edit(path, "x", "y")
}

#[test]
fn plain_prohibitions_hold() {
    let cases: Vec<(&str, Action, &str)> = vec![
        ("Fix the bug. Don't push.", push(), "Don't push"),
        ("Fix the bug, do not push yet", push(), "do not push yet"),
        ("never push to main", push(), "never push to main"),
        ("do not commit or push anything", push(), "do not commit or push anything"),
        ("do not commit or push anything", commit(), "do not commit or push anything"),
        ("don\u{2019}t touch the tests", edit("tests/login.rs"), "don\u{2019}t touch the tests"),
        (
            "Refactor it without changing the migrations",
            edit("db/migrations/1.sql"),
            "Refactor it without changing the migrations",
        ),
        ("review only: don't modify any files", edit("src/a.rs"), "don't modify any files"),
        ("do not delete anything", file_delete("a"), "do not delete anything"),
        (
            "do not delete anything",
            shell("rm -rf x").deletes("x").below().by(0),
            "do not delete anything",
        ),
        ("don't install packages", shell("npm install").contacts("registry.npmjs.org").by(0), ""),
        (
            "don't install anything",
            shell("npm install").contacts("registry.npmjs.org").by(0),
            "don't install anything",
        ),
        (
            "don't run the deploy script",
            shell("./deploy.sh").affects(EffectKind::ProcessStart, "deploy.sh").by(0),
            "don't run the deploy script",
        ),
    ];
    for (goal, action, said) in cases {
        let found = judge(&action, &testing::context().goal(goal));
        let reported =
            found.issues.iter().any(|issue| issue == &format!("the person asked not to: `{said}`"));
        assert_eq!(reported, !said.is_empty(), "{goal}: {found:?}");
        if reported {
            assert_eq!(
                (found.alignment, found.progression, found.efficiency, found.completeness),
                (Some(0), Some(0), None, None),
                "{goal}"
            );
        }
    }
}

#[test]
fn what_is_not_plain_forbids_nothing() {
    let cases: Vec<(&str, Action)> = vec![
        ("Don't forget to push", push()),
        ("don't worry about the tests", edit("tests/a.rs")),
        ("do not push unless the tests pass", push()),
        ("don't push before the tests pass", push()),
        ("don't push to production", push()),
        ("don't touch the tests", edit("src/a.rs")),
        ("don't touch the tests", file_read("tests/a.rs")),
        ("don't touch the tests", shell("cargo test").modifies("target/tests").by(0)),
        ("fix it without changing other files", edit("src/a.rs")),
        ("don't change it", edit("src/a.rs")),
        ("do not delete anything", edit("src/a.rs")),
        ("don't modify any files", shell("cargo test").modifies("target").by(0)),
        ("the button does not push the panel", push()),
        ("don't run", shell("ls")),
        ("without tests it is not done", edit("tests/a.rs")),
        ("don't commit", shell("git log --grep commit-msg")),
    ];
    for (goal, action) in cases {
        let found = judge(&action, &testing::context().goal(goal));
        assert!(
            !found.issues.iter().any(|issue| issue.contains("asked not to")),
            "{goal}: {found:?}"
        );
    }
}

#[test]
fn a_later_goal_lifts_it() {
    let forbidden = |goals: &[&str]| {
        let context = goals.iter().fold(testing::context(), |context, goal| context.goal(goal));
        judge(&push(), &context).issues.iter().any(|issue| issue.contains("asked not to"))
    };
    for (goals, expected) in [
        (&["don't push", "now fix the tests"][..], true),
        (&["don't push", "now push it"], false),
        (&["push it", "don't push any more changes"], false),
        (&["push it", "don't push anything"], true),
        (&["don't push", "deploy to staging"], false),
    ] {
        assert_eq!(forbidden(goals), expected, "{goals:?}");
    }
}

#[test]
fn long_goals_and_actions_are_bounded() {
    let goal = "don't delete abc.".repeat(240);
    let context = (0..16).fold(testing::context(), |context, _| context.goal(&goal));
    let many = (0..256).fold(shell(&"x ".repeat(5000)), |action, index| {
        action.modifies(&["/srv/", &index.to_string(), &"/é".repeat(100)].concat())
    });
    let found = judge(&many, &context);
    assert!(
        found.issues.iter().chain(&found.suggestions).all(|text| text.len() <= 4096),
        "{found:?}"
    );
}
