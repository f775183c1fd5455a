//! The bundles of an installation: which have to run, whom it trusts, what a component really is and asks for.
//!
//! ```text
//! components --described--> what a bundle says of them
//!
//! locks + policies + shelf --verify--> Receipt --> plugins that the engine holds to their digests
//!                             |                       ^
//!                             +-- told_truly, judge   +-- the next hook, while nothing of it changed
//! ```
//!
//! What lies where:
//!
//! - the organisation's `trust.toml` and `portcullis.lock` beside its configuration, which belong to root;
//! - the person's beside theirs; the project's `portcullis.lock` in the project's folder. A project trusts nobody: a
//!   repository that is cloned would bring its own keys.
//! - installed bundles in the state folder.
//!
//! What is done with a registry, and what people are shown, is the commands'.

pub mod archive;
pub mod changes;
mod component;
pub mod install;
pub mod locks;
pub mod manifest;
pub mod policies;
pub mod receipt;
pub mod secrets;
pub mod source;
#[cfg(test)]
mod tests;
pub mod verify;

pub use component::{described, exports, told_truly};
pub use policies::Policies;

use crate::places::Places;
use anyhow::{Context, Result};
use portcullis_bundle::Shelf;

/// The folder of installed bundles, in the state folder.
pub const SHELF: &str = "bundles";

/// The installed bundles.
///
/// # Errors
/// Their folder cannot be made.
pub fn shelf(places: &Places) -> Result<Shelf> {
    Shelf::open(&places.state.join(SHELF)).context("cannot open the installed bundles")
}

/// Of several texts, none of which can pass for a part of its neighbour.
fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize()
}
