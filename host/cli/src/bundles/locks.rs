//! The locks that count for a project: the organisation's, the person's, the project's own and those of the folders around it.
//!
//! Each names bundles that have to run; none can take away what another names. Where two name one bundle, they have to mean
//! the same bytes.

use crate::config::file;
use crate::config::problem::Problems;
use crate::places::Places;
use anyhow::{Context, Result, anyhow, bail};
use portcullis_bundle::{Lock, Locked};
use portcullis_core::text::one_line;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The name of a lock's file.
pub const LOCK_FILE: &str = "portcullis.lock";

/// How far up a project's folders are looked at.
const MOST_LEVELS: usize = 64;

/// The texts of the locks that there are, not yet read.
#[derive(Debug)]
pub struct Texts(Vec<(PathBuf, String)>);

/// A bundle that has to run.
#[derive(Debug)]
pub struct Wanted {
    /// What is locked.
    pub locked: Locked,
    /// The file that says so.
    pub by: PathBuf,
}

impl Texts {
    /// Reads the files; one that is not there names nothing.
    ///
    /// # Errors
    /// One cannot be read.
    pub fn read(places: &Places) -> Result<Self> {
        let mut texts = Vec::new();
        let mut add = |path: PathBuf, text: Result<Option<String>, Problems>| -> Result<()> {
            let text = text.map_err(|problems| anyhow!("{}", problems.lines().join("\n")))?;
            texts.extend(text.map(|text| (path, text)));
            Ok(())
        };
        let (organisation, person) = (of_organisation(places), of_person(places));
        add(organisation.clone(), file::read_managed(&organisation))?;
        add(person.clone(), file::read(&person))?;
        for (level, folder) in folders(places).into_iter().enumerate() {
            let path = of_project(&folder);
            // Above the project only what this user or root wrote counts: anybody can leave a file in `/tmp`.
            if level == 0 || is_ours(&path) {
                add(path, file::read_in_project(&folder, LOCK_FILE))?;
            }
        }
        Ok(Self(texts))
    }

    /// Whether there is no lock at all.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The others than this file.
    #[must_use]
    pub fn without(mut self, file: &Path) -> Self {
        self.0.retain(|(path, _)| path != file);
        self
    }

    /// Changes with every byte of every lock, and with where it lies.
    pub fn digest(&self) -> blake3::Hash {
        super::digest(self.0.iter().flat_map(|(path, text)| [path.as_os_str().as_encoded_bytes(), text.as_bytes()]))
    }

    /// The bundles that have to run, by name.
    ///
    /// # Errors
    /// A file is no lock, or two of them contradict each other.
    pub fn wanted(&self) -> Result<Vec<Wanted>> {
        let mut all: BTreeMap<String, Wanted> = BTreeMap::new();
        for (path, text) in &self.0 {
            let shown = one_line(&path.display().to_string(), 400);
            let lock = Lock::read(text).with_context(|| format!("`{shown}` is no lock"))?;
            for locked in lock.bundles() {
                let name = locked.name.to_string();
                match all.get(&name) {
                    Some(known) if known.locked.digest != locked.digest => bail!(
                        "`{name}` is locked as {} {} by `{}` and as {} {} by `{shown}`: both have to mean the same",
                        known.locked.version,
                        known.locked.digest,
                        known.by.display(),
                        locked.version,
                        locked.digest
                    ),
                    Some(_) => {}
                    None => drop(all.insert(name, Wanted { locked: locked.clone(), by: path.clone() })),
                }
            }
        }
        Ok(all.into_values().collect())
    }
}

/// The project's folder and all above it, up to the person's home, whose locks count: who makes a project within a project
/// sheds nothing.
#[must_use]
pub fn folders(places: &Places) -> Vec<PathBuf> {
    let Some(project) = &places.project else { return Vec::new() };
    let home = Path::new(&places.person);
    let within = |folder: &&Path| folder.parent().is_some() && *folder != home;
    project.ancestors().take(MOST_LEVELS).take_while(within).map(Path::to_path_buf).collect()
}

fn is_ours(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.uid() == 0 || found.uid() == rustix::process::geteuid().as_raw())
}

/// The organisation's lock, beside its configuration.
#[must_use]
pub fn of_organisation(places: &Places) -> PathBuf {
    places.managed.with_file_name(LOCK_FILE)
}

/// The person's lock, for all their projects.
#[must_use]
pub fn of_person(places: &Places) -> PathBuf {
    places.config.join(LOCK_FILE)
}

/// A project's lock.
#[must_use]
pub fn of_project(project: &Path) -> PathBuf {
    project.join(LOCK_FILE)
}
