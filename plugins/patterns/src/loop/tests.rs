//! Histories by table: which fire, how strongly, when again, and which near misses stay silent.

use super::Loop;
use portcullis_builtin_shared::harness::{self, Brief, ask, brief, check_refusals, evidence};
use portcullis_builtin_shared::sample::shell;
use portcullis_plugin::pattern::{Pattern, Report};
use portcullis_plugin::testing::{self, BuildAction, BuildStep, PatternRun, step};
use portcullis_plugin::types::{Action, Setting, SettingValue, Severity, Status, Step, StepDetail};

/// A character a step: a letter is an action whose result is always the same, upper case the same
/// action failing, `?` an action whose result is new each time, `r` refused, `p` not ended, `|` the
/// first step of the next prompt (an action that occurs nowhere else).
fn steps(letters: &str) -> Vec<Step> {
    let mut prompt = 0;
    let one = |(index, letter): (usize, char)| {
        let plain = step(index as u64).shape(u64::from(letter.to_ascii_lowercase()));
        prompt += u32::from(letter == '|');
        let step = match letter {
            'r' => Step { status: Status::Refused, ..plain },
            'p' => Step { status: Status::Pending, ..plain },
            '?' => Step { output: 1000 + index as u64, ..plain },
            '|' => step(index as u64).shape(5000 + index as u64),
            'A'..='Z' => plain.failed(77),
            _ => Step { output: 9, ..plain },
        };
        Step { prompt, ..step }
    };
    letters.chars().enumerate().map(one).collect()
}

fn last(letters: &str) -> Action {
    shell("cargo  test ").at_step(letters.len() as u64 - 1).ended(Status::Ok, "3 failed")
}

