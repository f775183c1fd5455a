//! The calls of each kind, the host functions that a guest may call meanwhile, and the treatment of
//! its text.

use crate::guests::{
    ALLOCATOR, NOTHING, action, assessor, builtin_entry, component, context, no_details, set,
};
use portcullis_core::action::{History, Intent, Status, Step, StepDetail, Totals};
use portcullis_core::fault::FaultKind;
use portcullis_core::finding::{Guidance, Issue, Response, Situation};
use portcullis_core::plugins::Plugins;
use portcullis_core::run_files::ShellPlace;
use portcullis_core::score::{Score, Severity, Verdict};
use portcullis_engine::{Engine, Kind, PluginSpec, Setting, SettingValue};
use std::cell::Cell;
use std::collections::BTreeMap;

pub(crate) fn situation() -> Situation {
    let (totals, none) = (Totals::default(), vec![]);
    Situation {
        step: 1,
        level: 0,
        score: 100,
        totals,
        checkpoints: vec![],
        past: vec![],
        recent: none,
        templates: vec![],
    }
}

pub(crate) fn issue() -> Issue {
    Issue {
        name: "loop".into(),
        severity: Severity::Medium,
        confidence: Score::new(700),
        impact: Score::new(300),
        first_step: 3,
        summary: "the same three steps".into(),
        evidence: vec![],
        recurrences: 0,
    }
}

fn plugin(interface: &str, call: &str, signature: &str, body: &str, prepare: &str) -> String {
    format!(
        r#"(module
            (func (export "portcullis:plugin/{interface}@0.1.0#{call}") {signature} (result i32) {body})
            (func (export "portcullis:plugin/{interface}@0.1.0#prepare") (param i32 i32) (result i32) {prepare})
            {ALLOCATOR})"#
    )
}

/// A pattern gets its state back, and each pattern sees its own.
#[test]
fn a_pattern_gets_its_own_state_back() {
    let echo = "(i32.store8 (i32.const 1036) (i32.const 1))
        (i32.store (i32.const 1040) (i32.load (i32.add (local.get 0) (i32.const 8))))
        (i32.store (i32.const 1044) (i32.load (i32.add (local.get 0) (i32.const 12))))
        (i32.const 1024)";
    let bytes = component(&plugin("detector", "detect", "(param i32)", echo, NOTHING), "pattern");
    let entries = vec![
        builtin_entry("echo", Kind::Pattern, bytes.clone()),
        builtin_entry("empty", Kind::Pattern, bytes),
    ];
    let mut set = set(&Engine::new(None).unwrap(), entries);
    let mut states = BTreeMap::from([("echo".to_owned(), b"remember".to_vec())]);
    let states_after = |set: &mut portcullis_engine::PluginSet,
                        states: &BTreeMap<String, Vec<u8>>|
     -> Vec<_> {
        let answers = set.detect(states, &History::default(), &action(), &context(), &no_details);
        answers
            .into_iter()
            .map(|answer| {
                answer.result.map(|report| report.state.unwrap()).map_err(|fault| fault.kind)
            })
            .collect()
    };
    assert_eq!(states_after(&mut set, &states), [Ok(b"remember".to_vec()), Ok(vec![])]);
    states.insert("echo".into(), vec![7; (64 << 10) + 1]);
    assert_eq!(states_after(&mut set, &states)[0], Err(FaultKind::OutputTooLarge));
}

#[test]
fn an_intervention_answers_when_it_is_called_by_name() {
    let bytes = component(
        &plugin("intervener", "intervene", "(param i32)", NOTHING, NOTHING),
        "intervention",
    );
    let mut set =
        set(&Engine::new(None).unwrap(), vec![builtin_entry("soft", Kind::Intervention, bytes)]);
    let answer = set.intervene("soft", &issue(), &situation(), &context(), &no_details).unwrap();
    assert_eq!(answer.result, Ok(Response::Guide(Guidance::default())));
    assert!(set.intervene("hard", &issue(), &situation(), &context(), &no_details).is_none());
    assert!(set.assess(&action(), &context(), &no_details).is_empty());
}

#[test]
fn an_exporter_renders_bytes() {
    let body = r#"(i32.store (i32.const 100) (i32.const 0x0a1b62))
        (i32.store (i32.const 1028) (i32.const 100)) (i32.store (i32.const 1032) (i32.const 3))
        (i32.store (i32.const 1036) (i32.const 100)) (i32.store (i32.const 1040) (i32.const 3))
        (i32.const 1024)"#;
    let wat = plugin("exporter", "render", "(param i32 i32 i32 i32 i32)", body, NOTHING);
    let mut set = set(
        &Engine::new(None).unwrap(),
        vec![builtin_entry("csv", Kind::AuditExporter, component(&wat, "audit-exporter"))],
    );
    let rendered = set.render_records("csv", &[], true).unwrap().result.unwrap();
    assert_eq!(
        (rendered.bytes.as_slice(), rendered.content_type.as_str()),
        (&b"b\x1b\n"[..], "b\\u{1b}\\n")
    );
}

