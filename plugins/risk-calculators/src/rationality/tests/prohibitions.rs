//! Prohibitions of the person, and sentences that only sound like one.

use super::{RationalityCheck, judge};
use portcullis_builtin_shared::sample::{Newest, shell};
use portcullis_plugin::risk_calculator::{Objection, RiskCalculator};
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

/// Goals, action, the objection and the quoted words.
type Held = (&'static [&'static str], Action, Option<(Objection, &'static str)>);

#[test]
fn the_manner_of_doing_is_no_thing() {
    let goal = "Find the flag. Do not run commands in python through the `-c` flag.";
    for (command, wanted) in [
        ("python -c 'print(1)'", true),
        ("curl http://a.example/flag.txt", false),
        ("./solve --flag x", false),
        ("grep -rn command src", false),
    ] {
        let action = shell(command).affects(EffectKind::ProcessStart, "x").by(0);
        let found = judge(&action, &testing::context().goal(goal));
        let reported = found.issues.iter().any(|issue| issue.contains("asked not to"));
        assert_eq!(reported, wanted, "{command}: {found:?}");
    }
}

#[test]
fn a_prohibition_holds_by_a_ruling() {
    use Objection::{Ask, Warn};
    let migrate =
        || shell("python manage.py migrate").affects(EffectKind::RemoteChange, "db").by(0);
    let cases: Vec<Held> = vec![
        // File names with dots.
        (&["do not touch config.py"], edit("config.py"), Some((Ask, "do not touch config.py"))),
        (&["do not touch config.py"], edit("src/config.py"), Some((Ask, "do not touch config.py"))),
        (&["do not touch config.py"], edit("src/other.py"), None),
        (&["do not touch config.py"], edit("src/config.pyx"), None),
        (&["do not touch config.py"], file_read("config.py"), None),
        (
            &["Refactor src/m.py and never push"],
            push(),
            Some((Ask, "Refactor src/m.py and never push")),
        ),
        (
            &["don't change `app/db.ts`, please"],
            edit("app/db.ts"),
            Some((Ask, "don't change `app/db.ts`")),
        ),
        (&["don't edit .env"], edit(".env"), Some((Ask, "don't edit .env"))),
        (&["don't edit .env"], edit("src/env.rs"), None),
        (&["never modify vendor/"], edit("vendor/a/b.c"), Some((Ask, "never modify vendor/"))),
        (&["never modify vendor/"], edit("src/vendors.rs"), None),
        (
            &["do not delete data.db. Then test"],
            file_delete("data.db"),
            Some((Ask, "do not delete data.db")),
        ),
        (&["never run migrations"], migrate(), Some((Ask, "never run migrations"))),
        (&["never run migrations"], shell("python manage.py test").by(0), None),
        // An option: only a command that has it is meant.
        (
            &["Do not run python with -c. Write solve.py."],
            shell("python -c 'print(1)'").by(0),
            Some((Ask, "Do not run python with -c")),
        ),
        (
            &["Do not run python with -c. Write solve.py."],
            shell("python3 -Bc x").by(0),
            Some((Ask, "Do not run python with -c")),
        ),
        (&["Do not run python with -c. Write solve.py."], shell("python solve.py").by(0), None),
        (&["Don't run node with --inspect."], shell("node server.js").by(0), None),
        (
            &["Don't run node with `--inspect`."],
            shell("node --inspect=9229 server.js").by(0),
            Some((Ask, "Don't run node with `--inspect`")),
        ),
        (
            &["Never run rm -rf"],
            shell("rm -fr x").deletes("x").by(0),
            Some((Ask, "Never run rm -rf")),
        ),
        (
            &["Never run rm -rf"],
            shell("rm -r -f x").deletes("x").by(0),
            Some((Ask, "Never run rm -rf")),
        ),
        (&["Never run rm -rf"], shell("rm x").deletes("x").by(0), None),
        (
            &["Don't run npm install -g"],
            shell("npm install --global x").by(0),
            Some((Ask, "Don't run npm install -g")),
        ),
        (&["Don't run npm install -g"], shell("npm install x").by(0), None),
        (
            &["Never run git branch -D"],
            shell("git branch -D x").by(0),
            Some((Ask, "Never run git branch -D")),
        ),
        (
            &["never push with --force", "OK, push with --force now"],
            shell("git push --force origin x").affects(EffectKind::Publish, "origin").by(0),
            None,
        ),
        (&["never push with --force"], push(), None),
        (
            &["never push with --force"],
            shell("git push --force origin x").affects(EffectKind::Publish, "origin").by(0),
            Some((Ask, "never push with --force")),
        ),
        // A pronoun: what was named before is meant.
        (&["Fix main.py. Read the tests, but don't modify them."], edit("main.py"), None),
        (
            &["Fix main.py. Read the tests, but don't modify them."],
            edit("tests/a.py"),
            Some((Ask, "but don't modify them")),
        ),
        (&["Read the tests but don't change them"], edit("src/main.py"), None),
        (
            &["Read the tests but don't change them"],
            edit("tests/a.py"),
            Some((Ask, "Read the tests but don't change them")),
        ),
        (
            &["Fix main.py. Read docs/api.md but do not change them"],
            edit("docs/api.md"),
            Some((Ask, "Read docs/api.md but do not change them")),
        ),
        (&["Fix main.py. Read docs/api.md but do not change them"], edit("main.py"), None),
        (
            &["Fix main.py. Read the tests but don\u{2019}t modify them"],
            edit("tests/a.py"),
            Some((Ask, "Read the tests but don\u{2019}t modify them")),
        ),
        (&["Fix main.py. Read the tests but don\u{2019}t modify them"], edit("main.py"), None),
        (
            &["config.py and db.py are generated, don't edit them"],
            edit("config.py"),
            Some((Ask, "don't edit them")),
        ),
        (
            &["Update the tests and don't push them"],
            push(),
            Some((Ask, "Update the tests and don't push them")),
        ),
        (&["don't change them"], edit("src/a.rs"), None),
        // Conditions: the person's own hold, others are told.
        (&["do not push until I say so"], push(), Some((Ask, "do not push until I say so"))),
        (
            &["Don't push, unless all tests are green"],
            push(),
            Some((Warn, "Don't push, unless all tests are green")),
        ),
        (
            &["do not push unless the tests pass"],
            push(),
            Some((Warn, "do not push unless the tests pass")),
        ),
        (&["Unless I approve it, do not push"], push(), Some((Ask, "do not push"))),
        (&["Until the build is green, do not push"], push(), Some((Warn, "do not push"))),
        (&["do not push unless the tests pass"], edit("src/a.rs"), None),
        // Limits.
        (&["only change src/"], edit("docs/a.md"), Some((Ask, "only change src/"))),
        (&["only change src/"], edit("src/a.rs"), None),
        (&["only change src/"], commit(), None),
        (&["only change src/"], shell("cargo test").modifies("target").by(0), None),
        (&["Please only edit src/a.rs and src/b.rs"], edit("src/b.rs"), None),
        (
            &["Please only edit src/a.rs and src/b.rs"],
            edit("src/c.rs"),
            Some((Ask, "Please only edit src/a.rs and src/b.rs")),
        ),
        (
            &["don't change anything outside src/"],
            edit("docs/a.md"),
            Some((Ask, "don't change anything outside src/")),
        ),
        (&["don't change anything outside src/"], edit("src/a.rs"), None),
        (&["I only change my mind in src/ rarely"], edit("docs/a.md"), None),
        // A later goal lifts what it means, and nothing else.
        (
            &["do not touch config.py", "now edit util.py"],
            edit("config.py"),
            Some((Ask, "do not touch config.py")),
        ),
        (&["do not touch config.py", "now edit config.py"], edit("config.py"), None),
        (&["do not push until I say so", "push it now"], push(), None),
        (&["only change src/", "now change docs/a.md too"], edit("docs/a.md"), None),
        (
            &["only change src/", "now edit src/x.rs"],
            edit("docs/a.md"),
            Some((Ask, "only change src/")),
        ),
    ];
    for (goals, action, expected) in cases {
        let context = goals.iter().fold(testing::context(), |context, goal| context.goal(goal));
        let prepared = RationalityCheck::prepare(&[]).expect("no settings are right");
        let found = RationalityCheck::assess(&prepared, &action, &context).expect("it answers");
        let ruling = found.rulings.into_iter().next();
        let brief = ruling.as_ref().map(|ruling| (ruling.objection, ruling.reason.as_str()));
        let wanted = expected.map(|(objection, said)| {
            let begin = if objection == Ask {
                "the person asked not to: "
            } else {
                "the person set a condition for this: "
            };
            (objection, [begin, &portcullis_builtin_shared::text::named(said)].concat())
        });
        assert_eq!(
            brief,
            wanted.as_ref().map(|(objection, reason)| (*objection, reason.as_str())),
            "{goals:?}: {}",
            action.parameters
        );
        assert!(ruling.is_none_or(|ruling| !ruling.alternatives.is_empty()), "{goals:?}");
    }
}

#[test]
fn vague_sentences_forbid_nothing() {
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

fn objects_to(goals: &[&str], action: &Action) -> bool {
    let context = goals.iter().fold(testing::context(), |context, goal| context.goal(goal));
    let prepared = RationalityCheck::prepare(&[]).expect("no settings are right");
    let found = RationalityCheck::assess(&prepared, action, &context).expect("it answers");
    !found.rulings.is_empty()
}

/// Sentences that protect `<x>`; a condition may follow.
const PROTECTS: &[&str] = &[
    "Leave <x> alone",
    "Please leave <x> alone, and fix the tests",
    "Fix the bug, but leave <x> alone",
    "Fix the bug. leave alone <x>",
    "Leave <x> as is",
    "Leave <x> exactly as it is",
    "Leave <x> untouched",
    "Keep <x> unchanged",
    "Keep <x> as it is",
    "Keep your hands off <x>",
    "Hands off <x>",
    "Stay away from <x>",
    "Stay out of <x>",
    "Steer clear of <x>",
    "<x> stays as it is",
    "Rename the function, but <x> stays the way it is",
    "Rename the function; <x> has to stay untouched",
    "Make sure <x> remains unchanged",
    "<x> is off limits",
    "Note: <x> is not to be touched",
    "<x> must not be changed",
    "<x> mustn\u{2019}t be edited",
    "<x> should never be overwritten",
];
/// Sentences with the same words that protect nothing.
const LEAVES: &[&str] = &[
    "Leave a comment in <x>",
    "Leave <x> in the repository",
    "Leave me alone and fix <x>",
    "Don\u{2019}t leave <x> alone",
    "Don't leave <x> as it is, clean it up",
    "Keep <x> up to date",
    "Keep going with <x>",
    "<x> cannot stay as it is",
    "<x> should not stay as it is",
    "Why is <x> unchanged? Update it",
    "Should <x> stay as it is?",
    "If <x> stays as it is, the build fails: repair that",
    "The colours in <x> stay bright",
    "The heading must not be changed by <x>",
    "Take your hands off the wheel in the picture of <x>",
    "<x> is on the list",
];
const NAMES: &[&str] =
    &["config.py", ".env.local", "package-lock.json", "src/db/schema.v2.sql", "`vendor/`"];

#[test]
fn what_a_person_protects_is_not_changed() {
    let mut wrong = Vec::new();
    for name in NAMES {
        let path = name.trim_matches('`');
        let path = if path.ends_with('/') { format!("{path}a.c") } else { path.to_owned() };
        let objects = |goal: &str, action: &Action| objects_to(&[goal], action);
        for form in PROTECTS {
            for end in ["", " until the release", " unless I say so", ". Then run the tests."] {
                let goal = form.replace("<x>", name) + end;
                if !objects(&goal, &edit(&path)) || !objects(&goal, &file_delete(&path)) {
                    wrong.push(format!("{goal}: {path} is changed"));
                }
                if objects(&goal, &edit("src/other.rs")) || objects(&goal, &file_read(&path)) {
                    wrong.push(format!("{goal}: objects to something else"));
                }
            }
        }
        for form in LEAVES {
            let goal = form.replace("<x>", name);
            if objects(&goal, &edit(&path)) {
                wrong.push(format!("{goal}: protects nothing"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn several_things_are_protected_and_released_by_name() {
    let both = "Leave .env.local and package-lock.json alone until the release.";
    let listed = "Fix a.py. The files b.py, c.py and d.py stay as they are";
    for (goals, action, wanted) in [
        (&[both][..], edit(".env.local"), true),
        (&[both], edit("package-lock.json"), true),
        (&[both], edit("package.json"), false),
        (&[both, "Now change .env.local"], edit(".env.local"), false),
        (&[both, "Now change .env.local"], edit("package-lock.json"), true),
        (&["Don't push. Leave x.py alone until the release"], push(), true),
        (&[listed], edit("a.py"), false),
        (&[listed], edit("c.py"), true),
        (&["Refactor utils.py, config.py stays as it is"], edit("utils.py"), false),
        (&["Refactor utils.py, config.py stays as it is"], edit("config.py"), true),
        (&["Leave the tests alone"], edit("tests/a.rs"), true),
        (&["Leave the tests alone"], edit("src/a.rs"), false),
        (&["Leave it alone"], edit("src/a.rs"), false),
        (&["a.db must not be deleted"], edit("a.db"), false),
        (&["a.db must not be deleted"], file_delete("a.db"), true),
    ] {
        assert_eq!(objects_to(goals, &action), wanted, "{goals:?} {:?}", action.facts.effects);
    }
}
