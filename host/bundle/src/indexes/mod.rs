//! Indexes of bundles: signed lists of what is offered, by which a bundle is found by its name.
//!
//! ```text
//! archives --list_version--> IndexDocument --IndexArtifact--> manifest + layer, one digest
//!                                                                | Signature::sign_index
//! artifact + signatures + Trust --judge_index--> Judgement       v
//!                                  name --> reference and digest --> a bundle, judged by its own rule
//! ```
//!
//! **Trust.** An index resolves a name to a registry's reference and a digest, and nothing more: it
//! makes no bundle trusted. It is refused if it has expired, if none of its signers signed it under
//! its name, if it lists a name that it may not list, or if it is older than one that was seen.
//!
//! **Out of scope.** Fetching an index, keeping it, and remembering which one was seen.

mod artifact;
mod check;
mod document;
mod statement;
mod trust;
mod vettings;

pub use artifact::{IndexArtifact, IndexArtifactError};
pub use document::{
    IndexDocument, IndexDocumentError, ListedBundle, ListedPlugin, ListedSignature, ListedVersion,
};
pub use statement::{IndexStatement, IndexStatementError};
pub use trust::{CandidateIndex, IndexSource, SeenIndex, TrustedIndex};
pub use vettings::{ListedCounts, ListedMaterial, ListedUse, ListedVetting};

pub(crate) use trust::judge_index;
