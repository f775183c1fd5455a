//! Builds a project again whenever one of its files changes. It polls modification times, which
//! every file system has; a project is small.

use crate::paint;
use anyhow::Result;
use portcullis_author::project::{BUILD, PluginProject};
use portcullis_core::text::one_line;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

/// The polling interval.
const PAUSE: Duration = Duration::from_millis(300);
/// Folders that tools write; hidden folders are skipped too.
const TOOLS: &[&str] = &[BUILD, "target", "node_modules", "__pycache__"];

type Times = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

/// Builds, then waits for a change, in a loop that ends on an interrupt or when the reader of its
/// output is gone.
pub(super) fn run(folder: &Path, build: impl Fn() -> Result<()>) -> Result<()> {
    let folder = PluginProject::find_project(folder).map(|project| project.folder)?;
    while !paint::is_closed() {
        let before = times(&folder);
        build()?;
        paint::print_text(&paint::dim(format!(
            "watching `{}`; ctrl-c ends it\n",
            one_line(&folder.to_string_lossy(), 400)
        )));
        let changed = wait(&folder, &before);
        paint::print_text(&format!("\n{} changed\n", one_line(&changed, 200)));
    }
    Ok(())
}

/// Waits and returns the first file that changed or disappeared. Changes during the build count.
fn wait(folder: &Path, before: &Times) -> String {
    loop {
        sleep(PAUSE);
        let now = times(folder);
        let other = now
            .iter()
            .find(|(path, time)| before.get(*path) != Some(time))
            .or_else(|| before.iter().find(|(path, _)| !now.contains_key(*path)));
        if let Some((path, _)) = other {
            return path.strip_prefix(folder).unwrap_or(path).display().to_string();
        }
    }
}

fn times(folder: &Path) -> Times {
    let mut found = Times::new();
    collect(folder, &mut found);
    found
}

fn collect(folder: &Path, found: &mut Times) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            if !name.starts_with('.') && !TOOLS.contains(&name.as_ref()) {
                collect(&entry.path(), found);
            }
        // A build writes this file itself.
        } else if metadata.is_file() && name != "Cargo.lock" {
            found.insert(entry.path(), (metadata.modified().ok(), metadata.len()));
        }
    }
}
