//! The effect of faults on a verdict, from the files of the plugins to the answer: real guests, the
//! real pipeline. A plugin with a fault never makes the verdict looser, whatever the others answer;
//! a plugin in shadow changes nothing.

use crate::guests::{NOTHING, assessor, component, component_text, file_entry, reader, risk};
use portcullis_agents::claude::wire as claude;
use portcullis_core::event::Reply;
use portcullis_core::fault::{FaultKind, OnFault};
use portcullis_core::mask::Masker;
use portcullis_core::observe::Observations;
use portcullis_core::pipeline::{self, Ports, Settings};
use portcullis_core::policy::Policy;
use portcullis_core::record::Record;
use portcullis_core::score::Verdict;
use portcullis_core::session::State;
use portcullis_core::undo::NoUndo;
use portcullis_engine::{
    CodeCache, CompileEnd, CompileLimit, CompileLimits, Compiler, Engine, Limits, PluginSet,
    PluginSpec, ReviewClock, compile_here,
};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A component that contains this text, or the next one, is not compiled.
const TOO_LARGE: &[u8] = b"too large to compile";
const NO_TIME: &[u8] = b"no time to compile";

/// A compiler that works in this process, except for components with those texts.
struct Fussy;

impl Compiler for Fussy {
    fn limits(&self) -> Option<CompileLimits> {
        Some(CompileLimits {
            wall: Duration::MAX,
            cpu_seconds: u64::MAX,
            memory_bytes: u64::MAX,
            output_bytes: u64::MAX,
        })
    }

    fn retries_failures(&self) -> bool {
        false
    }

    fn waited(&self, _: Duration) {}

    fn compile(&self, component: &[u8], _: &CompileLimits) -> Result<Vec<u8>, CompileEnd> {
        let says = |words: &[u8]| component.windows(words.len()).any(|window| window == words);
        if says(TOO_LARGE) {
            return Err(CompileEnd::Limit(CompileLimit::Memory(1)));
        }
        if says(NO_TIME) {
            return Err(CompileEnd::NoTime);
        }
        compile_here(component).map_err(CompileEnd::Invalid)
    }
}

/// Returns one ruling with that verdict, which sets the command to `ls` if it is to be rewritten.
fn rules(verdict: Verdict) -> String {
    // `objection` has every verdict but the first.
    let number = Verdict::ALL.iter().position(|one| *one == verdict).unwrap() - 1;
    let rewrite = if verdict == Verdict::Modify {
        "(i32.store8 (i32.const 3108) (i32.const 1)) (i32.store (i32.const 3112) (i32.const 3200)) (i32.store (i32.const 3116) (i32.const 1))
         (i32.store (i32.const 3120) (i32.const 2056)) (i32.store (i32.const 3124) (i32.const 2))
         (i32.store (i32.const 3200) (i32.const 2080)) (i32.store (i32.const 3204) (i32.const 7))
         (i32.store (i32.const 3216) (i32.const 2096)) (i32.store (i32.const 3220) (i32.const 2))"
    } else {
        ""
    };
    format!(
        "(i32.store (i32.const 1092) (i32.const 3072)) (i32.store (i32.const 1096) (i32.const 1))
         (i32.store (i32.const 3072) (i32.const 2048)) (i32.store (i32.const 3076) (i32.const 4))
         (i32.store8 (i32.const 3080) (i32.const {number})) (i32.store8 (i32.const 3081) (i32.const 1))
         (i32.store (i32.const 3084) (i32.const 2056)) (i32.store (i32.const 3088) (i32.const 2)) {rewrite} (i32.const 1024)"
    )
}

/// Returns guests that answer.
fn answering() -> Vec<Vec<u8>> {
    let texts = r#"(data (i32.const 2048) "rule") (data (i32.const 2056) "no") (data (i32.const 2080) "command") (data (i32.const 2096) "ls")"#;
    let bodies = [
        risk(700),
        rules(Verdict::Warn),
        rules(Verdict::Modify),
        rules(Verdict::Ask),
        rules(Verdict::Block),
    ];
    bodies
        .iter()
        .map(|body| component(&assessor(body, NOTHING, texts), "risk-calculator"))
        .collect()
}

/// Returns a guest for each fault that a plugin can have. The wall clock's fault is left out: a
/// test cannot control when it occurs.
fn failing() -> Vec<(FaultKind, Vec<u8>)> {
    use FaultKind as Kind;
    let asked = |body: &str| component(&assessor(body, NOTHING, ""), "risk-calculator");
    let error_body = |case: u8| {
        format!(
            "(i32.store8 (i32.const 1024) (i32.const 1)) (i32.store8 (i32.const 1028) (i32.const {case})) (i32.const 1024)"
        )
    };
    let marked = |words: &[u8]| {
        let words = String::from_utf8_lossy(words);
        component(
            &assessor(NOTHING, NOTHING, &format!("(data (i32.const 3000) \"{words}\")")),
            "risk-calculator",
        )
    };
    let export = r#"(instance $i) (export "portcullis:plugin/assessor@0.1.0" (instance $i))"#;
    vec![
        (Kind::Trap, asked("unreachable")),
        (Kind::OutOfFuel, asked("(loop (br 0)) unreachable")),
        (
            Kind::OutOfMemory,
            asked(
                "(loop (br_if 0 (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable",
            ),
        ),
        (
            Kind::StackOverflow,
            component(
                &assessor(
                    "(call $r)",
                    NOTHING,
                    "(func $r (result i32) (i32.add (call $r) (call $r)))",
                ),
                "risk-calculator",
            ),
        ),
        (
            Kind::OutputTooLarge,
            asked(
                "(i32.store8 (i32.const 1044) (i32.const 1)) (i32.store (i32.const 1068) (i32.const 65)) (i32.const 1024)",
            ),
        ),
        (Kind::BadValue, asked(&risk(1001))),
        (
            Kind::MissingGrant,
            component_text(&format!(
                r#"(component (import "wasi:sockets/tcp@0.2.0" (instance)) {export})"#
            )),
        ),
        (Kind::Declined, asked(&error_body(2))),
        (Kind::BadSettings, component(&assessor(NOTHING, &error_body(0), ""), "risk-calculator")),
        (Kind::LoadFailed, b"nothing".to_vec()),
        (Kind::CompileLimit, marked(TOO_LARGE)),
        (Kind::NotRun, marked(NO_TIME)),
    ]
}

