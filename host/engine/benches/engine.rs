//! The cost of the sandbox, measured with the components in a folder (`cargo run -p
//! portcullis-builtin --example write -- DIR` fills one).
//!
//! ```text
//! cargo bench -p portcullis-engine -- DIR
//! ```
//!
//! The variants of a table run alternately, so that a busy machine slows all of them alike; read
//! the ratios.
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a bench prints, and ends when it cannot go on"
)]

#[path = "../tests/all/sample.rs"]
mod sample;

use portcullis_core::action::{Action, History, Intent, Operation, Shell, Status, Step, Totals};
use portcullis_core::fault::OnFault;
use portcullis_core::plugins::Plugins;
use portcullis_core::run_files::ShellPlace;
use portcullis_core::score::{Score, Verdict};
use portcullis_engine::{
    CodeCache, Engine, Kind, Limits, PluginSet, PluginSpec, ReviewClock, Source, inspect_component,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROUNDS: usize = 200;
const LINE: &str =
    r#"cd /work && rm -rf build/*.o "$HOME/.cache/x" | tee log.txt; sudo systemctl restart nginx"#;

struct Folder {
    reader: Option<PathBuf>,
    plugins: Vec<(Kind, PathBuf)>,
}

fn main() {
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let Some(folder) = folder else {
        println!("name a folder with components: cargo bench -p portcullis-engine -- DIR");
        return;
    };
    let folder = Folder::open(Path::new(&folder));
    let scratch = tempfile::tempdir().expect("a folder");
    let cache = scratch.path().join("cache");
    cold(&folder, &cache);
    processes(&folder, &cache);
    calls(&folder, &cache);
    shell(&folder, &cache);
}

impl Folder {
    fn open(path: &Path) -> Self {
        let mut folder = Self { reader: None, plugins: Vec::new() };
        for entry in std::fs::read_dir(path).expect("a folder with components") {
            let path = entry.expect("an entry").path();
            let Ok(found) = inspect_component(&std::fs::read(&path).expect("a readable file"))
            else {
                continue;
            };
            println!(
                "{:<24} {:<16} {:>9} bytes",
                path.file_name().unwrap_or_default().to_string_lossy(),
                found.kind.as_str(),
                found.size
            );
            match found.kind {
                Kind::ShellReader => folder.reader = Some(path),
                kind => folder.plugins.push((kind, path)),
            }
        }
        folder.plugins.sort();
        folder
    }

    /// Returns the set that a hook uses: everything compiled into the program.
    fn builtin(
        &self,
        cache: Option<&Path>,
        time_budget: Option<Duration>,
        limits: &Limits,
    ) -> PluginSet {
        let engine =
            Engine::new(cache.map(|path| CodeCache::new(path, [1; 32]))).expect("an engine");
        let entries =
            self.plugins.iter().map(|(kind, path)| embedded(*kind, path, limits)).collect();
        let reader = match &self.reader {
            Some(path) => embedded(Kind::ShellReader, path, &Limits::shell_reader()),
            None => embedded(Kind::ShellReader, &self.plugins[0].1, limits),
        };
        PluginSet::new(engine, reader, entries, ReviewClock { now_ms: 1, time_budget })
            .expect("usable names")
    }
}

/// Returns an entry whose bytes are leaked and hashed once for each path, as a build script would
/// do.
fn embedded(kind: Kind, path: &Path, limits: &Limits) -> PluginSpec {
    use std::sync::Mutex;
    static KNOWN: Mutex<BTreeMap<PathBuf, (&'static Vec<u8>, &'static str)>> =
        Mutex::new(BTreeMap::new());
    let (bytes, digest) =
        *KNOWN.lock().expect("not poisoned").entry(path.to_owned()).or_insert_with(|| {
            let bytes: &'static Vec<u8> =
                Box::leak(Box::new(std::fs::read(path).expect("a readable file")));
            (bytes, blake3::hash(bytes).to_hex().to_string().leak())
        });
    let name = path.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let source = Source::Builtin {
        name: name.clone().leak(),
        kind,
        waits_for_outcome: false,
        descriptor: None,
        digest,
        bytes,
    };
    let name = if kind == Kind::ShellReader { "shell".into() } else { name };
    PluginSpec {
        name,
        source,
        settings: vec![],
        injected_settings: vec![],
        on_fault: OnFault::Block,
        limits: limits.clone(),
        grants: Arc::default(),
        shadow: false,
    }
}

/// Measures compiling everything into an empty cache.
fn cold(folder: &Folder, cache: &Path) {
    let start = Instant::now();
    let mut faults = Vec::new();
    folder
        .builtin(Some(cache), None, &Limits::builtin())
        .compile_all(|step| faults.extend(step.result.and_then(Result::err)));
    println!("\ncompile and prepare all: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    for fault in faults {
        println!("  {fault}");
    }
    std::thread::sleep(Duration::from_millis(100));
    // A second run, so that each has its receipt.
    folder.builtin(Some(cache), None, &Limits::builtin()).compile_all(|_| {});
}

/// Measures a new engine each time, as each hook is a process of its own.
fn processes(folder: &Folder, cache: &Path) {
    let limits = Limits::builtin();
    let first_kinds = |set: &mut PluginSet| {
        let (action, context) = (action(), sample::context());
        set.assess(&action, &context, &|_| None);
        set.detect(&BTreeMap::new(), &history(0), &action, &context, &|_| None);
    };
    let once = |body: &dyn Fn()| {
        let start = Instant::now();
        body();
        start.elapsed()
    };
    table(
        "one process's worth, warm cache",
        50,
        &[
            ("engine alone", &|| once(&|| drop(Engine::new(None)))),
            ("load all", &|| {
                once(&|| folder.builtin(Some(cache), None, &limits).compile_all(|_| {}))
            }),
            ("load and ask assessors and patterns", &|| {
                once(&|| first_kinds(&mut folder.builtin(Some(cache), None, &limits)))
            }),
            ("the same with the wall clock on", &|| {
                once(&|| {
                    first_kinds(&mut folder.builtin(
                        Some(cache),
                        Some(ReviewClock::TIME_BUDGET),
                        &limits,
                    ))
                })
            }),
            ("the same and the shell reader", &|| {
                once(&|| {
                    let mut set =
                        folder.builtin(Some(cache), Some(ReviewClock::TIME_BUDGET), &limits);
                    drop(set.read_shell(LINE, &ShellPlace::without_files("/work", "/home/me")));
                    first_kinds(&mut set);
                })
            }),
        ],
    );
}

/// Measures calls into loaded plugins: instantiation and call, since no instance serves twice.
fn calls(folder: &Folder, cache: &Path) {
    for (kind, path) in folder
        .plugins
        .iter()
        .filter(|(kind, _)| matches!(kind, Kind::RiskCalculator | Kind::Pattern))
    {
        let one = Folder { reader: folder.reader.clone(), plugins: vec![(*kind, path.clone())] };
        let ask = |time_budget, steps| {
            let mut set = one.builtin(Some(cache), time_budget, &Limits::builtin());
            set.compile_all(|_| {});
            let (action, context, history) = (action(), sample::context(), history(steps));
            let fuel = std::cell::Cell::new(0);
            let set = std::cell::RefCell::new(set);
            move || {
                let mut set = set.borrow_mut();
                let start = Instant::now();
                set.begin_review(1);
                let used = match kind {
                    Kind::Pattern => set
                        .detect(&BTreeMap::new(), &history, &action, &context, &|_| None)
                        .first()
                        .map(|answer| answer.fuel),
                    _ => set.assess(&action, &context, &|_| None).first().map(|answer| answer.fuel),
                };
                fuel.set(used.unwrap_or_default());
                (start.elapsed(), fuel.get())
            }
        };
        let (plain, clocked, long) =
            (ask(None, 0), ask(Some(ReviewClock::TIME_BUDGET), 0), ask(None, 200));
        let fuel = (plain().1, long().1);
        table(
            &format!(
                "{}: fuel {}, with 200 steps {}",
                path.file_stem().unwrap_or_default().to_string_lossy(),
                fuel.0,
                fuel.1
            ),
            ROUNDS,
            &[
                ("instantiate and call", &|| plain().0),
                ("with the wall clock on", &|| clocked().0),
                ("with 200 steps of history", &|| long().0),
            ],
        );
    }
}

fn shell(folder: &Folder, cache: &Path) {
    if folder.reader.is_none() {
        return;
    }
    let set = std::cell::RefCell::new(folder.builtin(Some(cache), None, &Limits::builtin()));
    let large = "echo 'some text' && ".repeat(500) + "true";
    let read = |text: &str| {
        let mut set = set.borrow_mut();
        let start = Instant::now();
        if let Err(fault) = set.read_shell(text, &ShellPlace::without_files("/work", "/home/me")) {
            println!("  {fault}");
        }
        start.elapsed()
    };
    read(LINE);
    table(
        "shell reader",
        20,
        &[("90 bytes", &|| read(LINE)), ("10 KB, 501 commands", &|| read(&large))],
    );
    for megabyte in [
        "a".repeat(1 << 20),
        "a ".repeat(1 << 19),
        "'".repeat(1 << 20),
        "$(".repeat(1 << 19),
        "a;".repeat(1 << 19),
    ] {
        let start = Instant::now();
        let found =
            set.borrow_mut().read_shell(&megabyte, &ShellPlace::without_files("/work", "/home/me"));
        let what: String = megabyte.chars().take(4).collect();
        let coverage = found
            .map(|reading| format!("{}, {} commands", reading.coverage, reading.commands.len()));
        println!(
            "  1 MB of `{what}`: {:.1} ms, {}",
            start.elapsed().as_secs_f64() * 1e3,
            coverage.unwrap_or_else(|fault| fault.to_string())
        );
    }
}

type Variant<'a> = (&'a str, &'a dyn Fn() -> Duration);

fn table(title: &str, rounds: usize, variants: &[Variant<'_>]) {
    let mut times = vec![Vec::with_capacity(rounds); variants.len()];
    for _ in 0..rounds {
        for (times, (_, run)) in times.iter_mut().zip(variants) {
            times.push(run());
        }
    }
    println!("\n{title}");
    let medians: Vec<f64> = times.iter_mut().map(|times| median(times)).collect();
    for (((name, _), median), times) in variants.iter().zip(&medians).zip(&times) {
        println!(
            "  {name:<40} min {:>9.1} us  median {median:>9.1} us  x{:.2}",
            micros(times[0]),
            median / medians[0]
        );
    }
}

/// Returns the median, and sorts the times.
fn median(times: &mut [Duration]) -> f64 {
    times.sort();
    micros(times[times.len() / 2])
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn action() -> Action {
    let operation = Operation::Shell(Shell { text: LINE.into(), ..Shell::default() });
    Action { operation, parameters: format!("{{\"command\":{LINE:?}}}"), ..sample::action() }
}

fn history(steps: u64) -> History {
    let step = |index| Step {
        index,
        at: index * 1000,
        intent: Intent::FileRead,
        verdict: Verdict::Allow,
        status: Status::Ok,
        shape: index % 7,
        identity: index,
        error: 0,
        output: index,
        risk: Score::new(300),
        alignment: None,
        effects: 1,
        outside: 0,
        files: 0,
        prompt: 0,
        bytes: 100,
        tokens: 10,
        duration_ms: 5,
    };
    History { steps: (0..steps).map(step).collect(), totals: Totals { steps, ..Totals::default() } }
}
