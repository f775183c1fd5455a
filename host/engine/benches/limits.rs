//! The cost of the limits: the same call of the same plugin in an engine with all of them and in
//! one without any, alternately, so that a busy machine slows both alike.
//!
//! ```text
//! cargo bench --workspace --bench limits              prints the ratio
//! cargo bench --workspace --bench limits -- --hold    fails above 20 %
//! ```
//!
//! A call is the same as in a hook whose plugins are loaded: a fresh store, an instance, one benign
//! action judged. The limits are those of `state.rs`, set in the same way; `state.rs` itself is not
//! used here because it cannot run without them.
#![allow(
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a bench prints, and ends when it cannot go on"
)]

use portcullis_builtin::{Builtin, CHOICE};
use portcullis_engine::Limits;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use wasmtime::component::{Component, Linker};
use wasmtime::{Config, Engine, Store, StoreLimits, StoreLimitsBuilder, UpdateDeadline};

#[allow(missing_docs, unreachable_pub, reason = "generated")]
mod bindings {
    wasmtime::component::bindgen!({ path: "../../wit/plugin", world: "portcullis:plugin/risk-calculator" });
}
use bindings::portcullis::plugin::types::{
    Action, Command, Context, Coverage, Effect, EffectKind, Entry, Facts, GitState, Intent,
    Operation, Origin, Path, Repetition, Scope, Setting, SettingValue, Shell, Word,
};
use bindings::{RiskCalculator, RiskCalculatorPre};

/// The calls of each side, in rounds of one each.
const ROUNDS: usize = 4_000;
/// Rounds that are not counted, since caches fill.
const WARM: usize = 400;
/// The most that a limited call may take, in hundredths of an unlimited one.
const MOST: u32 = 120;

