//! `portcullis bundle push`: pushes a bundle with its signatures to a registry.

use crate::bundles::archive;
use crate::bundles::source::{self, RegistryOptions};
use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_registry::{Reference, Tag};
use portcullis_review::bundles::check_description;
use serde_json::json;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// The archive, or the folder of an OCI image layout
    archive: PathBuf,
    /// Registry and repository, with an optional tag (default tag: the version)
    reference: Reference,
    /// Add only the archive's signatures to a bundle that is already in the registry
    #[arg(long)]
    signatures_only: bool,
    /// Push it even if nobody signed it
    #[arg(long)]
    unsigned: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reach: RegistryOptions,
}

pub fn run_push(arguments: &Arguments) -> Result<CommandExit> {
    let (bundle, signatures) = archive::read_archive_file(&arguments.archive)?;
    check_description(&bundle)?;
    if signatures.is_empty() && !arguments.unsigned {
        let archive = arguments.archive.display();
        return Err(Error::refused(format!("nobody signed `{archive}`, so nobody can trust it"))
            .with_hint(format!("sign it: `portcullis bundle sign {archive} --key FILE`"))
            .with_hint("push it all the same: `--unsigned`"));
    }
    let client = arguments.reach.client()?;
    let digest = bundle.index().digest();
    let reference = match (arguments.reference.tag(), arguments.signatures_only) {
        (_, true) => arguments.reference.with_digest(digest),
        (None, false) => arguments.reference.with_tag(Tag::for_version(&bundle.about().version)),
        (Some(_), false) => arguments.reference.clone(),
    };
    if arguments.signatures_only {
        client.attach_signatures(&signatures, &reference)?;
    } else {
        let bar = source::new_bar();
        let pushed = client.push_bundle(&bundle, &signatures, &reference, &mut |progress| {
            source::show_progress(&bar, progress)
        });
        bar.finish_and_clear();
        pushed?;
    }
    if arguments.json {
        let pushed = json!({
            "reference": reference.to_string(),
            "digest": digest,
            "signatures": signatures.len(),
        });
        paint::print_text(&format!("{pushed}\n"));
    } else {
        let count = match signatures.len() {
            1 => "1 signature".to_owned(),
            count => format!("{count} signatures"),
        };
        let what = if arguments.signatures_only {
            count
        } else {
            format!("{} {} with {count}", bundle.about().name, bundle.about().version)
        };
        paint::print_text(&format!("pushed {what} to {reference}\n{}\n", paint::dim(digest)));
    }
    Ok(CommandExit::Success)
}
