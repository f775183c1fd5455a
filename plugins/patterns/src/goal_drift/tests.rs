//! Histories by table: which fire, how strongly, when again, and which near misses stay silent.

use super::GoalDrift;
use portcullis_builtin_shared::harness::{
    self, Brief, brief, check_refusals, evidence, mark_reports,
};
use portcullis_builtin_shared::sample::shell;
use portcullis_plugin::pattern::{Pattern, Report};
use portcullis_plugin::testing::{self, BuildAction, BuildContext, step};
use portcullis_plugin::types::{
    Action, Context, Setting, SettingValue, Severity, Status, Step, StepDetail,
};

/// A character a step: a digit is an alignment in tenths, `A` is 1, `-` was not scored, `r` refused
/// and `p` not ended, both of alignment 0.
fn steps(letters: &str) -> Vec<Step> {
    let one = |(index, letter): (usize, char)| {
        let plain = step(index as u64);
        match letter {
            'A' => Step { alignment: Some(1000), ..plain },
            'r' => Step { alignment: Some(0), status: Status::Refused, ..plain },
            'p' => Step { alignment: Some(0), status: Status::Pending, ..plain },
            '-' => plain,
            digit => Step {
                alignment: digit.to_digit(10).and_then(|tenths| u16::try_from(tenths * 100).ok()),
                ..plain
            },
        }
    };
    letters.chars().enumerate().map(one).collect()
}

fn last(letters: &str) -> Action {
    shell("npm audit").at_step(letters.len() as u64 - 1).succeeded()
}

fn goal() -> Context {
    testing::context().goal("what came before").goal("fix the login page")
}

fn ask(letters: &str, settings: &[Setting], state: &[u8], context: &Context) -> Report {
    harness::ask::<GoalDrift>(
        settings,
        state,
        &testing::history(steps(letters)),
        &last(letters),
        context,
    )
}

fn look(letters: &str, settings: &[Setting], state: &[u8]) -> Report {
    ask(letters, settings, state, &goal())
}

#[test]
fn histories() {
    use Severity::{Low, Medium};
    let cases: [(&str, Option<Brief>); 20] = [
        ("AAAAAAAAAA", None),
        ("A000", None),
        ("A0000", Some((800, 800, Medium, 1))),
        ("AA000", Some((600, 600, Low, 2))),
        ("AAA00", None),
        ("AA00A0", None),
        ("AA0000", Some((667, 666, Low, 2))),
        ("00000", None),
        ("0000A", None),
        ("000A0", None),
        ("A000A", None),
        ("44444", None),
        ("54433", Some((620, 800, Low, 1))),
        ("33445", None),
        ("A0000-", None),
        ("-A-0-0-0-0", Some((800, 800, Medium, 3))),
        ("-----------", None),
        ("AAAArrrrrrrr", None),
        ("AAAApppppppp", None),
        ("A0000r", None),
    ];
    for (letters, expected) in cases {
        assert_eq!(brief(&look(letters, &[], &[])), expected, "{letters}");
    }
    let long_ago = ["0".repeat(30), "A".repeat(19), "0".to_owned()].concat();
    assert_eq!(brief(&look(&long_ago, &[], &[])), None, "only the recent steps count");
}

#[test]
fn without_a_goal_there_is_no_drift() {
    assert_eq!(ask("A0000", &[], &[], &testing::context()), Report::nothing());
}

#[test]
fn it_is_reported_as_long_as_it_lasts() {
    let cases = [
        ("AAAA00000", "........!"),
        ("AAAA0000000000", "........!..!.."),
        ("AA0000AAAAAA00000000", "....!...........!..!"),
        ("AAAA00000-----", "........!....."),
        ("AAAA00000----0", "........!....!"),
        // The older half is as low as the newer one by now.
        ("AAAA000000000000000000000000", "........!..!..!..!..!.!..!.."),
        // The agent turns round, though the mean is still low, and strays once more.
        ("AAAA00000000AAAA", "........!..!...."),
        ("AAAA00000000AAA0", "........!..!...."),
        ("AAAA00000000AAA000", "........!..!.....!"),
        ("0000000000", ".........."),
    ];
    for (letters, expected) in cases {
        let found = mark_reports(letters, |letters, state| look(letters, &[], state));
        assert_eq!(found, expected, "{letters}");
    }
    let rarely = [Setting::new("again_after", 6), Setting::new("worse_by", 1)];
    let found = mark_reports("AAAA000000000000", |letters, state| look(letters, &rarely, state));
    assert_eq!(found, "........!.....!.");
}

