//! Converts the output of a language's tool into the component that the host loads: encodes a core
//! module, with the description of its kind's interface if the tool left it out and with an adapter
//! if it imports an older WASI; embeds the manifest's description; removes debug information.

use super::strip;
use crate::templates::wit_files;
use anyhow::{Context, Result, bail};
use portcullis_author::project::PluginManifest;
use portcullis_engine::{DESCRIPTOR_SECTION, Kind, inspect_component};
use std::path::Path;
use wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER as ADAPTER;
use wasm_encoder::{ComponentSection, CustomSection};
use wasmparser::{Encoding, Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, SourceMap};

/// The name under which modules import WASI from before components.
const OLD_WASI: &str = "wasi_snapshot_preview1";
/// The prefix of custom sections that describe a module's interface.
const INTERFACE: &str = "component-type";

/// Returns the component.
pub(super) fn component(raw: &[u8], manifest: &PluginManifest, debug: bool) -> Result<Vec<u8>> {
    let found = BinaryOutline::of(raw)?;
    let stripped = if debug {
        raw.to_vec()
    } else {
        strip::debug(raw).context("the built file is damaged")?
    };
    let mut component =
        if found.is_module { encoded(stripped, &found, manifest.kind)? } else { stripped };
    // A description in the source takes precedence over the manifest's.
    let says_itself =
        inspect_component(&component).is_ok_and(|inspection| inspection.descriptor.is_some());
    if !says_itself && let Some(descriptor) = manifest.descriptor()? {
        let section =
            CustomSection { name: DESCRIPTOR_SECTION.into(), data: descriptor.into_bytes().into() };
        section.append_to_component(&mut component);
    }
    Ok(component)
}

fn encoded(mut module: Vec<u8>, found: &BinaryOutline, kind: Kind) -> Result<Vec<u8>> {
    if !found.has_interface {
        describe(&mut module, kind)?;
    }
    let encode = || {
        let mut encoder = ComponentEncoder::default().module(&module)?.validate(true);
        if found.old_wasi {
            encoder = encoder.adapter(OLD_WASI, ADAPTER)?;
        }
        encoder.encode()
    };
    encode().with_context(|| {
        format!(
            "the built component does not fit the world `{kind}`, which `plugin.toml` names: \
             export `{}@0.1.0`, and import no more than it offers",
            kind.interface_name()
        )
    })
}

/// Adds the description of the kind's interface to a module.
fn describe(module: &mut Vec<u8>, kind: Kind) -> Result<()> {
    let mut sources = SourceMap::default();
    for (name, bytes) in wit_files() {
        sources.push(Path::new(name), String::from_utf8_lossy(bytes));
    }
    let group = sources
        .parse()
        .map_err(|(_, error)| anyhow::anyhow!("cannot read the interfaces: {error}"))?;
    let mut resolve = Resolve::default();
    let package = resolve
        .push_group(group)
        .map_err(|error| anyhow::anyhow!("cannot read the interfaces: {error}"))?;
    let world = resolve.select_world(&[package], Some(kind.as_str()))?;
    embed_component_metadata(module, &resolve, world, StringEncoding::UTF8)
}

/// The properties of a file that decide how it is encoded.
#[derive(Default)]
struct BinaryOutline {
    is_module: bool,
    has_interface: bool,
    old_wasi: bool,
}

impl BinaryOutline {
    fn of(bytes: &[u8]) -> Result<Self> {
        if !bytes.starts_with(b"\0asm") {
            bail!(
                "the built file is not WebAssembly: does `build.output` in `plugin.toml` name the right file?"
            );
        }
        let mut found = Self::default();
        for payload in Parser::new(0).parse_all(bytes) {
            match payload.context("the built file is damaged")? {
                Payload::Version { encoding: Encoding::Component, .. } => {
                    return Ok(Self::default());
                }
                Payload::Version { .. } => found.is_module = true,
                Payload::CustomSection(section) if section.name().starts_with(INTERFACE) => {
                    found.has_interface = true
                }
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        found.old_wasi |= import?.module == OLD_WASI;
                    }
                }
                _ => {}
            }
        }
        Ok(found)
    }
}
