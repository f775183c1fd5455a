//! Installs and removes bundles: write the blobs, replace the lock, then collect garbage.
//!
//! A process that is killed between two steps leaves either the old set in effect or the new one.

use super::changes::{Changes, list_changes};
use super::source::FetchedBundle;
use crate::error::{Context, Error, Result};
use portcullis_bundle::{BundleName, CandidateBundle, InstalledBundle, Lock, LockedBundle};
use portcullis_config::Config;
use portcullis_config::file;
use portcullis_config::paths::Paths;
use portcullis_review::bundles::locks::{self, LOCK_FILE, RequiredBundle};
use portcullis_review::bundles::policies::{Policies, TrustedBundle};
use portcullis_review::bundles::receipt::InstalledRef;
use portcullis_review::bundles::verify::Consent;
use portcullis_review::bundles::{BUNDLES_FOLDER, check_description, open_store, receipt, verify};
use portcullis_review::plugin_specs::{COMPONENT, OURS};
use portcullis_store::Home;
use semver::Version;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The permissions of a lock: it belongs in the repository, for everybody to read.
const RIGHTS: u32 = 0o644;

/// A lock guard, held while a command changes what is installed and locked: two commands never do
/// so at once.
#[derive(Debug)]
pub struct InstallLock(
    #[expect(
        dead_code,
        reason = "held until it is dropped, and by the system until the process ends"
    )]
    File,
);

impl InstallLock {
    /// Waits for the lock and takes it.
    ///
    /// # Errors
    /// Fails if the lock's file cannot be created.
    pub fn take_lock(places: &Paths) -> Result<Self> {
        open_store(places)?;
        let path = places.state.join(BUNDLES_FOLDER).join(INSTALL_LOCK);
        let opened = portcullis_fs::open_lock_file(&path);
        let taken = opened.and_then(|file| file.lock().map(|()| file));
        Ok(Self(taken.with_context(|| format!("cannot lock `{}`", path.display()))?))
    }
}

/// The name of the file behind [`InstallLock`].
const INSTALL_LOCK: &str = "turn";

/// The lock file that a command changes.
#[derive(Clone, Debug)]
pub struct LockFile {
    /// Its path.
    pub path: PathBuf,
    /// True if the file exists.
    exists: bool,
    /// Its current content.
    pub lock: Lock,
}

/// A bundle that was read and may be installed.
#[derive(Debug)]
pub struct InstallPlan {
    /// The bundle.
    pub fetched: FetchedBundle,
    /// The verdict of the policies about it.
    pub judged: TrustedBundle,
    /// The version that is locked now; `None` if the name is new.
    pub locked: Option<Version>,
    /// The changes from the locked version; `None` if they are not known.
    pub changes: Option<Changes>,
}

impl LockFile {
    /// Finds the project's lock, or with `global` the person's lock for all their projects.
    ///
    /// # Errors
    /// Fails if there is no project, or if the file cannot be read.
    pub fn find_lock(places: &Paths, global: bool) -> Result<Self> {
        let (path, text) = match (&places.project, global) {
            (_, true) => {
                let path = locks::of_person(places);
                let text = file::read_file(&path);
                (path, text)
            }
            (Some(project), false) => {
                (locks::of_project(project), file::read_in_project(project, LOCK_FILE))
            }
            (None, false) => {
                return Err(Error::invalid("this folder belongs to no project")
                    .with_hint("go to one, or lock for all your projects with `--global`"));
            }
        };
        let text = text?;
        let exists = text.is_some();
        let lock = text.map_or_else(|| Ok(Lock::default()), |text| Lock::parse_lock(&text));
        Ok(Self {
            lock: lock.with_context(|| format!("`{}` is not a lock file", path.display()))?,
            path,
            exists,
        })
    }

    /// Restores the content that was found.
    fn put_back(&self) -> Result<()> {
        if self.exists {
            self.write()
        } else {
            std::fs::remove_file(&self.path)
                .with_context(|| format!("cannot remove `{}`", self.path.display()))
        }
    }

    /// Writes it atomically: a concurrent reader finds either the old content or the new one.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn write(&self) -> Result<()> {
        let text = self.lock.to_text()?;
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot make `{}`", folder.display()))?;
        }
        // The caller holds the lock guard, so the drafts are of killed processes. A draft that
        // cannot be removed costs only disk space.
        let _gone = portcullis_fs::remove_drafts(&self.path);
        let context = || format!("cannot write `{}`", self.path.display());
        portcullis_fs::replace_bytes(&self.path, RIGHTS, text.as_bytes()).with_context(context)
    }
}