#[test]
fn it_says_what_and_where() {
    let past = StepDetail {
        tool: "Read".into(),
        parameters: "{}".into(),
        effects: Vec::new(),
        paths: testing::file_read("styles.css").facts.paths,
        outcome: None,
    };
    testing::remember(3, past);
    let found = look("AA000", &[], &[]).detections.pop().expect("it fires");
    assert_eq!(
        found.summary,
        "3 of the 5 recent steps that were held against the goal do not serve it, and it gets worse: 0.00 on average, 1.00 before; \
         the goal is `fix the login page`"
    );
    let state = look("AA000", &[], &[]).state.expect("it remembers");
    let later = look("AA00000000000000000000000", &[], &state).detections.pop();
    assert!(later.is_some_and(|found| found.summary.contains("and it stays so: 0.00 on average")));
    assert_eq!(
        evidence(&found),
        [
            ("goal", "fix the login page", None),
            ("command", "npm audit", Some(4)),
            ("path", "/project/styles.css", Some(3))
        ]
    );
}

#[test]
fn settings_change_it_and_bad_ones_are_named() {
    let cases: [(&str, Setting, bool); 12] = [
        ("AA000", Setting::new("sensitivity", "medium"), true),
        ("AA000", Setting::new("sensitivity", "low"), false),
        ("AAA000000", Setting::new("sensitivity", "medium"), true),
        ("A00000", Setting::new("sensitivity", "low"), true),
        ("AAA00", Setting::new("sensitivity", "high"), true),
        ("AAAA0", Setting::new("sensitivity", "high"), false),
        ("A00", Setting::new("least", 3), true),
        ("AA000", Setting::new("least", 6), false),
        ("AA000", Setting::new("threshold", 0.3), false),
        ("54433", Setting::new("falls_by", 0.2), false),
        ("54433", Setting::new("falls_by", 0.1), true),
        ("AAAAAAAA0000", Setting::new("window", 6), true),
    ];
    for (letters, setting, fires) in cases {
        assert_eq!(
            !look(letters, std::slice::from_ref(&setting), &[]).detections.is_empty(),
            fires,
            "{letters} {setting:?}"
        );
    }
    let capped = look("A0000", &[Setting::new("severity", "low")], &[]);
    assert_eq!(capped.detections.first().map(|found| found.severity), Some(Severity::Low));
    let bad: [(&str, SettingValue, &str); 4] = [
        ("least", 1.into(), "from 2 to"),
        ("threshold", 2.into(), "from 0 to"),
        ("sensitivity", "huge".into(), "one of `low`"),
        ("thresold", 0.5.into(), "did you mean `threshold`"),
    ];
    check_refusals(GoalDrift::prepare, &bad);
}

#[test]
fn it_is_silent_before_an_outcome_and_without_its_step() {
    let prepared = GoalDrift::prepare(&[]).expect("no settings are right");
    for action in [shell("ls").at_step(4), shell("ls").at_step(9).succeeded()] {
        let report =
            GoalDrift::detect(&prepared, &[], &testing::history(steps("AA000")), &action, &goal());
        assert_eq!(report.ok(), Some(Report::nothing()), "{:?}", action.step);
    }
    let odd = (0..200).map(|index| Step {
        index: u64::MAX - index,
        at: u64::MAX,
        alignment: Some(u16::MAX),
        ..step(0)
    });
    let report = GoalDrift::detect(
        &prepared,
        &[],
        &testing::history(odd),
        &shell("ls").at_step(u64::MAX).succeeded(),
        &goal(),
    );
    assert_eq!(report.ok(), Some(Report::nothing()), "what is not a score was not scored");
}

#[test]
fn foreign_bytes_are_refused() {
    let prepared = GoalDrift::prepare(&[]).expect("no settings are right");
    let history = testing::history(steps("AA000"));
    let cases: [(&[u8], &[u8], bool); 6] = [
        (&prepared, b"", true),
        (&prepared, b"\x09anything", true),
        (&prepared, b"\x02\x00", false),
        (&prepared, b"\x02\x00\x00\x00\x00\x00", false),
        (&prepared, b"\x02\xff\xff\xff\xff", false),
        (b"\x01\x00\x00\x00\x00", b"", false),
    ];
    for (prepared, state, answers) in cases {
        let report = GoalDrift::detect(prepared, state, &history, &last("AA000"), &goal());
        assert_eq!(report.is_ok(), answers, "{prepared:?} {state:?}");
    }
}
