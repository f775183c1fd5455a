//! Guests written as text.
//!
//! A text contains the fields of a core module, and its first line names a world of `worlds.wit`.
//! Missing required parts are added: an answer without findings, valid settings, a memory of one
//! page, an allocator. The canonical ABI is written by hand on purpose: a hostile guest does things
//! that no toolchain would.

use anyhow::{Context, Result, anyhow, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// The allocator of every guest without one of its own.
const ALLOCATOR: &str = include_str!("allocator.wat");

/// Returns the folder of the texts.
pub fn folder() -> PathBuf {
    here("guests")
}

/// Returns the component of the text of that name.
pub fn from_text(name: &str) -> Result<Vec<u8>> {
    let path = folder().join(format!("{name}.wat"));
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    component(&text).with_context(|| format!("`{name}.wat` is not a guest"))
}

/// Returns a component of fields in text form, the first line of which names the world.
pub fn component(fields: &str) -> Result<Vec<u8>> {
    let world = fields
        .lines()
        .next()
        .and_then(|line| line.strip_prefix(";; world: "))
        .ok_or_else(|| anyhow!("it names no world"))?;
    let mut module = wat::parse_str(module(fields, world)?)?;
    let mut resolve = Resolve::default();
    resolve.push_path(here("../../wit/plugin"))?;
    let own = here("worlds.wit");
    let package = resolve.push_str(&own, &fs::read_to_string(&own)?)?;
    let world = resolve.select_world(&[package], Some(world))?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    ComponentEncoder::default().validate(true).module(&module)?.encode()
}

fn module(fields: &str, world: &str) -> Result<String> {
    let (interface, question) =
        if world == "detector" { ("detector", "detect") } else { ("assessor", "assess") };
    let function = |name: &str, parameters: &str| {
        format!(
            r#"(func (export "portcullis:plugin/{interface}@0.1.0#{name}") (param {parameters}) (result i32) (i32.const 1024))"#
        )
    };
    let parts = [
        (format!("\"portcullis:plugin/{interface}@0.1.0#{question}\""), function(question, "i32")),
        (
            format!("\"portcullis:plugin/{interface}@0.1.0#prepare\""),
            function("prepare", "i32 i32"),
        ),
        ("(memory (export \"memory\")".into(), "(memory (export \"memory\") 1)".into()),
        ("\"cabi_realloc\"".into(), ALLOCATOR.into()),
    ];
    ensure!(!fields.contains("(module"), "it holds a module in place of a module's fields");
    let lacking = parts
        .iter()
        .filter(|(mark, _)| !fields.contains(mark.as_str()))
        .map(|(_, part)| part.as_str());
    Ok(["(module ", fields].into_iter().chain(lacking).chain([")"]).collect::<Vec<_>>().join("\n"))
}

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("hostile").join(name)
}
