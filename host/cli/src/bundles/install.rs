//! Putting bundles in and taking them out: first the bytes, then the lock, which means them, then what nobody means any more.
//!
//! Whoever ends the process between two steps leaves the old set running, or the new one.

use super::changes::{Changes, changes};
use super::locks::{self, LOCK_FILE, Wanted};
use super::policies::{Judged, Policies};
use super::source::Fetched;
use super::{archive, receipt, shelf, told_truly, verify};
use crate::config::Config;
use crate::config::file;
use crate::places::Places;
use crate::runtime::{OURS, to_store};
use anyhow::{Context, Result, anyhow, bail};
use portcullis_bundle::{Installed, Lock, Locked, Name, Subject};
use portcullis_core::record::{Record, RecordKind};
use portcullis_store::{Home, Store};
use semver::Version;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The folder of components that are no bundle's, and how their names end.
const PLUGINS: &str = "plugins";
const COMPONENT: &str = "wasm";
/// The rights of a lock: it belongs into the repository, for everybody to read.
const RIGHTS: u32 = 0o644;

/// A lock that a command changes.
#[derive(Debug)]
pub struct Target {
    /// The file.
    pub path: PathBuf,
    /// What it says now.
    pub lock: Lock,
}

/// A bundle that was read, and may be installed.
#[derive(Debug)]
pub struct Ready {
    /// The bundle.
    pub fetched: Fetched,
    /// What the policies made of it.
    pub judged: Judged,
    /// The version that is locked now; none where the name is new.
    pub locked: Option<Version>,
    /// What changes from the one that is locked; none where that is not known.
    pub changes: Option<Changes>,
}

impl Target {
    /// The project's lock, or with `global` the person's, for all their projects.
    ///
    /// # Errors
    /// There is no project, or the file cannot be read.
    pub fn find(places: &Places, global: bool) -> Result<Self> {
        let (path, text) = match (&places.project, global) {
            (_, true) => {
                let path = locks::of_person(places);
                let text = file::read(&path);
                (path, text)
            }
            (Some(project), false) => (locks::of_project(project), file::read_in_project(project, LOCK_FILE)),
            (None, false) => bail!("this folder belongs to no project: go to one, or lock for all your projects with `--global`"),
        };
        let text = text.map_err(|problems| anyhow!("{}", problems.lines().join("\n")))?;
        let lock = text.map_or_else(|| Ok(Lock::default()), |text| Lock::read(&text));
        Ok(Self { lock: lock.with_context(|| format!("`{}` is no lock", path.display()))?, path })
    }

    /// Writes it: whoever reads it meanwhile has the old one or the new one.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self) -> Result<()> {
        let text = self.lock.to_text()?;
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
        }
        let told = || format!("cannot write `{}`", self.path.display());
        archive::durable(&self.path, RIGHTS, |file| Ok(file.write_all(text.as_bytes())?)).with_context(told)
    }
}

/// Looks at a bundle that is to be installed: whether it says the truth of itself, is trusted and no older than what is
/// locked.
///
/// # Errors
/// Why it may not be installed.
pub fn ready(places: &Places, target: &Target, fetched: Fetched, policies: &Policies, now: u64) -> Result<Ready> {
    let about = fetched.bundle.about();
    told_truly(&fetched.bundle)?;
    let old = target.lock.bundle(&about.name);
    let subject = Subject {
        index: fetched.bundle.index(),
        signatures: &fetched.signatures,
        from: fetched.from.as_deref(),
        installed: old.map(|old| &old.version),
        now,
    };
    let judged = policies.require(&subject)?;
    let shelf = shelf(places)?;
    let installed = shelf.installed()?;
    let old_bundle = old.and_then(|old| installed.iter().find(|installed| installed.index.digest == old.digest));
    let changes = old_bundle.and_then(|old| shelf.read(old).ok()).map(|(old, _)| changes(old.about(), about));
    Ok(Ready { judged, locked: old.map(|old| old.version.clone()), changes, fetched })
}

/// Installs a bundle and locks it. What it takes the place of goes once no project runs it.
///
/// # Errors
/// Something cannot be written, or does not hold once it is all there; what ran before still does.
pub fn install(places: &Places, home: &Home, target: &mut Target, ready: &Ready, now: u64) -> Result<()> {
    let Fetched { bundle, signatures, from, .. } = &ready.fetched;
    let locked = Locked::of(bundle, from.clone(), ready.judged.signers.iter().copied().collect());
    no_lock_differs(places, target, &locked)?;
    no_name_twice(places, target, &locked)?;
    let shelf = shelf(places)?;
    shelf.install(bundle, signatures, from.clone())?;
    target.lock.put(locked.clone());
    target.write()?;
    let receipt = verify::anew(places, home, now)?;
    debug_assert!(receipt.bundles.iter().any(|ran| ran.name == locked.name), "it was locked for this place");
    drop_unused(places, home, &locked.name)
}

