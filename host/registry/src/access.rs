//! Settings for reaching registries.

pub use crate::access_error::AccessError;

use crate::proxy::Proxies;
use portcullis_credentials::{CredentialStore, CredentialUse};
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use ureq::tls::{Certificate, PemItem, parse_pem};

/// The most bytes of a file of certificate authorities: a system's whole list has a quarter of
/// that.
const MOST_BYTES: u64 = 1 << 20;

/// Settings for reaching registries. It contains no credentials: these are looked up when a
/// registry asks for them, first in the credential store, then in docker's configuration.
#[derive(Clone, Debug)]
pub struct Access {
    /// The credential store.
    pub credentials: Option<CredentialStore>,
    /// Whoever wants to know of uses of credentials.
    pub observer: Option<UseObserver>,
    /// The folder of docker's `config.json`, which names our credentials.
    pub docker_config: Option<PathBuf>,
    /// The search path for the credential helpers that docker's configuration names, in the format
    /// of `PATH`.
    pub helpers: Option<OsString>,
    /// A PEM file of certificate authorities. With it only these are trusted, without it Mozilla's.
    pub authorities: Option<PathBuf>,
    /// Proxies, and the hosts they apply to.
    pub proxies: Proxies,
    /// True if registries on this machine are reached without TLS.
    pub plain_loopback: bool,
    /// Other registries that are reached without TLS, as references name them. Bytes with a digest
    /// cannot be changed, but anybody on the network path can read credentials and choose the bytes
    /// of a tag.
    pub plain_hosts: Vec<String>,
    /// Timeouts and retries.
    pub limits: TransferLimits,
}

/// Is called with each use of a credential, once its outcome is known.
#[derive(Clone)]
pub struct UseObserver(Arc<dyn Fn(&CredentialUse) + Send + Sync>);

impl UseObserver {
    /// Wraps a function.
    #[must_use]
    pub fn new(note: impl Fn(&CredentialUse) + Send + Sync + 'static) -> Self {
        Self(Arc::new(note))
    }

    pub(crate) fn note_use(&self, noted: &CredentialUse) {
        (self.0)(noted);
    }
}

impl fmt::Debug for UseObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UseObserver")
    }
}

/// The timeouts for a registry, and the delay before retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferLimits {
    /// The timeout for connecting.
    pub connect: Duration,
    /// The timeout for the next bytes, in either direction.
    pub read: Duration,
    /// The deadline for a whole push, pull or list.
    pub all: Duration,
    /// The timeout for a credential helper, which may ask for a password.
    pub helper: Duration,
    /// The delay before the first retry after a temporary failure; it doubles each time.
    pub pause: Duration,
}

impl Default for TransferLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(20),
            read: Duration::from_secs(30),
            all: Duration::from_secs(30 * 60),
            helper: Duration::from_secs(60),
            pause: Duration::from_millis(300),
        }
    }
}

impl Access {
    /// Reads the environment variables that other tools read: `DOCKER_CONFIG` or `HOME`, `PATH`,
    /// `SSL_CERT_FILE`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, the proxies' in lower case too.
    ///
    /// # Errors
    /// Fails if a variable names a proxy that cannot be used.
    pub fn from_environment(
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, AccessError> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let home = || variable("HOME").map(|home| PathBuf::from(home).join(".docker"));
        Ok(Self {
            credentials: None,
            observer: None,
            docker_config: variable("DOCKER_CONFIG").map(PathBuf::from).or_else(home),
            helpers: variable("PATH"),
            authorities: variable("SSL_CERT_FILE").map(PathBuf::from),
            proxies: Proxies::from_environment(&variable)?,
            plain_loopback: false,
            plain_hosts: Vec::new(),
            limits: TransferLimits::default(),
        })
    }
}

/// Reads the certificates of a PEM file; there must be at least one.
pub(crate) fn authorities(path: &Path) -> Result<Vec<Certificate<'static>>, AccessError> {
    let wrong = |what: String| AccessError::Authorities { path: path.to_owned(), what };
    let mut pem = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut pem));
    read.map_err(|error| wrong(format!("it cannot be read ({error})")))?;
    if u64::try_from(pem.len()).map_or(true, |bytes| bytes > MOST_BYTES) {
        return Err(wrong(format!("it has more than {MOST_BYTES} bytes")));
    }
    let certificate = |item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    };
    let found: Vec<_> = parse_pem(&pem).filter_map(certificate).collect();
    if found.is_empty() {
        return Err(wrong(
            "it holds no certificate; put the authorities' certificates into it, as PEM".to_owned(),
        ));
    }
    Ok(found)
}
