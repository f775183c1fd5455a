//! The sources of a bundle: an archive on this machine, or a registry.

use super::archive;
use crate::error::{Context, Error, Result};
use indicatif::{ProgressBar, ProgressStyle};
use portcullis_bundle::{Bundle, BundleName, Signature};
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::text::one_line;
use portcullis_registry::{
    Access, Client, Reference, TransferProgress, UnsupportedSignature, UseObserver,
};
use portcullis_review::credentials::{open_credentials, record_use};
use portcullis_store::{Durability, Home};
use semver::Version;
use std::ffi::OsString;
use std::path::PathBuf;

/// Options for reaching registries, shared by every command that contacts one.
///
/// Credentials are those of `portcullis credential`, then docker's (`docker login`). The environment
/// counts too: `HTTPS_PROXY` and `NO_PROXY`, `SSL_CERT_FILE`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RegistryOptions {
    /// Trust only the certificate authorities in this PEM file
    #[arg(long, value_name = "FILE", help_heading = "Registry")]
    ca: Option<PathBuf>,
    /// Use plain HTTP for this registry (as named in the reference): one on this machine or behind
    /// your own firewall
    #[arg(long, value_name = "HOST", help_heading = "Registry")]
    plain_http: Vec<String>,
}

/// What is to be installed, as named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstallTarget {
    /// A place that holds it.
    Source(BundleSource),
    /// A name that an index leads to a place.
    Named(BundleName, Option<Version>),
}

/// A source named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BundleSource {
    /// A file, or the folder of an OCI image layout.
    Archive(PathBuf),
    /// A repository with a tag or a digest.
    Registry(Reference),
}

/// A bundle with its signatures, as it was read.
#[derive(Debug)]
pub struct FetchedBundle {
    /// The bundle.
    pub bundle: Bundle,
    /// Its signatures.
    pub signatures: Vec<Signature>,
    /// The registry and repository that it came from; `None` for an archive.
    pub from: Option<String>,
    /// The index that listed it, if it was found by its name.
    pub index: Option<BundleName>,
    /// What differs from the version before, in the words of the index; empty without one.
    pub change: String,
    /// Signatures in an unsupported format.
    pub unread: Vec<UnsupportedSignature>,
}

impl RegistryOptions {
    /// Returns the words of the command line that say the same to another command.
    pub fn words(&self) -> Vec<OsString> {
        let ca = self.ca.iter().flat_map(|file| ["--ca".into(), file.as_os_str().to_owned()]);
        let plain = self.plain_http.iter().flat_map(|host| ["--plain-http".into(), host.into()]);
        ca.chain(plain).collect()
    }

    /// Creates a client for registries.
    ///
    /// # Errors
    /// Fails if the environment names a proxy, or the command line a file, that cannot be used.
    pub fn client(&self) -> Result<Client> {
        let mut access = Access::from_environment(|name| std::env::var_os(name))?;
        access.authorities = self.ca.clone().or(access.authorities);
        access.plain_hosts.clone_from(&self.plain_http);
        use_credentials(&mut access)?;
        Ok(Client::new(access)?)
    }
}

/// Lets registries be reached with this home's credentials, and their uses be recorded. Without a
/// home there are none.
fn use_credentials(access: &mut Access) -> Result<()> {
    let places = Paths::from_environment()?;
    let Some(home) = Home::open_existing(&places.state)? else { return Ok(()) };
    access.credentials = Some(open_credentials(&home));
    // A journal that cannot be written does not keep a bundle from being moved; hooks and `doctor`
    // report it.
    access.observer = Some(UseObserver::new(move |noted| {
        let _unrecorded = record_use(&home, Durability::Process, noted, now_ms());
    }));
    Ok(())
}

