//! Core modules to components, and what a component has to be before it is embedded.

use crate::guests::{Guest, Kind};
use anyhow::{Context, Result, bail, ensure};
use wasm_encoder::{ComponentSection, CustomSection, Module, RawSection};
use wasmparser::{Parser, Payload, Validator};
use wit_component::ComponentEncoder;

/// The custom section that the guest SDK writes.
const DESCRIPTOR: &str = "portcullis-descriptor";

/// What a descriptor names among `reads` when the plugin has nothing to say before an action has ended.
const OUTCOME: &str = "outcome";

/// Encodes a module as a component, with the descriptor at the component's top level.
pub(crate) fn component(module: &[u8]) -> Result<Vec<u8>> {
    let (module, descriptor) = split(module)?;
    let mut component = ComponentEncoder::default().module(&module)?.validate(true).encode()?;
    if let Some(data) = descriptor {
        CustomSection { name: DESCRIPTOR.into(), data: data.into() }.append_to_component(&mut component);
    }
    Ok(component)
}

/// What a checked component says of itself, as JSON; empty where it need not say anything.
pub(crate) fn descriptor(component: &[u8]) -> Result<String> {
    for payload in Parser::new(0).parse_all(component) {
        if let Payload::CustomSection(section) = payload?
            && section.name() == DESCRIPTOR
        {
            return Ok(std::str::from_utf8(section.data())?.to_owned());
        }
    }
    Ok(String::new())
}

/// Whether a descriptor says that its plugin looks at ended actions only.
pub(crate) fn waits_for_outcome(descriptor: &str) -> Result<bool> {
    if descriptor.is_empty() {
        return Ok(false);
    }
    let said: serde_json::Value = serde_json::from_str(descriptor).context("its descriptor is no JSON")?;
    Ok(said.get("reads").and_then(|reads| reads.as_array()).is_some_and(|reads| reads.iter().any(|what| what == OUTCOME)))
}

/// The names of functions, for whoever debugs the module.
fn is_names(payload: &Payload<'_>) -> bool {
    matches!(payload, Payload::CustomSection(section) if section.name() == "name")
}

/// The module without its descriptor and its names, and the descriptor.
fn split(bytes: &[u8]) -> Result<(Vec<u8>, Option<Vec<u8>>)> {
    let mut module = Module::new();
    let mut descriptor = None;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload?;
        if let Payload::CustomSection(section) = &payload
            && section.name() == DESCRIPTOR
        {
            ensure!(descriptor.replace(section.data().to_vec()).is_none(), "it has two descriptors: a component holds one plugin");
        } else if is_names(&payload) {
            // Every hook would read the names of all functions with the compiled code, and nobody sees them.
        } else if let Some((id, range)) = payload.as_section() {
            module.section(&RawSection { id, data: bytes.get(range).context("a section ends past the module's end")? });
        }
    }
    Ok((module.finish(), descriptor))
}

/// The component is valid, exports what its kind says, imports the host alone, and says its name.
pub(crate) fn check(guest: &Guest, component: &[u8]) -> Result<()> {
    Validator::new().validate_all(component).context("it is no valid component")?;
    let mut depth = 0_usize;
    let mut exported = Vec::new();
    let mut descriptor = None;
    for payload in Parser::new(0).parse_all(component) {
        match payload? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentExportSection(exports) if depth == 0 => {
                for export in exports {
                    exported.push(export?.name.name.to_owned());
                }
            }
            Payload::ComponentImportSection(imports) if depth == 0 => {
                for import in imports {
                    let name = import?.name.name;
                    ensure!(name.starts_with("portcullis:"), "it imports `{name}`: a builtin plugin gets nothing but its own interfaces");
                }
            }
            Payload::CustomSection(section) if depth == 0 && section.name() == DESCRIPTOR => descriptor = Some(section.data().to_vec()),
            _ => {}
        }
    }
    check_exports(guest, &exported)?;
    check_descriptor(guest, descriptor.as_deref())
}

fn check_exports(guest: &Guest, exported: &[String]) -> Result<()> {
    let wanted = guest.kind.interface();
    let named = |name: &String| name.strip_prefix(wanted).is_some_and(|version| version.starts_with('@'));
    if !exported.iter().any(named) {
        bail!("it exports {exported:?}, but a {} exports `{wanted}`: it needs `export!` for that world", guest.kind.world());
    }
    Ok(())
}

fn check_descriptor(guest: &Guest, descriptor: Option<&[u8]>) -> Result<()> {
    if guest.kind == Kind::ShellReader {
        return Ok(());
    }
    let descriptor = std::str::from_utf8(descriptor.context("it has no descriptor: it lacks `export!`")?)?;
    for wanted in [format!("{{\"name\":\"{}\",", guest.name), format!(",\"kind\":\"{}\",", guest.kind.world())] {
        ensure!(descriptor.contains(&wanted), "its descriptor lacks `{wanted}`: {descriptor}");
    }
    Ok(())
}
