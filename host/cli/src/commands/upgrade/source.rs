//! Where new versions are announced: a folder with signed statements, or an address with a small
//! file that names the newest one. That file is not signed and proves nothing: what counts is the
//! statement, and only if one of the given keys signed it.

use crate::error::{Context, Error, Result};
use crate::given_file::read_given_file;
use portcullis_bundle::{KeyId, PublicKey, Release, Signature};
use portcullis_core::text::one_line;
use portcullis_network::{DocumentError, DocumentFolder};
use semver::Version;
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file that names the newest statement of an address, and the most bytes of it.
const POINTER: &str = "latest.json";
const MOST_POINTER: u64 = 4 << 10;
/// The most bytes of a signed statement.
const MOST_STATEMENT: u64 = 2 << 20;
/// The most statements of a folder that are read.
const MOST_STATEMENTS: usize = 200;
/// The beginning and the end of a signed statement's name.
const BEGINNING: &str = "portcullis-";
const ENDING: &str = ".sigstore.json";
/// The time for each answer of a server.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest version.
const MOST_VERSION: usize = 64;

/// A place where versions are announced.
pub enum ReleaseSource {
    Folder(PathBuf),
    Address(DocumentFolder),
}

/// A version that a known key signed.
pub struct SignedRelease {
    /// Its version.
    pub version: Version,
    /// The statement.
    pub release: Release,
    /// The key that signed it.
    pub key: KeyId,
    /// The name of the file with the signature.
    pub file: String,
}

/// Content of the file that names the newest statement.
#[derive(Deserialize)]
struct Pointer {
    statement: String,
}

impl ReleaseSource {
    /// Reads the name of a place, without asking it.
    ///
    /// # Errors
    /// Fails for an address without TLS of another machine.
    pub fn parse_source(text: &str) -> Result<Self> {
        if !text.contains("://") {
            return Ok(Self::Folder(PathBuf::from(text)));
        }
        DocumentFolder::parse_address(text).map(Self::Address).map_err(|error| {
            Error::invalid(format!("cannot use `{}`: {error}", one_line(text, 400)))
        })
    }

    /// Returns the newest version that one of the keys signed. `left_out` gets a line for each
    /// statement that does not count.
    ///
    /// # Errors
    /// Fails if there is none, or if the place cannot be read.
    pub fn find_newest(
        &self,
        keys: &[PublicKey],
        left_out: &mut Vec<String>,
    ) -> Result<SignedRelease> {
        match self {
            Self::Folder(folder) => newest_of_folder(folder, keys, left_out),
            Self::Address(address) => newest_of_address(address, keys),
        }
    }

    /// Formats the place for a person.
    pub fn describe(&self) -> String {
        match self {
            Self::Folder(folder) => one_line(&folder.display().to_string(), 400),
            Self::Address(address) => one_line(&address.to_string(), 400),
        }
    }
}

fn newest_of_folder(
    folder: &Path,
    keys: &[PublicKey],
    left_out: &mut Vec<String>,
) -> Result<SignedRelease> {
    let shown = one_line(&folder.display().to_string(), 400);
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read `{shown}`"))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| is_statement(name)).collect();
    if names.len() > MOST_STATEMENTS {
        return Err(Error::invalid(format!(
            "`{shown}` holds {} statements; at most {MOST_STATEMENTS} are read",
            names.len()
        )));
    }
    names.sort_unstable();
    let mut newest: Option<SignedRelease> = None;
    let mut failed = None;
    for name in names {
        let text = read_given_file(&folder.join(&name), MOST_STATEMENT, false);
        match text.and_then(|text| verify_statement(&text, &name, keys)) {
            Ok(signed) => {
                let is_newer =
                    |known: &SignedRelease| signed.version.cmp_precedence(&known.version).is_gt();
                if newest.as_ref().is_none_or(is_newer) {
                    newest = Some(signed);
                }
            }
            Err(error) => {
                left_out.push(error.in_line());
                failed = Some(error);
            }
        }
    }
    match (newest, failed) {
        (Some(newest), _) => Ok(newest),
        (None, Some(error)) => Err(error),
        (None, None) => {
            Err(Error::not_found(format!("no signed statement of a version is in `{shown}`"))
                .with_hint(format!("its name is `{BEGINNING}VERSION{ENDING}`")))
        }
    }
}

