//! Warnings about a built plugin that can be loaded all the same.

use super::strip;
use portcullis_engine::Limits;
use wasmparser::{Parser, Payload};

/// The page size of WebAssembly's memories.
const PAGE: u64 = 65_536;
/// The size of names and DWARF above which a build counts as a debug build.
const MUCH: usize = 1 << 20;
/// The initial memory above which a warning is given: most of it is usually an unneeded stack,
/// since a plugin hardly recurses.
const LARGE: u64 = 8 << 20;

/// Returns the warnings about the unprocessed output of a tool.
pub(super) fn of(raw: &[u8], debug: bool) -> Vec<String> {
    let (mut memory, mut for_debuggers) = (0_u64, 0_usize);
    for payload in Parser::new(0).parse_all(raw).map_while(Result::ok) {
        match payload {
            Payload::MemorySection(section) => {
                memory = section
                    .into_iter()
                    .flatten()
                    .fold(memory, |sum, one| sum.saturating_add(one.initial.saturating_mul(PAGE)));
            }
            Payload::CustomSection(section) if strip::is_debug(section.name()) => {
                for_debuggers += section.data().len()
            }
            _ => {}
        }
    }
    let most = Limits::third_party().memory_bytes as u64;
    let mut warnings = Vec::new();
    if memory > most {
        warnings.push(format!(
            "it begins with {} MiB of memory, and the host gives {} MiB: each call will fail. Make \
             its stack or its static data smaller",
            memory >> 20,
            most >> 20
        ));
    } else if memory > LARGE && for_debuggers == 0 {
        warnings.push(format!(
            "it begins with {} MiB of memory, mostly its stack; `-Wl,-z,stack-size=65536` (C) or \
             `-Clink-arg=-zstack-size=65536` (Rust) is enough for most",
            memory >> 20
        ));
    }
    if debug && for_debuggers > MUCH {
        warnings.push(format!(
            "{} MiB of it are for debuggers: build without `--debug` before you install it",
            for_debuggers >> 20
        ));
    }
    warnings
}
