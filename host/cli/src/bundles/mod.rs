//! The bundles of an installation: whom it trusts, what a component really is and asks for.
//!
//! ```text
//! components --described--> what a bundle says of them
//! bundle --told_truly--> refused, where its bytes say something else
//! bundle + Policies --judge--> each requirement, met or missed
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

mod component;
mod policies;

pub use component::{described, exports, told_truly};
pub use policies::Policies;

use crate::places::Places;
use anyhow::{Context, Result};
use portcullis_bundle::Shelf;

/// The folder of installed bundles, in the state folder.
const SHELF: &str = "bundles";

/// The installed bundles.
///
/// # Errors
/// Their folder cannot be made.
pub fn shelf(places: &Places) -> Result<Shelf> {
    Shelf::open(&places.state.join(SHELF)).context("cannot open the installed bundles")
}