#[test]
fn the_shell_reader_reads() {
    let mut set = set(&Engine::new(None).unwrap(), vec![]);
    let reading = set.read_shell("ls", &ShellPlace::without_files("/work", "")).unwrap();
    assert!(reading.commands.is_empty());
    let long = "x".repeat(1 << 20);
    assert!(set.read_shell(&long, &ShellPlace::without_files("/work", "/home/me")).is_ok());
}

/// `prepare` runs once, and the calls get its answer.
#[test]
fn settings_that_cannot_be_used_name_the_key() {
    let refuse = r#"(i32.store (i32.const 100) (i32.const 0x6b636974))
        (i32.store8 (i32.const 1024) (i32.const 1)) (i32.store8 (i32.const 1028) (i32.const 0))
        (i32.store (i32.const 1032) (i32.const 100)) (i32.store (i32.const 1036) (i32.const 4))
        (i32.store (i32.const 1040) (i32.const 100)) (i32.store (i32.const 1044) (i32.const 2))
        (i32.const 1024)"#;
    // It refuses when it gets any setting.
    let prepare = format!("(if (result i32) (local.get 1) (then {refuse}) (else {NOTHING}))");
    let bytes = component(&assessor(NOTHING, &prepare, ""), "risk-calculator");
    for (settings, fine) in [
        (vec![], true),
        (vec![Setting { key: "tick".into(), value: SettingValue::Integer(1) }], false),
    ] {
        let entry =
            PluginSpec { settings, ..builtin_entry("fussy", Kind::RiskCalculator, bytes.clone()) };
        let mut set = set(&Engine::new(None).unwrap(), vec![entry]);
        let answer = set.assess(&action(), &context(), &no_details).remove(0);
        match answer.result {
            Ok(_) => assert!(fine),
            Err(fault) => {
                assert!(!fine && fault.kind == FaultKind::BadSettings, "{fault}");
                assert!(fault.detail.contains("setting `tick`: ti"), "{fault}");
            }
        }
    }
}

/// 100 lines of 200 bytes with an escape in each: 64 lines and 8 KiB stay, and the rest is counted.
#[test]
fn the_log_is_escaped_and_within_its_budget() {
    let log = r#"(import "portcullis:plugin/host@0.1.0" "log" (func $log (param i32 i32 i32)))
        (data (i32.const 200) "\1b[31m")"#;
    let body = |length: u32| {
        format!(
            "(local $i i32) (loop (call $log (i32.const 1) (i32.const 200) (i32.const {length}))
                (local.set $i (i32.add (local.get $i) (i32.const 1))) (br_if 0 (i32.lt_u (local.get $i) (i32.const 100)))) {NOTHING}"
        )
    };
    for (length, lines) in [(5, 64), (400, 1 << 6)] {
        let bytes = component(&assessor(&body(length), NOTHING, log), "risk-calculator");
        let mut set = set(
            &Engine::new(None).unwrap(),
            vec![builtin_entry("chatty", Kind::RiskCalculator, bytes)],
        );
        let answer = set.assess(&action(), &context(), &no_details).remove(0);
        assert!(answer.result.is_ok(), "{:?}", answer.result);
        let (last, kept) = answer.log.split_last().unwrap();
        assert!(last.contains("dropped"), "{last}");
        assert!(
            kept.len() <= lines && kept.iter().map(String::len).sum::<usize>() <= 8 << 10,
            "{} lines",
            kept.len()
        );
        assert!(kept[0].starts_with("info: \\u{1b}[31m"), "{}", kept[0]);
        assert!(!answer.log.concat().chars().any(char::is_control));
    }
}

