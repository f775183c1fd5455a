//! The bundles of an installation: which ones have to run, who is trusted, and what a component
//! really is and asks for.
//!
//! ```text
//! components --described--> what a bundle says of them
//!
//! locks + policies + store --verify--> Receipt --> plugins that the engine holds to their digests
//!                             |                              ^
//!                             +-- check_description, judge   +-- the next hook, while nothing
//!                                                                of it changed
//! ```
//!
//! The locations are:
//!
//! - the organisation's `trust.toml` and `portcullis.lock` next to its configuration, owned by
//!   root;
//! - the person's files next to theirs; the project's `portcullis.lock` in the project's folder. A
//!   project has no trust policy: a cloned repository would bring its own keys.
//! - trust policy and lock of the fleet's orders, if the machine takes any;
//! - installed bundles in the state folder, and the newest copy of each index of bundles.
//!
//! The commands install, update and show bundles.

mod component;
pub mod indexes;
pub mod locks;
pub mod policies;
pub mod receipt;
#[cfg(test)]
mod tests;
pub mod verify;

pub use component::{check_description, describe_component, list_exports, list_version};
pub use policies::Policies;

use anyhow::{Context, Result};
use portcullis_bundle::BundleStore;
use portcullis_config::clock::now_ms;
use portcullis_config::orders;
use portcullis_config::paths::Paths;
use portcullis_fleet::OrdersFile;
use portcullis_fleet::orders::Orders;
use portcullis_store::Home;
use std::path::PathBuf;

/// The folder of installed bundles, in the state folder.
pub const BUNDLES_FOLDER: &str = "bundles";

/// Opens the store of installed bundles.
///
/// # Errors
/// Fails if their folder cannot be created.
pub fn open_store(places: &Paths) -> Result<BundleStore> {
    BundleStore::open_folder(&places.state.join(BUNDLES_FOLDER))
        .context("cannot open the installed bundles")
}

/// Returns the newest orders of the machine's fleet, with the path of their file.
///
/// # Errors
/// Fails if they were changed.
fn read_orders(places: &Paths) -> Result<Option<(Orders, PathBuf)>> {
    // The configuration, which every review reads, refuses a home whose orders were removed.
    if !OrdersFile::exists_in(&places.state) {
        return Ok(None);
    }
    let Some(home) = Home::open_existing(&places.state)? else { return Ok(None) };
    Ok(orders::read_newest(&home, now_ms())?)
}

/// Returns one digest of several texts, unambiguous about where each text ends.
fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize()
}
