//! Histories by table: which fire, how strongly, and which near misses stay silent.

use super::RepetitiveErrors;
use portcullis_builtin_shared::harness::{
    Brief, ask, brief, check_bytes, check_refusals, evidence,
};
use portcullis_builtin_shared::sample::shell;
use portcullis_plugin::pattern::{Detection, Pattern, Report};
use portcullis_plugin::testing::{self, BuildAction, BuildStep, PatternRun, step};
use portcullis_plugin::types::{Action, Setting, SettingValue, Severity, Status, Step};

/// A letter a step: lower case `a`-`c` fails with that error, upper case succeeds in that error's
/// shape, `r` was refused, `p` has not ended, `n` failed without an error text, `x` failed like `a`
/// in a shape of its own, `w` changed a file, `.` succeeded in another shape.
fn steps(letters: &str) -> Vec<Step> {
    let shape = |letter: char| u64::from(letter.to_ascii_lowercase()) + 100;
    let one = |(index, letter): (usize, char)| {
        let plain = step(index as u64).shape(shape(letter));
        match letter {
            'a'..='c' => plain.failed(u64::from(letter)),
            'w' => Step { files: 1, ..plain },
            'x' => plain.failed(u64::from('a')),
            'n' => plain.failed(0),
            'r' => Step {
                status: Status::Refused,
                error: u64::from('a'),
                ..step(index as u64).shape(shape('a'))
            },
            'p' => Step { status: Status::Pending, ..step(index as u64).shape(shape('a')) },
            _ => plain,
        }
    };
    letters.chars().enumerate().map(one).collect()
}

fn last(letters: &str) -> Action {
    let action = shell("cargo test").at_step(letters.len() as u64 - 1);
    match letters.chars().last() {
        Some('a'..='c' | 'x' | 'n') => action.failed("error: expected `;`\nat src/a.rs:3"),
        Some('r') => action.ended(Status::Refused, ""),
        Some('p') => action,
        _ => action.succeeded(),
    }
}

fn look(letters: &str, settings: &[Setting], state: &[u8]) -> Report {
    ask::<RepetitiveErrors>(
        settings,
        state,
        &testing::history(steps(letters)),
        &last(letters),
        &testing::context(),
    )
}

#[test]
fn histories() {
    use Severity::{Low, Medium};
    let cases: [(&str, Option<Brief>); 20] = [
        ("aa", None),
        ("aaa", Some((600, 600, Medium, 0))),
        (".......aaa", Some((600, 300, Low, 7))),
        (".......aaaa", Some((700, 363, Low, 7))),
        (".......aaaaa", Some((800, 416, Medium, 7))),
        ("......aaaaaaaaaa", Some((1000, 625, Medium, 6))),
        ("a.a.a", Some((600, 600, Medium, 0))),
        ("aAaa", None),
        ("aaAa", None),
        ("aaaA", None),
        ("Aaaa", Some((600, 600, Medium, 1))),
        ("aaCa", Some((600, 600, Medium, 0))),
        ("abcabc", None),
        ("abcabcc", Some((600, 428, Low, 2))),
        ("aax", Some((600, 600, Medium, 0))),
        ("aaXx", Some((600, 600, Medium, 0))),
        ("aarrr", None),
        ("aarpa", Some((600, 600, Medium, 0))),
        ("nnnnn", None),
        ("aaaap", None),
    ];
    for (letters, expected) in cases {
        assert_eq!(brief(&look(letters, &[], &[])), expected, "{letters}");
    }
    let many = ["aaa", &".".repeat(30), "a"].concat();
    assert_eq!(
        brief(&look(&many, &[], &[])),
        Some((700, 50, Low, 0)),
        "only the recent steps count for the share"
    );
}

/// A check that fails the same way after the work between is not stuck yet; without work between,
/// or for another program, it is.
#[test]
fn checks_are_run_again_after_work() {
    let check = ["cargo test", "pytest -x", "npm run build", "git commit -m x", "cd a && make"];
    let other = ["curl -f http://127.0.0.1/", "./deploy.sh", "git push"];
    let cases = [
        ("aaa", true, true),
        ("awawa", false, true),
        ("awwawwwa", false, true),
        ("awawawa", false, true),
        ("awawawawa", true, true),
        ("awaaa", true, true),
        ("awaa", false, true),
        ("a.a.a", true, true),
        ("awaWa", false, true),
    ];
    for (letters, of_check, of_other) in cases {
        for (line, expected) in check
            .iter()
            .map(|line| (line, of_check))
            .chain(other.iter().map(|line| (line, of_other)))
        {
            let action = shell(line)
                .at_step(letters.len() as u64 - 1)
                .failed("error: expected `;`\nat src/a.rs:3");
            let history = testing::history(steps(letters));
            let report = ask::<RepetitiveErrors>(&[], &[], &history, &action, &testing::context());
            assert_eq!(!report.detections.is_empty(), expected, "{line}: {letters}");
        }
    }
}

