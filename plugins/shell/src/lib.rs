//! Reads a shell command line and reports what it would do: the commands in it, their effects, the
//! dangerous forms, the hosts, and how much of it was understood.
//!
//! It runs in the sandbox because it reads hostile text. It looks at nothing but that text: the
//! existence of a file, the contents of a script and the target of a link are the host's business.
//! It never fails; anything that it cannot read is a gap, and the rest is still reported.
//!
//! There are four layers, each used only by the next:
//!
//! - `syntax` turns text into a tree. It recovers: an odd part costs that part, not the line.
//! - `walk` follows the tree as a shell would, with the values that the text itself reveals
//!   (assignments, `cd`, loops, pipes), and unwraps commands that start something else (`sudo`,
//!   `sh -c`, `xargs`, `find -exec`).
//! - `autoruns` finds the commands in files that something runs later: hooks, recipes, workflows.
//! - `catalogue` maps a program and its words to effects; `places` interprets a path or a host.
//!
//! The parser is our own. `brush-parser` 0.4 was tried: as a guest it is 750 KB of wasm with
//! imports for a clock that a component without WASI cannot have, it answers a line with one odd
//! part with an error for the whole line, and deep nesting ends it by a stack overflow. A reviewer
//! needs the opposite: small, linear, and a partial answer for a partly odd line.
//!
//! Bounds: nesting 48, 100,000 syntax nodes, 256 commands, 256 effects. Past each of them the
//! reading is `partial`.

mod autoruns;
mod catalogue;
#[cfg(not(target_arch = "wasm32"))]
pub mod examples;
mod places;
mod syntax;
mod walk;

/// The types of `wit/plugin/types.wit` and `wit/shell/shell.wit`, as generated.
#[allow(
    missing_docs,
    unsafe_code,
    unreachable_pub,
    clippy::all,
    clippy::indexing_slicing,
    reason = "generated; the documentation stands in the WIT files"
)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit/plugin", "../../wit/shell"],
        world: "portcullis:shell/shell-reader",
        generate_all,
        additional_derives: [PartialEq],
        pub_export_macro: true,
    });
}

pub use bindings::exports::portcullis::shell::reader::{
    Contents, KnownFile, LeftFile, Mount, Provenance, Reading, RunLine, Surroundings,
};
pub use bindings::portcullis::plugin::types;
#[cfg(not(target_arch = "wasm32"))]
pub use catalogue::replace_catalogue;

/// Reads `text` as a command line that would run in `surroundings`.
#[must_use]
pub fn read(text: &str, surroundings: &Surroundings) -> Reading {
    walk::read(text, surroundings).0
}

/// Reads as [`read`] does, and counts the steps: bytes, words, parts, commands and effects, each
/// time that they were looked at. For tests that bound the work without a clock.
#[must_use]
pub fn read_counted(text: &str, surroundings: &Surroundings) -> (Reading, u64) {
    walk::read(text, surroundings)
}

#[cfg(target_arch = "wasm32")]
mod guest {
    use super::bindings::exports::portcullis::shell::reader::{Guest, Reading, Surroundings};

    struct Reader;

    impl Guest for Reader {
        fn read(text: String, surroundings: Surroundings) -> Reading {
            super::read(&text, &surroundings)
        }
    }

    #[allow(unsafe_code, unreachable_pub, reason = "the generated exports of the component")]
    mod exported {
        use super::Reader;
        crate::bindings::export!(Reader with_types_in crate::bindings);
    }
}
