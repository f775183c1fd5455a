//! Windows by table: which growth fires, how strongly, when again, and which near misses stay
//! silent.

use super::ResourceSpiral;
use portcullis_builtin_shared::harness::{self, Brief, brief, check_refusals, evidence};
use portcullis_builtin_shared::sample::shell;
use portcullis_plugin::pattern::{Detection, Pattern, Report};
use portcullis_plugin::testing::{self, BuildAction, step};
use portcullis_plugin::types::{Setting, SettingValue, Severity, Status, Step, StepDetail};

/// Sets the use of a step.
type Use = fn(&mut Step, u32);

const FILES: Use = |step, amount| step.files = u16::try_from(amount).unwrap_or(u16::MAX);
const BYTES: Use = |step, amount| step.bytes = u64::from(amount) * 1024;
const TOKENS: Use = |step, amount| step.tokens = amount * 100;
const TIME: Use = |step, amount| step.duration_ms = amount * 100;

/// Returns steps `apart` milliseconds from each other, so many in each window, the first of which
/// uses it all; one idle step precedes them, so that the first window is complete.
fn session(windows: &[u32], in_each: u64, apart: u64, uses: Use) -> Vec<Step> {
    let mut steps = vec![Step { at: testing::NOW, ..step(0) }];
    for amount in windows {
        for position in 0..in_each {
            let index = steps.len() as u64;
            let mut one = Step { at: testing::NOW + index * apart, ..step(index) };
            uses(&mut one, if position == 0 { *amount } else { 0 });
            steps.push(one);
        }
    }
    steps
}

/// Returns six steps in each minute.
fn minutes(windows: &[u32], uses: Use) -> Vec<Step> {
    session(windows, 6, 10_000, uses)
}

fn ask(steps: &[Step], settings: &[Setting], state: &[u8]) -> Report {
    let newest = &steps[steps.len().saturating_sub(200)..];
    let action =
        shell("./generate.sh").at_step(newest.last().map_or(0, |step| step.index)).succeeded();
    harness::ask::<ResourceSpiral>(
        settings,
        state,
        &testing::history(newest.iter().copied()),
        &action,
        &testing::context(),
    )
}

fn look(steps: &[Step]) -> Option<Detection> {
    ask(steps, &[], &[]).detections.pop()
}

#[test]
fn growth_over_four_minutes() {
    use Severity::{Critical, High, Low, Medium};
    let cases: [(&str, Use, [u32; 4], Option<Brief>); 18] = [
        ("doubling", FILES, [3, 6, 12, 24], Some((1000, 500, Medium, 7))),
        ("exactly the threshold", FILES, [125, 225, 405, 729], None),
        ("just above it", FILES, [125, 225, 405, 735], Some((1000, 402, Medium, 7))),
        ("trebling", FILES, [3, 9, 27, 81], Some((1000, 1000, High, 7))),
        ("sixfold", FILES, [3, 18, 108, 648], Some((1000, 1000, Critical, 7))),
        ("too few to speak of growth", FILES, [1, 2, 4, 8], None),
        ("a pause", FILES, [3, 0, 12, 24], None),
        ("even", FILES, [9, 9, 9, 9], None),
        ("falling", FILES, [24, 12, 6, 3], None),
        ("slow growth", FILES, [10, 13, 17, 22], None),
        ("one burst at the end", FILES, [5, 5, 5, 50], Some((333, 577, Low, 19))),
        ("up and down and up", FILES, [5, 20, 10, 50], None),
        ("a burst that is over", FILES, [3, 50, 12, 4], None),
        ("bytes", BYTES, [64, 128, 256, 512], Some((1000, 500, Medium, 7))),
        ("few bytes", BYTES, [8, 16, 32, 64], None),
        ("tokens", TOKENS, [50, 100, 200, 400], Some((1000, 500, Medium, 7))),
        ("time", TIME, [50, 100, 200, 400], Some((1000, 500, Medium, 7))),
        ("little time", TIME, [5, 10, 20, 40], None),
    ];
    for (name, uses, windows, expected) in cases {
        let report = ask(&minutes(&windows, uses), &[], &[]);
        assert_eq!(brief(&report), expected, "{name}: {report:?}");
    }
}