/// Checks a bundle that is to be installed: its description must be true, it must be trusted, and
/// it must not be older than the locked version.
///
/// # Errors
/// Fails if the bundle may not be installed; the error says why.
pub fn plan_install(
    places: &Paths,
    home: &Home,
    target: &LockFile,
    fetched: FetchedBundle,
    policies: &Policies,
    now: u64,
) -> Result<InstallPlan> {
    let about = fetched.bundle.about();
    check_description(&fetched.bundle)?;
    let old = target.lock.find_bundle(&about.name);
    // Versions that already ran here count, even if the lock has changed since.
    let ran = receipt::receipts_around(home, places)?
        .into_iter()
        .flat_map(|receipt| receipt.bundles)
        .filter(|ran| ran.name == about.name);
    let newest = ran.map(|ran| ran.version).chain(old.map(|old| old.version.clone())).max();
    let subject = CandidateBundle {
        index: fetched.bundle.index(),
        signatures: &fetched.signatures,
        from: fetched.from.as_deref(),
        installed: newest.as_ref(),
        now,
    };
    let judged = policies.require_trust(&subject)?;
    let store = open_store(places)?;
    let installed = store.installed()?;
    let old_bundle =
        old.and_then(|old| installed.iter().find(|installed| installed.index.digest == old.digest));
    let changes = old_bundle
        .and_then(|old| store.read_bundle(old).ok())
        .map(|(old, _)| list_changes(old.about(), about));
    Ok(InstallPlan { judged, locked: old.map(|old| old.version.clone()), changes, fetched })
}

/// Installs a bundle and locks it.
///
/// # Errors
/// Fails if something cannot be written, or if the new set does not verify; the lock is then rolled
/// back.
pub fn install_bundle(
    places: &Paths,
    home: &Home,
    target: &mut LockFile,
    ready: &InstallPlan,
    now: u64,
) -> Result<()> {
    let FetchedBundle { bundle, signatures, from, index, .. } = &ready.fetched;
    let signers = ready.judged.signers.iter().copied().collect();
    let locked = LockedBundle {
        index: index.clone(),
        ..LockedBundle::for_bundle(bundle, from.clone(), signers)
    };
    no_lock_differs(places, target, &locked)?;
    no_name_twice(places, &Config::load(places, Some(home))?.plugins_dir, target, &locked)?;
    open_store(places)?.install_bundle(bundle, signatures, from.clone())?;
    let before = target.clone();
    let agreed = Consent { names: vec![locked.name.clone()], unknown: false };
    target.lock.put_bundle(locked);
    target.write()?;
    if let Err(error) = verify::verify_again(places, home, now, &agreed) {
        target.clone_from(&before);
        target.put_back().with_context(|| {
            format!("`{}` could not be put back as it was, after: {error:#}", target.path.display())
        })?;
        return Err(Error::from(error).with_context("nothing was locked"));
    }
    Ok(())
}

/// Removes a bundle from a lock, and returns why the remaining ones do not run, if they do not.
///
/// # Errors
/// Fails if the bundle is not in the lock, or if something cannot be written.
pub fn remove_bundle(
    places: &Paths,
    home: &Home,
    target: &mut LockFile,
    name: &BundleName,
    now: u64,
) -> Result<Option<Error>> {
    let Some(locked) = target.lock.find_bundle(name).cloned() else {
        return Err(Error::not_found(format!("`{}` locks no `{name}`", target.path.display()))
            .with_hint("`portcullis bundle list` lists what is locked"));
    };
    target.lock.remove_bundle(name);
    target.write()?;
    let gone = InstalledRef {
        name: locked.name,
        version: locked.version,
        digest: locked.digest,
        by: target.path.clone(),
    };
    receipt::forget_bundles(home, &[gone], now)?;
    Ok(verify::verify_again(places, home, now, &Consent::default()).err().map(Error::from))
}

