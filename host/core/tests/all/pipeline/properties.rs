//! Properties: no input causes a panic, every answer is valid, and more evidence against an action
//! never helps it.

use crate::harness::{
    Scripted, World, answer, detection, effect, effects, fault, one_object, pre, risk_of, rules,
};
use portcullis_agents::claude::wire as claude;
use portcullis_core::fault::{FaultKind, OnFault};
use portcullis_core::finding::{
    Assessment, Change, Detection, Edit, Rationality, Report, Rewrite, Ruling,
};
use portcullis_core::pipeline::{self, Ports, Settings};
use portcullis_core::score::{Score, Severity, Verdict};
use portcullis_core::session::State;
use portcullis_core::undo::NoUndo;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Returns the strictness of an answer.
fn strictness(out: &Value) -> u8 {
    let informed = out.get("systemMessage").is_some()
        || out.pointer("/hookSpecificOutput/additionalContext").is_some();
    match effect(out) {
        "none" if !informed => 0,
        "none" => 1,
        "rewrite" => 2,
        "ask" => 3,
        "deny" => 4,
        _ => 5,
    }
}

/// The plugins' answers about one action.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) assessment: Assessment,
    pub(crate) detections: Vec<Detection>,
    pub(crate) fault: Option<(FaultKind, OnFault)>,
}

pub(crate) fn plugins(said: &[Said]) -> Scripted {
    let (mut assess, mut detect) = (said.to_vec(), said.to_vec());
    Scripted {
        assess: Box::new(move |_, _| {
            assess
                .iter_mut()
                .map(|said| match said.fault {
                    Some((kind, policy)) => answer("judge", Err(fault(kind, policy))),
                    None => answer("judge", Ok(said.assessment.clone())),
                })
                .collect()
        }),
        detect: Box::new(move |_, _, _| {
            detect
                .iter_mut()
                .map(|said| {
                    answer(
                        "pattern",
                        Ok(Report { detections: said.detections.clone(), state: Some(vec![1]) }),
                    )
                })
                .collect()
        }),
        ..Scripted::default()
    }
}

fn ruling() -> impl Strategy<Value = Ruling> {
    let verdict = prop::sample::select(Verdict::ALL);
    let severity = prop::sample::select(Severity::ALL);
    let change = prop_oneof![
        Just(None),
        Just(Some(Change::SetText("ls".into()))),
        Just(Some(Change::Remove)),
        (0_u32..9, 0_u32..9).prop_map(|(start, end)| Some(Change::Splice {
            start,
            end,
            text: "x".into()
        })),
        any::<i64>().prop_map(|number| Some(Change::SetInteger(number))),
    ];
    (verdict, severity, change, "\\PC{0,12}").prop_map(|(verdict, severity, change, text)| Ruling {
        reason: text.clone(),
        rewrite: change.map(|change| Rewrite {
            edits: vec![Edit { parameter: "command".into(), change }],
            explanation: text,
        }),
        ..rules(verdict, severity).rulings.remove(0)
    })
}

