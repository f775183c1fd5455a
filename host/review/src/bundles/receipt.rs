//! Caches the result of a verification, so that the next hook need not repeat it.
//!
//! A receipt is valid for exactly the locks, policies and installed bundles that it was written
//! for, to the byte, until the first signature expires. It carries an authentication code under the
//! home's key: a receipt from another machine, or from anyone without the key, is refused. It does
//! not make a component's bytes trusted: it contains their required digest, which the engine
//! enforces.
//!
//! It also remembers which bundles ran in a project: a lock with fewer entries does not switch them
//! off.

use super::locks;
use anyhow::{Context, Result, anyhow, bail};
use portcullis_bundle::{BundleName, Digest};
use portcullis_config::paths::Paths;
use portcullis_core::known_failure::KnownFailure;
use portcullis_fs::{SealError, SealedDocument};
use portcullis_store::Home;
use semver::Version;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const FOLDER: &str = "bundles/receipts";
const PURPOSE: &str = "portcullis 2026 bundle receipts";
const ENDING: &str = "json";
const MOST_BYTES: u64 = 4 << 20;
/// The time after which the bundles of an absent project are forgotten, in milliseconds: 90 days.
const AWAY: u64 = 90 * 24 * 60 * 60 * 1000;

/// The result of verifying the bundles of a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleReceipt {
    /// The project's folder; empty if there is none.
    pub place: String,
    /// The digest of the locks, the policies and the list of installed bundles: BLAKE3, 64 hex
    /// digits.
    #[serde(rename = "stands_for")]
    pub fingerprint: String,
    /// The time when it was written, in milliseconds since 1970.
    pub at: u64,
    /// The end of its validity.
    pub until: Option<u64>,
    /// The bundles, with their versions.
    pub bundles: Vec<InstalledRef>,
    /// Their plugins.
    pub plugins: Vec<PluginPin>,
}

/// A bundle that ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstalledRef {
    /// Its name.
    pub name: BundleName,
    /// Its version.
    pub version: Version,
    /// The digest of its index.
    pub digest: Digest,
    /// The lock that names it.
    pub by: PathBuf,
}

/// A plugin of a bundle, as it has to be loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluginPin {
    /// The name of the bundle.
    pub bundle: String,
    /// Its own name.
    pub name: String,
    /// The component.
    pub file: PathBuf,
    /// BLAKE3 of the component, 64 hex digits.
    pub digest: String,
    /// True if the component holds several plugins, of which one has to be selected.
    pub several: bool,
    /// The bundle's settings, which the configuration can override.
    pub settings: serde_json::Map<String, serde_json::Value>,
    /// True if the organisation locked it: nobody else can switch it off.
    pub organisation: bool,
    /// The keys of the grants that it may have at most, if the configuration grants them.
    pub grants: Vec<String>,
}

impl BundleReceipt {
    /// Returns true if it is still valid for that digest at that time. A clock that was set back to
    /// before its time invalidates it too.
    #[must_use]
    pub fn still_holds(&self, fingerprint: &blake3::Hash, now: u64) -> bool {
        self.fingerprint == fingerprint.to_hex().as_str()
            && self.at <= now
            && self.until.is_none_or(|until| now < until)
    }
}

/// Returns the receipt of a place, or `None` if nothing was verified yet.
///
/// # Errors
/// Fails if there is one that this home did not write for this place.
pub fn read_receipt(home: &Home, place: &str) -> Result<Option<BundleReceipt>> {
    let path = path(home, place);
    let found = read_at(home, &path)?;
    match found {
        Some(receipt) if receipt.place != place => Err(foreign(&path)),
        found => Ok(found),
    }
}

/// Returns the receipts of a project and of the folders around it, its own first: bundles that ran
/// in one of them still have to run.
///
/// # Errors
/// Fails like [`read_receipt`].
pub fn receipts_around(home: &Home, places: &Paths) -> Result<Vec<BundleReceipt>> {
    let mut all = Vec::new();
    for place in locations(places) {
        all.extend(read_receipt(home, &place)?);
    }
    Ok(all)
}

