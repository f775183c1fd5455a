//! Held files are not run, and the outcomes of the others are reported.

use crate::guests::{
    NOTHING, action, assessor, builtin_entry, compiling, component, context, file_entry, good,
    no_details, reader, risk,
};
use portcullis_core::fault::{FaultKind, OnFault};
use portcullis_core::finding::Assessment;
use portcullis_core::plugins::{PluginResponse, Plugins};
use portcullis_engine::{Engine, Hold, Kind, PluginSet, PluginSpec, ReviewClock};

/// Returns a set of a good file, a trapping one, and a built-in plugin that traps.
fn set(folder: &std::path::Path) -> PluginSet {
    let trapping = component(&assessor("unreachable", NOTHING, ""), "risk-calculator");
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.join(format!("{name}.wasm"));
        std::fs::write(&path, bytes).unwrap();
        PluginSpec { on_fault: OnFault::Warn, ..file_entry(name, path) }
    };
    let ours = component(
        &assessor(&format!("{} drop unreachable", risk(3)), NOTHING, ""),
        "risk-calculator",
    );
    let entries = vec![
        file("good", &good(7)),
        file("traps", &trapping),
        builtin_entry("ours", Kind::RiskCalculator, ours),
    ];
    PluginSet::new(
        compiling(&Engine::new(None).unwrap()),
        reader(),
        entries,
        ReviewClock { now_ms: 1, time_budget: None },
    )
    .unwrap()
}

type Outcomes = Vec<(String, Option<(FaultKind, OnFault)>, bool)>;

/// Returns name, fault with its policy, and true if it ran.
fn read_outcomes(answers: &[PluginResponse<Assessment>]) -> Outcomes {
    let fault = |answer: &PluginResponse<Assessment>| {
        answer.result.as_ref().err().map(|fault| (fault.kind, fault.policy))
    };
    answers
        .iter()
        .map(|answer| (answer.plugin.name.clone(), fault(answer), answer.fuel > 0))
        .collect()
}

#[test]
fn held_plugins_are_not_run() {
    use FaultKind::{Held, Trap};
    let folder = tempfile::tempdir().unwrap();
    let mut set = set(folder.path());
    let digests: Vec<(String, String)> = set
        .assess(&action(), &context(), &no_details)
        .into_iter()
        .map(|answer| (answer.plugin.name, answer.plugin.digest))
        .collect();
    let digest = |name: &str| {
        digests.iter().find(|(known, _)| known == name).map(|(_, digest)| digest.clone()).unwrap()
    };
    let hold = |name: &str, digest: String| Hold {
        name: name.into(),
        digest,
        why: format!("{name} waits"),
    };
    let ours = ("ours".to_owned(), Some((Trap, OnFault::Block)), true);
    let runs = |name: &str| {
        (name.to_owned(), if name == "traps" { Some((Trap, OnFault::Warn)) } else { None }, true)
    };
    let held = |name: &str| (name.to_owned(), Some((Held, OnFault::Ask)), false);
    let table = [
        (vec![], vec![ours.clone(), runs("good"), runs("traps")]),
        (vec![hold("good", digest("good"))], vec![ours.clone(), held("good"), runs("traps")]),
        (
            vec![hold("traps", digest("traps")), hold("good", digest("good"))],
            vec![ours.clone(), held("good"), held("traps")],
        ),
        (vec![hold("good", digest("traps"))], vec![ours.clone(), runs("good"), runs("traps")]),
        (vec![hold("ours", digest("ours"))], vec![ours, runs("good"), runs("traps")]),
    ];
    for (holds, expected) in table {
        set.begin_review(1);
        set.hold_plugins(holds.clone());
        assert_eq!(
            read_outcomes(&set.assess(&action(), &context(), &no_details)),
            expected,
            "{holds:?}"
        );
        let ran: Vec<(String, Option<FaultKind>)> = set
            .file_outcomes()
            .iter()
            .map(|asked| (asked.name.clone(), asked.fault.as_ref().map(|fault| fault.kind)))
            .collect();
        let files = expected.iter().filter(|(name, _, ran)| name != "ours" && *ran);
        let files: Vec<_> =
            files.map(|(name, fault, _)| (name.clone(), fault.map(|(kind, _)| kind))).collect();
        assert_eq!(ran, files, "{holds:?}");
    }
    set.begin_review(1);
    assert_eq!(set.file_outcomes(), [], "a new review begins with nobody");
}

#[test]
fn the_first_thing_that_went_wrong_in_a_review_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let mut set = set(folder.path());
    for _ in 0..2 {
        set.assess(&action(), &context(), &no_details);
    }
    let faults: Vec<_> = set
        .file_outcomes()
        .iter()
        .map(|asked| (asked.name.as_str(), asked.fault.is_some(), asked.digest.len()))
        .collect();
    assert_eq!(faults, [("good", false, 64), ("traps", true, 64)]);
}
