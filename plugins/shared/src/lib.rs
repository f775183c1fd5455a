//! Code that builtin plugins of several crates share: settings with allowed words, the location of
//! a path or host, steps of a history, a pattern's own state, and text that fits the host's bounds.
//!
//! It exports no plugin of its own and holds no judgement: the meaning of a fact is decided in the
//! module of the plugin that uses it.

pub mod checks;
pub mod choice;
#[cfg(not(target_arch = "wasm32"))]
pub mod harness;
pub mod masked;
pub mod place;
#[cfg(not(target_arch = "wasm32"))]
pub mod sample;
pub mod state;
pub mod steps;
pub mod text;
