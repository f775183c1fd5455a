//! Guests for the tests: core modules in text form, encoded as components of a world.
//!
//! The text names the canonical ABI by hand on purpose: a hostile guest does what no toolchain would.

pub(crate) use crate::sample::{action, context};
use portcullis_core::action::StepDetail;
use portcullis_core::fault::OnFault;
use portcullis_engine::{CompileEnd, CompileLimits, Engine, Entry, Kind, Limits, PluginSet, ReviewClock, Source, Workshop, compile_here};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// A core module for `assessor`: `assess` and `prepare` as given, memory of one page, a bump allocator,
/// and whatever `more` holds.
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
pub(crate) const ALLOCATOR: &str = concat!("(memory (export \"memory\") 1)", include_str!("../../../../tests/hostile/allocator.wat"));

/// An answer of zeros: `ok` with nothing found, or `ok` with nothing prepared.
pub(crate) const NOTHING: &str = "(i32.const 1024)";

/// An assessment with that risk score and no factors.
pub(crate) fn risk(score: u32) -> String {
    format!("(i32.store8 (i32.const 1028) (i32.const 1)) (i32.store16 (i32.const 1032) (i32.const {score})) (i32.const 1024)")
}

/// A core module as a component of that world.
pub(crate) fn component(wat: &str, world: &str) -> Vec<u8> {
    let wit: &[&str] = if world == "shell-reader" { &["../../wit/plugin", "../../wit/shell"] } else { &["../../wit/plugin"] };
    component_of(wat, wit, world)
}

/// A core module as a component of that world of the last of these packages, seen from this crate's folder.
pub(crate) fn component_of(wat: &str, wit: &[&str], world: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let mut packages = wit.iter().map(|path| resolve.push_path(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("our WIT").0);
    let package = packages.by_ref().last().expect("a package");
    drop(packages);
    let world = resolve.select_world(&[package], Some(world)).expect("our world");
    let mut module = wat::parse_str(wat).expect("valid text");
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("metadata");
    ComponentEncoder::default().validate(true).module(&module).expect("a module of that world").encode().expect("a component")
}

/// A component text as bytes.
pub(crate) fn component_text(wat: &str) -> Vec<u8> {
    wat::parse_str(wat).expect("valid text")
}

/// A well-behaved assessor that gives that risk.
pub(crate) fn good(score: u32) -> Vec<u8> {
    component(&assessor(&risk(score), NOTHING, ""), "risk-calculator")
}

/// A file that is a plugin, under third-party limits.
pub(crate) fn file_entry(name: &str, path: PathBuf) -> Entry {
    Entry {
        name: name.into(),
        source: Source::File(path),
        settings: Vec::new(),
        handed: Vec::new(),
        on_fault: OnFault::Ask,
        limits: Limits::third_party(),
        grants: Arc::default(),
        shadow: false,
    }
}

/// Bytes that stand for a builtin plugin for the rest of the test process.
pub(crate) fn builtin_entry(name: &'static str, kind: Kind, bytes: Vec<u8>) -> Entry {
    let digest = blake3::hash(&bytes).to_hex().to_string();
    let source = Source::Builtin { name, kind, waits_for_outcome: false, descriptor: None, digest: digest.leak(), bytes: bytes.leak() };
    Entry {
        name: name.into(),
        source,
        settings: Vec::new(),
        handed: Vec::new(),
        on_fault: OnFault::Block,
        limits: Limits::builtin(),
        grants: Arc::default(),
        shadow: false,
    }
}

/// A shell reader that finds nothing in anything.
pub(crate) fn reader() -> Entry {
    let wat = format!(
        r#"(module
            (func (export "portcullis:shell/reader@0.1.0#read") (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 1024))
            {ALLOCATOR})"#
    );
    Entry { limits: Limits::shell_reader(), ..builtin_entry("shell", Kind::ShellReader, component(&wat, "shell-reader")) }
}

/// Compiles files in the test's own process.
struct Here;

impl Workshop for Here {
    fn limits(&self) -> Option<CompileLimits> {
        Some(CompileLimits { wall: Duration::MAX, cpu_seconds: u64::MAX, memory_bytes: u64::MAX, output_bytes: u64::MAX })
    }

    fn tries_again(&self) -> bool {
        false
    }

    fn waited(&self, _: Duration) {}

    fn compile(&self, component: &[u8], _: &CompileLimits) -> Result<Vec<u8>, CompileEnd> {
        compile_here(component).map_err(CompileEnd::Invalid)
    }
}

/// An engine that compiles files in the test's own process.
pub(crate) fn compiling(engine: &Engine) -> Engine {
    engine.clone().compile_in(Arc::new(Here))
}

/// A set without a wall clock.
pub(crate) fn set(engine: &Engine, entries: Vec<Entry>) -> PluginSet {
    PluginSet::new(compiling(engine), reader(), entries, ReviewClock { now_ms: 1_700_000_000_000, backstop: None }).expect("usable names")
}

pub(crate) fn no_details(_: u64) -> Option<StepDetail> {
    None
}
