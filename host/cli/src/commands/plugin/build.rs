//! `portcullis plugin build`: has the language's own tool build a project, and makes of what it wrote the component
//! that the host loads. It installs nothing: what is missing is named with the command that installs it.

mod encode;
mod languages;
mod strip;
mod tool;
mod warnings;
mod watch;

use super::{grantable, grants, inspected, size};
use crate::paint;
use crate::project::Project;
use anyhow::{Context, Result, bail};
use portcullis_core::text::one_line;
use portcullis_engine::{Grants, Inspection, inspect};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// The project's folder
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// Leave the names of functions in it, which make the trace of a trap readable
    #[arg(long)]
    debug: bool,
    /// Build again whenever a file of the project changes, until it is interrupted
    #[arg(long)]
    watch: bool,
    /// Print JSON: an object a build
    #[arg(long)]
    json: bool,
}

/// What was built.
struct Built {
    component: PathBuf,
    inspection: Inspection,
    warnings: Vec<String>,
    seconds: f64,
}

pub fn run(arguments: &Arguments) -> Result<u8> {
    if arguments.watch {
        return watch::run(&arguments.folder, || said(arguments));
    }
    let built = build(&arguments.folder, arguments.debug)?;
    paint::print(&told(&built, arguments.json)?);
    Ok(0)
}

/// One build of many: a failure is said, and the next change tries again.
fn said(arguments: &Arguments) -> Result<()> {
    match build(&arguments.folder, arguments.debug) {
        Ok(built) => paint::print(&told(&built, arguments.json)?),
        Err(error) if arguments.json => paint::print(&format!("{}\n", json!({ "error": format!("{error:#}") }))),
        Err(error) => paint::print(&format!("{}: {error:#}\n", paint::bad("error"))),
    }
    Ok(())
}

fn build(folder: &Path, debug: bool) -> Result<Built> {
    let begun = Instant::now();
    let project = Project::find(folder)?;
    let raw = languages::build(&project, debug)?;
    let warnings = warnings::of(&raw, debug);
    let bytes = encode::component(&raw, &project.manifest, debug)?;
    let inspection = inspect(&bytes).context("what was built is no plugin")?;
    let wanted = project.manifest.kind;
    if inspection.kind != wanted {
        bail!(
            "what was built is a {}, but `plugin.toml` says `kind = \"{wanted}\"`: export what that kind exports (`{}`), or correct the manifest",
            inspection.kind,
            wanted.interface()
        );
    }
    let component = project.component();
    write(&component, &bytes)?;
    Ok(Built { component, inspection, warnings, seconds: begun.elapsed().as_secs_f64() })
}

/// Writes beside its place, then renames: whoever reads the file meanwhile has the old one or the new one.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let draft = path.with_added_extension(std::process::id().to_string());
    let put = || {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(&draft, bytes)?;
        fs::rename(&draft, path)
    };
    put().inspect_err(|_| drop(fs::remove_file(&draft))).with_context(|| format!("cannot write `{}`", path.display()))
}

fn told(built: &Built, as_json: bool) -> Result<String> {
    let granted = built.inspection.granted(&Grants::default());
    if as_json {
        let document = json!({
            "component": built.component, "inspection": built.inspection, "refused": granted.err().map(|error| error.to_string()),
            "grants": grants(&built.inspection), "warnings": built.warnings, "seconds": built.seconds,
        });
        return Ok(format!("{}\n", serde_json::to_string(&document)?));
    }
    let mut text = format!(
        "{} `{}`, {} in {:.1} s\n",
        paint::good("built"),
        one_line(&built.component.to_string_lossy(), 400),
        size(built.inspection.size),
        built.seconds
    );
    text.push_str(&inspected(&built.inspection, granted));
    text.push_str(&grantable(&built.inspection, &built.component));
    for warning in &built.warnings {
        text.push_str(&format!("{}: {warning}\n", paint::warn("warning")));
    }
    Ok(text)
}
