//! Components by table, with the near misses that are not a reason to object.

mod prohibitions;

use super::RationalityCheck;
use super::past::look;
use portcullis_builtin_shared::harness::check_refusals;
use portcullis_builtin_shared::sample::{Newest, shell};
use portcullis_plugin::risk_calculator::{Rationality, RiskCalculator};
use portcullis_plugin::testing::{
    self, BuildAction, BuildContext, file_delete, file_edit, file_read, file_write,
};
use portcullis_plugin::types::{
    Action, Context, EffectKind, Entry, Outcome, Repetition, Scope, Setting, Status, StepDetail,
};

fn judge(action: &Action, context: &Context) -> Rationality {
    let prepared = RationalityCheck::prepare(&[]).expect("no settings are right");
    RationalityCheck::assess(&prepared, action, context)
        .expect("it answers")
        .rationality
        .expect("it scores")
}

fn mean(found: &Rationality) -> u16 {
    let present: Vec<u16> =
        [found.alignment, found.progression, found.efficiency, found.completeness]
            .into_iter()
            .flatten()
            .collect();
    present.iter().sum::<u16>() / u16::try_from(present.len()).expect("there are four at most")
}

#[test]
fn alignment() {
    let goal = "Fix the login form so that dates are parsed";
    let pushes = || shell("git push").affects(EffectKind::Publish, "origin").by(0);
    let cases: Vec<(&str, &str, Action, Option<u16>)> = vec![
        ("no goal", "", file_edit("src/login.rs", "a", "b"), None),
        ("named path", goal, file_edit("src/loginForm.ts", "a", "b"), Some(1000)),
        (
            "named content",
            goal,
            file_edit("src/x.ts", "parse(date)", "parseDate(text)"),
            Some(1000),
        ),
        ("ordinary edit", goal, file_edit("src/billing.ts", "a", "b"), Some(700)),
        ("look", goal, file_read("src/billing.ts"), Some(1000)),
        ("list", goal, shell("ls"), Some(1000)),
        ("status", goal, shell("git status"), Some(1000)),
        ("look elsewhere", goal, file_read("/usr/include/stdio.h"), Some(1000)),
        ("test", goal, shell("cargo test").modifies("target").by(0), Some(1000)),
        ("build by npm", goal, shell("npm run build").modifies("dist").by(0), Some(1000)),
        ("question", goal, testing::message("user", "which form?"), Some(1000)),
        (
            "install",
            goal,
            shell("npm install")
                .contacts("registry.npmjs.org")
                .by(0)
                .modifies("node_modules")
                .by(0),
            Some(700),
        ),
        (
            "own server",
            goal,
            shell("curl x").affects(EffectKind::Network, "localhost:3000"),
            Some(1000),
        ),
        ("scratch", goal, file_write("/tmp/try.sh", "x"), Some(700)),
        ("elsewhere", goal, file_write("/srv/x", "y"), Some(0)),
        ("elsewhere, named", goal, file_write("/srv/login/x", "y"), Some(1000)),
        ("lossy deletion", goal, shell("rm -rf billing").deletes("billing").below().by(0), Some(0)),
        (
            "lossy deletion, asked",
            "remove what is old",
            shell("rm -rf billing").deletes("billing").below().by(0),
            Some(1000),
        ),
        (
            "spare deletion",
            goal,
            shell("rm -rf build").deletes("build").below().by(0).restorable(),
            Some(700),
        ),
        ("push", goal, pushes(), Some(0)),
        ("push, asked", "fix it and open a PR", pushes(), Some(1000)),
        ("push, asked earlier", "push when done\u{1}now fix the tests", pushes(), Some(1000)),
        (
            "unknown program",
            goal,
            shell("frobnicate --all").affects(EffectKind::ProcessStart, "frobnicate").by(0),
            Some(0),
        ),
        (
            "unknown program, asked",
            "run frobnicate",
            shell("frobnicate").affects(EffectKind::ProcessStart, "frobnicate").by(0),
            Some(1000),
        ),
        (
            "unknown tool",
            goal,
            testing::tool("mcp__mail__send", &[("to", "all")])
                .affects(EffectKind::ProcessStart, ""),
            Some(0),
        ),
        (
            "tool, named",
            goal,
            testing::tool("mcp__tracker__get", &[("title", "login broken")])
                .affects(EffectKind::ProcessStart, ""),
            Some(1000),
        ),
        (
            "secret",
            goal,
            shell("cat .env").affects(EffectKind::SecretRead, "/project/.env").by(0),
            Some(0),
        ),
        ("fetch", goal, testing::fetch("https://example.org/weather"), Some(700)),
        ("fetch by a command", goal, shell("curl x").contacts("example.org").by(0), Some(0)),
        ("forge", goal, shell("gh run view 1").affects(EffectKind::Network, "").by(0), Some(700)),
        ("fetch, named", goal, testing::fetch("https://example.org/form-login"), Some(1000)),
    ];
    for (name, goals, action, expected) in cases {
        let context = goals
            .split('\u{1}')
            .filter(|goal| !goal.is_empty())
            .fold(testing::context(), |context, goal| context.goal(goal));
        let found = judge(&action, &context);
        assert_eq!(found.alignment, expected, "{name}: {found:?}");
        assert_eq!(found.issues.is_empty(), expected != Some(0), "{name}: {found:?}");
    }
}

