//! `portcullis bundle diff`: shows what changes from one bundle to another.

use crate::bundles::archive;
use crate::bundles::changes::list_changes;
use crate::error::{Context, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_bundle::Bundle;
use portcullis_core::text::one_line;
use portcullis_review::bundles::check_description;
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// The archive of the old bundle
    old: PathBuf,
    /// The archive of the new bundle
    new: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run_diff(arguments: &Arguments) -> Result<CommandExit> {
    let (old, new) = (read(&arguments.old)?, read(&arguments.new)?);
    let changes = list_changes(old.about(), new.about());
    let [was, is] = [&old, &new].map(|bundle| (bundle.about(), bundle.index().digest()));
    if arguments.json {
        let end = |(about, digest)| -> serde_json::Value {
            let about: &portcullis_bundle::About = about;
            let digest: portcullis_bundle::Digest = digest;
            json!({ "name": about.name, "version": about.version.to_string(), "digest": digest })
        };
        let document = json!({
            "old": end(was),
            "new": end(is),
            "same": changes.is_empty(),
            "changes": changes,
        });
        paint::print_text(&format!("{}\n", serde_json::to_string(&document)?));
        return Ok(CommandExit::Success);
    }
    let text = if changes.is_empty() { "nothing changes\n".to_owned() } else { changes.text() };
    paint::print_text(&format!(
        "from {}  {}\nto   {}  {}\n\n{text}",
        paint::bold(format!("{} {}", was.0.name, was.0.version)),
        was.1,
        paint::bold(format!("{} {}", is.0.name, is.0.version)),
        is.1
    ));
    Ok(CommandExit::Success)
}

/// Reads a bundle. The descriptions are compared, so each is first verified against the bytes.
fn read(path: &Path) -> Result<Bundle> {
    let (bundle, _) = archive::read_archive_file(path)?;
    check_description(&bundle)
        .with_context(|| format!("`{}`", one_line(&path.to_string_lossy(), 400)))?;
    Ok(bundle)
}
