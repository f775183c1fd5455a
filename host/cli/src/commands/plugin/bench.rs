//! `portcullis plugin bench`: measures a plugin's cost, compared with the builtin ones of its kind
//! in the same run.
//!
//! The calls are those of its cases, each in a fresh instance, as in a hook. Times depend on this
//! machine and this moment; fuel is the same everywhere.

use super::subject::Subject;
use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_author::cases::{Case, CaseRunner};
use portcullis_config::Config;
use portcullis_config::paths::Paths;
use portcullis_core::text::{count_noun, one_line};
use portcullis_engine::{CallCost, CodeCache, Kind, LoadTimes};
use portcullis_store::Home;
use portcullis_terminal::component::format_size;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The number of calls until which the cases are repeated ...
const CALLS: usize = 1000;
/// ... unless this much time has passed.
const LONGEST: Duration = Duration::from_secs(5);
/// The number of times the compiled code is loaded.
const LOADS: usize = 20;

#[derive(clap::Args)]
pub struct Arguments {
    /// The folder of the plugin's project, or its component
    #[arg(default_value = ".", value_name = "FOLDER|FILE")]
    subject: PathBuf,
    /// Use this file of cases (default: `cases.toml` in the folder)
    #[arg(long, value_name = "FILE")]
    cases: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The measurements of a plugin.
#[derive(Default)]
struct Measured {
    size: u64,
    compile: Duration,
    prepare: Duration,
    loads: Vec<Duration>,
    calls: Vec<CallCost>,
}

/// A row of the output. Times are in microseconds.
#[derive(Serialize)]
struct Row {
    name: String,
    builtin: bool,
    /// A plugin in an earlier row from the same component; the compile and load times of both are
    /// shown there.
    shares: Option<String>,
    size: u64,
    compile_us: u64,
    load_us: u64,
    prepare_us: u64,
    calls: usize,
    instantiate_us: u64,
    call_us: u64,
    call_p99_us: u64,
    fuel: u64,
    fuel_most: u64,
    memory_bytes: usize,
}

pub fn run_bench(arguments: &Arguments) -> Result<CommandExit> {
    let subject = Subject::find_subject(&arguments.subject, arguments.cases.as_deref())?;
    let (path, text) = subject.cases()?;
    let cases = subject.read_cases(&path, &text)?;
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let bench = Bench {
        subject: &subject,
        cases: &cases,
        config: Config::builtin_only(&places),
        progress: std::io::stderr().is_terminal(),
    };
    let fresh = home.cache().join(format!("bench-{}", std::process::id()));
    let measured =
        bench.measure(&|| CodeCache::new(&fresh, home.derive_key("portcullis 2026 bench")));
    // Code that was compiled for this measurement is of no further use.
    let _ = std::fs::remove_dir_all(&fresh);
    bench.tell("");
    let rows = rows(&subject.name, measured?);
    if arguments.json {
        paint::print_text(&format!(
            "{}\n",
            json!({ "kind": subject.inspection.kind, "plugins": rows })
        ));
    } else {
        paint::print_text(&table(&rows));
    }
    Ok(CommandExit::Success)
}

struct Bench<'a> {
    subject: &'a Subject,
    cases: &'a [Case],
    config: Config,
    progress: bool,
}

impl Bench<'_> {
    fn measure(&self, caches: &dyn Fn() -> CodeCache) -> Result<BTreeMap<String, Measured>> {
        let kind = self.subject.inspection.kind;
        let first = self.cases.first().ok_or_else(|| Error::not_found("there are no cases"))?;
        let stage = || {
            CaseRunner::new(&self.subject.file, (&self.subject.name, kind), &self.config, caches)
                .run_beside(of_kind(kind))
        };
        let mut measured: BTreeMap<String, Measured> = BTreeMap::new();
        self.tell("compiling ...");
        let mut cold = stage();
        cold.play_case(first)?;
        for (known, LoadTimes { code, preparing }) in cold.load_plugins() {
            let one = measured.entry(known.name.clone()).or_default();
            (one.compile, one.prepare) = (code, preparing);
            one.size = known.inspection.map(|inspection| inspection.size).unwrap_or_default();
        }
        for load in 0..LOADS {
            self.tell(&format!("loading {}/{LOADS}", load + 1));
            let mut warm = stage();
            warm.play_case(first)?;
            warm.load_plugins().into_iter().for_each(|(known, took)| {
                measured.entry(known.name).or_default().loads.push(took.code)
            });
        }
        let mut stage = stage();
        let begun = Instant::now();
        let mut calls = 0;
        while calls < CALLS && begun.elapsed() < LONGEST {
            self.tell(&format!("calling {calls}/{CALLS}"));
            for case in self.cases {
                for call in stage.play_case(case)?.observed_calls() {
                    calls += usize::from(call.plugin == self.subject.name);
                    measured.entry(call.plugin).or_default().calls.push(call.cost);
                }
            }
            if calls == 0 {
                let asks = if kind == Kind::Intervention { "an `issue`" } else { "a `tool`" };
                return Err(Error::invalid(format!(
                    "no case asks the plugin, of {}: it takes a step with {asks}",
                    count_noun(self.cases.len() as u64, "case")
                )));
            }
        }
        Ok(measured)
    }

    fn tell(&self, what: &str) {
        if self.progress {
            anstream::eprint!("\r{what:40}\r");
        }
    }
}

