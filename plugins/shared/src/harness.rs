//! Checks that the tests of several plugins share. Not for wasm.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use portcullis_plugin::history::History;
use portcullis_plugin::pattern::{Detection, Pattern, Report};
use portcullis_plugin::testing;
use portcullis_plugin::types::{Action, Context, Error, Setting, SettingValue, Severity};

/// Prepares a pattern and asks it once.
#[must_use]
pub fn ask<P: Pattern>(
    settings: &[Setting],
    state: &[u8],
    history: &History,
    action: &Action,
    context: &Context,
) -> Report {
    let prepared = P::prepare(settings).expect("the settings are right");
    P::detect(&prepared, state, history, action, context).expect("it answers")
}

/// Confidence, impact, severity, first step.
pub type Brief = (u16, u16, Severity, u64);

/// Returns the numbers of a report's first detection.
#[must_use]
pub fn brief(report: &Report) -> Option<Brief> {
    let found = report.detections.first()?;
    Some((found.confidence, found.impact, found.severity, found.first_step))
}

/// Marks the steps of a session that a pattern reports, with the state carried from each call to
/// the next: `!` for a report, `.` for none. `look` gets the session so far, a letter a step, and
/// the state.
pub fn mark_reports(letters: &str, look: impl Fn(&str, &[u8]) -> Report) -> String {
    let mut state = Vec::new();
    let mut mark = |end: usize| {
        let report = look(letters.get(..end).expect("the letters are ASCII"), &state);
        state = report.state.unwrap_or_else(|| std::mem::take(&mut state));
        if report.detections.is_empty() { '.' } else { '!' }
    };
    (1..=letters.len()).map(&mut mark).collect()
}

/// Returns the evidence of a detection: kind, value, step.
#[must_use]
pub fn evidence(found: &Detection) -> Vec<(&str, &str, Option<u64>)> {
    found.evidence.iter().map(|one| (one.kind.as_str(), one.value.as_str(), one.step)).collect()
}

/// Checks that `prepare` refuses each of these settings, with the key and this part in the message.
pub fn check_refusals(
    prepare: fn(&[Setting]) -> Result<Vec<u8>, Error>,
    bad: &[(&str, impl Into<SettingValue> + Clone, &str)],
) {
    for (key, value, part) in bad {
        let error = prepare(&[Setting::new(key, value.clone())]).expect_err(key).message();
        assert!(error.contains(key) && error.contains(part), "{error}");
    }
}

/// Checks that a pattern accepts no state and `own`, which it wrote; drops a state of another
/// layout; and refuses damaged ones, and bytes that it did not prepare.
pub fn check_bytes<P: Pattern>(own: &[u8], action: &Action) {
    let prepared = P::prepare(&[]).expect("no settings are right");
    let (first, rest) = own.split_first().expect("it wrote a state");
    let (_, cut) = own.split_last().expect("it wrote a state");
    let cases: [(&str, &[u8], Vec<u8>, bool); 6] = [
        ("empty", &prepared, Vec::new(), true),
        ("its own", &prepared, own.to_vec(), true),
        ("cut", &prepared, cut.to_vec(), false),
        ("longer", &prepared, [own, &[0]].concat(), false),
        ("of another version", &prepared, [&[first.wrapping_add(8)], rest].concat(), true),
        ("not prepared by it", b"\x01\x00\x00\x00\x00", Vec::new(), false),
    ];
    for (name, prepared, state, answers) in cases {
        let history = testing::history([]);
        let report = P::detect(prepared, &state, &history, action, &testing::context());
        assert_eq!(report.is_ok(), answers, "{name}");
    }
}
