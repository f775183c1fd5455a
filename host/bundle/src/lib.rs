//! Bundles: sets of plugins that somebody vouches for.
//!
//! ```text
//! components + About --assemble--> Bundle --write--> archive, or blobs for a registry
//!                                    | index digest
//!                                    v
//!                     Key::sign(Statement) --> Signature (a Sigstore bundle file)
//!
//! Bundle + signatures + Trust --judge--> Judgement: each requirement, met or missed, and why
//! ```
//!
//! **What a bundle is.** An OCI image index. Each component is an artifact of its own in the CNCF's layout for wasm (an
//! empty-handed config, one layer), so that any OCI or wasm tool can fetch it. What the bundle says of itself stands in
//! one annotation of the index ([`About`]): one digest covers names, versions, settings, what each plugin wants, and,
//! through their digests, all bytes.
//!
//! **What is believed.** Nothing that comes with a bundle says anything about itself that counts: every document is read
//! whole, within bounds, and hashed before it is parsed; unknown fields of ours are errors; what a document says of
//! another (digest, size, media type) is held against that other's bytes. A signature counts for the digest of the index
//! that it names, and for no tag, name or place.
//!
//! **What it does not do.** It knows no network, no wasm engine and no configuration, and reads no clock. The one state that
//! it keeps is the folder of a [`Shelf`].
//! What a component imports is told to it by whoever read the component; whether a bundle is loaded is decided by
//! whoever asks [`Trust::judge`].

mod about;
mod archive;
mod artifact;
mod bundle;
mod digest;
mod envelope;
mod index;
mod key;
mod lock;
mod name;
mod shelf;
mod shown;
mod statement;
mod toml_text;
mod trust;

/// What OCI and Sigstore call the documents of a bundle.
pub mod media_type {
    pub use crate::envelope::SIGSTORE as SIGNATURE;
    pub use crate::index::{INDEX, MANIFEST};
}

pub use about::{About, Component, Plugin, Wants};
pub use archive::{ArchiveError, read as read_archive, read_layout, write as write_archive};
pub use artifact::{Artifact, ArtifactError};
pub use bundle::{Bundle, BundleError, Part};
pub use digest::{Digest, DigestError};
pub use envelope::{Signature, SignatureError};
pub use index::{Descriptor, Index, IndexError};
pub use key::{KeyError, KeyId, PublicKey, SecretKey};
pub use lock::{Lock, LockError, Locked, LockedComponent};
pub use name::{Name, NameError, Scope};
pub use shelf::{Installed, Shelf, ShelfError};
pub use statement::{Statement, StatementError, Vetting};
pub use trust::{Judgement, Requirement, Subject, Trust, TrustError, grant_key};
