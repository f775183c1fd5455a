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
//! **Format.** A bundle is an OCI image index. Each component is an artifact of its own in the
//! CNCF's layout for wasm (a minimal config, one layer), so that any OCI or wasm tool can fetch it.
//! The bundle's description is in one annotation of the index ([`About`]): one digest covers names,
//! versions, settings, the requests of each plugin, and, through their digests, all bytes.
//!
//! **Indexes of bundles.** An index of bundles is a signed list of what is offered, an OCI artifact
//! of its own ([`IndexArtifact`]). It leads from a name to a registry and a digest, and makes
//! nothing trusted. It is not the index of a bundle ([`BundleIndex`]), the OCI document whose digest
//! is the bundle's.
//!
//! **Trust.** No statement of a bundle about itself is trusted: every document is read whole,
//! within bounds, and hashed before it is parsed; unknown fields in our own documents are errors;
//! the digest, size and media type that a document gives for another are verified against the
//! other's bytes. A signature counts for the digest of the index that it names, and for no tag,
//! name or location.
//!
//! **Out of scope.** This crate has no network, no wasm engine and no configuration, and reads no
//! clock. Its only state is the folder of a [`BundleStore`]. The caller that reads a component
//! supplies its imports; the caller of [`TrustPolicy::judge_bundle`] decides whether a bundle is
//! loaded.

mod about;
mod archive;
mod artifact;
mod bundle;
mod bundle_store;
mod digest;
mod display;
mod document;
mod envelope;
mod in_toto;
mod index;
mod indexes;
mod judgement;
mod key;
mod lock;
mod name;
mod release;
mod statement;
mod toml_text;
mod trust;

/// The media types that OCI and Sigstore define for the documents of a bundle.
pub mod media_type {
    pub use crate::envelope::SIGSTORE as SIGNATURE;
    pub use crate::index::{INDEX, MANIFEST};
}

pub use about::{About, Component, ComponentRequests, Plugin};
pub use archive::{
    ArchiveError, read_archive, read_index_archive, read_layout, write_archive, write_index_archive,
};
pub use artifact::{Artifact, ArtifactError};
pub use bundle::{Bundle, BundleError, NewComponent};
pub use bundle_store::{BundleStore, BundleStoreError, InstalledBundle};
pub use digest::{Digest, DigestError};
pub use envelope::{Signature, SignatureError};
pub use index::{BundleIndex, IndexError, OciDescriptor};
pub use indexes::{
    CandidateIndex, IndexArtifact, IndexArtifactError, IndexDocument, IndexDocumentError,
    IndexSource, IndexStatement, IndexStatementError, ListedBundle, ListedCounts, ListedMaterial,
    ListedPlugin, ListedSignature, ListedUse, ListedVersion, ListedVetting, SeenIndex,
    TrustedIndex,
};
pub use judgement::{Judgement, Requirement};
pub use key::{KeyError, KeyId, PublicKey, SecretKey};
pub use lock::{Lock, LockError, LockedBundle, LockedComponent};
pub use name::{BundleName, NameError, NameScope};
pub use release::{Release, ReleaseError};
pub use statement::{Statement, StatementError, Vetting};
pub use trust::{CandidateBundle, TrustError, TrustPolicy, grant_key};