fn look(letters: &str, settings: &[Setting], state: &[u8]) -> Report {
    ask::<Loop>(
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
    let cases: [(&str, Option<Brief>); 24] = [
        ("aaa", None),
        ("aaaa", Some((700, 800, Medium, 0))),
        ("xyzxywzvaaaa", Some((700, 333, Low, 8))),
        ("xyzxywzvaaaaaa", Some((900, 428, Medium, 8))),
        ("aaaaaaaaaa", Some((1000, 1000, Medium, 0))),
        ("ababab", None),
        ("abababab", Some((700, 1000, Medium, 0))),
        ("xabababab", Some((700, 888, Medium, 1))),
        ("abcabcabcabc", Some((700, 1000, Medium, 0))),
        ("abcdabcdabcdabcd", Some((700, 1000, Medium, 0))),
        ("aabaabaabaab", Some((700, 1000, Medium, 0))),
        ("abcdeabcdeabcdeabcde", None),
        ("AAAA", Some((700, 800, Medium, 0))),
        ("aAaA", None),
        ("aaaA", None),
        ("????", None),
        ("a?a?a?a?", None),
        ("rrrr", None),
        ("ararara", Some((700, 800, Medium, 0))),
        ("pppp", None),
        ("apapaa", Some((700, 800, Medium, 0))),
        ("aaaab", None),
        ("aa|aa", None),
        ("a|a|a|a", None),
    ];
    for (letters, expected) in cases {
        assert_eq!(brief(&look(letters, &[], &[])), expected, "{letters}");
    }
}

/// Marks the calls of a session that report, the state carried from each to the next.
fn fired(letters: &str) -> String {
    harness::mark_reports(letters, |letters, state| look(letters, &[], state))
}

#[test]
fn it_is_reported_again_with_each_further_cycle_and_when_it_comes_back() {
    let cases = [
        ("aaaaaa", "...!!!"),
        ("abababababa", ".......!.!."),
        ("abcabcabcabcabcabc", "...........!..!..!"),
        ("xxabababababx", ".........!.!."),
        ("aaaabaaaa", "...!....!"),
        ("aaaabbbb", "...!...!"),
    ];
    for (letters, expected) in cases {
        assert_eq!(fired(letters), expected, "{letters}");
    }
    let long = "ab".repeat(300);
    let end = fired(&long);
    assert!(end.ends_with("!.!.!.!"), "a long loop is told to its end: {end}");
}

#[test]
fn a_history_that_forgets_its_beginning_counts_all_the_same() {
    let mut run = PatternRun::<Loop>::new(&[]).expect("no settings are right");
    for end in 200..420_u64 {
        let steps =
            (end - 200..end).map(|index| Step { output: 4, ..step(index).shape(index % 3) });
        let action = shell("x").at_step(end - 1).succeeded();
        let report =
            run.ask(&testing::history(steps), &action, &testing::context()).expect("it answers");
        assert_eq!(!report.detections.is_empty(), (end - 200).is_multiple_of(3), "{end}");
        assert!(run.state().len() < 32);
    }
}

#[test]
fn it_says_what_and_where() {
    let past = |command: &str| StepDetail {
        tool: "Bash".into(),
        parameters: format!("{{\"command\":\"{command}\"}}"),
        effects: Vec::new(),
        paths: Vec::new(),
        outcome: None,
    };
    testing::remember(6, past("make clean"));
    let found = look("abababab", &[], &[]).detections.pop().expect("it fires");
    assert_eq!(
        found.summary,
        "the same 2 steps came with the same results 4 times in a row: `make clean`, `cargo  test`"
    );
    assert_eq!(
        evidence(&found),
        [
            ("command", "make clean", Some(6)),
            ("command", "cargo  test", Some(7)),
            ("output", "3 failed", Some(7))
        ]
    );
    let found = look("aaaa", &[], &[]).detections.pop().expect("it fires");
    assert_eq!(
        found.summary,
        "the same step came with the same result 4 times in a row: `cargo  test`"
    );
}

#[test]
fn it_is_silent_before_an_outcome_and_without_its_step() {
    let prepared = Loop::prepare(&[]).expect("no settings are right");
    for action in [shell("ls").at_step(3), shell("ls").at_step(9).succeeded()] {
        let report = Loop::detect(
            &prepared,
            &[],
            &testing::history(steps("aaaa")),
            &action,
            &testing::context(),
        );
        assert_eq!(report.ok(), Some(Report::nothing()), "{:?}", action.step);
    }
    for odd in [
        testing::history([]),
        testing::history([Step { index: u64::MAX, at: u64::MAX, ..step(0) }]),
    ] {
        let report = Loop::detect(
            &prepared,
            &[],
            &odd,
            &shell("ls").at_step(u64::MAX).succeeded(),
            &testing::context(),
        );
        assert_eq!(report.ok(), Some(Report::nothing()));
    }
}

#[test]
fn settings_change_it_and_bad_ones_are_named() {
    let cases: [(&str, Setting, bool); 10] = [
        ("aaaa", Setting::new("sensitivity", "medium"), true),
        ("aaaaa", Setting::new("sensitivity", "low"), false),
        ("aaaaaa", Setting::new("sensitivity", "low"), true),
        ("aa", Setting::new("sensitivity", "high"), false),
        ("aaa", Setting::new("sensitivity", "high"), true),
        ("aaaa", Setting::new("threshold", 5), false),
        ("aa", Setting::new("threshold", 2), true),
        ("abcdeabcdeabcdeabcde", Setting::new("longest", 5), true),
        ("abababab", Setting::new("longest", 1), false),
        ("aa|aa", Setting::new("within_prompt", false), false),
    ];
    for (letters, setting, fires) in cases {
        assert_eq!(
            !look(letters, std::slice::from_ref(&setting), &[]).detections.is_empty(),
            fires,
            "{letters} {setting:?}"
        );
    }
    let asked_again: Vec<Step> =
        (0..4).map(|index| Step { prompt: index, ..step(u64::from(index)) }).collect();
    for (within, fires) in [(true, false), (false, true)] {
        let prepared =
            Loop::prepare(&[Setting::new("within_prompt", within)]).expect("the setting is right");
        let action = shell("ls").at_step(3).succeeded();
        let report = Loop::detect(
            &prepared,
            &[],
            &testing::history(asked_again.clone()),
            &action,
            &testing::context(),
        );
        assert_eq!(
            report.map(|report| !report.detections.is_empty()).ok(),
            Some(fires),
            "{within}"
        );
    }
    let capped = look("aaaaaaa", &[Setting::new("severity", "low")], &[]);
    assert_eq!(capped.detections.first().map(|found| found.severity), Some(Severity::Low));
    let bad: [(&str, SettingValue, &str); 3] = [
        ("threshold", 1.into(), "from 2 to"),
        ("sensitivity", "huge".into(), "one of `low`"),
        ("longset", 3.into(), "did you mean `longest`"),
    ];
    check_refusals(Loop::prepare, &bad);
}

#[test]
fn foreign_bytes_are_refused() {
    let prepared = Loop::prepare(&[]).expect("no settings are right");
    let history = testing::history(steps("aaaa"));
    let cases: [(&[u8], &[u8], bool); 6] = [
        (&prepared, b"", true),
        (&prepared, b"\x01", true),
        (&prepared, b"\x09anything", true),
        (&prepared, b"\x01\x00", false),
        (&prepared, &[1; 18], false),
        (b"\x01\x00\x00\x00\x00", b"", false),
    ];
    for (prepared, state, answers) in cases {
        let report = Loop::detect(prepared, state, &history, &last("aaaa"), &testing::context());
        assert_eq!(report.is_ok(), answers, "{prepared:?} {state:?}");
    }
}