fn read_at(home: &Home, path: &Path) -> Result<Option<BundleReceipt>> {
    match document(home, path.to_owned()).read_content() {
        Ok(found) => Ok(found),
        Err(SealError::Io(error)) => {
            Err(error).with_context(|| format!("cannot read `{}`; {FIX}", path.display()))
        }
        Err(_) => Err(foreign(path)),
    }
}

fn document(home: &Home, path: PathBuf) -> SealedDocument {
    SealedDocument::new(path, home.derive_key(PURPOSE), MOST_BYTES)
}

const FIX: &str =
    "have a person verify the bundles again, with `portcullis bundle install` at a terminal";

fn foreign(path: &Path) -> anyhow::Error {
    anyhow!(KnownFailure::Forged(format!(
        "`{}` was not written by this home for this project: {FIX}",
        path.display()
    )))
}

/// Returns the receipts of all projects. Receipts that this home did not write are skipped here;
/// they are errors in their project. The receipt of an absent project is kept for a while, since
/// the project may return.
///
/// # Errors
/// Fails if their folder cannot be read.
pub fn list_receipts(home: &Home, now: u64) -> Result<Vec<BundleReceipt>> {
    let folder = home.path().join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(|| format!("cannot read `{}`", folder.display()))?,
    };
    let paths = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == ENDING));
    let mut all = Vec::new();
    for path in paths {
        let Ok(Some(receipt)) = read_at(home, &path) else { continue };
        let away = !receipt.place.is_empty() && !Path::new(&receipt.place).is_dir();
        if away && receipt.at.saturating_add(AWAY) < now {
            let _kept = fs::remove_file(&path);
        } else {
            all.push(receipt);
        }
    }
    Ok(all)
}

/// Forgets bundles that a person removed from a lock, so that no project misses them.
///
/// # Errors
/// Fails if a receipt cannot be written.
pub fn forget_bundles(home: &Home, gone: &[InstalledRef], now: u64) -> Result<()> {
    for mut receipt in list_receipts(home, now)? {
        let before = receipt.bundles.len();
        receipt
            .bundles
            .retain(|ran| !gone.iter().any(|gone| (&gone.name, &gone.by) == (&ran.name, &ran.by)));
        if receipt.bundles.len() < before {
            // It is no longer valid; only its list of bundles remains in use.
            receipt.fingerprint = String::new();
            write_receipt(home, receipt)?;
        }
    }
    Ok(())
}

/// Writes a receipt, replacing an older one.
///
/// # Errors
/// Fails if it cannot be written.
pub fn write_receipt(home: &Home, receipt: BundleReceipt) -> Result<()> {
    let document = document(home, path(home, &receipt.place));
    match document.write_content(&receipt) {
        Err(SealError::TooLarge(_)) => {
            bail!("the bundles of this project have too many plugins, or too large settings")
        }
        other => other.with_context(|| format!("cannot write `{}`", document.path().display())),
    }
}

/// Returns a project's name in its receipt: its real folder, so that a link cannot lend the receipt
/// to another project.
#[must_use]
pub fn place_name(places: &Paths) -> String {
    places.project.as_deref().map(real).unwrap_or_default()
}

/// Returns the project and the folders around it, under the names in their receipts.
fn locations(places: &Paths) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    // The project comes first. Where its own path is real, so are those of the folders around it.
    for folder in locks::list_folders(places) {
        let is_real = names.last().is_some_and(|inner| Path::new(inner).starts_with(&folder));
        names.push(if is_real { folder.to_string_lossy().into_owned() } else { real(&folder) });
    }
    if names.is_empty() { vec![place_name(places)] } else { names }
}

fn real(folder: &Path) -> String {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).to_string_lossy().into_owned()
}

fn path(home: &Home, place: &str) -> PathBuf {
    let name = blake3::hash(place.as_bytes()).to_hex();
    home.path().join(FOLDER).join(format!("{}.{ENDING}", name.get(..32).unwrap_or_default()))
}
