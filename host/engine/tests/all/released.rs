//! Released versions of the WIT package: their text never changes, and plugins that were built for
//! one keep loading.
//!
//! `tests/released/VERSION` holds plugins that were built when the version was released, a
//! component and its answer for each kind. They are never built again: the promise is that exactly
//! these bytes work. Those of 0.1.0 are the output of `portcullis plugin new released` and `plugin
//! build`: risk-calculator and pattern in C, intervention and audit-exporter in Rust.

use crate::answers::{issue, situation};
use crate::guests::{action, context, file_entry, no_details, set};
use portcullis_core::action::{
    Action, Context, Effect, EffectKind, Entry, GitState, Goal, History, Outcome, Path, Scope,
    Status, Step, Totals,
};
use portcullis_core::fault::Fault;
use portcullis_core::finding::{AuditDecision, AuditRecord};
use portcullis_core::plugins::Plugins;
use portcullis_core::score::{Score, Verdict};
use portcullis_engine::{Engine, Kind, PluginSet};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// A released version. A row is added by a release and never changed.
struct Release {
    version: &'static str,
    /// BLAKE3 over the names and contents of the files of `wit/released/VERSION`.
    wit: &'static str,
    /// The same of `tests/released/VERSION`.
    guests: &'static str,
}

const RELEASED: &[Release] = &[Release {
    version: "0.1.0",
    wit: "c48aeb6cea52b5e37489cb559cc26e96d10275171aaab25b4df7dfe49b42d19e",
    guests: "bbf31b373f4c91f6bfebb1f515bfa211aadf4237cda79a63b3ee40f78facb60f",
}];

fn here(place: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(place)
}

/// Returns the names and contents of a folder's files, by name.
fn files(folder: &str) -> BTreeMap<String, Vec<u8>> {
    let read = |file: std::io::Result<fs::DirEntry>| {
        let file = file.unwrap();
        (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap())
    };
    fs::read_dir(here(folder)).unwrap().map(read).collect()
}

fn digest(files: &BTreeMap<String, Vec<u8>>) -> String {
    let mut hasher = blake3::Hasher::new();
    for (name, bytes) in files {
        hasher.update(format!("{name} {}\n", bytes.len()).as_bytes());
        hasher.update(bytes);
    }
    hasher.finalize().to_hex().to_string()
}

#[test]
fn a_released_version_is_as_it_was() {
    for Release { version, wit, guests } in RELEASED {
        for (folder, known) in [("../../wit/released", wit), ("tests/released", guests)] {
            let found = digest(&files(&format!("{folder}/{version}")));
            assert_eq!(
                &found, known,
                "{folder}/{version} has changed: put it back, and make the change in a later version"
            );
        }
    }
    let known: BTreeSet<&str> = RELEASED.iter().map(|release| release.version).collect();
    for folder in ["../../wit/released", "tests/released"] {
        let names = fs::read_dir(here(folder))
            .unwrap()
            .map(|folder| folder.unwrap().file_name().into_string().unwrap());
        let names: Vec<String> = names.collect();
        assert_eq!(
            names.iter().map(String::as_str).collect::<BTreeSet<_>>(),
            known,
            "{folder}: a version without a row above, or gone"
        );
    }
}

/// The host is built from the newest released version, or declares a version that was not released.
#[test]
fn the_released_version_is_in_use() {
    let used = files("../../wit/plugin");
    let version = String::from_utf8(used["types.wit"].clone()).unwrap();
    let version = version.split_once('@').and_then(|(_, rest)| rest.split_once(';')).unwrap().0;
    if RELEASED.iter().any(|release| release.version == version) {
        assert_eq!(
            used,
            files(&format!("../../wit/released/{version}")),
            "wit/plugin says {version} and is something else"
        );
    }
}

