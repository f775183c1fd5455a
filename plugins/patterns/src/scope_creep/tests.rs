//! Histories by table: which fire, how strongly, when again, and which near misses stay silent.

use super::ScopeCreep;
use portcullis_builtin_shared::harness::{
    Brief, ask, brief, check_refusals, evidence, mark_reports,
};
use portcullis_builtin_shared::sample::shell;
use portcullis_plugin::pattern::{Pattern, Report};
use portcullis_plugin::testing::{self, BuildAction, BuildStep, step};
use portcullis_plugin::types::{
    Action, Effect, EffectKind, Setting, SettingValue, Severity, Status, Step, StepDetail,
};

/// A character a step: `i` does one thing inside, `o` one outside, `I` four inside, `O` four
/// outside, `n` nothing, `R` four outside but was refused, `P` four outside and has not ended, `F`
/// one outside that failed.
fn steps(letters: &str) -> Vec<Step> {
    let one = |(index, letter): (usize, char)| {
        let plain = step(index as u64);
        match letter {
            'i' => plain.effects(1, 0),
            'I' => plain.effects(4, 0),
            'o' => plain.effects(1, 1),
            'O' => plain.effects(4, 4),
            'F' => plain.effects(1, 1).failed(7),
            'R' => Step { status: Status::Refused, ..plain.effects(4, 4) },
            'P' => Step { status: Status::Pending, ..plain.effects(4, 4) },
            _ => plain,
        }
    };
    letters.chars().enumerate().map(one).collect()
}

fn last(letters: &str) -> Action {
    shell("cp a b")
        .modifies("/srv/now")
        .reads("/srv/read")
        .at_step(letters.len() as u64 - 1)
        .succeeded()
}

fn look(letters: &str, settings: &[Setting], state: &[u8]) -> Report {
    ask::<ScopeCreep>(
        settings,
        state,
        &testing::history(steps(letters)),
        &last(letters),
        &testing::context(),
    )
}

#[test]
fn histories() {
    use Severity::{High, Low, Medium};
    let cases: [(&str, Option<Brief>); 15] = [
        ("oooo", None),
        ("ooooo", Some((250, 1000, High, 0))),
        ("iiiio", None),
        ("iiioo", Some((250, 400, Low, 3))),
        ("iiiiiiiooo", None),
        ("iiiiiioooo", Some((500, 400, Medium, 6))),
        ("iiiiiiooof", None),
        ("iiiiiioooF", Some((500, 400, Medium, 6))),
        ("iiiiRRRRR", None),
        ("iiiiPPPPP", None),
        ("iiooi", None),
        ("nnnno", Some((50, 1000, High, 4))),
        ("IIIIO", None),
        ("IIIOO", Some((1000, 400, Medium, 3))),
        ("nnnnn", None),
    ];
    for (letters, expected) in cases {
        assert_eq!(brief(&look(letters, &[], &[])), expected, "{letters}");
    }
    let long_ago = ["OOOO", &"i".repeat(19), "o"].concat();
    assert_eq!(brief(&look(&long_ago, &[], &[])), None, "only the recent steps count");
}

#[test]
fn it_is_reported_as_long_as_it_lasts() {
    let cases: [(&str, &str); 9] = [
        ("iiiooioio", "....!...!"),
        ("iiioooooo", "....!!.!."),
        ("oooooooooooooo", "....!..!..!..!"),
        ("iiiooiiiiiiiiiooooo", "....!............!."),
        ("iioi", "...."),
        // The agent turns round, though the share is still high, and goes out once more.
        ("oooooooooiiiii", "....!..!......"),
        ("oooooooooiiiiio", "....!..!......."),
        ("oooooooooiiiiioo", "....!..!.......!"),
        ("oooooRRRnooooo", "....!.....!..!"),
    ];
    for (letters, expected) in cases {
        let found = mark_reports(letters, |letters, state| look(letters, &[], state));
        assert_eq!(found, expected, "{letters}");
    }
    let rarely = [Setting::new("again_after", 6)];
    let found = mark_reports("oooooooooooooo", |letters, state| look(letters, &rarely, state));
    assert_eq!(found, "....!.....!...");
}

