//! Builds a project again whenever one of its files changes. It polls modification times, which
//! every file system has; a project is small.

use crate::paint;
use anyhow::Result;
use portcullis_author::project::{FileStates, PluginProject, list_files};
use portcullis_core::text::one_line;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// The polling interval.
const PAUSE: Duration = Duration::from_millis(300);
/// Builds, then waits for a change, in a loop that ends on an interrupt or when the reader of its
/// output is gone.
pub(super) fn run(folder: &Path, build: impl Fn() -> Result<()>) -> Result<()> {
    let folder = PluginProject::find_project(folder).map(|project| project.folder)?;
    while !paint::is_closed() {
        let before = list_files(&folder);
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
fn wait(folder: &Path, before: &FileStates) -> String {
    loop {
        sleep(PAUSE);
        let now = list_files(folder);
        let other = now
            .iter()
            .find(|(path, time)| before.get(*path) != Some(time))
            .or_else(|| before.iter().find(|(path, _)| !now.contains_key(*path)));
        if let Some((path, _)) = other {
            return path.strip_prefix(folder).unwrap_or(path).display().to_string();
        }
    }
}
