//! Rehearsal of the release after 0.1: a version that adds an optional function.
//!
//! The rule under test: a later version of the package holds its additions in interfaces of its
//! own, and uses those of 0.1 for the rest. So a plugin that offers more exports one more
//! interface. A host that does not know the interface calls the plugin as before, and a host that
//! knows it calls those plugins that have it.

use crate::guests::{
    ALLOCATOR, action, builtin_entry, component, component_of, context, no_details, set,
};
use portcullis_core::action::History;
use portcullis_core::finding::Report;
use portcullis_core::plugins::Plugins;
use portcullis_engine::{Engine, Kind, inspect_component};
use std::collections::BTreeMap;
use wasmtime::component::{Component, Linker};

/// The future package; paths are relative to this crate's folder.
const NEXT: &[&str] = &["../../wit/released/0.1.0", "tests/all/next"];
const DETECTOR: &str = r#"
    (func (export "portcullis:plugin/detector@0.1.0#detect") (param i32) (result i32) (i32.const 1024))
    (func (export "portcullis:plugin/detector@0.1.0#prepare") (param i32 i32) (result i32) (i32.const 1024))"#;

wasmtime::component::bindgen!({
    path: ["../../wit/released/0.1.0", "tests/all/next"],
    world: "portcullis:plugin/explained-pattern@0.2.0",
});

/// Returns a pattern as authors build it today.
fn plain() -> Vec<u8> {
    component(&format!("(module {DETECTOR} {ALLOCATOR})"), "pattern")
}

/// Returns a pattern that is built for the next version, and explains itself with `b!`.
fn explaining() -> Vec<u8> {
    let explain = r#"(func (export "portcullis:plugin/explainer@0.2.0#explain") (param i32 i32 i32 i32) (result i32)
        (i32.store (i32.const 100) (i32.const 0x2162))
        (i32.store (i32.const 1028) (i32.const 100)) (i32.store (i32.const 1032) (i32.const 2)) (i32.const 1024))"#;
    component_of(&format!("(module {DETECTOR} {explain} {ALLOCATOR})"), NEXT, "explained-pattern")
}

/// Returns the explanation that a host of the next version gets from a pattern; none if the plugin
/// has none.
fn explained(bytes: &[u8]) -> wasmtime::Result<Option<String>> {
    let engine = wasmtime::Engine::default();
    let component = Component::new(&engine, bytes)?;
    let mut linker = Linker::<()>::new(&engine);
    linker.define_unknown_imports_as_traps(&component)?;
    let mut store = wasmtime::Store::new(&engine, ());
    let instance = linker.instantiate_pre(&component)?;
    // The presence of the function is known before any of the plugin's code runs.
    let Ok(indices) = exports::portcullis::plugin0_2_0::explainer::GuestIndices::new(&instance)
    else {
        return Ok(None);
    };
    let instance = instance.instantiate(&mut store)?;
    let guest = indices.load(&mut store, &instance)?;
    Ok(guest.call_explain(&mut store, b"", "loop")?.ok())
}

/// Today's host loads both and asks both the same; the next one also calls the new function of the
/// one that has it.
#[test]
fn an_optional_function_is_added() {
    for (name, bytes, expected) in
        [("plain", plain(), None), ("explaining", explaining(), Some("b!"))]
    {
        let inspection = inspect_component(&bytes).unwrap();
        assert_eq!(
            (inspection.kind, inspection.wit_version.as_str()),
            (Kind::Pattern, "0.1.0"),
            "{name}"
        );
        let mut today = set(
            &Engine::new(None).unwrap(),
            vec![builtin_entry(name, Kind::Pattern, bytes.clone())],
        );
        let answer = today
            .detect(&BTreeMap::new(), &History::default(), &action(), &context(), &no_details)
            .remove(0);
        assert_eq!(
            answer.result.map_err(|fault| fault.to_string()),
            Ok(Report::default()),
            "{name}, by today's host"
        );
        assert_eq!(explained(&bytes).unwrap().as_deref(), expected, "{name}, by the next host");
    }
}

/// A change that cannot be made in this way, such as a changed record, needs an interface of a
/// later version: this host reports that it does not have it.
#[test]
fn an_interface_of_a_later_version_is_refused_by_name() {
    let text = format!("(module {} {ALLOCATOR})", DETECTOR.replace("0.1.0", "0.2.0"));
    let wit = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir("../../wit/plugin").unwrap() {
        let file = file.unwrap();
        let text = std::fs::read_to_string(file.path())
            .unwrap()
            .replace("portcullis:plugin@0.1.0", "portcullis:plugin@0.2.0");
        std::fs::write(wit.path().join(file.file_name()), text).unwrap();
    }
    let error = inspect_component(&component_of(&text, &[wit.path().to_str().unwrap()], "pattern"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("`portcullis:plugin/detector`") && error.contains("`0.2.0`"), "{error}");
}
