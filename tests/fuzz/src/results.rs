//! Fuzzes a guest's answers: arbitrary bytes in its memory are processed as its answer. The result
//! must be an answer within its bounds, whose texts can be shown, or a named fault.

#[path = "../../../host/engine/tests/all/sample.rs"]
mod sample;

use portcullis_builtin::SHELL_READER;
use portcullis_core::action::{Action, History, Totals};
use portcullis_core::fault::{Fault, FaultKind, OnFault};
use portcullis_core::finding::{AuditRecord, Issue, Rendered, Situation};
use portcullis_core::plugins::{PluginResponse, Plugins};
use portcullis_core::score::{Score, Severity};
use portcullis_engine::{Engine, Kind, Limits, PluginSet, PluginSpec, ReviewClock, Source};
use serde::Serialize;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// The address of the bytes in the guest's memory.
const AT: u32 = 0x10_0000;
/// The longest text of an answer, in which each character may have been escaped.
const TEXT_BYTES: usize = 4096 * 8;
/// The most items of a list.
const ITEMS: usize = 64;
/// The most bytes of a fault's text.
const DETAIL_BYTES: usize = 1024;
/// The most bytes of a rendered export.
const RENDERED_BYTES: usize = 8 << 20;

/// A guest for each kind: its world, its export, and the location of its text.
const GUESTS: [(Kind, &str, &str, &str, &str); 4] = [
    (Kind::RiskCalculator, "risk-calculator", "assessor", "assess", "(param $call i32)"),
    (Kind::Pattern, "pattern", "detector", "detect", "(param $call i32)"),
    (Kind::Intervention, "intervention", "intervener", "intervene", "(param $call i32)"),
    (
        Kind::AuditExporter,
        "audit-exporter",
        "exporter",
        "render",
        "(param i32 i32) (param $call i32) (param i32 i32)",
    ),
];

thread_local! {
    static PLUGINS: RefCell<Option<PluginSet>> = const { RefCell::new(None) };
}

/// Returns valid answers in the canonical form: small words, with addresses within the answer
/// itself.
pub(crate) fn seeds() -> Vec<&'static [u8]> {
    let to = |word: u32| AT + word * 4;
    // The words of texts at word 40: `rule`, an escape, a letter of two bytes.
    let texts = [0x656c_7572, 0x5b1b_0a6e, 0xa4c3_6d6d, 0x6873_202d];
    // Positions and words: mostly pairs of an address and a length.
    let answers: [&[(usize, &[u32])]; 8] = [
        &[],
        // A risk with one factor.
        &[(1, &[1, 420, to(24), 1]), (24, &[to(40), 4, 700 << 16, to(40), 4])],
        // One ruling, with evidence, an alternative and a rewrite.
        &[
            (17, &[to(20), 1]),
            (20, &[to(40), 4, 0x0102, to(40), 4, to(48), 1, to(44), 1, 1, to(56), 1, to(40), 4]),
        ],
        // A rating, issues and suggestions.
        &[(5, &[1, 500 << 16 | 1]), (10, &[to(44), 2, to(44), 2])],
        // A detection and a state.
        &[(1, &[to(8), 1, 1, to(40), 8]), (8, &[to(40), 4, 800 << 16 | 1, 700, 3, 0, to(40), 4])],
        // Guidance.
        &[(2, &[to(44), 1, to(48), 1])],
        // An export.
        &[(1, &[to(40), 16, to(40), 4])],
        // A failure.
        &[(0, &[1, 2, to(40), 16])],
    ];
    // Two texts, a piece of evidence that is also a background, one edit.
    let lists: [(usize, &[u32]); 3] = [
        (40, &texts),
        (44, &[to(40), 4, to(41), 4, to(40), 4, to(41), 8]),
        (56, &[to(40), 4, 0, 0, to(40), 4]),
    ];
    let seed = |answer: &[(usize, &[u32])]| {
        let mut image = [0; 64];
        for (at, words) in answer.iter().chain(&lists) {
            image.iter_mut().skip(*at).zip(*words).for_each(|(slot, word)| *slot = *word);
        }
        let bytes: Vec<u8> = image.iter().flat_map(|word| word.to_le_bytes()).collect();
        &*bytes.leak()
    };
    answers.into_iter().map(seed).collect()
}

