//! The files that a key of the configuration names: where they may be, and how they are read.
//!
//! A project names only files in its own `.portcullis` folder. Files elsewhere were named by a
//! person or the organisation.

use crate::file;
use crate::layers::Layer;
use crate::paths::{PROJECT_FILE, Paths};
use crate::problem::Problems;
use portcullis_core::text::one_line;
use std::path::Path;

/// Makes a named file absolute: a relative name begins at `folder`, that of the file that names it.
/// `what` is the content of such files.
///
/// # Errors
/// Fails with the problem of the name, for a message about `key`.
pub(crate) fn resolve_name(
    name: &mut String,
    (key, what): (&str, &str),
    layer: Layer,
    folder: &Path,
) -> Result<(), String> {
    let refuse = |why: &str| Err(format!("`{key}` holds `{}`; {why}", one_line(name, 64)));
    let parts = &mut name.split('/');
    if name.is_empty() || name.contains('\0') || parts.any(|part| matches!(part, "." | "..")) {
        return refuse("it must be a path without `.` or `..`");
    }
    if layer == Layer::Project && name.starts_with(['/', '~']) {
        return refuse(&format!(
            "a project's {what} are in the project: a path relative to `.portcullis`"
        ));
    }
    if !name.starts_with(['/', '~']) {
        *name = folder.join(&*name).to_string_lossy().into_owned();
    }
    Ok(())
}

/// A named file that was read.
pub(crate) struct NamedFile {
    /// Its text.
    pub text: String,
    /// True if it belongs to the project.
    pub of_project: bool,
}

/// Reads a named file; none if there is no such file.
///
/// # Errors
/// Fails if it is not a file, is too large or not text, if a project's one is a link out of the
/// project, or if another user could have written the organisation's.
pub(crate) fn read_named(path: &Path, places: &Paths) -> Result<Option<NamedFile>, Problems> {
    let own = Path::new(PROJECT_FILE).parent().unwrap_or(Path::new(""));
    let of_project = places.project.as_ref().and_then(|project| {
        let name = path.strip_prefix(project).ok().filter(|name| name.starts_with(own))?;
        Some((project, name.to_str()?))
    });
    let managed = places.managed.parent().is_some_and(|folder| path.starts_with(folder))
        && (places.managed.exists() || places.handed.is_some());
    let text = match of_project {
        Some((project, name)) => read_project_file(places, project, name),
        None if managed => file::read_managed(path),
        None => file::read_file(path),
    };
    let of_project = of_project.is_some();
    Ok(text?.map(|text| NamedFile { text, of_project }))
}

/// Reads a file of a folder of the project: from the disk, or from what a hook handed over.
///
/// # Errors
/// Fails like [`file::read_in_project`].
pub fn read_project_file(
    places: &Paths,
    folder: &Path,
    name: &str,
) -> Result<Option<String>, Problems> {
    match &places.handed {
        None => file::read_in_project(folder, name),
        Some(handed) => handed.read_file(&folder.join(name)),
    }
}