fn newest_of_address(address: &DocumentFolder, keys: &[PublicKey]) -> Result<SignedRelease> {
    let pointer = fetch(address, POINTER, MOST_POINTER)?;
    let Pointer { statement } = serde_json::from_slice(&pointer).map_err(|error| {
        Error::invalid(format!(
            "`{POINTER}` of `{}` names no statement: {}",
            one_line(&address.to_string(), 400),
            one_line(&error.to_string(), 200)
        ))
    })?;
    if !is_statement(&statement) {
        return Err(Error::invalid(format!(
            "`{POINTER}` of `{}` names `{}`, which is not the name of a statement",
            one_line(&address.to_string(), 400),
            one_line(&statement, 100)
        )));
    }
    let text = fetch(address, &statement, MOST_STATEMENT)?;
    verify_statement(&text, &statement, keys)
}

fn fetch(address: &DocumentFolder, name: &str, most: u64) -> Result<Vec<u8>> {
    address.fetch_document(name, most, PATIENCE).map_err(|error| {
        let message = format!(
            "cannot fetch `{}` of `{}`: {}",
            one_line(name, 100),
            one_line(&address.to_string(), 400),
            one_line(&error.to_string(), 400)
        );
        match error {
            DocumentError::Status(404) => Error::not_found(message),
            DocumentError::TooLong(_) | DocumentError::Malformed => Error::invalid(message),
            _ => Error::io(message),
        }
    })
}

/// Returns true for the name of a signed statement about a version; bundles have such names, too,
/// with another beginning.
fn is_statement(name: &str) -> bool {
    let version = name.strip_prefix(BEGINNING).and_then(|rest| rest.strip_suffix(ENDING));
    version.is_some_and(|version| parse_version(version).is_some())
}

/// Parses a version of Semantic Versioning.
pub fn parse_version(text: &str) -> Option<Version> {
    (text.len() <= MOST_VERSION).then(|| Version::parse(text).ok()).flatten()
}

fn verify_statement(text: &[u8], file: &str, keys: &[PublicKey]) -> Result<SignedRelease> {
    let context = || format!("`{}` does not count", one_line(file, 100));
    let signature = Signature::parse_envelope(text.trim_ascii()).with_context(context)?;
    let mut failed = None;
    for key in keys {
        match signature.verify_release(key) {
            Ok(release) => {
                let version = parse_version(&release.version).ok_or_else(|| {
                    let version = one_line(&release.version, MOST_VERSION);
                    Error::invalid(format!("its version is `{version}`")).with_context(context())
                })?;
                let key = key.id()?;
                return Ok(SignedRelease { version, release, key, file: file.to_owned() });
            }
            // The error of a key that did sign it says more than that of the others.
            Err(error) if failed.is_none() || !is_wrong_key(&error) => failed = Some(error),
            Err(_) => {}
        }
    }
    let error = failed.ok_or_else(|| Error::invalid("no key is named"))?;
    let error = Error::from(error).with_context(context());
    Err(error.with_hint("name the public key of whoever publishes, from a place that you trust"))
}

const fn is_wrong_key(error: &portcullis_bundle::SignatureError) -> bool {
    matches!(error, portcullis_bundle::SignatureError::Wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_known_by_their_names() {
        for name in ["portcullis-0.1.0.sigstore.json", "portcullis-1.0.0-rc.1+build.sigstore.json"]
        {
            assert!(is_statement(name), "{name}");
        }
        let long = format!("portcullis-1.0.0-{}.sigstore.json", "a".repeat(MOST_VERSION));
        for name in [
            "portcullis-builtin-0.1.0.sigstore.json",
            "portcullis-.sigstore.json",
            "portcullis-0.1.sigstore.json",
            "portcullis-0.1.0.provenance.json",
            "other-0.1.0.sigstore.json",
            "portcullis-../0.1.0.sigstore.json",
            "",
            &long,
        ] {
            assert!(!is_statement(name), "{name}");
        }
    }

    #[test]
    fn a_place_without_a_scheme_is_a_folder() {
        assert!(matches!(ReleaseSource::parse_source("files"), Ok(ReleaseSource::Folder(_))));
        assert!(matches!(
            ReleaseSource::parse_source("https://example.org/x"),
            Ok(ReleaseSource::Address(_))
        ));
        for address in ["http://example.org/", "ftp://example.org/", "https://a@example.org/"] {
            assert!(ReleaseSource::parse_source(address).is_err(), "{address}");
        }
    }
}
