//! The locks that apply to a project: the organisation's, the person's, the project's own, those of
//! the folders around it, and that of a fleet's orders.
//!
//! Each names bundles that have to run; none can remove an entry of another. If two name the same
//! bundle, they must agree on the bytes.

use anyhow::{Context, Result, anyhow, bail};
use portcullis_bundle::{Lock, LockedBundle};
use portcullis_config::file;
use portcullis_config::paths::Paths;
use portcullis_config::problem::Problems;
use portcullis_config::read_project_file;
use portcullis_core::text::one_line;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The name of a lock's file.
pub const LOCK_FILE: &str = "portcullis.lock";

/// The most parent folders of a project that are searched.
const MOST_LEVELS: usize = 64;

/// The texts of the existing locks, not yet parsed.
#[derive(Debug)]
pub struct LockTexts(Vec<(PathBuf, String)>);

/// A bundle that has to run.
#[derive(Debug)]
pub struct RequiredBundle {
    /// The lock's entry.
    pub locked: LockedBundle,
    /// The file that requires it.
    pub by: PathBuf,
}

impl LockTexts {
    /// Reads the files; a missing file names nothing.
    ///
    /// # Errors
    /// Fails if one cannot be read.
    pub fn read_texts(places: &Paths) -> Result<Self> {
        let mut texts = Vec::new();
        let mut add = |path: PathBuf, text: Result<Option<String>, Problems>| -> Result<()> {
            let text = text.map_err(|problems| anyhow!("{}", problems.lines().join("\n")))?;
            texts.extend(text.map(|text| (path, text)));
            Ok(())
        };
        let (organisation, person) = (of_organisation(places), of_person(places));
        add(organisation.clone(), file::read_managed(&organisation))?;
        add(person.clone(), file::read_file(&person))?;
        for (level, folder) in list_folders(places).into_iter().enumerate() {
            let path = of_project(&folder);
            // Above the project, only files that this user or root wrote count: anybody can leave a
            // file in `/tmp`.
            if level == 0 || places.handed.is_some() || is_ours(&path) {
                add(path, read_project_file(places, &folder, LOCK_FILE))?;
            }
        }
        let ordered = super::read_orders(places)?.filter(|(orders, _)| !orders.lock.is_empty());
        texts.extend(ordered.map(|(orders, path)| (path, orders.lock)));
        Ok(Self(texts))
    }

    /// Returns true if there is no lock at all.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the locks other than this file.
    #[must_use]
    pub fn without_file(mut self, file: &Path) -> Self {
        self.0.retain(|(path, _)| path != file);
        self
    }

    /// Returns a digest that changes with every byte and the path of every lock.
    pub fn digest(&self) -> blake3::Hash {
        super::digest(
            self.0
                .iter()
                .flat_map(|(path, text)| [path.as_os_str().as_encoded_bytes(), text.as_bytes()]),
        )
    }

    /// Returns the bundles that have to run, by name.
    ///
    /// # Errors
    /// Fails if a file is not a valid lock, or if two of them contradict each other.
    pub fn required_bundles(&self) -> Result<Vec<RequiredBundle>> {
        let mut all: BTreeMap<String, RequiredBundle> = BTreeMap::new();
        for (path, text) in &self.0 {
            let shown = one_line(&path.display().to_string(), 400);
            let lock =
                Lock::parse_lock(text).with_context(|| format!("`{shown}` is not a lock file"))?;
            for locked in lock.bundles() {
                let name = locked.name.to_string();
                match all.get(&name) {
                    Some(known) if known.locked.digest != locked.digest => bail!(
                        "`{name}` is locked as {} {} by `{}` and as {} {} by `{shown}`: both must lock the same bundle",
                        known.locked.version,
                        known.locked.digest,
                        known.by.display(),
                        locked.version,
                        locked.digest
                    ),
                    Some(_) => {}
                    None => {
                        drop(all.insert(
                            name,
                            RequiredBundle { locked: locked.clone(), by: path.clone() },
                        ))
                    }
                }
            }
        }
        Ok(all.into_values().collect())
    }
}

/// Returns the folders whose locks apply: the project's and all above it, up to the person's home.
/// So a project within a project cannot escape the outer locks.
#[must_use]
pub fn list_folders(places: &Paths) -> Vec<PathBuf> {
    let Some(project) = &places.project else { return Vec::new() };
    let home = Path::new(&places.person);
    let within = |folder: &&Path| folder.parent().is_some() && *folder != home;
    project.ancestors().take(MOST_LEVELS).take_while(within).map(Path::to_path_buf).collect()
}

/// Returns true if this user or root wrote a file.
pub(crate) fn is_ours(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|found| found.uid() == 0 || found.uid() == rustix::process::geteuid().as_raw())
}

/// Returns the organisation's lock, next to its configuration.
#[must_use]
pub fn of_organisation(places: &Paths) -> PathBuf {
    places.managed.with_file_name(LOCK_FILE)
}

/// Returns the person's lock, for all their projects.
#[must_use]
pub fn of_person(places: &Paths) -> PathBuf {
    places.config.join(LOCK_FILE)
}

/// Returns a project's lock.
#[must_use]
pub fn of_project(project: &Path) -> PathBuf {
    project.join(LOCK_FILE)
}
