//! The compilation of files: a compiler's answer is checked, and each failure has a name.

use crate::guests::{action, builtin_entry, context, file_entry, good, no_details, reader};
use portcullis_core::fault::{Fault, FaultKind};
use portcullis_core::plugins::Plugins;
use portcullis_engine::{
    CodeCache, CompileEnd, CompileLimit, CompileLimits, Compiler, Engine, Kind, PluginSet,
    ReviewClock, compile_here,
};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

type Change = fn(&Place);
type Work = fn(&[u8]) -> Result<Vec<u8>, CompileEnd>;

const LIMITS: CompileLimits = CompileLimits {
    wall: Duration::from_secs(15),
    cpu_seconds: 60,
    memory_bytes: 1 << 31,
    output_bytes: 1 << 28,
};

/// A compiler that does as instructed, and counts.
struct InstructedCompiler {
    work: Work,
    limits: Option<CompileLimits>,
    again: bool,
    calls: AtomicUsize,
}

impl Compiler for InstructedCompiler {
    fn limits(&self) -> Option<CompileLimits> {
        self.limits
    }

    fn retries_failures(&self) -> bool {
        self.again
    }

    fn waited(&self, _: Duration) {}

    fn compile(&self, component: &[u8], limits: &CompileLimits) -> Result<Vec<u8>, CompileEnd> {
        assert_eq!(Some(*limits), self.limits);
        self.calls.fetch_add(1, Ordering::Relaxed);
        (self.work)(component)
    }
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::write(place.0.path().join("plugin.wasm"), good(420)).unwrap();
        place
    }

    /// Returns the fault of the plugin in a new process, if any, and the number of compilations for
    /// it.
    fn ask(
        &self,
        work: Work,
        limits: Option<CompileLimits>,
        again: bool,
    ) -> (Option<Fault>, usize) {
        let compiler =
            Arc::new(InstructedCompiler { work, limits, again, calls: AtomicUsize::new(0) });
        let engine =
            Engine::new(Some(CodeCache::new(&self.0.path().join("cache"), [7; 32]))).unwrap();
        let answer =
            asked(&engine.with_compiler(compiler.clone()), self.0.path().join("plugin.wasm"));
        (answer, compiler.calls.load(Ordering::Relaxed))
    }

    fn failures(&self) -> Vec<PathBuf> {
        let files =
            fs::read_dir(self.0.path().join("cache")).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|end| end == "failed")).collect()
    }
}

/// Returns the fault of a file, next to a builtin plugin that always answers.
fn asked(engine: &Engine, path: PathBuf) -> Option<Fault> {
    let entries =
        vec![file_entry("file", path), builtin_entry("ours", Kind::RiskCalculator, good(1))];
    let mut set = PluginSet::new(
        engine.clone(),
        reader(),
        entries,
        ReviewClock { now_ms: 1, time_budget: None },
    )
    .unwrap();
    let mut answers = set.assess(&action(), &context(), &no_details);
    assert_eq!(answers.len(), 2);
    let (ours, file): (Vec<_>, Vec<_>) =
        answers.drain(..).partition(|answer| answer.plugin.name == "ours");
    assert!(ours[0].result.is_ok(), "{ours:?}");
    file[0].result.clone().err()
}

/// The behaviours of a compiler: the fault, its text, and true if the next process believes it.
const ENDS: &[(Work, FaultKind, &str, bool)] = &[
    (
        |_| Err(CompileEnd::Invalid("odd".into())),
        FaultKind::LoadFailed,
        "it does not compile: odd",
        true,
    ),
    (
        |_| Err(CompileEnd::Limit(CompileLimit::Wall(LIMITS.wall))),
        FaultKind::CompileLimit,
        "longer than the 15 s",
        true,
    ),
    (
        |_| Err(CompileEnd::Limit(CompileLimit::Cpu(60))),
        FaultKind::CompileLimit,
        "60 s of processor time",
        true,
    ),
    (
        |_| Err(CompileEnd::Limit(CompileLimit::Memory(1 << 31))),
        FaultKind::CompileLimit,
        "2048 MiB of memory",
        true,
    ),
    (
        |_| Err(CompileEnd::Limit(CompileLimit::Output(1 << 28))),
        FaultKind::CompileLimit,
        "machine code has more than 256 MiB",
        true,
    ),
    (|_| Err(CompileEnd::Crashed("signal 9".into())), FaultKind::CompileLimit, "signal 9", true),
    (
        |_| Err(CompileEnd::Unavailable("no process".into())),
        FaultKind::LoadFailed,
        "cannot be started: no process",
        false,
    ),
    (|_| Ok(Vec::new()), FaultKind::CompileLimit, "its answer is incomplete", true),
    (|_| Ok(vec![7; 100_000]), FaultKind::CompileLimit, "its answer is incomplete", true),
    (
        |component| Ok(cut(compile_here(component).unwrap())),
        FaultKind::CompileLimit,
        "its answer is incomplete",
        true,
    ),
    (
        |component| Ok(flipped(compile_here(component).unwrap())),
        FaultKind::CompileLimit,
        "its answer is incomplete",
        true,
    ),
    (
        |_| Ok(compile_here(&good(1)).unwrap()),
        FaultKind::CompileLimit,
        "its answer is incomplete",
        true,
    ),
];

