//! What was verified, so that the next hook need not verify it again.
//!
//! A receipt stands for the locks, the policies and the set of installed bundles that it was written for, to the byte, and
//! until the first of the signatures ends. It carries a code under the home's key: one from another machine, or from
//! whoever lacks the key, is refused. The bytes of a component are not trusted by it: it says which digest they have to
//! have, and the engine holds them to it.
//!
//! It also remembers which bundles ran in a project: a lock that names fewer is no lock that switches them off.

use super::{archive, locks};
use crate::config::file;
use crate::places::Places;
use anyhow::{Context, Result, anyhow, bail};
use portcullis_bundle::{Digest, Name};
use portcullis_store::Home;
use semver::Version;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const FOLDER: &str = "bundles/receipts";
const PURPOSE: &str = "portcullis 2026 bundle receipts";
const ENDING: &str = "json";
const MOST_BYTES: u64 = 4 << 20;
/// How long a project may be away until what ran in it is forgotten, in milliseconds: 90 days.
const AWAY: u64 = 90 * 24 * 60 * 60 * 1000;

/// What was found when the bundles of a project were verified.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The project's folder; empty where there is none.
    pub place: String,
    /// Of the locks, the policies and the list of what is installed: BLAKE3, 64 hex digits.
    pub stands_for: String,
    /// When it was written, in milliseconds since 1970.
    pub at: u64,
    /// From when on it stands for nothing.
    pub until: Option<u64>,
    /// The bundles, with their versions.
    pub bundles: Vec<Ran>,
    /// Their plugins.
    pub plugins: Vec<Pinned>,
}

/// A bundle that ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ran {
    /// Its name.
    pub name: Name,
    /// Its version.
    pub version: Version,
    /// Of its index.
    pub digest: Digest,
    /// The lock that names it.
    pub by: PathBuf,
}

/// A plugin of a bundle, as it has to be loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pinned {
    /// The name of the bundle.
    pub bundle: String,
    /// Its own name.
    pub name: String,
    /// The component.
    pub file: PathBuf,
    /// BLAKE3 of the component, 64 hex digits.
    pub digest: String,
    /// The component holds several plugins, of which one has to be chosen.
    pub several: bool,
    /// What the bundle sets unless the configuration says otherwise.
    pub settings: serde_json::Map<String, serde_json::Value>,
    /// The organisation locked it: nobody else switches it off.
    pub organisation: bool,
    /// The keys of the grants that it may have at most, where the configuration grants them.
    pub grants: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sealed {
    receipt: Receipt,
    code: String,
}

impl Receipt {
    /// Whether it still stands for that, at that time. A clock that was set back before it ends it too.
    #[must_use]
    pub fn holds(&self, stands_for: &blake3::Hash, now: u64) -> bool {
        self.stands_for == stands_for.to_hex().as_str() && self.at <= now && self.until.is_none_or(|until| now < until)
    }
}

/// The receipt of a place; none where nothing was verified yet.
///
/// # Errors
/// There is one, and this home did not write it for this place.
pub fn read(home: &Home, place: &str) -> Result<Option<Receipt>> {
    let path = path(home, place);
    let found = opened(home, &path)?;
    match found {
        Some(receipt) if receipt.place != place => Err(foreign(&path)),
        found => Ok(found),
    }
}

/// The receipts of a project and of the folders around it, its own first: what ran in one of them has to run still.
///
/// # Errors
/// As for [`read`].
pub fn around(home: &Home, places: &Places) -> Result<Vec<Receipt>> {
    let mut all = Vec::new();
    for place in locations(places) {
        all.extend(read(home, &place)?);
    }
    Ok(all)
}

fn opened(home: &Home, path: &Path) -> Result<Option<Receipt>> {
    let text = file::read_at_most(path, MOST_BYTES).map_err(|problems| anyhow!("{}; {MEND}", problems.lines().join("\n")))?;
    let Some(text) = text else { return Ok(None) };
    let Sealed { receipt, code } = serde_json::from_str(&text).map_err(|_| foreign(path))?;
    // Comparing `Hash` values takes the same time wherever they differ.
    if blake3::Hash::from_hex(&code).ok() != Some(seal(home, &receipt)?) {
        return Err(foreign(path));
    }
    Ok(Some(receipt))
}

const MEND: &str = "have a person verify the bundles anew, with `portcullis bundle install` at a terminal";

fn foreign(path: &Path) -> anyhow::Error {
    anyhow!("`{}` was not written by this home for this project: {MEND}", path.display())
}

/// The receipts of all projects. What this home did not write stands for nothing, and says so in its project; that of a
/// project that is away is kept for a while, since it may come back.
///
/// # Errors
/// Their folder cannot be read.
pub fn all(home: &Home, now: u64) -> Result<Vec<Receipt>> {
    let folder = home.path().join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(|| format!("cannot read `{}`", folder.display()))?,
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.extension().is_some_and(|end| end == ENDING));
    let mut all = Vec::new();
    for path in paths {
        let Ok(Some(receipt)) = opened(home, &path) else { continue };
        let away = !receipt.place.is_empty() && !Path::new(&receipt.place).is_dir();
        if away && receipt.at.saturating_add(AWAY) < now {
            let _kept = fs::remove_file(&path);
        } else {
            all.push(receipt);
        }
    }
    Ok(all)
}

/// What a lock no longer names, because a person said so, is missed in no project.
///
/// # Errors
/// A receipt cannot be written.
pub fn forget(home: &Home, gone: &[Ran], now: u64) -> Result<()> {
    for mut receipt in all(home, now)? {
        let before = receipt.bundles.len();
        receipt.bundles.retain(|ran| !gone.iter().any(|gone| (&gone.name, &gone.by) == (&ran.name, &ran.by)));
        if receipt.bundles.len() < before {
            // It stands for nothing from now on; what is left of it only remembers.
            receipt.stands_for = String::new();
            write(home, receipt)?;
        }
    }
    Ok(())
}

/// Writes a receipt, in place of an older one.
///
/// # Errors
/// It cannot be written.
pub fn write(home: &Home, receipt: Receipt) -> Result<()> {
    let path = path(home, &receipt.place);
    let code = seal(home, &receipt)?.to_hex().to_string();
    let text = serde_json::to_vec(&Sealed { receipt, code })?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > MOST_BYTES {
        bail!("the bundles of this project have too many plugins, or too large settings");
    }
    let told = || format!("cannot write `{}`", path.display());
    DirBuilder::new().recursive(true).mode(0o700).create(home.path().join(FOLDER)).with_context(told)?;
    archive::durable(&path, 0o600, |file| Ok(file.write_all(&text)?)).with_context(told)
}

/// What a project is called in its receipt: its real folder, so that a link lends it to no other.
#[must_use]
pub fn place(places: &Places) -> String {
    places.project.as_deref().map(real).unwrap_or_default()
}

/// The project and the folders around it, as their receipts call them.
fn locations(places: &Places) -> Vec<String> {
    let all: Vec<String> = locks::folders(places).iter().map(|folder| real(folder)).collect();
    if all.is_empty() { vec![place(places)] } else { all }
}

fn real(folder: &Path) -> String {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).to_string_lossy().into_owned()
}

fn path(home: &Home, place: &str) -> PathBuf {
    let name = blake3::hash(place.as_bytes()).to_hex();
    home.path().join(FOLDER).join(format!("{}.{ENDING}", name.get(..32).unwrap_or_default()))
}

fn seal(home: &Home, receipt: &Receipt) -> Result<blake3::Hash> {
    Ok(blake3::keyed_hash(&home.derive_key(PURPOSE), &serde_json::to_vec(receipt)?))
}
