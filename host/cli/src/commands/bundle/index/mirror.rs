//! `portcullis bundle index mirror`: copies an index with all its bundles into a folder that a trust
//! policy can name as the index's source.
//!
//! The folder needs no trust of its own: a machine that installs from it verifies the index, each
//! digest and each signature as with a registry.

use super::update::find_index;
use crate::bundles::archive;
use crate::bundles::index_archive::put_index;
use crate::bundles::indexes::{
    BUNDLES, ListedTarget, fetch_index, fetch_listed, mirrored_bundle, mirrored_index,
};
use crate::bundles::source::RegistryOptions;
use crate::error::{Context, Result};
use crate::exit::CommandExit;
use crate::given_file::display_path;
use crate::paint;
use portcullis_bundle::{BundleName, CandidateIndex};
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::text::count_noun;
use portcullis_review::bundles::Policies;
use portcullis_review::bundles::indexes::find_seen;
use portcullis_store::Home;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// The index's name
    name: BundleName,
    /// Write into this folder; what is there already is not fetched again
    #[arg(long, short, alias = "out", value_name = "FOLDER")]
    output: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reach: RegistryOptions,
}

pub fn run_index_mirror(arguments: &Arguments) -> Result<CommandExit> {
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let policies = Policies::read_policies(&places)?;
    let folder = &arguments.output;
    let index = find_index(&policies, &arguments.name)?;
    let (artifact, signatures) = fetch_index(&index, &arguments.reach)?;
    let seen = find_seen(&home, &index.name)?;
    let candidate =
        CandidateIndex { artifact: &artifact, signatures: &signatures, seen, now: now_ms() };
    policies.require_index(&index.name, &candidate)?;
    let bundles = folder.join(BUNDLES);
    fs::create_dir_all(&bundles)
        .with_context(|| format!("cannot make `{}`", display_path(&bundles)))?;
    let (mut all, mut fetched) = (0_u64, 0_u64);
    // Withdrawn versions too: a lock may name one.
    for (bundle, listed) in artifact
        .document()
        .bundles
        .iter()
        .flat_map(|bundle| bundle.versions.iter().map(move |listed| (bundle, listed)))
    {
        all += 1;
        let target = ListedTarget {
            name: bundle.name.clone(),
            listed: listed.clone(),
            index: index.clone(),
        };
        fetched += u64::from(mirror_bundle(folder, &target, &arguments.reach)?);
    }
    // Last, so that an index never names a bundle that is not there.
    put_index(&mirrored_index(folder), &artifact, &signatures)?;
    let serial = artifact.document().serial;
    let shown = folder.canonicalize().unwrap_or_else(|_| folder.clone());
    if arguments.json {
        let document = json!({
            "name": arguments.name,
            "serial": serial,
            "folder": shown,
            "bundles": all,
            "fetched": fetched,
        });
        paint::print_text(&format!("{document}\n"));
    } else {
        paint::print_text(&format!(
            "mirrored {} serial {serial} into `{folder}`: {}, {fetched} fetched\n\
             for the `[[index]]` of a machine without a network:\nsource = \"{folder}\"\n",
            arguments.name,
            count_noun(all, "archive"),
            folder = display_path(&shown)
        ));
    }
    Ok(CommandExit::Success)
}

/// Fetches a bundle into the folder, unless it is there already; returns true if it was fetched.
fn mirror_bundle(folder: &Path, target: &ListedTarget, reach: &RegistryOptions) -> Result<bool> {
    let path = mirrored_bundle(folder, target.listed.digest);
    let there = archive::read_archive_file(&path);
    if there.is_ok_and(|(there, _)| target.listed.check_bundle(&target.name, &there).is_ok()) {
        return Ok(false);
    }
    let found = fetch_listed(target, reach)?;
    archive::write_archive_file(&path, &found.bundle, &found.signatures)?;
    Ok(true)
}
