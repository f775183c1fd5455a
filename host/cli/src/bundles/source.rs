//! Where a bundle comes from: an archive on this machine, or a registry.

use super::archive;
use anyhow::{Context, Result, anyhow};
use indicatif::{ProgressBar, ProgressStyle};
use portcullis_bundle::{Bundle, Signature};
use portcullis_core::text::one_line;
use portcullis_registry::{Access, Client, Progress, Reference, Unread};
use std::path::PathBuf;

/// How registries are reached, for every command that asks one.
///
/// Beside these the environment counts: docker's configuration for credentials (`docker login`), `HTTPS_PROXY` and
/// `NO_PROXY`, `SSL_CERT_FILE`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Reach {
    /// Believe the certificate authorities of this PEM file alone
    #[arg(long, value_name = "FILE", help_heading = "Registry")]
    ca: Option<PathBuf>,
    /// Reach this registry without TLS, as its reference names it: for one on this machine or behind your own wall
    #[arg(long, value_name = "HOST", help_heading = "Registry")]
    plain_http: Vec<String>,
}

/// What a command line names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file, or the folder of an OCI image layout.
    Archive(PathBuf),
    /// A repository with a tag or a digest.
    Registry(Reference),
}

/// A bundle as it was read.
#[derive(Debug)]
pub struct Fetched {
    /// The bundle.
    pub bundle: Bundle,
    /// What was signed of it.
    pub signatures: Vec<Signature>,
    /// The registry and repository that it is from; none for an archive.
    pub from: Option<String>,
    /// Signatures that are in no form that is read.
    pub unread: Vec<Unread>,
}

impl Reach {
    /// A client for registries.
    ///
    /// # Errors
    /// The environment names a proxy, or the command line a file, that cannot be used.
    pub fn client(&self) -> Result<Client> {
        let mut access = Access::from_environment(|name| std::env::var_os(name))?;
        access.authorities = self.ca.clone().or(access.authorities);
        access.plain_hosts.clone_from(&self.plain_http);
        Ok(Client::new(access)?)
    }
}

impl Source {
    /// A path where it looks like one: it begins with `/`, `.` or `~`, or ends with `.tar`. Anything else is a reference,
    /// whatever is there: a repository that was cloned could hold a file of a reference's name.
    ///
    /// # Errors
    /// It is neither.
    pub fn read(text: &str) -> Result<Self> {
        if text.starts_with(['/', '.', '~']) || text.ends_with(".tar") {
            return Ok(Self::Archive(PathBuf::from(text)));
        }
        let shown = one_line(text, 300);
        Ok(Self::Registry(
            text.parse()
                .with_context(|| format!("`{shown}` names no bundle in a registry; an archive is `./{shown}`, or ends with `.tar`"))?,
        ))
    }

    /// Reads the bundle; shows how far it is.
    ///
    /// # Errors
    /// It cannot be had, or is none.
    pub fn fetch(&self, reach: &Reach) -> Result<Fetched> {
        match self {
            Self::Archive(path) => {
                let (bundle, signatures) = archive::read(path)?;
                Ok(Fetched { bundle, signatures, from: None, unread: Vec::new() })
            }
            Self::Registry(reference) => pull(&reach.client()?, reference),
        }
    }
}

/// Pulls a bundle and shows how far it is.
///
/// # Errors
/// It cannot be had, or is none.
pub fn pull(client: &Client, reference: &Reference) -> Result<Fetched> {
    let bar = bar();
    let pulled = client.pull(reference, &mut |progress| show(&bar, progress));
    bar.finish_and_clear();
    let pulled = pulled?;
    let from = Some(reference.repository().trim_end_matches('/').to_owned());
    Ok(Fetched { bundle: pulled.bundle, signatures: pulled.signatures, from, unread: pulled.unread })
}

/// A line for a transfer; nothing where nobody looks at a terminal.
#[must_use]
pub fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(0).with_style(style)
}

/// Moves the line on.
pub fn show(bar: &ProgressBar, progress: Progress<'_>) {
    bar.set_length(progress.total);
    bar.set_position(progress.done);
    bar.set_message(one_line(progress.what, 60));
}

/// The reference of a bundle that was locked, by its digest.
///
/// # Errors
/// It is from an archive.
pub fn of_locked(locked: &portcullis_bundle::Locked) -> Result<Reference> {
    let from = locked.from.as_deref().ok_or_else(|| {
        anyhow!("`{} {}` was locked from an archive: name it, `portcullis bundle install FILE`", locked.name, locked.version)
    })?;
    let reference: Reference = format!("{from}@{}", locked.digest).parse()?;
    Ok(reference)
}
