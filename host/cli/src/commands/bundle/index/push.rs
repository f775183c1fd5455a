//! `portcullis bundle index push`: pushes an index with its signatures to a registry.

use crate::bundles::index_archive::read_index_file;
use crate::bundles::indexes::parse_index_reference;
use crate::bundles::source::RegistryOptions;
use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::given_file::display_path;
use crate::paint;
use portcullis_core::text::count_noun;
use serde_json::json;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// The index's archive
    archive: PathBuf,
    /// Registry and repository, with an optional tag (default tag: latest)
    reference: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reach: RegistryOptions,
}

pub fn run_index_push(arguments: &Arguments) -> Result<CommandExit> {
    let (artifact, signatures) = read_index_file(&arguments.archive)?;
    if signatures.is_empty() {
        let archive = display_path(&arguments.archive);
        return Err(Error::refused(format!("nobody signed `{archive}`, so nobody accepts it"))
            .with_hint(format!("sign it: `portcullis bundle index sign {archive} --key FILE`")));
    }
    let reference = parse_index_reference(&arguments.reference)?;
    let digest = arguments.reach.client()?.push_index(&artifact, &signatures, &reference)?;
    let document = artifact.document();
    if arguments.json {
        let pushed = json!({
            "reference": reference.to_string(),
            "name": document.name,
            "serial": document.serial,
            "digest": digest,
            "signatures": signatures.len(),
        });
        paint::print_text(&format!("{pushed}\n"));
    } else {
        paint::print_text(&format!(
            "pushed {} serial {} with {} to {reference}\n{}\n",
            document.name,
            document.serial,
            count_noun(signatures.len() as u64, "signature"),
            paint::dim(digest)
        ));
    }
    Ok(CommandExit::Success)
}