#[test]
fn everyday_work_scores_high() {
    for (name, action) in [
        ("first look", shell("ls")),
        ("new file", file_write("src/new.ts", "x")),
        ("test", shell("pytest -q").modifies(".pytest_cache").by(0)),
        ("install", shell("pip install x").contacts("pypi.org").by(0)),
        ("commit", shell("git commit -m x").modifies("/project/.git").by(0)),
    ] {
        for context in [testing::context(), testing::context().goal("Fix the login form")] {
            let found = judge(&action, &context);
            assert!(mean(&found) >= 800, "{name}: {found:?}");
        }
    }
}

#[test]
fn progression() {
    let times = |failures, successes, seen| Repetition { failures, successes, seen };
    let edit = || file_edit("src/a.rs", "x", "y");
    let build = || shell("cargo test").modifies("target").by(0);
    let unknown = || shell("frob").affects(EffectKind::ProcessStart, "frob").by(0);
    let cases: Vec<(&str, Action, Repetition, u16)> = vec![
        ("new", edit(), times(0, 0, 0), 700),
        ("of a known shape", edit(), times(0, 0, 4), 1000),
        ("the same edit", edit(), times(0, 1, 1), 300),
        ("the same read", file_read("a"), times(0, 9, 9), 1000),
        ("the same read, failing", file_read("a"), times(9, 0, 9), 700),
        ("the same test", build(), times(0, 9, 9), 1000),
        ("the same test, failing", build(), times(9, 0, 9), 1000),
        ("the same command", unknown(), times(0, 2, 2), 1000),
        ("the same command again", unknown(), times(0, 3, 3), 300),
        ("failed twice", unknown(), times(2, 0, 2), 700),
        ("failed three times", unknown(), times(3, 0, 3), 300),
    ];
    for (name, action, repetition, expected) in cases {
        let found = judge(&action, &Context { repetition, ..testing::context() });
        assert_eq!(found.progression, Some(expected), "{name}: {found:?}");
        assert_eq!(found.issues.is_empty(), expected != 300, "{name}: {found:?}");
    }
}