/// Checks the requirements for every answer.
pub(crate) fn check(bytes: &[u8]) -> Result<(), String> {
    PLUGINS.with_borrow_mut(|plugins| match plugins {
        Some(plugins) => ask(plugins, bytes),
        None => ask(plugins.insert(set().map_err(|error| format!("no guests: {error}"))?), bytes),
    })
}

/// Formats bytes for the guests' source.
fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn ask(plugins: &mut PluginSet, bytes: &[u8]) -> Result<(), String> {
    let text = digits(bytes);
    let (context, none) = (sample::context(), |_| None);
    let action = Action { id: text.clone(), ..sample::action() };
    for answer in plugins.assess(&action, &context, &none) {
        holds(&answer.result)?;
    }
    let states = BTreeMap::from([("pattern".to_owned(), text.clone().into_bytes())]);
    for answer in plugins.detect(&states, &History::default(), &sample::action(), &context, &none) {
        let state = answer
            .result
            .as_ref()
            .ok()
            .and_then(|report| report.state.as_ref())
            .map_or(0, Vec::len);
        within("state", state, 64 << 10)?;
        holds(&answer.result.map(|report| report.detections))?;
    }
    if let Some(answer) =
        plugins.intervene("intervention", &issue(text.clone()), &situation(), &context, &none)
    {
        holds(&answer.result)?;
    }
    match plugins.render_records("audit-exporter", &[record(text)], true) {
        Some(PluginResponse { result: Ok(Rendered { bytes, content_type }), .. }) => {
            within("export", bytes.len(), RENDERED_BYTES)?;
            shown(&Value::String(content_type))
        }
        Some(PluginResponse { result: Err(fault), .. }) => holds::<()>(&Err(fault)),
        None => Err("there is no exporter".to_owned()),
    }
}

fn holds<T: Serialize>(answer: &Result<T, Fault>) -> Result<(), String> {
    match answer {
        Ok(found) => shown(
            &serde_json::to_value(found)
                .map_err(|error| format!("it cannot be recorded: {error}"))?,
        ),
        Err(fault) => {
            use FaultKind::{BadSettings, BadValue, Declined, OutOfMemory, OutputTooLarge, Trap};
            if !matches!(
                fault.kind,
                BadSettings | BadValue | Declined | OutOfMemory | OutputTooLarge | Trap
            ) {
                return Err(format!("no fault of an answer: {fault}"));
            }
            within("fault", fault.detail.len(), DETAIL_BYTES)?;
            if fault.detail.contains('\n') {
                Err(format!("a fault of two lines: {fault}"))
            } else {
                shown(&Value::String(fault.detail.clone()))
            }
        }
    }
}