/// Installs a bundle that a lock names, without changing any lock.
///
/// # Errors
/// Fails if the bundle is not the locked one, or may not be installed.
pub fn restore_bundle(
    places: &Paths,
    wanted: &RequiredBundle,
    fetched: &FetchedBundle,
    policies: &Policies,
    now: u64,
) -> Result<()> {
    let (locked, by) = (&wanted.locked, wanted.by.display());
    locked.check_bundle(&fetched.bundle).with_context(|| format!("`{by}` cannot be enforced"))?;
    let from = fetched.from.as_deref().or(locked.from.as_deref());
    policies.require_trust(&CandidateBundle {
        index: fetched.bundle.index(),
        signatures: &fetched.signatures,
        from,
        // The lock alone says which version belongs here, be it an older one.
        installed: None,
        now,
    })?;
    check_description(&fetched.bundle)?;
    Ok(open_store(places)?.install_bundle(
        &fetched.bundle,
        &fetched.signatures,
        from.map(str::to_owned),
    )?)
}

/// Checks that no other lock in effect here names another bundle of that name, which would stop
/// every review.
fn no_lock_differs(places: &Paths, target: &LockFile, locked: &LockedBundle) -> Result<()> {
    let others =
        locks::LockTexts::read_texts(places)?.without_file(&target.path).required_bundles()?;
    match others
        .iter()
        .find(|other| other.locked.name == locked.name && other.locked.digest != locked.digest)
    {
        Some(other) => Err(Error::invalid(format!(
            "`{}` locks `{} {}` ({}) here too: both must lock the same bundle",
            other.by.display(),
            locked.name,
            other.locked.version,
            other.locked.digest
        ))
        .with_hint("lock the same version in both")),
        None => Ok(()),
    }
}

/// Checks that no two plugins have the same name, which would stop every review.
fn no_name_twice(
    places: &Paths,
    folder: &Path,
    target: &LockFile,
    locked: &LockedBundle,
) -> Result<()> {
    let others =
        locks::LockTexts::read_texts(places)?.without_file(&target.path).required_bundles()?;
    let others = others
        .iter()
        .map(|other| &other.locked)
        .chain(target.lock.bundles())
        // The version that this one replaces has the same plugins.
        .filter(|other| other.name != locked.name);
    let others: Vec<(&LockedBundle, &String)> =
        others.flat_map(|other| names(other).map(move |name| (other, name))).collect();
    let ours = locked.name.as_str() == OURS;
    for name in names(locked) {
        // Our own bundle updates builtin plugins and has no others; nobody else takes their names.
        if portcullis_builtin::find(name).is_some() != ours {
            let error = Error::invalid(format!(
                "`{}` holds a plugin `{name}`, {}",
                locked.name,
                if ours {
                    "which is not built into this version of portcullis"
                } else {
                    "but that is the name of a builtin one"
                }
            ));
            return Err(if ours { error.with_hint("update both") } else { error });
        }
        if let Some((other, _)) = others.iter().find(|(_, other)| *other == name) {
            return Err(Error::invalid(format!(
                "`{}` holds a plugin `{name}`, but `{}`, which is locked here, does too",
                locked.name, other.name
            )));
        }
        if folder.join(name).with_extension(COMPONENT).exists() {
            return Err(Error::invalid(format!(
                "`{}` holds a plugin `{name}`, but there is a `{name}.{COMPONENT}` in `{}`",
                locked.name,
                folder.display()
            ))
            .with_hint("remove it"));
        }
    }
    Ok(())
}

fn names(locked: &LockedBundle) -> impl Iterator<Item = &String> {
    locked.components.iter().flat_map(|component| &component.plugins)
}

/// Removes versions of a bundle that run in no project, with their blobs.
///
/// # Errors
/// Fails if the folder of installed bundles cannot be cleared; what is installed and in use is not
/// affected.
pub fn remove_unused(places: &Paths, home: &Home, name: &BundleName, now: u64) -> Result<()> {
    let mut used: BTreeSet<_> = receipt::list_receipts(home, now)?
        .into_iter()
        .flat_map(|receipt| receipt.bundles)
        .map(|ran| ran.digest)
        .collect();
    used.extend(
        locks::LockTexts::read_texts(places)?
            .required_bundles()?
            .into_iter()
            .map(|wanted| wanted.locked.digest),
    );
    let store = open_store(places)?;
    let gone = store.retain_bundles(|installed: &InstalledBundle| {
        installed.name != *name || used.contains(&installed.index.digest)
    })?;
    if !gone.is_empty() {
        store.collect()?;
    }
    Ok(())
}