#[test]
fn it_grows_surer_while_it_lasts() {
    // Steps that do little: the window alone never holds the effects that make it sure.
    let letters = "oooonoonoonoonoonoonoonoonoonoonoonoonoonoonoonoonoo";
    let mut state = Vec::new();
    let mut sure = Vec::new();
    for end in 1..=letters.len() {
        let report = look(&letters[..end], &[Setting::new("window", 5)], &state);
        sure.extend(brief(&report).map(|(confidence, ..)| confidence));
        state = report.state.unwrap_or(state);
    }
    assert!(sure.is_sorted(), "{sure:?}");
    assert_eq!((sure.first(), sure.last()), (Some(&200), Some(&1000)), "{sure:?}");
}

#[test]
fn it_names_the_paths_outside() {
    let past = |path: &str| {
        let action = shell("x").modifies(path);
        StepDetail {
            tool: "Bash".into(),
            parameters: "{}".into(),
            effects: action.facts.effects,
            paths: action.facts.paths,
            outcome: None,
        }
    };
    testing::remember(3, past("/etc/old"));
    testing::remember(2, past("/project/inside"));
    let found = look("iiooo", &[], &[]).detections.pop().expect("it fires");
    assert_eq!(evidence(&found), [("path", "/srv/now", Some(4)), ("path", "/etc/old", Some(3))]);
    assert_eq!(
        found.summary,
        "3 of the 5 things that the recent steps did are outside the expected scope: `/srv/now`, `/etc/old`"
    );
}

#[test]
fn it_is_silent_before_an_outcome() {
    let prepared = ScopeCreep::prepare(&[]).expect("no settings are right");
    let action = Action { outcome: None, ..last("ooooo") };
    let report = ScopeCreep::detect(
        &prepared,
        &[],
        &testing::history(steps("ooooo")),
        &action,
        &testing::context(),
    );
    assert_eq!(report.ok(), Some(Report::nothing()));
}

#[test]
fn settings_change_it_and_bad_ones_are_named() {
    let cases: [(&str, Setting, bool); 7] = [
        ("iiioo", Setting::new("sensitivity", "medium"), true),
        ("iiioo", Setting::new("sensitivity", "low"), false),
        ("iiiio", Setting::new("sensitivity", "high"), false),
        ("iiiiioo", Setting::new("sensitivity", "high"), true),
        ("iiiiioo", Setting::new("sensitivity", "medium"), false),
        ("iiioo", Setting::new("threshold", 0.5), false),
        ("oo", Setting::new("least", 2), true),
    ];
    for (letters, setting, fires) in cases {
        assert_eq!(
            !look(letters, std::slice::from_ref(&setting), &[]).detections.is_empty(),
            fires,
            "{letters} {setting:?}"
        );
    }
    let bad: [(&str, SettingValue, &str); 3] = [
        ("severity", "worst".into(), "one of `low`"),
        ("window", 2.into(), "from 5 to"),
        ("windows", 20.into(), "did you mean `window`"),
    ];
    check_refusals(ScopeCreep::prepare, &bad);
}

#[test]
fn foreign_bytes_are_refused() {
    let prepared = ScopeCreep::prepare(&[]).expect("no settings are right");
    let history = testing::history(steps("ooooo"));
    let cases: [(&[u8], &[u8], bool); 6] = [
        (&prepared, b"", true),
        (&prepared, b"\x09anything", true),
        (&prepared, b"\x02\x00", false),
        (&prepared, b"\x02\x00\x00\x00\x00\x00", false),
        (&prepared, b"\x02\xff\xff\xff\xff", false),
        (b"\x01\x00\x00\x00\x00", b"", false),
    ];
    for (prepared, state, answers) in cases {
        let report =
            ScopeCreep::detect(prepared, state, &history, &last("ooooo"), &testing::context());
        assert_eq!(report.is_ok(), answers, "{prepared:?} {state:?}");
    }
}

#[test]
fn a_step_cannot_be_more_outside_than_it_does() {
    let odd = testing::history((0..6).map(|index| step(index).effects(1, u16::MAX)));
    let prepared = ScopeCreep::prepare(&[]).expect("no settings are right");
    let mut action = last("oooooo");
    action.facts.effects = vec![Effect {
        kind: EffectKind::FileModify,
        target: String::new(),
        path: Some(u32::MAX),
        command: None,
        recursive: false,
        certain: true,
    }];
    let report =
        ScopeCreep::detect(&prepared, &[], &odd, &action, &testing::context()).expect("it answers");
    assert_eq!(report.detections.first().map(|found| found.impact), Some(1000));
}