/// A folder of plugins, with a cache of their compiled code.
struct Place {
    folder: tempfile::TempDir,
    engine: Engine,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::new(Some(CodeCache::new(&folder.path().join("cache"), [7; 32])))
            .unwrap()
            .with_compiler(Arc::new(Fussy));
        Self { folder, engine }
    }

    fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Reviews an action with these plugins; returns the answer and its record.
    fn reviewed(&self, entries: Vec<PluginSpec>) -> (Reply, Record) {
        let clock = ReviewClock { now_ms: 1_700_000_000_000, time_budget: None };
        let mut plugins = PluginSet::new(self.engine.clone(), reader(), entries, clock).unwrap();
        let (policy, payload) = (Policy::default(), include_str!("strictness.json"));
        let masker = Masker::new([7; 32], &policy.mask);
        let settings = Settings {
            policy: &policy,
            masker: &masker,
            home: "/home/me",
            exceptions: &[],
            unwhole: &[],
            measured: None,
        };
        let mut ports = Ports {
            plugins: &mut plugins,
            observe: &mut |_| Observations::new(),
            details: &|_| None,
            undo: &NoUndo,
        };
        let event = claude::parse_event(payload.as_bytes()).unwrap();
        let mut reviewed = pipeline::run_pipeline(
            &event,
            State::decode_state(None, None).unwrap(),
            clock.now_ms,
            &settings,
            &mut ports,
        );
        (reviewed.reply, reviewed.records.remove(0))
    }
}

/// Returns an entry with that policy for faults. Its fuel is low, since some guests use it up.
fn entry(name: String, path: PathBuf, on_fault: OnFault, shadow: bool) -> PluginSpec {
    PluginSpec {
        on_fault,
        shadow,
        limits: Limits { fuel: 1_000_000, ..Limits::third_party() },
        ..file_entry(&name, path)
    }
}

fn verdict(record: &Record) -> Verdict {
    record.decision.as_ref().unwrap().verdict
}

const POLICIES: [OnFault; 3] = [OnFault::Warn, OnFault::Ask, OnFault::Block];

/// Each subset of the answering plugins, with each failing one, with two of them and with all.
#[test]
fn no_fault_makes_a_verdict_looser() {
    let place = Place::new();
    let answering: Vec<PathBuf> = answering()
        .iter()
        .enumerate()
        .map(|(at, bytes)| place.put(&format!("good{at}.wasm"), bytes))
        .collect();
    let failing: Vec<(FaultKind, PathBuf)> = failing()
        .into_iter()
        .map(|(kind, bytes)| (kind, place.put(&format!("{kind}.wasm"), &bytes)))
        .collect();
    let mut sets: Vec<Vec<&(FaultKind, PathBuf)>> = failing.iter().map(|one| vec![one]).collect();
    sets.push(failing.iter().collect());
    sets.extend(failing.windows(2).map(|pair| pair.iter().collect()));
    let pairs = failing.len() - 1;
    let mut stricter = 0;
    for subset in 0..1_u32 << answering.len() {
        let good = || {
            let chosen = answering.iter().enumerate().filter(|(at, _)| subset >> at & 1 == 1);
            chosen.map(|(at, path)| entry(format!("good{at}"), path.clone(), OnFault::Ask, false))
        };
        let (reply, record) = place.reviewed(good().collect());
        assert!(record.faults.is_empty(), "{subset:b}: {:?}", record.faults);
        // Pairs are tried only with small subsets: the number of reviews dominates the running
        // time.
        let tried = if subset.count_ones() > 1 { sets.len() - pairs } else { sets.len() };
        for (round, set) in sets.iter().take(tried).enumerate() {
            let policy = POLICIES[(round + subset as usize) % POLICIES.len()];
            let with =
                |shadow| {
                    good()
                        .chain(set.iter().map(|(kind, path)| {
                            entry(kind.to_string(), path.clone(), policy, shadow)
                        }))
                        .collect()
                };
            let name = format!("{subset:b} beside {set:?} under {policy:?}");

            let (_, faulty) = place.reviewed(with(false));
            let mut kinds: Vec<FaultKind> = faulty.faults.iter().map(|fault| fault.kind).collect();
            let mut expected: Vec<FaultKind> = set.iter().map(|(kind, _)| *kind).collect();
            kinds.sort();
            kinds.dedup();
            expected.sort();
            assert_eq!(kinds, expected, "{name}");
            assert!(
                verdict(&faulty) >= verdict(&record),
                "{name}: {} after {}",
                verdict(&faulty),
                verdict(&record)
            );
            stricter += usize::from(verdict(&faulty) > verdict(&record));

            let (same, looked_on) = place.reviewed(with(true));
            assert_eq!((&same, looked_on.shadow.len()), (&reply, set.len()), "{name}");
            assert_eq!(Record { shadow: Vec::new(), ..looked_on }, record, "{name}");
        }
    }
    assert!(stricter > 100, "faults made {stricter} verdicts stricter");
}
