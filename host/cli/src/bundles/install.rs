//! Putting bundles in and taking them out: first the bytes, then the lock, which means them, then what nobody means any more.
//!
//! Whoever ends the process between two steps leaves the old set running, or the new one.

use super::changes::{Changes, changes};
use super::locks::{self, LOCK_FILE, Wanted};
use super::policies::{Judged, Policies};
use super::receipt::Ran;
use super::source::Fetched;
use super::verify::Agreed;
use super::{SHELF, archive, receipt, shelf, told_truly, verify};
use crate::config::Config;
use crate::config::file;
use crate::places::Places;
use crate::runtime::{COMPONENT, OURS, to_store};
use anyhow::{Context, Result, anyhow, bail};
use portcullis_bundle::{Installed, Lock, Locked, Name, Subject};
use portcullis_core::record::{Record, RecordKind};
use portcullis_store::{Home, Store};
use semver::Version;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The rights of a lock: it belongs into the repository, for everybody to read.
const RIGHTS: u32 = 0o644;

/// Held while a command changes what is installed and locked: of two at once, one waits.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "held until it is dropped, and by the system until the process ends")] File);

impl Turn {
    /// Waits for its turn.
    ///
    /// # Errors
    /// The file for it cannot be made.
    pub fn take(places: &Places) -> Result<Self> {
        shelf(places)?;
        let path = places.state.join(SHELF).join(TURN);
        let opened = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let taken = opened.and_then(|file| file.lock().map(|()| file));
        Ok(Self(taken.with_context(|| format!("cannot lock `{}`", path.display()))?))
    }
}

/// The file of a [`Turn`].
const TURN: &str = "turn";

/// A lock that a command changes.
#[derive(Clone, Debug)]
pub struct Target {
    /// The file.
    pub path: PathBuf,
    /// It is there.
    exists: bool,
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
        let exists = text.is_some();
        let lock = text.map_or_else(|| Ok(Lock::default()), |text| Lock::read(&text));
        Ok(Self { lock: lock.with_context(|| format!("`{}` is no lock", path.display()))?, path, exists })
    }

    /// Removes drafts of processes that were ended at work; it is this one's turn, so nobody else is at it.
    fn sweep(&self) {
        let (Some(folder), Some(name)) = (self.path.parent(), self.path.file_name()) else { return };
        let begins = format!("{}.", name.to_string_lossy());
        let is_draft = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            name.starts_with(&begins) && name.ends_with(".draft")
        };
        for draft in std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).filter(is_draft) {
            // One that stays costs nothing but its room.
            let _gone = std::fs::remove_file(draft);
        }
    }

    /// What it was when it was found.
    fn put_back(&self) -> Result<()> {
        if self.exists {
            self.write()
        } else {
            std::fs::remove_file(&self.path).with_context(|| format!("cannot remove `{}`", self.path.display()))
        }
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
        self.sweep();
        let told = || format!("cannot write `{}`", self.path.display());
        archive::durable(&self.path, RIGHTS, |file| Ok(file.write_all(text.as_bytes())?)).with_context(told)
    }
}

/// Looks at a bundle that is to be installed: whether it says the truth of itself, is trusted and no older than what is
/// locked.
///
/// # Errors
/// Why it may not be installed.
pub fn ready(places: &Places, home: &Home, target: &Target, fetched: Fetched, policies: &Policies, now: u64) -> Result<Ready> {
    let about = fetched.bundle.about();
    told_truly(&fetched.bundle)?;
    let old = target.lock.bundle(&about.name);
    // What ran here counts, whatever the lock says now.
    let ran = receipt::around(home, places)?.into_iter().flat_map(|receipt| receipt.bundles).filter(|ran| ran.name == about.name);
    let newest = ran.map(|ran| ran.version).chain(old.map(|old| old.version.clone())).max();
    let subject = Subject {
        index: fetched.bundle.index(),
        signatures: &fetched.signatures,
        from: fetched.from.as_deref(),
        installed: newest.as_ref(),
        now,
    };
    let judged = policies.require(&subject)?;
    let shelf = shelf(places)?;
    let installed = shelf.installed()?;
    let old_bundle = old.and_then(|old| installed.iter().find(|installed| installed.index.digest == old.digest));
    let changes = old_bundle.and_then(|old| shelf.read(old).ok()).map(|(old, _)| changes(old.about(), about));
    Ok(Ready { judged, locked: old.map(|old| old.version.clone()), changes, fetched })
}

/// Installs a bundle and locks it.
///
/// # Errors
/// Something cannot be written, or does not hold once it is all there; the lock is then as it was.
pub fn install(places: &Places, home: &Home, target: &mut Target, ready: &Ready, now: u64) -> Result<()> {
    let Fetched { bundle, signatures, from, .. } = &ready.fetched;
    let locked = Locked::of(bundle, from.clone(), ready.judged.signers.iter().copied().collect());
    no_lock_differs(places, target, &locked)?;
    no_name_twice(places, &Config::load(places, Some(home))?.plugins_dir, target, &locked)?;
    shelf(places)?.install(bundle, signatures, from.clone())?;
    let before = target.clone();
    let agreed = Agreed { names: vec![locked.name.clone()], unknown: false };
    target.lock.put(locked);
    target.write()?;
    if let Err(error) = verify::anew(places, home, now, &agreed) {
        target.clone_from(&before);
        target.put_back().with_context(|| format!("`{}` could not be put back as it was, after: {error:#}", target.path.display()))?;
        return Err(error.context("nothing was locked"));
    }
    Ok(())
}

/// Takes a bundle out of a lock, and says what of the others does not run, where something does not.
///
/// # Errors
/// It is not in there, or something cannot be written.
pub fn remove(places: &Places, home: &Home, target: &mut Target, name: &Name, now: u64) -> Result<Option<anyhow::Error>> {
    let Some(locked) = target.lock.bundle(name).cloned() else { bail!("`{}` locks no `{name}`", target.path.display()) };
    target.lock.remove(name);
    target.write()?;
    let gone = Ran { name: locked.name, version: locked.version, digest: locked.digest, by: target.path.clone() };
    receipt::forget(home, &[gone], now)?;
    Ok(verify::anew(places, home, now, &Agreed::default()).err())
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
fn no_name_twice(places: &Places, folder: &Path, target: &Target, locked: &Locked) -> Result<()> {
    let others = locks::Texts::read(places)?.without(&target.path).wanted()?;
    let others = others.iter().map(|other| &other.locked).chain(target.lock.bundles()).filter(|other| other.name != locked.name);
    let others: Vec<(&Locked, &String)> = others.flat_map(|other| names(other).map(move |name| (other, name))).collect();
    let ours = locked.name.as_str() == OURS;
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

/// Versions of a bundle that run in no project go, with their bytes.
///
/// # Errors
/// The folder of installed bundles cannot be cleared: what is installed is not touched by that.
pub fn clear(places: &Places, home: &Home, name: &Name, now: u64) -> Result<()> {
    let mut used: BTreeSet<_> = receipt::all(home, now)?.into_iter().flat_map(|receipt| receipt.bundles).map(|ran| ran.digest).collect();
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
