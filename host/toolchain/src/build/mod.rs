//! Builds a project: the language's own tool compiles it, and its output becomes the component that
//! the host loads.
//!
//! Nothing is installed here: the error for a missing tool names the command that installs it.

mod encode;
mod languages;
mod strip;
mod tool;
mod warnings;

use crate::templates;
use anyhow::{Context, Result, bail};
use portcullis_author::project::{BUILD, PluginProject, write_file};
use portcullis_engine::{Inspection, inspect_component};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A finished build.
#[derive(Debug)]
pub struct BuildResult {
    /// The component's file.
    pub component: PathBuf,
    /// The component's kind, imports and descriptor.
    pub inspection: Inspection,
    /// Problems that do not keep the component from loading.
    pub warnings: Vec<String>,
    /// The time that it took.
    pub seconds: f64,
}

/// Writes the bindings where a project has none: they are generated, so a repository need not hold them. They appear at once,
/// since nothing would complete a folder that a killed build left half-written.
fn write_bindings(project: &PluginProject) -> Result<()> {
    let folder = project.folder.join(templates::BINDINGS);
    if folder.exists() {
        return Ok(());
    }
    let draft = project.folder.join(BUILD).join(format!("new-{}", std::process::id()));
    let write = || -> Result<()> {
        for (name, bytes) in
            templates::list_bindings(project.manifest.kind, project.manifest.language)
        {
            write_file(&draft.join(name), bytes)?;
        }
        let written = draft.join(templates::BINDINGS);
        if written.exists() {
            fs::rename(&written, &folder)
                .with_context(|| format!("cannot make `{}`", folder.display()))?;
        }
        Ok(())
    };
    let ended = write();
    drop(fs::remove_dir_all(&draft));
    // Another build of the same project may have been faster.
    if folder.exists() { Ok(()) } else { ended }
}

/// Builds the project in `folder` and writes its component. `debug` keeps the names of functions.
///
/// # Errors
/// Fails if the folder is not a project, if a tool is missing or fails, or if its output is not a
/// plugin of the manifest's kind.
pub fn build_plugin(folder: &Path, debug: bool) -> Result<BuildResult> {
    let begun = Instant::now();
    let project = PluginProject::find_project(folder)?;
    write_bindings(&project)?;
    let raw = languages::build(&project, debug)?;
    let warnings = warnings::of(&raw, debug);
    let bytes = encode::component(&raw, &project.manifest, debug)?;
    let inspection = inspect_component(&bytes).context("the built file is not a plugin")?;
    let wanted = project.manifest.kind;
    if inspection.kind != wanted {
        bail!(
            "the built component is a {}, but `plugin.toml` says `kind = \"{wanted}\"`: export \
             what that kind exports (`{}`), or correct the manifest",
            inspection.kind,
            wanted.interface_name()
        );
    }
    let component = project.component();
    write_file(&component, &bytes)?;
    Ok(BuildResult { component, inspection, warnings, seconds: begun.elapsed().as_secs_f64() })
}
