//! What the builtin judges share: settings that are words, a sense of where a path or host lies, what a person
//! looks at first, steps of a history, a pattern's own state, and text that fits the host's bounds.
//!
//! It exports no plugin of its own and holds no judgement: what a fact means stands in the crate of the
//! judge that uses it.

pub mod advice;
pub mod choice;
pub mod place;
#[cfg(not(target_arch = "wasm32"))]
pub mod random;
#[cfg(not(target_arch = "wasm32"))]
pub mod sample;
pub mod state;
pub mod steps;
pub mod text;