impl InstallTarget {
    /// Parses a target: a source, or a bundle's name with an optional `@VERSION`. A text whose first
    /// part could be a registry's host is never a name.
    ///
    /// # Errors
    /// Fails if the text is neither.
    pub fn parse_target(text: &str) -> Result<Self> {
        let first = text.split('/').next().unwrap_or_default();
        let is_place = text.starts_with(['/', '.', '~']) || text.ends_with(".tar");
        if is_place || (first.contains(['.', ':']) && text.contains('/')) || first == "localhost" {
            return BundleSource::parse_source(text).map(Self::Source);
        }
        let (name, version) = match text.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (text, None),
        };
        let Ok(name) = name.parse::<BundleName>() else {
            let hint = "by its name, a bundle is `NAME` or `NAME@VERSION`";
            return BundleSource::parse_source(text)
                .map(Self::Source)
                .map_err(|error| error.with_hint(hint));
        };
        let version = version.map(|version| {
            version.parse::<Version>().map_err(|_| {
                let shown = one_line(version, 100);
                Error::invalid(format!("`{shown}` is not a version of `{name}`")).with_hint(format!(
                    "a version is three numbers, as in `{name}@1.2.0`; a tag or a digest takes a \
                     registry, as in `ghcr.io/{name}@sha256:...`"
                ))
            })
        });
        Ok(Self::Named(name, version.transpose()?))
    }
}

impl BundleSource {
    /// Parses a source: a path if it begins with `/`, `.` or `~`, or ends with `.tar`; otherwise a
    /// reference. Existing files are not consulted: a cloned repository could contain a file named
    /// like a reference.
    ///
    /// # Errors
    /// Fails if the text is neither.
    pub fn parse_source(text: &str) -> Result<Self> {
        if text.starts_with(['/', '.', '~']) || text.ends_with(".tar") {
            return Ok(Self::Archive(PathBuf::from(text)));
        }
        let shown = one_line(text, 300);
        Ok(Self::Registry(
            text.parse()
                .with_context(|| format!("`{shown}` names no bundle in a registry"))
                .map_err(|error| {
                    error.with_hint(format!("an archive is `./{shown}`, or ends with `.tar`"))
                })?,
        ))
    }

    /// Reads the bundle and shows the progress.
    ///
    /// # Errors
    /// Fails if the bundle cannot be obtained or is invalid.
    pub fn fetch_bundle(&self, reach: &RegistryOptions) -> Result<FetchedBundle> {
        match self {
            Self::Archive(path) => {
                let (bundle, signatures) = archive::read_archive_file(path)?;
                Ok(FetchedBundle {
                    bundle,
                    signatures,
                    from: None,
                    index: None,
                    change: String::new(),
                    unread: Vec::new(),
                })
            }
            Self::Registry(reference) => pull_bundle(&reach.client()?, reference),
        }
    }
}

/// Pulls a bundle and shows the progress.
///
/// # Errors
/// Fails if the bundle cannot be obtained or is invalid.
pub fn pull_bundle(client: &Client, reference: &Reference) -> Result<FetchedBundle> {
    let bar = new_bar();
    let pulled = client.pull_bundle(reference, &mut |progress| show_progress(&bar, progress));
    bar.finish_and_clear();
    let pulled = pulled?;
    let from = Some(reference.repository().trim_end_matches('/').to_owned());
    Ok(FetchedBundle {
        bundle: pulled.bundle,
        signatures: pulled.signatures,
        from,
        index: None,
        change: String::new(),
        unread: pulled.unread,
    })
}

/// Creates a progress bar for a transfer; hidden if there is no terminal.
#[must_use]
pub fn new_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(0).with_style(style)
}

/// Updates the progress bar.
pub fn show_progress(bar: &ProgressBar, progress: TransferProgress<'_>) {
    bar.set_length(progress.total);
    bar.set_position(progress.done);
    bar.set_message(one_line(progress.what, 60));
}

/// Returns the reference of a locked bundle, by its digest.
///
/// # Errors
/// Fails if the bundle was installed from an archive.
pub fn of_locked(locked: &portcullis_bundle::LockedBundle) -> Result<Reference> {
    let from = locked.from.as_deref().ok_or_else(|| {
        Error::invalid(format!("`{} {}` was locked from an archive", locked.name, locked.version))
            .with_hint("name it, `portcullis bundle install FILE`")
    })?;
    let reference: Reference = format!("{from}@{}", locked.digest).parse()?;
    Ok(reference)
}
