//! The files of configuration that a hook hands over before it is asked anything.

use crate::bundles::locks::{LOCK_FILE, is_ours, list_folders, of_project};
use portcullis_config::handed::HandedFiles;
use portcullis_config::paths::{PROJECT_FILE, Paths};
use std::fs;
use std::path::Path;

/// The folder below a project's own one that receives the agent's deletions.
const QUARANTINE: &str = "quarantine";
/// How deep the project's folder is searched, and the most entries that are looked at.
const DEEPEST: usize = 3;
const MOST_ENTRIES: usize = 256;

/// Collects the project's files of configuration, with the rules and templates beside them, and its
/// locks.
#[must_use]
pub fn collect_files(places: &Paths) -> HandedFiles {
    let mut files = HandedFiles::of_project(places.project.as_deref());
    let Some(project) = &places.project else { return files };
    files.add_file(project, PROJECT_FILE);
    for (level, folder) in list_folders(places).into_iter().enumerate() {
        if level == 0 || is_ours(&of_project(&folder)) {
            files.add_file(&folder, LOCK_FILE);
        }
    }
    let own = Path::new(PROJECT_FILE).parent().unwrap_or(Path::new(""));
    let (mut open, mut seen) = (vec![(own.to_owned(), 0)], 0);
    while let Some((below, depth)) = open.pop() {
        for entry in fs::read_dir(project.join(&below)).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MOST_ENTRIES {
                return files;
            }
            let path = below.join(entry.file_name());
            let Some(name) = path.to_str().filter(|name| *name != PROJECT_FILE) else { continue };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => {
                    if depth < DEEPEST && entry.file_name() != QUARANTINE {
                        open.push((path, depth + 1));
                    }
                }
                _ => files.add_file(project, name),
            }
        }
    }
    files
}