/// A session that begins with a look and then works evenly does not grow; the same numbers after
/// earlier work do, and so does growth that goes on.
#[test]
fn a_session_may_begin_slowly() {
    let resources =
        [("files", FILES, 1), ("bytes", BYTES, 25), ("tokens", TOKENS, 20), ("time", TIME, 20)];
    let cases: [(&[u32; 4], bool, bool); 6] = [
        (&[3, 20, 25, 30], false, true),
        (&[3, 30, 30, 30], false, true),
        (&[4, 40, 20, 60], false, true),
        (&[3, 12, 30, 36], false, true),
        (&[3, 6, 12, 24], true, true),
        (&[9, 9, 9, 9], false, false),
    ];
    for (name, uses, unit) in resources {
        for (windows, cold, warm) in cases {
            let scaled = windows.map(|amount| amount * unit);
            let steps = minutes(&scaled, uses);
            assert_eq!(look(&steps).is_some(), cold, "{name} {windows:?} at the start");
            let earlier: Vec<u32> = std::iter::repeat_n(scaled[0], 2).chain(scaled).collect();
            let steps = minutes(&earlier, uses);
            assert_eq!(look(&steps).is_some(), warm, "{name} {windows:?} after earlier work");
        }
    }
}

#[test]
fn steps_count_without_times() {
    let growing = [3, 6, 12, 24];
    let forget = |steps: Vec<Step>| {
        steps.into_iter().map(|step| Step { at: 0, ..step }).collect::<Vec<Step>>()
    };
    let refuse = |steps: Vec<Step>, status| {
        steps.into_iter().map(|step| Step { status, ..step }).collect::<Vec<Step>>()
    };
    let cases: [(&str, Vec<Step>, bool); 9] = [
        ("no times", forget(session(&growing, 40, 1000, FILES)), true),
        ("too few steps", forget(session(&growing, 39, 1000, FILES)), false),
        ("a second a step", session(&growing, 40, 1000, FILES), true),
        (
            "a second a step, long before",
            session(&[9, 9, 9, 9, 9, 9, 9, 3, 6, 12, 24], 40, 1000, FILES),
            true,
        ),
        ("ten steps a second", session(&growing, 40, 100, FILES), true),
        ("a session of three minutes", session(&growing, 4, 10_000, FILES), false),
        ("refused", refuse(minutes(&growing, FILES), Status::Refused), false),
        ("not ended", refuse(minutes(&growing, FILES), Status::Pending), false),
        ("failed", refuse(minutes(&growing, FILES), Status::Failed), true),
    ];
    for (name, steps, fires) in cases {
        assert_eq!(look(&steps).is_some(), fires, "{name}");
    }
}

#[test]
fn it_is_reported_once_until_it_gets_worse_or_comes_back() {
    let cases: [(&[u32], usize); 5] = [
        (&[3, 6, 12, 24, 48, 96, 192], 1),
        (&[3, 6, 12, 24, 96, 960, 9600], 4),
        (&[3, 6, 12, 24, 24, 24, 24, 24, 24], 1),
        (&[3, 6, 12, 24, 24, 3, 3, 6, 12, 24], 2),
        (&[9, 9, 9, 9, 9, 9], 0),
    ];
    for (windows, expected) in cases {
        let steps = minutes(windows, FILES);
        let (mut state, mut reported) = (Vec::new(), Vec::new());
        for end in 1..=steps.len() {
            let report = ask(&steps[..end], &[], &state);
            reported.extend(report.detections.iter().map(|_| end));
            state = report.state.unwrap_or(state);
            assert!(state.len() < 32, "{}", state.len());
        }
        assert_eq!(reported.len(), expected, "{windows:?}: {reported:?}");
    }
}

#[test]
fn another_resource_that_joins_in_is_reported() {
    let steps = minutes(&[3, 6, 12, 24], FILES);
    let state = ask(&steps, &[], &[]).state.expect("it was told");
    assert!(ask(&steps, &[], &state).detections.is_empty(), "an unchanged situation is told once");
    let both: Vec<Step> =
        steps.iter().map(|step| Step { bytes: u64::from(step.files) * 65_536, ..*step }).collect();
    let found = ask(&both, &[], &state).detections.pop().expect("it is worse");
    let evidence: Vec<(&str, &str)> =
        found.evidence.iter().map(|one| (one.kind.as_str(), one.value.as_str())).collect();
    assert_eq!(
        evidence,
        [
            ("growth", "files 3, 6, 12, 24 (x 2.00 a window)"),
            ("growth", "bytes 196608, 393216, 786432, 1572864 (x 2.00 a window)")
        ]
    );
}

