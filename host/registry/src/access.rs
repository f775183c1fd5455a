//! How registries are reached.

use crate::proxy::Proxies;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;
use ureq::tls::{Certificate, PemItem, parse_pem};

/// Bytes of a file of authorities: a system's whole list has a quarter of it.
const MOST_BYTES: u64 = 1 << 20;

/// How registries are reached. Nothing in it is a credential: these are looked for when a registry asks who we are.
#[derive(Clone, Debug)]
pub struct Access {
    /// The folder of docker's `config.json`, which says who we are.
    pub docker_config: Option<PathBuf>,
    /// Where the helpers are looked for that docker's configuration names, as `PATH` has it.
    pub helpers: Option<OsString>,
    /// A PEM file of authorities. With it these alone are believed, without it Mozilla's.
    pub authorities: Option<PathBuf>,
    /// Proxies, and for which hosts.
    pub proxies: Proxies,
    /// Whether registries on this machine are reached without TLS.
    pub plain_loopback: bool,
    /// Other registries that are reached without TLS, as references name them: bytes with a digest stay what they are, but
    /// anybody on the way reads credentials and chooses what a tag stands for.
    pub plain_hosts: Vec<String>,
    /// How long and how often.
    pub limits: Limits,
}

/// How long a registry is waited for, and how often it is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For a connection.
    pub connect: Duration,
    /// For the next bytes, in either direction.
    pub read: Duration,
    /// For a whole push, pull or list.
    pub all: Duration,
    /// For a program that keeps credentials: it may ask for a password.
    pub helper: Duration,
    /// Before a request is tried again whose failure may pass; the next time twice as long.
    pub pause: Duration,
}

/// Why registries cannot be reached as wanted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// The file of authorities.
    #[error("the file of authorities `{}`: {what}", path.display())]
    Authorities {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it, and how it is mended.
        what: String,
    },
    /// A variable that says something that cannot be done.
    #[error("the variable `{name}` {what}")]
    Variable {
        /// Its name.
        name: String,
        /// What is wrong with it, and how it is mended.
        what: String,
    },
}

impl Default for Limits {
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
    /// As the environment says, in the variables that other tools read: `DOCKER_CONFIG` or `HOME`, `PATH`,
    /// `SSL_CERT_FILE`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, the proxies' in lower case too.
    ///
    /// # Errors
    /// A variable names a proxy that cannot be used.
    pub fn from_environment(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, AccessError> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let home = || variable("HOME").map(|home| PathBuf::from(home).join(".docker"));
        Ok(Self {
            docker_config: variable("DOCKER_CONFIG").map(PathBuf::from).or_else(home),
            helpers: variable("PATH"),
            authorities: variable("SSL_CERT_FILE").map(PathBuf::from),
            proxies: Proxies::from_environment(&variable)?,
            plain_loopback: false,
            plain_hosts: Vec::new(),
            limits: Limits::default(),
        })
    }
}

/// The certificates of a PEM file, at least one.
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
        return Err(wrong("it holds no certificate; put the authorities' certificates into it, as PEM".to_owned()));
    }
    Ok(found)
}
