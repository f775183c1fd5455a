//! Bundles, and indexes of bundles, in OCI registries: pushed, pulled, and signed later.
//!
//! ```text
//! Reference --tag--> bytes of the index --hash--> digest --> manifests, configs, components, signatures: by digest alone
//! ```
//!
//! **Trust.** A registry is trusted for one answer only: the bytes that a tag currently names. It
//! is asked once, the bytes are hashed, and everything else is requested by digest and verified
//! against it; with a digest in the [`Reference`] not even that answer counts. Bodies are read up
//! to the size that the document naming them states, with a timeout for each read and a deadline
//! for all. A redirect never weakens TLS, and the credentials of a registry are only sent to itself
//! and to the token server that it names over TLS.
//!
//! **Out of scope.** This crate does not know trust policies, home or configuration: the caller of
//! `Trust::judge_bundle` decides whether a pulled bundle is loaded. It reads no environment except
//! what [`Access::from_environment`] is given.
//!
//! **Rationale for a client of its own**, last checked against `oci-client` 0.18.0. The protocol is
//! small: four kinds of request and a token. `oci-client` reads manifests, token answers and errors
//! without a bound, and writes a blob to its end before it compares the digest. It sends the
//! password to any token server that a registry names, also without TLS, and leaves redirects to
//! its HTTP library. It has timeouts but no deadline, and adds 71 crates with an async runtime. The
//! checks above would have to go around it, so it would replace less than it costs.
//! `docker_credential` reads the environment itself and waits for a helper without a timeout. HTTP,
//! TLS and proxies are ureq's, as everywhere in the host.

mod access;
mod access_error;
mod body;
mod challenge;
mod client;
mod credential;
mod docker_config;
mod download;
mod error;
mod exchange;
mod helper;
mod index;
mod lookup;
mod proxy;
mod pull;
mod push;
mod reference;
mod referrers;
mod session;
mod token;
mod upload;
mod versions;

pub use access::{Access, AccessError, TransferLimits, UseObserver};
pub use client::Client;
pub use error::{ErrorReason, RegistryError};
pub use index::PulledIndex;
pub use proxy::Proxies;
pub use pull::PulledBundle;
pub use reference::{Reference, ReferenceError, Tag};
pub use referrers::UnsupportedSignature;

/// The progress of a push or a pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferProgress<'a> {
    /// The item that is being sent or fetched: the name of a plugin, `signatures`, or a tag.
    pub what: &'a str,
    /// The transferred bytes of components.
    pub done: u64,
    /// The bytes of all components of the bundle.
    pub total: u64,
}
