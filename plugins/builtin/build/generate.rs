//! Rust that embeds the components.

use crate::encode;
use crate::guests::{Guest, Kind};
use anyhow::{Context, Result};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Writes the components and `builtin.rs` to `out`.
pub(crate) fn embed(out: &Path, components: &[(&Guest, Vec<u8>)]) -> Result<()> {
    let mut plugins = String::from("/// Every builtin plugin, by name.\npub static ALL: &[Builtin] = &[\n");
    let mut reader = String::new();
    for (guest, bytes) in components {
        let file = format!("{}.wasm", guest.name);
        write_file(&out.join(&file), bytes)?;
        let digest = blake3::hash(bytes).to_hex();
        let kind = guest.kind.variant();
        let descriptor = encode::descriptor(bytes)?;
        let waits = encode::waits_for_outcome(&descriptor)?;
        let literal = format!(
            "Builtin {{ name: {:?}, kind: Kind::{kind}, waits_for_outcome: {waits}, digest: {:?}, descriptor: {descriptor:?}, bytes: include_bytes!(concat!(env!(\"OUT_DIR\"), {:?})) }}",
            guest.name,
            digest.as_str(),
            format!("/{file}"),
        );
        if guest.kind == Kind::ShellReader {
            writeln!(reader, "/// The reader of shell text.\npub static SHELL_READER: Builtin = {literal};")?;
        } else {
            writeln!(plugins, "    {literal},")?;
        }
    }
    plugins.push_str("];\n");
    write_file(&out.join("builtin.rs"), format!("{plugins}{reader}").as_bytes())
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write `{}`", path.display()))
}