fn cut(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() - 1);
    bytes
}

fn flipped(mut bytes: Vec<u8>) -> Vec<u8> {
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    bytes
}

const GOOD: Work = |component| compile_here(component).map_err(CompileEnd::Invalid);

#[test]
fn each_end_is_a_named_fault_and_is_found_out_once() {
    for (work, kind, says, believed) in ENDS {
        let place = Place::new();
        let (first, compiled) = place.ask(*work, Some(LIMITS), false);
        let fault = first.clone().expect(says);
        assert!(fault.kind == *kind && fault.detail.contains(says), "{fault}");
        assert_eq!((compiled, place.failures().len()), (1, usize::from(*believed)), "{says}");
        let again = place.ask(*work, Some(LIMITS), false);
        assert_eq!(again, (first, usize::from(!believed)), "{says}");
    }
}

/// A failure is tried again with higher limits, at a person's request, and if its record is
/// damaged.
#[test]
fn failures_are_retried_if_useful() {
    let failing: Work = |_| Err(CompileEnd::Limit(CompileLimit::Wall(LIMITS.wall)));
    let more = CompileLimits { wall: Duration::from_secs(16), ..LIMITS };
    let less = CompileLimits { wall: Duration::from_secs(3), ..LIMITS };
    let harm: Change = |place| {
        let file = place.failures().remove(0);
        let mut bytes = fs::read(&file).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(file, bytes).unwrap();
    };
    let table: [(&str, Option<CompileLimits>, bool, Change, usize); 6] = [
        ("as before", Some(LIMITS), false, |_| {}, 0),
        ("with less", Some(less), false, |_| {}, 0),
        ("with no time", None, false, |_| {}, 0),
        ("with more", Some(more), false, |_| {}, 1),
        ("for a person", Some(LIMITS), true, |_| {}, 1),
        ("after harm", Some(LIMITS), false, harm, 1),
    ];
    for (name, limits, again, change, tried) in table {
        let place = Place::new();
        assert!(place.ask(failing, Some(LIMITS), false).0.is_some());
        change(&place);
        let (fault, compiled) = place.ask(GOOD, limits, again);
        assert_eq!((fault.is_none(), compiled), (tried == 1, tried), "{name}: {fault:?}");
    }
}

#[test]
fn without_time_or_a_compiler_nothing_is_compiled() {
    let place = Place::new();
    let (fault, compiled) = place.ask(GOOD, None, false);
    let fault = fault.unwrap();
    assert_eq!(
        (fault.kind, compiled, place.failures().len()),
        (FaultKind::NotRun, 0, 0),
        "{fault}"
    );
    let fault = asked(&Engine::new(None).unwrap(), place.0.path().join("plugin.wasm")).unwrap();
    assert!(
        fault.kind == FaultKind::LoadFailed && fault.detail.contains("cannot be started"),
        "{fault}"
    );
    assert_eq!(place.ask(GOOD, Some(LIMITS), false), (None, 1));
}

/// Two processes meet a new file at once: one compiles it, the other uses its result, or gives up
/// in time.
#[test]
fn concurrent_requests_compile_once() {
    let slow: Work = |component| {
        std::thread::sleep(Duration::from_millis(300));
        GOOD(component)
    };
    let failing: Work = |_| {
        std::thread::sleep(Duration::from_millis(300));
        Err(CompileEnd::Crashed("signal 9".into()))
    };
    let hasty = CompileLimits { wall: Duration::from_millis(50), ..LIMITS };
    let table: [(Work, CompileLimits, Option<FaultKind>, Option<FaultKind>); 3] = [
        (slow, LIMITS, None, None),
        (failing, LIMITS, Some(FaultKind::CompileLimit), Some(FaultKind::CompileLimit)),
        (slow, hasty, None, Some(FaultKind::NotRun)),
    ];
    for (work, limits, first, second) in table {
        let place = Place::new();
        let (one, other) = std::thread::scope(|scope| {
            let one = scope.spawn(|| place.ask(work, Some(LIMITS), false));
            std::thread::sleep(Duration::from_millis(100));
            let other = place.ask(work, Some(limits), false);
            (one.join().unwrap(), other)
        });
        let kind = |answer: &(Option<Fault>, usize)| answer.0.as_ref().map(|fault| fault.kind);
        assert_eq!((kind(&one), kind(&other)), (first, second), "{one:?} {other:?}");
        assert_eq!((one.1, other.1), (1, 0), "{one:?} {other:?}");
    }
}
