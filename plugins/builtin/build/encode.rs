//! Core modules to components, and the checks of a component before it is embedded.

use crate::guests::Guest;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use wasm_encoder::{ComponentSection, CustomSection, Module, RawSection};
use wasmparser::{Parser, Payload, Validator};
use wit_component::ComponentEncoder;

/// The custom section that the guest SDK writes.
const DESCRIPTOR: &str = "portcullis-descriptor";

/// The entry of a descriptor's `reads` that means that the plugin has nothing to say before an
/// action has ended.
const OUTCOME: &str = "outcome";

/// Encodes a module as a component, with the descriptors at the component's top level.
pub(crate) fn component(module: &[u8]) -> Result<Vec<u8>> {
    let (module, descriptor) = split(module)?;
    let mut component = ComponentEncoder::default().module(&module)?.validate(true).encode()?;
    if let Some(data) = descriptor {
        CustomSection { name: DESCRIPTOR.into(), data: data.into() }
            .append_to_component(&mut component);
    }
    Ok(component)
}

/// A plugin's metadata.
pub(crate) struct Descriptor {
    /// The plugin's name.
    pub(crate) name: String,
    /// The original text in the component.
    pub(crate) json: String,
    said: Value,
}

impl Descriptor {
    /// Returns true if the plugin looks at ended actions only.
    pub(crate) fn waits_for_outcome(&self) -> bool {
        self.said
            .get("reads")
            .and_then(Value::as_array)
            .is_some_and(|reads| reads.iter().any(|what| what == OUTCOME))
    }
}

/// Returns the metadata of the plugins in a component, one descriptor after the other in one
/// section.
pub(crate) fn descriptors(component: &[u8]) -> Result<Vec<Descriptor>> {
    let (mut depth, mut found) = (0_usize, Vec::new());
    for payload in Parser::new(0).parse_all(component) {
        match payload? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(section) if depth == 0 && section.name() == DESCRIPTOR => {
                found.extend_from_slice(section.data())
            }
            _ => {}
        }
    }
    let text = std::str::from_utf8(&found).context("its descriptor is not UTF-8")?;
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let (mut descriptors, mut start) = (Vec::new(), 0);
    while let Some(said) = values.next() {
        let said = said.with_context(|| format!("its descriptor is not valid JSON: {text}"))?;
        let end = values.byte_offset();
        let name = said
            .get("name")
            .and_then(Value::as_str)
            .context("its descriptor has no name")?
            .to_owned();
        descriptors.push(Descriptor {
            name,
            json: text.get(start..end).unwrap_or_default().to_owned(),
            said,
        });
        start = end;
    }
    Ok(descriptors)
}

/// Returns true for the names of functions, which only help in debugging the module.
fn is_names(payload: &Payload<'_>) -> bool {
    matches!(payload, Payload::CustomSection(section) if section.name() == "name")
}

/// Returns the module without its descriptors and its names, and the descriptors.
fn split(bytes: &[u8]) -> Result<(Vec<u8>, Option<Vec<u8>>)> {
    let mut module = Module::new();
    let mut descriptor: Option<Vec<u8>> = None;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload?;
        if let Payload::CustomSection(section) = &payload
            && section.name() == DESCRIPTOR
        {
            descriptor.get_or_insert_with(Vec::new).extend_from_slice(section.data());
        } else if is_names(&payload) {
            // Every hook would read the names of all functions with the compiled code, and nobody
            // sees them.
        } else if let Some((id, range)) = payload.as_section() {
            module.section(&RawSection {
                id,
                data: bytes.get(range).context("a section ends past the module's end")?,
            });
        }
    }
    Ok((module.finish(), descriptor))
}

/// Checks that the component is valid, exports the interface of its kind, imports the host alone,
/// and contains its name.
pub(crate) fn check(guest: &Guest, component: &[u8]) -> Result<()> {
    Validator::new().validate_all(component).context("it is not a valid component")?;
    let mut depth = 0_usize;
    let mut exported = Vec::new();
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
                    ensure!(
                        name.starts_with("portcullis:"),
                        "it imports `{name}`: a builtin plugin gets nothing but its own interfaces"
                    );
                }
            }
            _ => {}
        }
    }
    check_exports(guest, &exported)?;
    check_descriptors(guest, &descriptors(component)?)
}

fn check_exports(guest: &Guest, exported: &[String]) -> Result<()> {
    let wanted = guest.kind.interface();
    let named =
        |name: &String| name.strip_prefix(wanted).is_some_and(|version| version.starts_with('@'));
    if !exported.iter().any(named) {
        bail!(
            "it exports {exported:?}, but a {} exports `{wanted}`: it needs `export!` for that world",
            guest.kind.world()
        );
    }
    Ok(())
}

fn check_descriptors(guest: &Guest, descriptors: &[Descriptor]) -> Result<()> {
    let mut names: Vec<&str> =
        descriptors.iter().map(|descriptor| descriptor.name.as_str()).collect();
    names.sort_unstable();
    ensure!(
        names == guest.plugins,
        "its descriptors name {names:?}, but it is to hold {:?}: what does its `export!` say?",
        guest.plugins
    );
    let wanted = guest.kind.world();
    for descriptor in descriptors {
        ensure!(
            descriptor.said.get("kind").is_some_and(|kind| kind == wanted),
            "`{}` is not a {wanted}: {}",
            descriptor.name,
            descriptor.json
        );
    }
    Ok(())
}
