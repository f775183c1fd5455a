//! What was verified, so that the next hook need not verify it again.
//!
//! A receipt stands for the locks, the policies and the set of installed bundles that it was written for, to the byte, and
//! until the first of the signatures ends. It carries a code under the home's key: one from another machine, or from
//! whoever lacks the key, is refused. The bytes of a component are not trusted by it: it says which digest they have to
//! have, and the engine holds them to it.
//!
//! It also remembers which bundles ran in a project: a lock that names fewer is no lock that switches them off.

use crate::places::Places;
use anyhow::{Context, Result, anyhow, bail};
use portcullis_bundle::{Digest, Name};
use portcullis_store::Home;
use semver::Version;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const FOLDER: &str = "bundles/receipts";
const PURPOSE: &str = "portcullis 2026 bundle receipts";
const ENDING: &str = "json";
const MOST_BYTES: u64 = 4 << 20;

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

/// The receipt of a project; none where nothing was verified yet.
///
/// # Errors
/// There is one, and this home did not write it for this project.
pub fn read(home: &Home, place: &str) -> Result<Option<Receipt>> {
    let path = path(home, place);
    let mut text = Vec::new();
    match File::open(&path) {
        Ok(file) => file.take(MOST_BYTES).read_to_end(&mut text).with_context(|| format!("cannot read `{}`", path.display()))?,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read `{}`", path.display())),
    };
    let foreign = || {
        anyhow!(
            "`{}` was not written by this home for this project: verify the bundles anew with `portcullis bundle install`",
            path.display()
        )
    };
    let Sealed { receipt, code } = serde_json::from_slice(&text).map_err(|_| foreign())?;
    // Comparing `Hash` values takes the same time wherever they differ.
    if blake3::Hash::from_hex(&code).ok() != Some(seal(home, &receipt)?) || receipt.place != place {
        return Err(foreign());
    }
    Ok(Some(receipt))
}

/// The receipts of all projects that are still there; those of others are removed.
///
/// # Errors
/// Their folder cannot be read.
pub fn all(home: &Home) -> Result<Vec<Receipt>> {
    let folder = home.path().join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(|| format!("cannot read `{}`", folder.display()))?,
    };
    let mut all = Vec::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.extension().is_some_and(|end| end == ENDING)) {
        // What cannot be read stands for nothing, and says so in its project.
        let Ok(Sealed { receipt, .. }) = fs::read(&path).map_err(anyhow::Error::from).and_then(|text| Ok(serde_json::from_slice(&text)?))
        else {
            continue;
        };
        if receipt.place.is_empty() || Path::new(&receipt.place).is_dir() {
            all.push(receipt);
        } else {
            let _kept = fs::remove_file(&path);
        }
    }
    Ok(all)
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
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    let put = || -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(home.path().join(FOLDER))?;
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&draft, &path)
    };
    put().inspect_err(|_| drop(fs::remove_file(&draft))).with_context(|| format!("cannot write `{}`", path.display()))
}

/// Forgets what ran in a project: a person looked at what changed.
///
/// # Errors
/// The receipt cannot be removed.
pub fn forget(home: &Home, place: &str) -> Result<()> {
    let path = path(home, place);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).with_context(|| format!("cannot remove `{}`", path.display())),
        _ => Ok(()),
    }
}

/// What a project is called in its receipt: its real folder, so that a link lends it to no other.
#[must_use]
pub fn place(places: &Places) -> String {
    let real = |project: &Path| project.canonicalize().unwrap_or_else(|_| project.to_owned()).to_string_lossy().into_owned();
    places.project.as_deref().map(real).unwrap_or_default()
}

fn path(home: &Home, place: &str) -> PathBuf {
    let name = blake3::hash(place.as_bytes()).to_hex();
    home.path().join(FOLDER).join(format!("{}.{ENDING}", name.get(..32).unwrap_or_default()))
}

fn seal(home: &Home, receipt: &Receipt) -> Result<blake3::Hash> {
    Ok(blake3::keyed_hash(&home.derive_key(PURPOSE), &serde_json::to_vec(receipt)?))
}
