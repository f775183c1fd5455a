//! Bundles in OCI registries: pushed, pulled, and signed later.
//!
//! ```text
//! Reference --tag--> bytes of the index --hash--> digest --> manifests, configs, components, signatures: by digest alone
//! ```
//!
//! **What is believed.** Of what a registry says, the answer to one question counts: which bytes a tag stands for now. It
//! is asked once, the bytes are hashed, and from there on everything is asked for by digest and held against it; with a
//! digest in the [`Reference`] not even that answer counts. Bodies are read up to what the document that names them says,
//! within a limit of time for each read and for all. A redirect never weakens TLS, and the credentials of a registry go
//! to itself and to the token server that it names over TLS.
//!
//! **What it does not do.** It knows nothing of trust, home and configuration: whether a bundle that was pulled is loaded
//! is decided by whoever asks `Trust::judge`. It reads no environment but what [`Access::from_environment`] is given.
//!
//! **Why its own client.** The protocol is small: four kinds of request and a token. `oci-client` reads manifests without
//! a bound and leaves redirects to its HTTP library, and brings an async runtime; `docker_credential` reads the
//! environment itself and waits for a helper for ever. HTTP, TLS and proxies are ureq's, as everywhere in the host.

mod access;
mod body;
mod challenge;
mod client;
mod credential;
mod error;
mod helper;
mod proxy;
mod pull;
mod push;
mod reference;
mod referrers;
mod session;
mod token;
mod versions;

pub use access::{Access, AccessError, Limits};
pub use client::Client;
pub use error::{Error, Why};
pub use proxy::Proxies;
pub use pull::{Pulled, Unread};
pub use reference::{Reference, ReferenceError, Tag};

/// How far a push or a pull is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// What is being sent or fetched: the name of a plugin, `signatures`, or a tag.
    pub what: &'a str,
    /// Bytes of components that are through.
    pub done: u64,
    /// Bytes of all components of the bundle.
    pub total: u64,
}
