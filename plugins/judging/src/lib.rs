//! Code that the builtin judges share: settings with allowed words, the location of a path or host,
//! a person's first checks, steps of a history, a pattern's own state, and text that fits the
//! host's bounds.
//!
//! It exports no plugin of its own and holds no judgement: the meaning of a fact is decided in the
//! crate of the judge that uses it.

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