#[test]
fn sensitivity_and_settings() {
    let medium = || Setting::new("sensitivity", "medium");
    let cases: [(&str, &[Setting], bool); 8] = [
        ("aaa", &[medium()], true),
        ("aaaa", &[Setting::new("sensitivity", "low")], false),
        ("aaaaa", &[Setting::new("sensitivity", "low")], true),
        ("a", &[Setting::new("sensitivity", "high")], false),
        ("aa", &[Setting::new("sensitivity", "high")], true),
        ("aaaa", &[Setting::new("threshold", 5)], false),
        ("aaaaa", &[Setting::new("threshold", 5)], true),
        ("aa", &[Setting::new("threshold", 2), Setting::new("sensitivity", "high")], true),
    ];
    for (letters, settings, fires) in cases {
        assert_eq!(
            !look(letters, settings, &[]).detections.is_empty(),
            fires,
            "{letters} {settings:?}"
        );
    }
    let capped = look("aaaaaa", &[Setting::new("severity", "low")], &[]);
    assert_eq!(capped.detections.first().map(|found| found.severity), Some(Severity::Low));

    let bad: [(&str, SettingValue, &str); 3] = [
        ("treshold", 3.into(), "did you mean `threshold`"),
        ("threshold", 1.into(), "from 2 to"),
        ("sensitivity", "huge".into(), "one of `low`"),
    ];
    check_refusals(RepetitiveErrors::prepare, &bad);
}

#[test]
fn it_says_what_and_where() {
    let prepared = RepetitiveErrors::prepare(&[]).expect("no settings are right");
    let why = "error: expected `;`\nat src/a.rs:3";
    for (output, line, error) in [
        (why, "`error: expected `;``", why),
        ("Exit code 101\nerror: expected `;`\nat src/a.rs:3", "`error: expected `;``", why),
        ("Exit code 2", "`Exit code 2`", "Exit code 2"),
        ("Exit code 2\n \n", "`Exit code 2`", "Exit code 2"),
    ] {
        let action = shell("cargo test").at_step(4).failed(output);
        let report = RepetitiveErrors::detect(
            &prepared,
            &[],
            &testing::history(steps("..aaa")),
            &action,
            &testing::context(),
        )
        .expect("it answers");
        let found: &Detection = report.detections.first().expect("it fires");
        assert_eq!(
            found.summary,
            format!("the same error came up 3 times without a success between: {line}")
        );
        let steps = [("step", "4", Some(4)), ("step", "3", Some(3)), ("step", "2", Some(2))];
        let expected: Vec<_> = [("error", error, Some(4)), ("command", "cargo test", Some(4))]
            .into_iter()
            .chain(steps)
            .collect();
        assert_eq!(evidence(found), expected);
    }
}

#[test]
fn it_is_silent_before_an_outcome_and_without_its_step() {
    let prepared = RepetitiveErrors::prepare(&[]).expect("no settings are right");
    let history = testing::history(steps("aaa"));
    for action in [shell("cargo test").at_step(3), shell("cargo test").at_step(9).failed("error")] {
        let report =
            RepetitiveErrors::detect(&prepared, &[], &history, &action, &testing::context())
                .expect("it answers");
        assert_eq!(report, Report::nothing(), "{:?}", action.step);
    }
}

#[test]
fn the_memory_is_bounded_versioned_and_checked() {
    let mut run = PatternRun::<RepetitiveErrors>::new(&[]).expect("no settings are right");
    for index in 0..100_u64 {
        let history = testing::history([step(index).failed(index + 1)]);
        let action = shell("x").at_step(index).failed(&"é".repeat(3000));
        let report =
            run.ask(&history, &action, &testing::context()).expect("its own state is right");
        assert!(report.state.is_some(), "it remembers the error");
    }
    let bytes = run.state().len();
    assert!(bytes < 32 * 1024, "{bytes}");
    check_bytes::<RepetitiveErrors>(run.state(), &last("aaa"));
}