pub(crate) fn said() -> impl Strategy<Value = Said> {
    let score = || 0_u16..=1000;
    let found = (
        prop::sample::select(&["loop", "scope_creep", "secret_egress", "rule:x", ""][..]),
        prop::sample::select(Severity::ALL),
        score(),
        score(),
        0_u64..3,
    )
        .prop_map(|(pattern, severity, confidence, impact, first_step)| Detection {
            first_step,
            ..detection(pattern, severity, confidence, impact)
        });
    (
        prop::option::of(score()),
        prop::option::of(score()),
        prop::option::of(prop::sample::select(Severity::ALL)),
        prop::collection::vec(ruling(), 0..3),
        prop::collection::vec(found, 0..2),
        prop::option::weighted(
            0.2,
            (prop::sample::select(FaultKind::ALL), prop::sample::select(OnFault::ALL)),
        ),
    )
        .prop_map(|(risk, rationality, severity, rulings, detections, fault)| Said {
            assessment: Assessment {
                risk: risk.map(risk_of),
                rationality: rationality.map(|score| Rationality {
                    alignment: Some(Score::new(score)),
                    ..Rationality::default()
                }),
                side_effects: severity.and_then(|severity| effects(severity).side_effects),
                rulings,
            },
            detections,
            fault,
        })
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z_]{1,8}", inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Generates a payload that is mostly as the client sends it, with anything in its fields.
fn payload() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(
        &[
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "PostToolBatch",
            "UserPromptSubmit",
            "SessionStart",
            "SessionEnd",
            "Stop",
            "SubagentStart",
            "SubagentStop",
            "ConfigChange",
            "Other",
        ][..],
    );
    let tool = prop::sample::select(
        &["Bash", "Read", "Write", "Edit", "WebFetch", "Agent", "Grep", "mcp__a__b", "Teleport"][..],
    );
    let parameters = prop::collection::vec(
        (
            prop::sample::select(&["command", "file_path", "content", "url", "prompt", "x"][..]),
            any_json(),
        ),
        0..4,
    )
    .prop_map(|pairs| {
        pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>()
    });
    let odd = prop::collection::vec(
        (
            prop::sample::select(
                &[
                    "session_id",
                    "agent_id",
                    "cwd",
                    "tool_response",
                    "error",
                    "tool_calls",
                    "prompt",
                    "duration_ms",
                    "tool_use_id",
                ][..],
            ),
            any_json(),
        ),
        0..3,
    );
    (name, tool, parameters, odd).prop_map(|(name, tool, parameters, odd)| {
        let mut payload = pre(tool, Value::Object(parameters), "t1");
        payload["hook_event_name"] = name.into();
        payload["prompt"] = "fix it".into();
        odd.into_iter().for_each(|(key, value)| payload[key] = value);
        payload
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = claude::parse_event(&bytes);
    }

    #[test]
    fn a_damaged_payload_never_panics(payload in payload(), at in any::<prop::sample::Index>(), byte: u8, cut: bool) {
        let mut bytes = payload.to_string().into_bytes();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        if let Err(error) = claude::parse_event(&bytes) {
            prop_assert!(!error.problem.is_empty() && !error.problem.contains('\n'));
        }
    }

    #[test]
    fn any_payload_gets_a_valid_answer(payloads in prop::collection::vec(payload(), 1..4), said in prop::collection::vec(said(), 0..3)) {
        let mut world = World::with(plugins(&said));
        for payload in &payloads {
            if claude::parse_event(payload.to_string().as_bytes()).is_err() {
                continue;
            }
            let sent = world.send(payload);
            let refused = matches!(sent.effect(), "deny") || (sent.effect() == "stop" && payload["hook_event_name"] == "PreToolUse");
            prop_assert_eq!(sent.answer.exit, if refused { 2 } else { 0 });
            prop_assert_eq!(sent.answer.stderr.is_empty(), !refused);
            for record in &sent.records {
                let again: portcullis_core::record::Record = serde_json::from_str(&record.document()).expect("a record that can be read again");
                prop_assert_eq!(&again, record);
            }
        }
    }

    #[test]
    fn more_against_an_action_never_helps_it(base in said(), mut more in said(), seen: bool) {
        // A safer form is an offer to keep the action, not a point against it.
        more.assessment.rulings.iter_mut().for_each(|ruling| ruling.rewrite = None);
        let outcome = |said: &[Said]| {
            let mut world = World::default();
            if seen {
                world.runs("make all", "t0");
            }
            world.plugins = plugins(said);
            strictness(&world.bash("make it", "t1").out)
        };
        let (alone, together) = (outcome(std::slice::from_ref(&base)), outcome(&[base.clone(), more]));
        prop_assert!(together >= alone, "{} became {}", alone, together);
    }

    #[test]
    fn any_state_that_can_be_read_can_be_used(bytes in prop::collection::vec(any::<u8>(), 0..120), agent in prop::collection::vec(any::<u8>(), 0..120)) {
        let framed = |bytes: &[u8]| [&[1], bytes].concat();
        let Ok(state) = State::decode_state(Some(&framed(&bytes)), Some(&framed(&agent))) else { return Ok(()) };
        let world = World::default();
        let settings = Settings { policy: &world.policy, masker: &world.masker, home: crate::harness::HOME, exceptions: &[], unwhole: &[], measured: None };
        let mut plugins = Scripted { detect: crate::harness::detects("make", vec![detection("loop", Severity::High, 1000, 1000)]), ..Scripted::default() };
        for payload in [pre("Bash", json!({"command": "make it"}), "t1"), crate::harness::prompt("fix it")] {
            let event = claude::parse_event(payload.to_string().as_bytes()).unwrap();
            let mut ports = Ports { plugins: &mut plugins, observe: &mut |_| Default::default(), details: &|_| None, undo: &NoUndo };
            let reviewed = pipeline::run_pipeline(&event, state.clone(), 5, &settings, &mut ports);
            one_object(&claude::render_reply(&event.name, &reviewed.reply).stdout);
        }
    }
}

/// Counters at their maximum do not overflow: a state that somebody tampered with must not cause a
/// panic.
#[test]
fn full_counters_stay_full() {
    let mut world = World::default();
    world.plugins.assess =
        Box::new(|_, _| vec![answer("judge", Ok(rules(Verdict::Warn, Severity::Low)))]);
    world.plugins.detect =
        crate::harness::detects("touch", vec![detection("loop", Severity::Critical, 1000, 1000)]);
    world.runs("touch a", "t1");
    let mut state = world.state();
    state.session.stopped = None;
    state.session.events = u64::MAX;
    state.session.prompts = u32::MAX;
    state.agent.next_step = u64::MAX;
    let totals = &mut state.session.totals;
    (totals.steps, totals.warned, totals.files, totals.bytes, totals.interventions) =
        (u64::MAX, u64::MAX, u64::MAX, u64::MAX, u32::MAX);
    totals.duration_ms = u64::MAX;
    state.agent.totals = *totals;
    state.session.limits.iter_mut().for_each(|limit| limit.used = u64::MAX);
    for issue in state.session.issues.values_mut() {
        (issue.level, issue.recurrences) = (u8::MAX, u32::MAX);
    }
    let (session, agent) = state.encode().unwrap();
    world.session = Some(session);
    world.agents.insert(String::new(), agent);
    world.runs("touch b", "t2");
    world.send(&crate::harness::prompt("more"));
    assert_eq!(world.state().session.events, u64::MAX);
}
