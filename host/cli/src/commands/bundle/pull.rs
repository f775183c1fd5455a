//! `portcullis bundle pull`: fetches a bundle from a registry into an archive, to inspect it or to
//! carry it elsewhere.

use crate::bundles::archive;
use crate::bundles::source::{BundleSource, RegistryOptions};
use crate::error::Result;
use crate::exit::CommandExit;
use crate::paint;
use portcullis_core::text::one_line;
use portcullis_registry::Reference;
use serde_json::json;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// Registry, repository, and a tag or a digest
    reference: Reference,
    /// Write the archive to this file (default: NAME-VERSION.tar)
    #[arg(long, short, alias = "out", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reach: RegistryOptions,
}

pub fn run_pull(arguments: &Arguments) -> Result<CommandExit> {
    let fetched =
        BundleSource::Registry(arguments.reference.clone()).fetch_bundle(&arguments.reach)?;
    let (about, digest) = (fetched.bundle.about(), fetched.bundle.index().digest());
    let named = || {
        PathBuf::from(format!("{}-{}.tar", about.name.as_str().replace('/', "-"), about.version))
    };
    let out = arguments.output.clone().unwrap_or_else(named);
    let new = archive::put_new(&out, &fetched.bundle)?;
    // An existing archive may have signatures that the registry does not have, and vice versa.
    let mut signatures = archive::read_archive_file(&out)?.1;
    let there = signatures.len();
    signatures.extend(
        fetched
            .signatures
            .into_iter()
            .filter(|new| !signatures.iter().any(|known| known.file() == new.file()))
            .collect::<Vec<_>>(),
    );
    let added = signatures.len() - there;
    if added > 0 {
        archive::replace_archive(&out, &fetched.bundle, &signatures)?;
    }
    if arguments.json {
        let unread: Vec<&str> = fetched.unread.iter().map(|unread| unread.why.as_str()).collect();
        let signatures = signatures.len();
        let document = json!({
            "archive": out,
            "name": about.name,
            "version": about.version,
            "digest": digest,
            "signatures": signatures,
            "unread": unread,
        });
        paint::print_text(&format!("{document}\n"));
        return Ok(CommandExit::Success);
    }
    let was = match (new, added) {
        (true, _) => "pulled",
        (false, 0) => "had already",
        (false, _) => "had already, and added signatures to,",
    };
    paint::print_text(&format!(
        "{was} {} {} as `{}`\n{}\n",
        about.name,
        about.version,
        out.display(),
        paint::dim(digest)
    ));
    for unread in &fetched.unread {
        paint::print_text(&format!(
            "{}\n",
            paint::dim(format!("a signature was ignored: {}", one_line(&unread.why, 200)))
        ));
    }
    paint::print_text(&format!(
        "nothing is installed; `portcullis bundle verify {}` says whether this machine trusts it\n",
        out.display()
    ));
    Ok(CommandExit::Success)
}