/// The newest steps are returned as asked for, oldest first, and each costs fuel.
#[test]
fn steps_come_from_the_history_as_many_as_asked_for() {
    // The layout of a step in the canonical ABI.
    const STEP: usize = 88;
    let step = |index| Step {
        index,
        at: 0,
        intent: Intent::FileRead,
        verdict: Verdict::Allow,
        status: Status::Ok,
        shape: 0,
        identity: 0,
        error: 0,
        output: 0,
        risk: Score::ZERO,
        alignment: Some(Score::new(0)),
        effects: 0,
        outside: 0,
        files: 0,
        prompt: 0,
        bytes: 0,
        tokens: 0,
        duration_ms: 0,
    };
    let history = History { steps: (10..15).map(step).collect(), totals: Totals::default() };
    let import = r#"(import "portcullis:plugin/host@0.1.0" "steps" (func $steps (param i32 i32)))"#;
    let mut fuel = Vec::new();
    for (asked, expected) in [
        (0, vec![]),
        (2, vec![13, 14]),
        (5, vec![10, 11, 12, 13, 14]),
        (-1, vec![10, 11, 12, 13, 14]),
    ] {
        // The guest stores its input as its state.
        let body = format!(
            "(call $steps (i32.const {asked}) (i32.const 2048))
            (i32.store8 (i32.const 1036) (i32.const 1))
            (i32.store (i32.const 1040) (i32.load (i32.const 2048)))
            (i32.store (i32.const 1044) (i32.mul (i32.load (i32.const 2052)) (i32.const {STEP})))
            (i32.const 1024)"
        );
        let module = plugin("detector", "detect", "(param i32)", &body, NOTHING).replacen(
            "(module",
            &format!("(module {import}"),
            1,
        );
        let entries = vec![builtin_entry("curious", Kind::Pattern, component(&module, "pattern"))];
        let answer = set(&Engine::new(None).unwrap(), entries)
            .detect(&BTreeMap::new(), &history, &action(), &context(), &no_details)
            .remove(0);
        let given = answer.result.unwrap().state.unwrap();
        let indices: Vec<u64> = given
            .chunks(STEP)
            .map(|step| u64::from_le_bytes(step[..8].try_into().unwrap()))
            .collect();
        assert_eq!(indices, expected, "asked for {asked}");
        fuel.push(answer.fuel);
    }
    assert!(
        fuel[0] + 2 * STEP as u64 <= fuel[1]
            && fuel[1] + 3 * STEP as u64 <= fuel[2]
            && fuel[2] == fuel[3],
        "{fuel:?}"
    );
}

/// Past steps are looked up in the caller's history, 16 times a call.
#[test]
fn details_come_from_the_caller_within_a_budget() {
    let import =
        r#"(import "portcullis:plugin/host@0.1.0" "detail" (func $detail (param i64 i32)))"#;
    // Asks for step 3 twenty times and scores how often it got an answer.
    let body = "(local $i i32) (local $found i32)
        (loop (call $detail (i64.const 3) (i32.const 2048))
            (local.set $found (i32.add (local.get $found) (i32.load8_u (i32.const 2048))))
            (local.set $i (i32.add (local.get $i) (i32.const 1))) (br_if 0 (i32.lt_u (local.get $i) (i32.const 20))))
        (i32.store8 (i32.const 1028) (i32.const 1)) (i32.store16 (i32.const 1032) (local.get $found)) (i32.const 1024)";
    let bytes = component(&assessor(body, NOTHING, import), "risk-calculator");
    let mut set = set(
        &Engine::new(None).unwrap(),
        vec![builtin_entry("curious", Kind::RiskCalculator, bytes)],
    );
    let asked = Cell::new(0);
    let detail = StepDetail {
        tool: "Bash".into(),
        parameters: "{}".into(),
        effects: vec![],
        paths: vec![],
        outcome: None,
    };
    let details = |step: u64| {
        asked.set(asked.get() + 1);
        (step == 3).then(|| detail.clone())
    };
    for _ in 0..2 {
        let answer = set.assess(&action(), &context(), &details).remove(0);
        assert_eq!(answer.result.unwrap().risk.unwrap().score, Score::new(16));
    }
    assert_eq!(asked.get(), 32);
}

/// SIMD is on, and code for the baseline CPU has to do without its newer instructions.
#[test]
fn vectors_work_on_the_baseline_cpu() {
    let body = "(i32.store8 (i32.const 1028) (i32.const 1))
        (i32.store16 (i32.const 1032) (i8x16.extract_lane_u 3 (i8x16.swizzle (i8x16.splat (i32.const 200)) (v128.const i8x16 3 2 1 0 0 0 0 0 0 0 0 0 0 0 0 0))))
        (drop (f32x4.ceil (f32x4.splat (f32.const 1.5)))) (drop (i32x4.mul (i32x4.splat (i32.const 3)) (i32x4.splat (i32.const 4))))
        (i32.const 1024)";
    let bytes = component(&assessor(body, NOTHING, ""), "risk-calculator");
    let mut set = set(
        &Engine::new(None).unwrap(),
        vec![builtin_entry("vectors", Kind::RiskCalculator, bytes)],
    );
    assert_eq!(
        set.assess(&action(), &context(), &no_details)[0]
            .result
            .as_ref()
            .unwrap()
            .risk
            .as_ref()
            .unwrap()
            .score,
        Score::new(200)
    );
}