/// Checks that every list and every text is within its bounds, and that no text contains control
/// sequences or changes of direction.
fn shown(value: &Value) -> Result<(), String> {
    match value {
        Value::String(text) => {
            within("text", text.len(), TEXT_BYTES)?;
            let odd = |sign: char| {
                (sign.is_control() && !matches!(sign, '\n' | '\t'))
                    || ('\u{202a}'..='\u{202e}').contains(&sign)
            };
            if text.chars().any(odd) {
                Err(format!("a text that cannot be shown: {text:?}"))
            } else {
                Ok(())
            }
        }
        Value::Array(items) => {
            within("list", items.len(), ITEMS)?;
            items.iter().try_for_each(shown)
        }
        Value::Object(fields) => fields.values().try_for_each(shown),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

fn within(what: &str, length: usize, most: usize) -> Result<(), String> {
    if length <= most { Ok(()) } else { Err(format!("a {what} of {length}; at most {most}")) }
}

fn set() -> Result<PluginSet, Box<dyn Error>> {
    let mut entries = Vec::new();
    for (kind, world, interface, call, parameters) in GUESTS {
        let bytes = Box::leak(Box::new(guest(world, interface, call, parameters)?));
        let source = Source::Builtin {
            name: world,
            kind,
            waits_for_outcome: false,
            descriptor: None,
            digest: world,
            bytes,
        };
        entries.push(entry(world, source, Limits::third_party()));
    }
    let reader = Source::Builtin {
        name: SHELL_READER.name,
        kind: Kind::ShellReader,
        waits_for_outcome: false,
        descriptor: None,
        digest: SHELL_READER.component.digest,
        bytes: SHELL_READER.component,
    };
    let clock = ReviewClock { now_ms: 0, time_budget: None };
    Ok(PluginSet::new(
        Engine::new(None)?,
        entry("shell", reader, Limits::shell_reader()),
        entries,
        clock,
    )?)
}

fn entry(name: &str, source: Source, limits: Limits) -> PluginSpec {
    PluginSpec {
        name: name.into(),
        source,
        settings: Vec::new(),
        injected_settings: Vec::new(),
        on_fault: OnFault::Ask,
        limits,
        grants: Arc::default(),
        shadow: false,
    }
}

/// Returns a guest with that code as a component of its world.
fn guest(
    world: &str,
    interface: &str,
    call: &str,
    parameters: &str,
) -> Result<Vec<u8>, Box<dyn Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = format!(
        r#"(module {echo} {allocator}
            (func (export "portcullis:plugin/{interface}@0.1.0#{call}") {parameters} (result i32)
                (call $answer (i32.load offset=8 (local.get $call)) (i32.load offset=12 (local.get $call))))
            (func (export "portcullis:plugin/{interface}@0.1.0#prepare") (param i32 i32) (result i32) (i32.const 1024)))"#,
        echo = include_str!("../guests/echo.wat"),
        allocator = include_str!("../../hostile/allocator.wat"),
    );
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(here.join("../../wit/plugin"))?;
    let world = resolve.select_world(&[package], Some(world))?;
    let mut module = wat::parse_str(text)?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    Ok(ComponentEncoder::default().validate(true).module(&module)?.encode()?)
}

fn issue(name: String) -> Issue {
    Issue {
        name,
        severity: Severity::Medium,
        confidence: Score::MAX,
        impact: Score::MAX,
        first_step: 0,
        summary: String::new(),
        evidence: vec![],
        recurrences: 0,
    }
}

fn situation() -> Situation {
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

fn record(id: String) -> AuditRecord {
    AuditRecord {
        sequence: 1,
        id,
        at: 0,
        kind: "review".into(),
        session: String::new(),
        agent: None,
        subject: String::new(),
        summary: String::new(),
        decision: None,
        detections: vec![],
        faults: vec![],
        previous: String::new(),
        hash: String::new(),
        document: String::new(),
        attributes: vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The seeds must be valid answers: otherwise only their first byte would be tested.
    #[test]
    fn each_seed_is_an_answer() {
        let (mut plugins, context) = (set().unwrap(), sample::context());
        let texts: Vec<String> = seeds().into_iter().map(digits).collect();
        let mut assessed = |at: usize| {
            let action = Action { id: texts[at].clone(), ..sample::action() };
            plugins
                .assess(&action, &context, &|_| None)
                .remove(0)
                .result
                .unwrap_or_else(|fault| panic!("seed {at}: {fault}"))
        };
        assert_eq!(assessed(0), Default::default());
        assert_eq!(assessed(1).risk.unwrap().factors[0].id, "rule");
        assert!(assessed(2).rulings[0].rewrite.is_some());
        assert_eq!(assessed(3).rationality.unwrap().issues.len(), 2);
        let states = BTreeMap::from([("pattern".to_owned(), texts[4].clone().into_bytes())]);
        let report = plugins
            .detect(&states, &History::default(), &sample::action(), &context, &|_| None)
            .remove(0)
            .result
            .unwrap();
        assert_eq!((report.detections.len(), report.state.unwrap().len()), (1, 8));
        let response = plugins
            .intervene("intervention", &issue(texts[5].clone()), &situation(), &context, &|_| None)
            .unwrap()
            .result;
        assert!(response.is_ok(), "{response:?}");
        let rendered = plugins
            .render_records("audit-exporter", &[record(texts[6].clone())], true)
            .unwrap()
            .result
            .unwrap();
        assert_eq!(rendered.bytes.len(), 16);
        let failed = plugins
            .render_records("audit-exporter", &[record(texts[7].clone())], true)
            .unwrap()
            .result
            .unwrap_err();
        assert_eq!(failed.kind, FaultKind::Declined);
    }
}
