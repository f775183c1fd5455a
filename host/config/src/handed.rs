//! A project's files of configuration, as the user of a hook read them, for a review by a user who
//! cannot read them.

use crate::file;
use crate::problem::Problems;
use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The most files that are handed over, and the most bytes of all.
const MOST_FILES: usize = 64;
const MOST_BYTES: usize = 4 << 20;

/// The files, with the place of their project. A file that was not handed over does not exist for
/// the review: one that the configuration names and that is missing refuses the action.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandedFiles {
    /// The project's folder.
    pub project: Option<PathBuf>,
    /// The same folder with all links followed.
    pub real_project: Option<PathBuf>,
    files: BTreeMap<PathBuf, HandedFile>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum HandedFile {
    Text(String),
    /// It exists and cannot be used, for this reason.
    Problem(String),
}

impl HandedFiles {
    /// Creates an empty set for a project.
    #[must_use]
    pub fn of_project(project: Option<&Path>) -> Self {
        let real = project.map(|path| path.canonicalize().unwrap_or_else(|_| path.to_owned()));
        Self { project: project.map(Path::to_owned), real_project: real, files: BTreeMap::new() }
    }

    /// Returns the set as a hook sends it.
    ///
    /// # Errors
    /// Fails if a folder's name is not text.
    pub fn to_bytes(&self) -> anyhow::Result<Vec<u8>> {
        serde_json::to_vec(self).context("a project's folder must have a name that is text")
    }

    /// Reads a set that a hook sent.
    ///
    /// # Errors
    /// Fails if it is not one, or if its project is not an absolute path.
    pub fn from_bytes(bytes: &[u8]) -> anyhow::Result<Self> {
        let read: Self = serde_json::from_slice(bytes).context("these are no files")?;
        let is_absolute = |path: &Option<PathBuf>| path.as_ref().is_none_or(|p| p.is_absolute());
        ensure!(
            is_absolute(&read.project) && is_absolute(&read.real_project),
            "the project is not an absolute path"
        );
        Ok(read)
    }

    /// Reads a file of a folder of the project, as the configuration does, and adds it if it
    /// exists. Files beyond the bounds are left out.
    pub fn add_file(&mut self, folder: &Path, name: &str) {
        let file = match file::read_in_project(folder, name) {
            Ok(None) => return,
            Ok(Some(text)) => HandedFile::Text(text),
            Err(problems) => HandedFile::Problem(describe_problems(&problems)),
        };
        let bytes: usize = self.files.values().chain([&file]).map(HandedFile::len).sum();
        if self.files.len() < MOST_FILES && bytes <= MOST_BYTES {
            self.files.insert(folder.join(name), file);
        }
    }

    /// Returns the text of a file; `None` if it was not handed over.
    ///
    /// # Errors
    /// Fails if its user could not use it.
    pub(crate) fn read_file(&self, path: &Path) -> Result<Option<String>, Problems> {
        match self.files.get(path) {
            None => Ok(None),
            Some(HandedFile::Text(text)) => Ok(Some(text.clone())),
            Some(HandedFile::Problem(what)) => Err(Problems::in_file(path, what.clone())),
        }
    }
}

impl HandedFile {
    fn len(&self) -> usize {
        let (Self::Text(text) | Self::Problem(text)) = self;
        text.len()
    }
}

/// Returns what is wrong, without the file, which whoever reports it names.
fn describe_problems(problems: &Problems) -> String {
    problems.problems.first().map(|problem| problem.what.clone()).unwrap_or_default()
}