/// Returns the builtin plugins of a kind, except the one that does nothing without rules.
fn of_kind(kind: Kind) -> Vec<String> {
    let all = portcullis_builtin::ALL
        .iter()
        .filter(|builtin| builtin.name != portcullis_review::plugin_specs::RULES_PLUGIN);
    all.filter(|builtin| portcullis_review::plugin_specs::engine_kind(builtin.kind) == kind)
        .map(|builtin| builtin.name.to_owned())
        .collect()
}

/// Returns the plugin's row first, then the builtin ones by name. Plugins that were never called
/// are left out, since they give nothing to compare with.
fn rows(own: &str, measured: BTreeMap<String, Measured>) -> Vec<Row> {
    let known = |name: &String| name == own || portcullis_builtin::find(name).is_some();
    let mut rows: Vec<Row> = measured
        .into_iter()
        .filter(|(name, one)| known(name) && !one.calls.is_empty())
        .map(|(name, one)| {
            let mut fuel: Vec<u64> = one.calls.iter().map(|cost| cost.fuel).collect();
            fuel.sort_unstable();
            let running: Vec<Duration> = one.calls.iter().map(|cost| cost.running).collect();
            let instantiating: Vec<Duration> =
                one.calls.iter().map(|cost| cost.instantiating).collect();
            Row {
                builtin: name != own,
                shares: None,
                name,
                size: one.size,
                compile_us: micros(one.compile),
                load_us: of(one.loads, 50),
                prepare_us: micros(one.prepare),
                calls: one.calls.len(),
                instantiate_us: of(instantiating, 50),
                call_us: of(running.clone(), 50),
                call_p99_us: of(running, 99),
                fuel: fuel.get(fuel.len() / 2).copied().unwrap_or_default(),
                fuel_most: fuel.last().copied().unwrap_or_default(),
                memory_bytes: one
                    .calls
                    .iter()
                    .map(|cost| cost.memory_bytes)
                    .max()
                    .unwrap_or_default(),
            }
        })
        .collect();
    rows.sort_by_key(|row| row.builtin);
    let mut first: BTreeMap<&str, String> = BTreeMap::new();
    for row in rows.iter_mut().filter(|row| row.builtin) {
        let Some(component) =
            portcullis_builtin::find(&row.name).map(|builtin| builtin.component.name)
        else {
            continue;
        };
        row.shares = first.get(component).cloned();
        first.entry(component).or_insert_with(|| row.name.clone());
    }
    rows
}

/// Returns a percentile of the times; `hundredths` is the share.
fn of(mut times: Vec<Duration>, hundredths: usize) -> u64 {
    times.sort_unstable();
    let at = (times.len() * hundredths / 100).min(times.len().saturating_sub(1));
    times.get(at).copied().map(micros).unwrap_or_default()
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    let head = format!(
        "{:<24}{:>10}{:>10}{:>9}{:>9}{:>12}{:>9}{:>9}{:>11}{:>10}",
        "plugin",
        "size",
        "compile",
        "load",
        "prepare",
        "instantiate",
        "call",
        "p99",
        "fuel",
        "memory"
    );
    let _ = writeln!(text, "{}", paint::dim(head));
    for row in rows {
        let name = format!("{:<24}", one_line(&row.name, 23));
        let _ = writeln!(
            text,
            "{}{:>10}{:>10}{:>9}{:>9}{:>12}{:>9}{:>9}{:>11}{:>10}",
            if row.builtin { name } else { paint::bold(name) },
            format_size(row.size),
            together(row, row.compile_us),
            together(row, row.load_us),
            time(row.prepare_us),
            time(row.instantiate_us),
            time(row.call_us),
            time(row.call_p99_us),
            row.fuel,
            format_size(row.memory_bytes as u64),
        );
    }
    let calls = rows.first().map(|row| row.calls).unwrap_or_default();
    let _ = writeln!(
        text,
        "{}",
        paint::dim(format!(
            "{calls} calls of the first, each of a fresh instance; times and fuel are medians, \
             compile and prepare were done once; \
             ditto: in one component with a plugin above"
        ))
    );
    text
}

fn together(row: &Row, micros: u64) -> String {
    if row.shares.is_some() { "ditto".to_owned() } else { time(micros) }
}

fn time(micros: u64) -> String {
    match micros {
        0..1000 => format!("{micros} us"),
        1000..100_000 => format!("{:.1} ms", micros as f64 / 1e3),
        _ => format!("{:.2} s", micros as f64 / 1e6),
    }
}