/// Returns a change to a migration, in a session that failed three times, which the plugins'
/// templates object to.
fn edit() -> Action {
    let migration = "/work/migrations/0001.sql";
    let mut action = action();
    action.facts.effects = vec![Effect {
        kind: EffectKind::FileModify,
        target: migration.into(),
        path: Some(0),
        command: None,
        recursive: false,
        certain: true,
    }];
    action.facts.paths = vec![Path {
        text: migration.into(),
        glob: false,
        scope: Scope::Inside,
        entry: Entry::File,
        link_target: None,
        git: GitState::Clean,
        restorable: true,
    }];
    action
}

fn failed() -> Action {
    let outcome = Outcome {
        at: 1_700_000_000_500,
        status: Status::Failed,
        exit_code: Some(1),
        error: "no such table\nand so on".into(),
        output: String::new(),
        duration_ms: Some(12),
        bytes: 24,
        tokens: None,
    };
    Action { outcome: Some(outcome), ..edit() }
}

fn history() -> History {
    let step = |index| Step {
        index,
        at: 1_700_000_000_000,
        intent: action().intent,
        verdict: Verdict::Allow,
        status: Status::Failed,
        shape: 1,
        identity: index,
        error: 9,
        output: 0,
        risk: Score::new(100),
        alignment: None,
        effects: 1,
        outside: 0,
        files: 1,
        prompt: 0,
        bytes: 24,
        tokens: 0,
        duration_ms: 12,
    };
    History {
        steps: (5..8).map(step).collect(),
        totals: Totals { steps: 3, failed: 3, ..Totals::default() },
    }
}

fn asked_for() -> Context {
    Context {
        goals: vec![Goal { text: "mend the build".into(), at: 1_700_000_000_000, priority: 0 }],
        ..context()
    }
}

fn record() -> AuditRecord {
    AuditRecord {
        sequence: 1,
        id: "review-1".into(),
        at: 1_700_000_000_000,
        kind: "review".into(),
        session: "session-1".into(),
        agent: None,
        subject: "Bash".into(),
        summary: "ls -l".into(),
        decision: Some(AuditDecision {
            verdict: Verdict::Warn,
            risk: Score::new(600),
            rationality: None,
            confidence: Score::new(900),
            reasons: vec!["why".into()],
            sources: vec!["rules".into()],
        }),
        detections: vec![],
        faults: vec![],
        previous: "0".repeat(64),
        hash: "1".repeat(64),
        document: "{}".into(),
        attributes: vec![],
    }
}

/// Returns the answer of the only plugin of a set, as JSON; its fault if it has one.
fn said(set: &mut PluginSet, kind: Kind) -> Value {
    match kind {
        Kind::RiskCalculator => {
            shown(set.assess(&edit(), &asked_for(), &no_details).remove(0).result)
        }
        Kind::Pattern => shown(
            set.detect(&BTreeMap::new(), &history(), &failed(), &asked_for(), &no_details)
                .remove(0)
                .result,
        ),
        Kind::Intervention => shown(
            set.intervene("released", &issue(), &situation(), &asked_for(), &no_details)
                .unwrap()
                .result,
        ),
        Kind::AuditExporter => {
            let rendered = set.render_records("released", &[record()], true).unwrap().result;
            shown(rendered.map(|rendered| {
                json!([rendered.content_type, String::from_utf8_lossy(&rendered.bytes)])
            }))
        }
        Kind::ShellReader => Value::Null,
    }
}

fn shown<T: Serialize>(result: Result<T, Fault>) -> Value {
    result.map_or_else(|fault| json!({ "fault": format!("{fault:?}") }), |answer| json!(answer))
}

#[test]
fn plugins_of_a_released_version_keep_answering() {
    let kinds = [Kind::RiskCalculator, Kind::Pattern, Kind::Intervention, Kind::AuditExporter];
    for Release { version, .. } in RELEASED {
        for kind in kinds {
            let place = here(&format!("tests/released/{version}/{kind}"));
            let engine = Engine::new(None).unwrap();
            let mut set = set(&engine, vec![file_entry("released", place.with_extension("wasm"))]);
            let expected: Value =
                serde_json::from_slice(&fs::read(place.with_extension("json")).unwrap()).unwrap();
            let found = said(&mut set, kind);
            assert_eq!(found, expected, "{kind} of {version} says:\n{found:#}");
        }
    }
}