/// Takes a bundle out of a lock. Its bytes go once no project runs it.
///
/// # Errors
/// It is not in there, or something cannot be written.
pub fn remove(places: &Places, home: &Home, target: &mut Target, name: &Name, now: u64) -> Result<()> {
    if !target.lock.remove(name) {
        bail!("`{}` locks no `{name}`", target.path.display());
    }
    target.write()?;
    verify::anew(places, home, now)?;
    drop_unused(places, home, name)
}

/// Puts what a lock names onto the shelf, without changing any lock.
///
/// # Errors
/// It is not what is locked, or may not be installed.
pub fn restore(places: &Places, wanted: &Wanted, fetched: &Fetched, policies: &Policies, now: u64) -> Result<()> {
    let (locked, by) = (&wanted.locked, wanted.by.display());
    locked.holds(&fetched.bundle).with_context(|| format!("`{by}` does not hold"))?;
    let from = fetched.from.as_deref().or(locked.from.as_deref());
    policies.require(&Subject { index: fetched.bundle.index(), signatures: &fetched.signatures, from, installed: None, now })?;
    told_truly(&fetched.bundle)?;
    Ok(shelf(places)?.install(&fetched.bundle, &fetched.signatures, from.map(str::to_owned))?)
}

/// Another lock that counts here and means another bundle of that name would stop every review.
fn no_lock_differs(places: &Places, target: &Target, locked: &Locked) -> Result<()> {
    let others = locks::Texts::read(places)?.without(&target.path).wanted()?;
    match others.iter().find(|other| other.locked.name == locked.name && other.locked.digest != locked.digest) {
        Some(other) => bail!(
            "`{}` locks `{} {}` ({}) here too: both have to mean the same",
            other.by.display(),
            locked.name,
            other.locked.version,
            other.locked.digest
        ),
        None => Ok(()),
    }
}

/// Two plugins of one name would stop every review.
fn no_name_twice(places: &Places, target: &Target, locked: &Locked) -> Result<()> {
    let others = locks::Texts::read(places)?.without(&target.path).wanted()?;
    let others = others.iter().map(|other| &other.locked).chain(target.lock.bundles()).filter(|other| other.name != locked.name);
    let others: Vec<(&Locked, &String)> = others.flat_map(|other| names(other).map(move |name| (other, name))).collect();
    let ours = locked.name.as_str() == OURS;
    let folder = places.config.join(PLUGINS);
    for name in names(locked) {
        if portcullis_builtin::find(name).is_some() != ours {
            bail!(
                "`{}` holds a plugin `{name}`, {}",
                locked.name,
                if ours {
                    "which this version of portcullis has not builtin: update both"
                } else {
                    "but that is the name of a builtin one"
                }
            );
        }
        if let Some((other, _)) = others.iter().find(|(_, other)| *other == name) {
            bail!("`{}` holds a plugin `{name}`, but `{}`, which is locked here, does too", locked.name, other.name);
        }
        if folder.join(name).with_extension(COMPONENT).exists() {
            bail!("`{}` holds a plugin `{name}`, but there is a `{name}.{COMPONENT}` in `{}`: remove it", locked.name, folder.display());
        }
    }
    Ok(())
}

fn names(locked: &Locked) -> impl Iterator<Item = &String> {
    locked.components.iter().flat_map(|component| &component.plugins)
}

/// Versions of a bundle that ran in no project that is still there go, with their bytes.
fn drop_unused(places: &Places, home: &Home, name: &Name) -> Result<()> {
    let mut used: BTreeSet<_> = receipt::all(home)?.into_iter().flat_map(|receipt| receipt.bundles).map(|ran| ran.digest).collect();
    used.extend(locks::Texts::read(places)?.wanted()?.into_iter().map(|wanted| wanted.locked.digest));
    let shelf = shelf(places)?;
    let gone = shelf.keep(|installed: &Installed| installed.name != *name || used.contains(&installed.index.digest))?;
    if !gone.is_empty() {
        shelf.collect()?;
    }
    Ok(())
}

/// Writes into the journal what a person did.
///
/// # Errors
/// The journal cannot be written.
pub fn record(places: &Places, home: &Home, act: &str, what: &str, now: u64) -> Result<()> {
    let durability = Config::load(places, Some(home)).map(|config| config.durability).unwrap_or_default();
    let record = Record::apart(RecordKind::Configuration, act, what, now, &std::process::id().to_string());
    Store::open(home, durability)?.append(vec![to_store(&record)])?;
    Ok(())
}

/// A path as messages have it.
#[must_use]
pub fn shown(path: &Path) -> String {
    portcullis_core::text::one_line(&path.display().to_string(), 400)
}
