//! The files of a project that a person or an agent writes, and which of them a component is older
//! than.

use super::{BUILD, CASES, PluginProject};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Folders that tools write; hidden folders are skipped too.
const TOOLS: &[&str] = &[BUILD, "target", "node_modules", "__pycache__"];
/// Files that no component is built from. Pages are left out too.
const OTHERS: &[&str] = &[CASES, "bundle.toml", "LICENSE", "test", "tests"];

/// When each file was changed, and its size.
pub type FileStates = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

/// Lists the files of a project, without those that tools write.
#[must_use]
pub fn list_files(folder: &Path) -> FileStates {
    let mut found = FileStates::new();
    collect_files(folder, &mut found);
    found
}

fn collect_files(folder: &Path, found: &mut FileStates) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            if !name.starts_with('.') && !TOOLS.contains(&name.as_ref()) {
                collect_files(&entry.path(), found);
            }
        // A build writes this file itself.
        } else if metadata.is_file() && name != "Cargo.lock" {
            found.insert(entry.path(), (metadata.modified().ok(), metadata.len()));
        }
    }
}

impl PluginProject {
    /// Returns a source that was changed after the component was built, below the project's folder.
    #[must_use]
    pub fn find_newer_source(&self) -> Option<PathBuf> {
        let built = self.component().metadata().and_then(|metadata| metadata.modified()).ok()?;
        list_files(&self.folder).into_iter().find_map(|(path, (changed, _))| {
            let file = path.strip_prefix(&self.folder).ok()?;
            let first = file.components().next()?.as_os_str().to_string_lossy();
            let is_page = file.extension().is_some_and(|end| end == "md");
            let counts = changed? > built && !is_page && !OTHERS.contains(&first.as_ref());
            counts.then(|| file.to_owned())
        })
    }
}