#[test]
fn efficiency() {
    let fed = |text: &str| {
        let mut action = shell(text);
        if let portcullis_plugin::types::Operation::Shell(shell) = &mut action.operation {
            shell.commands[1].input_from = Some(0);
        }
        action
    };
    let search = |path: &str, scope| shell("grep -r x").reads(path).scope(scope).below().by(0);
    let cases: Vec<(&str, Action, u16)> = vec![
        ("cat into grep", fed("cat a.txt | grep x"), 500),
        ("cat of two", fed("cat a.txt b.txt | grep x"), 1000),
        ("cat with flags", fed("cat -A a.txt | grep x"), 1000),
        ("cat of a glob", fed("cat *.txt | grep x"), 1000),
        ("cat into a program that reads input only", fed("cat a.txt | ssh-keygen -lf -"), 1000),
        ("another program into grep", fed("ls src | grep x"), 1000),
        ("not fed", shell("cat a.txt ; grep x b.txt"), 1000),
        ("search of everything", search("/", Scope::System), 500),
        ("search of a home", search("/home/me", Scope::System), 500),
        ("search of the project", search("/project", Scope::Inside), 1000),
        ("long sleep", shell("sleep 2m"), 500),
        ("long sleep in parts", shell("sleep 30 45"), 500),
        ("short sleep", shell("sleep 5"), 1000),
        ("sleep of unknown length", shell("sleep $N"), 1000),
        ("read", file_read("a"), 1000),
    ];
    for (name, action, expected) in cases {
        let found = judge(&action, &testing::context());
        assert_eq!(found.efficiency, Some(expected), "{name}: {found:?}");
        assert_eq!(found.suggestions.is_empty(), expected == 1000, "{name}: {found:?}");
    }
}

fn past(action: Action, parameters: &str, status: Status) -> StepDetail {
    let outcome = Outcome { status, ..action.clone().succeeded().outcome.expect("it ended") };
    StepDetail {
        tool: action.tool,
        parameters: parameters.into(),
        effects: action.facts.effects,
        paths: action.facts.paths,
        outcome: Some(outcome),
    }
}

