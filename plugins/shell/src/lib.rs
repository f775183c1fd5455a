//! Reads a shell command line and says what it would do: the commands in it, their effects, the
//! dangerous forms, the hosts, and how much of it was understood.
//!
//! It runs in the sandbox because it reads hostile text. It looks at nothing but that text: whether a
//! file exists, what a script holds or where a link leads is the host's business. It never fails;
//! what it cannot read is a gap, and the rest is still reported.
//!
//! Three layers, each used by the next alone:
//!
//! - `syntax` turns text into a tree. It recovers: an odd part costs that part, not the line.
//! - `walk` follows the tree as a shell would, with the values that the text itself makes known
//!   (assignments, `cd`, loops, pipes), and unwraps what starts something else (`sudo`, `sh -c`,
//!   `xargs`, `find -exec`).
//! - `catalogue` says what a program does with its words; `places` says what a path or a host means.
//!
//! The parser is our own. `brush-parser` 0.4 was tried: as a guest it is 750 KB of wasm with imports
//! for a clock that a component without WASI cannot have, it answers a line with one odd part with
//! an error for the whole line, and deep nesting ends it by a stack overflow. What a reviewer needs is
//! the opposite: small, linear, and a partial answer for a partly odd line.
//!
//! Bounds: nesting 48, 20,000 syntax nodes, 256 commands, 256 effects. Past each of them the reading
//! is `partial`.

mod catalogue;
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

pub use bindings::exports::portcullis::shell::reader::{Reading, Surroundings};
pub use bindings::portcullis::plugin::types;

/// Reads `text` as a command line that would run in `surroundings`.
#[must_use]
pub fn read(text: &str, surroundings: &Surroundings) -> Reading {
    walk::read(text, surroundings).0
}

/// As [`read`], and how many steps it took: bytes, words, parts, commands and effects that were looked at,
/// each time that they were. For tests that hold the work to a bound without a clock.
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