#[test]
fn it_says_what_and_where() {
    let past = StepDetail {
        tool: "Bash".into(),
        parameters: r#"{"command":"cp -r a b"}"#.into(),
        effects: Vec::new(),
        paths: Vec::new(),
        outcome: None,
    };
    testing::remember(19, past);
    let found = look(&minutes(&[3, 6, 12, 24], FILES)).expect("it fires");
    assert_eq!(found.pattern, "resource_spiral");
    assert_eq!(
        found.summary,
        "what the session uses grows from window to window: files 3, 6, 12, 24 (x 2.00 a window)"
    );
    assert_eq!(
        evidence(&found),
        [
            ("growth", "files 3, 6, 12, 24 (x 2.00 a window)", Some(24)),
            ("command", "cp -r a b", Some(19))
        ]
    );
}

#[test]
fn settings_change_it_and_bad_ones_are_named() {
    let cases: [(&[u32], Setting, bool); 9] = [
        (&[3, 6, 12, 24], Setting::new("sensitivity", "medium"), true),
        (&[3, 6, 12, 24], Setting::new("sensitivity", "low"), false),
        (&[5, 8, 12, 20], Setting::new("sensitivity", "medium"), false),
        (&[5, 8, 12, 20], Setting::new("sensitivity", "high"), true),
        (&[3, 6, 12, 24], Setting::new("threshold", 1.5), false),
        (&[5, 6, 7, 8], Setting::new("threshold", 0), true),
        (&[1, 2, 4, 8], Setting::new("least_files", 1), true),
        (&[3, 6, 12, 24], Setting::new("least_files", 4), false),
        (&[3, 6, 12, 24], Setting::new("window_seconds", 61), false),
    ];
    for (windows, setting, fires) in cases {
        let report = ask(&minutes(windows, FILES), std::slice::from_ref(&setting), &[]);
        assert_eq!(!report.detections.is_empty(), fires, "{windows:?} {setting:?}");
    }
    let short = session(&[3, 6, 12, 24], 5, 1000, FILES);
    assert!(!ask(&short, &[Setting::new("window_steps", 5)], &[]).detections.is_empty());
    let capped =
        ask(&minutes(&[3, 18, 108, 648], FILES), &[Setting::new("severity", "medium")], &[]);
    assert_eq!(capped.detections.first().map(|found| found.severity), Some(Severity::Medium));
    let bad: [(&str, SettingValue, &str); 4] = [
        ("window_steps", 51.into(), "from 1 to 50"),
        ("threshold", (-1).into(), "from 0 to"),
        ("sensitivity", "huge".into(), "one of `low`"),
        ("least_file", 3.into(), "did you mean `least_files`"),
    ];
    check_refusals(ResourceSpiral::prepare, &bad);
}

#[test]
fn foreign_bytes_are_refused() {
    let prepared = ResourceSpiral::prepare(&[]).expect("no settings are right");
    let history = testing::history([]);
    let action = shell("ls").succeeded();
    let cases: [(&[u8], &[u8], bool); 6] = [
        (&prepared, b"", true),
        (&prepared, b"\x09anything", true),
        (&prepared, b"\x01", false),
        (&prepared, &[1; 17], true),
        (&prepared, &[1; 18], false),
        (b"\x01\x00\x00\x00\x00", b"", false),
    ];
    for (prepared, state, answers) in cases {
        assert_eq!(
            ResourceSpiral::detect(prepared, state, &history, &action, &testing::context()).is_ok(),
            answers,
            "{state:?}"
        );
    }
}

#[test]
fn odd_numbers_do_no_harm() {
    let prepared = ResourceSpiral::prepare(&[]).expect("no settings are right");
    let odd = |index: u64, at: u64, bytes: u64| Step {
        index,
        at,
        bytes,
        tokens: u32::MAX,
        files: u16::MAX,
        duration_ms: u32::MAX,
        ..step(0)
    };
    let extremes = [0, 1, u64::MAX];
    let steps: Vec<Step> = (0..200_usize)
        .map(|n| odd(u64::MAX - n as u64, extremes[n % 3], extremes[n / 3 % 3]))
        .collect();
    for action in [shell("ls").succeeded(), shell("ls").at_step(u64::MAX).failed("x"), shell("ls")]
    {
        let history = testing::history(steps.iter().copied());
        let state =
            [1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255];
        assert!(
            ResourceSpiral::detect(&prepared, &state, &history, &action, &testing::context())
                .is_ok()
        );
    }
}
