//! Guests for the tests: core modules in text form, encoded as components of a world.
//!
//! The text names the canonical ABI by hand on purpose: a hostile guest does what no toolchain
//! would.

pub(crate) use crate::sample::{action, context};
use portcullis_core::action::StepDetail;
use portcullis_core::fault::OnFault;
use portcullis_engine::{
    CompileEnd, CompileLimits, Compiler, Engine, Kind, Limits, PluginSet, PluginSpec, ReviewClock,
    Source, compile_here,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// Returns a core module for `assessor`: `assess` and `prepare` as given, memory of one page, a
/// bump allocator, and the items in `more`.
pub(crate) fn assessor(assess: &str, prepare: &str, more: &str) -> String {
    format!(
        r#"(module
            {more}
            (func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32) {assess})
            (func (export "portcullis:plugin/assessor@0.1.0#prepare") (param i32 i32) (result i32) {prepare})
            {ALLOCATOR}
        )"#
    )
}

/// A memory of one page, and an allocator in it.
pub(crate) const ALLOCATOR: &str = concat!(
    "(memory (export \"memory\") 1)",
    include_str!("../../../../tests/hostile/allocator.wat")
);

/// An answer of zeros: `ok` with nothing found, or `ok` with nothing prepared.
pub(crate) const NOTHING: &str = "(i32.const 1024)";

/// Returns an assessment with that risk score and no factors.
pub(crate) fn risk(score: u32) -> String {
    format!(
        "(i32.store8 (i32.const 1028) (i32.const 1)) (i32.store16 (i32.const 1032) (i32.const {score})) (i32.const 1024)"
    )
}

/// Encodes a core module as a component of that world.
pub(crate) fn component(wat: &str, world: &str) -> Vec<u8> {
    let wit: &[&str] = if world == "shell-reader" {
        &["../../wit/plugin", "../../wit/shell"]
    } else {
        &["../../wit/plugin"]
    };
    component_of(wat, wit, world)
}

/// Encodes a core module as a component of that world of the last of these packages; paths are
/// relative to this crate's folder.
pub(crate) fn component_of(wat: &str, wit: &[&str], world: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let mut packages = wit.iter().map(|path| {
        resolve.push_path(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("our WIT").0
    });
    let package = packages.by_ref().last().expect("a package");
    drop(packages);
    let world = resolve.select_world(&[package], Some(world)).expect("our world");
    let mut module = wat::parse_str(wat).expect("valid text");
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("metadata");
    ComponentEncoder::default()
        .validate(true)
        .module(&module)
        .expect("a module of that world")
        .encode()
        .expect("a component")
}

/// Encodes a component text as bytes.
pub(crate) fn component_text(wat: &str) -> Vec<u8> {
    wat::parse_str(wat).expect("valid text")
}

/// Returns a well-behaved assessor that reports that risk.
pub(crate) fn good(score: u32) -> Vec<u8> {
    component(&assessor(&risk(score), NOTHING, ""), "risk-calculator")
}

/// Returns an entry for a plugin file, under third-party limits.
pub(crate) fn file_entry(name: &str, path: PathBuf) -> PluginSpec {
    PluginSpec {
        name: name.into(),
        source: Source::File(path),
        settings: Vec::new(),
        injected_settings: Vec::new(),
        on_fault: OnFault::Ask,
        limits: Limits::third_party(),
        grants: Arc::default(),
        shadow: false,
    }
}

/// Returns an entry for a builtin plugin; its bytes are leaked for the rest of the test process.
pub(crate) fn builtin_entry(name: &'static str, kind: Kind, bytes: Vec<u8>) -> PluginSpec {
    let digest = blake3::hash(&bytes).to_hex().to_string();
    let source = Source::Builtin {
        name,
        kind,
        waits_for_outcome: false,
        descriptor: None,
        digest: digest.leak(),
        bytes: Box::leak(Box::new(bytes)),
    };
    PluginSpec {
        name: name.into(),
        source,
        settings: Vec::new(),
        injected_settings: Vec::new(),
        on_fault: OnFault::Block,
        limits: Limits::builtin(),
        grants: Arc::default(),
        shadow: false,
    }
}

/// Returns a shell reader that finds nothing in anything.
pub(crate) fn reader() -> PluginSpec {
    let wat = format!(
        r#"(module
            (func (export "portcullis:shell/reader@0.1.0#read") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 1024))
            {ALLOCATOR})"#
    );
    PluginSpec {
        limits: Limits::shell_reader(),
        ..builtin_entry("shell", Kind::ShellReader, component(&wat, "shell-reader"))
    }
}

/// Compiles files in the test's own process.
struct Here;

impl Compiler for Here {
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
        compile_here(component).map_err(CompileEnd::Invalid)
    }
}

/// Returns an engine that compiles files in the test's own process.
pub(crate) fn compiling(engine: &Engine) -> Engine {
    engine.clone().with_compiler(Arc::new(Here))
}

/// Returns a set without a wall clock.
pub(crate) fn set(engine: &Engine, entries: Vec<PluginSpec>) -> PluginSet {
    PluginSet::new(
        compiling(engine),
        reader(),
        entries,
        ReviewClock { now_ms: 1_700_000_000_000, time_budget: None },
    )
    .expect("usable names")
}

pub(crate) fn no_details(_: u64) -> Option<StepDetail> {
    None
}