#[test]
fn the_look_back_ends_where_it_can_find_no_more() {
    let edit = || file_edit("src/a.rs", "x", "y");
    let push = || shell("git push").affects(EffectKind::Publish, "origin").by(0);
    let passed = || past(shell("cargo test"), r#"{"command":"cargo test"}"#, Status::Ok);
    let read = |path: &str| past(file_read(path), "{}", Status::Ok);
    let cases: Vec<(&str, Action, u64, StepDetail, u64)> = vec![
        ("the file is known", edit(), 30, read("/project/src/a.rs"), 1),
        ("another file", edit(), 30, read("/project/other/b.rs"), 12),
        ("the whole session", edit(), 5, read("/project/src/a.rs"), 5),
        ("a test passed", push(), 30, passed(), 1),
        ("no test", push(), 30, read("/project/src/a.rs"), 12),
    ];
    for (name, mut action, step, earlier, expected) in cases {
        action.step = step;
        let asked = std::cell::Cell::new(0);
        look(&action, 12, &|_| {
            asked.set(asked.get() + 1);
            Some(earlier.clone())
        });
        assert_eq!(asked.get(), expected, "{name}");
    }
}

#[test]
fn completeness_and_what_came_before() {
    let read = |path: &str| past(file_read(path), "{}", Status::Ok);
    let test = |status| past(shell("cargo test"), r#"{"command":"cd a && cargo test -q"}"#, status);
    let overwrite = || file_write("src/a.rs", "x").path(|path| path.entry = Entry::File);
    let changed = |mut action: Action| {
        action.facts.effects.iter_mut().for_each(|effect| effect.kind = EffectKind::FileModify);
        action
    };
    let push = || shell("git push").affects(EffectKind::Publish, "origin").by(0);
    /// Completeness, progression.
    type Scores = (Option<u16>, u16);
    let cases: Vec<(&str, Vec<Option<StepDetail>>, Action, Scores)> = vec![
        (
            "edit unread",
            vec![Some(read("/project/other/b.rs"))],
            file_edit("src/a.rs", "x", "y"),
            (Some(500), 700),
        ),
        (
            "edit read",
            vec![Some(read("src/a.rs"))],
            file_edit("src/a.rs", "x", "y"),
            (Some(1000), 1000),
        ),
        (
            "edit beside what was read",
            vec![Some(read("src/b.rs"))],
            file_edit("src/a.rs", "x", "y"),
            (Some(500), 1000),
        ),
        (
            "edit, history forgotten",
            vec![None, Some(read("/project/other/b.rs"))],
            file_edit("src/a.rs", "x", "y"),
            (None, 700),
        ),
        ("edit of what is not there", vec![], file_write("src/a.rs", "x"), (Some(1000), 700)),
        ("overwrite unread", vec![], changed(overwrite()), (Some(500), 700)),
        ("edit elsewhere", vec![], file_edit("/srv/a", "x", "y"), (Some(1000), 700)),
        (
            "lock file by its tool",
            vec![],
            shell("cargo add x").modifies("Cargo.lock").by(0),
            (Some(1000), 700),
        ),
        (
            "change by a command unread",
            vec![],
            shell("sed -i s/a/b/ a").modifies("a").by(0),
            (Some(500), 700),
        ),
        ("delete unseen", vec![], file_delete("src/a.rs"), (Some(500), 700)),
        (
            "delete after a listing",
            vec![Some(read("src"))],
            file_delete("src/a.rs"),
            (Some(1000), 1000),
        ),
        ("delete spare", vec![], file_delete("build/a.o").restorable(), (Some(1000), 700)),
        ("push after failed tests", vec![Some(test(Status::Failed))], push(), (Some(500), 700)),
        (
            "push after tests",
            vec![Some(test(Status::Failed)), Some(test(Status::Ok))],
            push(),
            (Some(1000), 700),
        ),
        (
            "push after a look",
            vec![Some(past(shell("ls"), r#"{"command":"ls"}"#, Status::Failed))],
            push(),
            (Some(1000), 700),
        ),
        ("push after refused tests", vec![Some(test(Status::Refused))], push(), (Some(1000), 700)),
    ];
    for (name, steps, action, expected) in cases {
        let count = steps.len() as u64;
        std::thread::spawn(move || {
            for (index, step) in steps.into_iter().enumerate() {
                if let Some(step) = step {
                    testing::remember(index as u64, step);
                }
            }
            let found = judge(&action.at_step(count), &testing::context());
            assert_eq!(
                (found.completeness, found.progression.unwrap_or_default()),
                expected,
                "{name}: {found:?}"
            );
        })
        .join()
        .expect("the case holds");
    }
}

#[test]
fn removing_what_the_session_had_to_do_with_is_ordinary() {
    for (step, path, expected) in
        [(40, "debug.py", 700), (41, "other.py", 0), (42, "/srv/debug.py", 0)]
    {
        testing::remember(step - 1, past(file_write("debug.py", "x"), "{}", Status::Ok));
        let delete = shell("rm x").deletes(path).by(0).at_step(step);
        let found = judge(&delete, &testing::context().goal("Fix the login form"));
        assert_eq!(found.alignment, Some(expected), "{path}: {found:?}");
    }
}

#[test]
fn settings_change_the_numbers_and_bad_ones_are_named() {
    let context = testing::context().goal("fix the login");
    let edit = file_edit("src/billing.ts", "a", "b");
    let prepared = RationalityCheck::prepare(&[
        Setting::new("alignment.ordinary", 0.9),
        Setting::new("look_back", 0),
    ])
    .expect("the settings are right");
    let found = RationalityCheck::assess(&prepared, &Action { step: 3, ..edit }, &context)
        .expect("it answers")
        .rationality
        .expect("it scores");
    assert_eq!((found.alignment, found.completeness), (Some(900), None));
    check_refusals(
        RationalityCheck::prepare,
        &[("look_back", 17, "from 0 to 16"), ("lookback", 3, "did you mean `look_back`")],
    );
    assert!(
        RationalityCheck::assess(b"\x01\x00\x00\x00\x00", &shell("ls"), &testing::context())
            .is_err(),
        "foreign settings"
    );
}