fn main() -> wasmtime::Result<ExitCode> {
    let risk = portcullis_builtin::find("risk")
        .ok_or_else(|| wasmtime::Error::msg("there is no plugin `risk`"))?;
    let (free, limited) = (Side::new(false, risk)?, Side::new(true, risk)?);
    let (action, context) = (action(), context());
    let mut times = [Vec::with_capacity(ROUNDS), Vec::with_capacity(ROUNDS)];
    for round in 0..WARM + ROUNDS {
        // Each side goes first equally often.
        let order =
            if round % 2 == 0 { [(0, &free), (1, &limited)] } else { [(1, &limited), (0, &free)] };
        for (index, side) in order {
            let time = side.call(&action, &context)?;
            if round >= WARM {
                times[index].push(time);
            }
        }
    }
    let [free, limited] = times.map(median);
    let hundredths =
        u32::try_from(limited.as_nanos() * 100 / free.as_nanos().max(1)).unwrap_or(u32::MAX);
    println!(
        "a call without limits {free:?}, with all of them {limited:?}: {hundredths} % (at most {MOST} %), medians of {ROUNDS}"
    );
    let holds = hundredths <= MOST || !std::env::args().any(|argument| argument == "--hold");
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// An engine with the plugin loaded.
struct Side {
    engine: Engine,
    plugin: RiskCalculatorPre<StoreLimits>,
    prepared: Vec<u8>,
    limits: Option<Limits>,
}

impl Side {
    fn new(limited: bool, risk: &Builtin) -> wasmtime::Result<Self> {
        let mut config = Config::new();
        config
            .concurrency_support(false)
            .memory_init_cow(false)
            .cranelift_nan_canonicalization(true);
        config.consume_fuel(limited).epoch_interruption(limited);
        let engine = Engine::new(&config)?;
        let component = Component::from_binary(&engine, risk.component.bytes())?;
        let mut linker = Linker::new(&engine);
        // A benign action asks the host for nothing.
        linker.define_unknown_imports_as_traps(&component)?;
        let plugin = RiskCalculatorPre::new(linker.instantiate_pre(&component)?)?;
        let limits = limited.then(Limits::builtin);
        let mut side = Self { engine, plugin, prepared: Vec::new(), limits };
        let (mut store, guest) = side.instance()?;
        let choice = risk
            .choice()
            .map(|name| Setting { key: CHOICE.into(), value: SettingValue::Text(name.into()) });
        let prepared =
            guest.portcullis_plugin_assessor().call_prepare(&mut store, choice.as_slice())?;
        side.prepared =
            prepared.map_err(|_| wasmtime::Error::msg("the plugin does not prepare itself"))?;
        Ok(side)
    }

    fn instance(&self) -> wasmtime::Result<(Store<StoreLimits>, RiskCalculator)> {
        let mut store = match &self.limits {
            None => Store::new(&self.engine, StoreLimits::default()),
            Some(limits) => self.limited(limits)?,
        };
        let guest = self.plugin.instantiate(&mut store)?;
        Ok((store, guest))
    }

    fn limited(&self, limits: &Limits) -> wasmtime::Result<Store<StoreLimits>> {
        let state = StoreLimitsBuilder::new()
            .memory_size(limits.memory_bytes)
            .table_elements(limits.table_elements)
            .instances(limits.instances)
            .memories(limits.memories)
            .tables(limits.tables)
            .build();
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| state);
        store.set_fuel(limits.fuel)?;
        store.set_hostcall_fuel(limits.answer_bytes);
        store.set_max_component_handles(limits.handles);
        store.set_epoch_deadline(1);
        let deadline = Instant::now() + Duration::from_secs(2);
        store.epoch_deadline_callback(move |_| {
            Ok(if Instant::now() >= deadline {
                UpdateDeadline::Interrupt
            } else {
                UpdateDeadline::Continue(1)
            })
        });
        Ok(store)
    }

    fn call(&self, action: &Action, context: &Context) -> wasmtime::Result<Duration> {
        let begun = Instant::now();
        let (mut store, guest) = self.instance()?;
        let answer = guest.portcullis_plugin_assessor().call_assess(
            &mut store,
            &self.prepared,
            action,
            context,
        )?;
        let scored = answer.is_ok_and(|assessment| assessment.risk.is_some());
        drop(store);
        let took = begun.elapsed();
        if scored {
            Ok(took)
        } else {
            Err(wasmtime::Error::msg("the plugin does not score the action"))
        }
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Returns `cat src/lib.rs | head`, in the form that the host passes on.
fn action() -> Action {
    let word = |text: &str| Word { text: text.into(), known: true, quoted: false };
    let command = |program: &str, words: &[&str], input_from, start, end| Command {
        program: program.into(),
        words: words.iter().map(|text| word(text)).collect(),
        assignments: vec![],
        redirections: vec![],
        wrappers: vec![],
        origin: Origin::Plain,
        input_from,
        start,
        end,
        privileged: false,
    };
    let text = "cat src/lib.rs | head";
    let commands = vec![
        command("cat", &["cat", "src/lib.rs"], None, 0, 14),
        command("head", &["head"], Some(0), 17, 21),
    ];
    let path = Path {
        text: "/work/src/lib.rs".into(),
        glob: false,
        scope: Scope::Inside,
        entry: Entry::File,
        link_target: None,
        git: GitState::Clean,
        restorable: true,
    };
    let effect = Effect {
        kind: EffectKind::FileRead,
        target: "/work/src/lib.rs".into(),
        path: Some(0),
        command: Some(0),
        recursive: false,
        certain: true,
    };
    Action {
        id: "review-1".into(),
        step: 7,
        client: "claude".into(),
        agent: None,
        tool: "Bash".into(),
        intent: Intent::SystemCommand,
        operation: Operation::Shell(Shell {
            text: text.into(),
            commands,
            background: false,
            timeout_ms: None,
        }),
        facts: Facts {
            effects: vec![effect],
            paths: vec![path],
            hosts: vec![],
            programs: vec!["cat".into(), "head".into()],
            forms: vec![],
            shape: 1,
            identity: 2,
            coverage: Coverage::Full,
            gaps: vec![],
        },
        parameters: format!("{{\"command\":{text:?}}}"),
        outcome: None,
        attributes: vec![],
    }
}

fn context() -> Context {
    Context {
        session: "session-1".into(),
        now: 1_700_000_000_000,
        cwd: "/work".into(),
        roots: vec!["/work".into()],
        goals: vec![],
        limits: vec![],
        repetition: Repetition { failures: 0, successes: 0, seen: 0 },
        assessments: vec![],
        attributes: vec![],
    }
}
