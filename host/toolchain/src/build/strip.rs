//! Removes debug information from WebAssembly: names of functions, and DWARF. A component's modules
//! and inner components are processed too.

use anyhow::{Context, Result};
use wasm_encoder::{Component, Module, RawSection};
use wasmparser::{Encoding, Parser, Payload};

/// The deepest nesting of components that the host reads.
const MOST_NESTED: u32 = 32;
/// The section ids of a module and of a component inside a component.
const MODULE: u8 = 1;
const COMPONENT: u8 = 4;

/// Returns the same code without debug information.
pub(super) fn debug(bytes: &[u8]) -> Result<Vec<u8>> {
    stripped(bytes, MOST_NESTED)
}

/// Returns true if a custom section of that name is only for debuggers.
pub(super) fn is_debug(name: &str) -> bool {
    name == "name" || name.starts_with(".debug_") || name == "component-name"
}

fn stripped(bytes: &[u8], depth: u32) -> Result<Vec<u8>> {
    let depth = depth.checked_sub(1).context("its components nest too deep")?;
    let mut sections: Vec<(u8, Vec<u8>)> = Vec::new();
    let mut encoding = Encoding::Module;
    // The payloads of a nested module or component are skipped here: it is processed as a whole.
    let mut inner_end = 0;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload?;
        match &payload {
            // Nested modules and components have a version too.
            Payload::Version { encoding: found, range, .. } if range.start == 0 => {
                encoding = *found
            }
            Payload::ModuleSection { unchecked_range: range, .. }
            | Payload::ComponentSection { unchecked_range: range, .. } => {
                if range.start >= inner_end {
                    let id = if matches!(payload, Payload::ModuleSection { .. }) {
                        MODULE
                    } else {
                        COMPONENT
                    };
                    sections.push((id, stripped(slice(bytes, range)?, depth)?));
                    inner_end = range.end;
                }
            }
            Payload::CustomSection(section) if is_debug(section.name()) => {}
            other => {
                if let Some((id, range)) = other.as_section()
                    && range.start >= inner_end
                {
                    sections.push((id, slice(bytes, &range)?.to_vec()));
                }
            }
        }
    }
    Ok(assembled(encoding, &sections))
}

fn slice<'a>(bytes: &'a [u8], range: &std::ops::Range<usize>) -> Result<&'a [u8]> {
    bytes.get(range.clone()).context("a section ends past the file's end")
}

fn assembled(encoding: Encoding, sections: &[(u8, Vec<u8>)]) -> Vec<u8> {
    match encoding {
        Encoding::Module => {
            let mut module = Module::new();
            for (id, data) in sections {
                module.section(&RawSection { id: *id, data });
            }
            module.finish()
        }
        Encoding::Component => {
            let mut component = Component::new();
            for (id, data) in sections {
                component.section(&RawSection { id: *id, data });
            }
            component.finish()
        }
    }
}
