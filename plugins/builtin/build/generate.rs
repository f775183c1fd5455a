//! Rust that embeds the components.

use crate::encode;
use crate::guests::{Guest, Kind};
use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;

/// Writes the components and `builtin.rs` to `out`.
pub(crate) fn embed(out: &Path, components: &[(&Guest, Vec<u8>)]) -> Result<()> {
    let mut all = String::new();
    let mut names = Vec::with_capacity(components.len());
    let mut plugins = BTreeMap::new();
    let mut reader = String::new();
    for (place, (guest, bytes)) in components.iter().enumerate() {
        let file = format!("{}.deflate", guest.name);
        write_file(&out.join(&file), &pack(bytes)?)?;
        writeln!(
            all,
            "static COMPONENT_{place}: Component = Component \
             {{ name: {:?}, plugins: &{:?}, digest: {:?}, size: {}, \
             packed: include_bytes!(concat!(env!(\"OUT_DIR\"), {:?})), unpacked: OnceLock::new() }};",
            guest.name,
            guest.plugins,
            blake3::hash(bytes).to_hex().as_str(),
            bytes.len(),
            format!("/{file}"),
        )?;
        names.push(format!("&COMPONENT_{place}"));
        let kind = guest.kind.variant();
        let literal = |name: &str, waits: bool, descriptor: &str| {
            format!(
                "Builtin \
                 {{ name: {name:?}, kind: Kind::{kind}, waits_for_outcome: {waits}, descriptor: {descriptor:?}, component: &COMPONENT_{place} }}"
            )
        };
        for descriptor in encode::descriptors(bytes)? {
            plugins.insert(
                descriptor.name.clone(),
                literal(&descriptor.name, descriptor.waits_for_outcome(), &descriptor.json),
            );
        }
        if guest.kind == Kind::ShellReader {
            reader = format!(
                "/// The reader of shell text.\npub static SHELL_READER: Builtin = {};\n",
                literal(guest.name, false, "")
            );
        }
    }
    writeln!(
        all,
        "\n/// Every component, by name.\npub static COMPONENTS: &[&Component] = &[{}];",
        names.join(", ")
    )?;
    all.push_str("\n/// Every builtin plugin, by name.\npub static ALL: &[Builtin] = &[\n");
    for literal in plugins.values() {
        writeln!(all, "    {literal},")?;
    }
    all.push_str("];\n\n");
    write_file(&out.join("builtin.rs"), format!("{all}{reader}").as_bytes())
}

/// Packs a component; the same bytes give the same on every machine.
fn pack(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut packing = DeflateEncoder::new(Vec::new(), Compression::best());
    packing.write_all(bytes).and_then(|()| packing.finish()).context("cannot pack a component")
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write `{}`", path.display()))
}
