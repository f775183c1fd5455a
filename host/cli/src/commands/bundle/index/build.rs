//! `portcullis bundle index build`: makes an index from archives of bundles.
//!
//! Whatever an archive says is taken from it: plugins, grants, signatures and vettings. A publisher
//! adds where the bundles are, what changed, and which versions are withdrawn.

use crate::bundles::archive;
use crate::bundles::index_archive::put_index;
use crate::bundles::index_notes::IndexNotes;
use crate::bundles::indexes::list_versions;
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::given_file::display_path;
use crate::paint;
use portcullis_bundle::{
    Bundle, BundleName, IndexArtifact, IndexDocument, ListedBundle, ListedVersion, Signature,
};
use portcullis_config::clock::now_ms;
use portcullis_core::text::count_noun;
use portcullis_registry::Reference;
use portcullis_review::bundles::list_version;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const DAY: u64 = 24 * 60 * 60 * 1000;
/// The file that makes a folder an OCI image layout, and so an archive.
const LAYOUT: &str = "oci-layout";

const NOTES: &str = r#"Notes, which say what no archive does:
  [[version]]
  name = "acme/checks"
  version = "1.1.0"
  change = "Reads squashed migrations."   # what differs from the version before
  yanked = "It misses renamed files."     # why nobody should install it

  [[bundle]]
  name = "acme/checks"
  reference = "ghcr.io/acme-tools/checks" # where it is, if not below --registry"#;

#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub struct Arguments {
    /// Archives of bundles, or folders that hold some
    #[arg(required = true, value_name = "ARCHIVE|FOLDER")]
    archives: Vec<PathBuf>,
    /// The index's name, as of a bundle
    #[arg(long)]
    name: BundleName,
    /// Number the index; each one takes a higher number than the one before
    #[arg(long, value_name = "NUMBER")]
    serial: u64,
    /// Let the index expire after this many days
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=366))]
    days: u16,
    /// The registry, with an optional path, below which each bundle is, under its name
    #[arg(long, value_name = "HOST[/PATH]")]
    registry: Option<String>,
    /// Read change notes, withdrawals and other places from this file
    #[arg(long, value_name = "FILE")]
    notes: Option<PathBuf>,
    /// Date the index (default: now), so that the same inputs give the same bytes
    #[arg(long, value_name = "TIME", value_parser = time)]
    made: Option<u64>,
    /// Write the archive to this file (default: NAME-SERIAL.tar)
    #[arg(long, short, alias = "out", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn time(text: &str) -> Result<u64, String> {
    let parsed: Result<jiff::Timestamp, _> = text.parse();
    let milliseconds = parsed.ok().and_then(|at| u64::try_from(at.as_millisecond()).ok());
    milliseconds.ok_or_else(|| "it takes a time as in 2026-11-23T04:51:08Z".to_owned())
}

pub fn run_index_build(arguments: &Arguments) -> Result<CommandExit> {
    let notes = match &arguments.notes {
        Some(file) => IndexNotes::read_notes(file)?,
        None => IndexNotes::default(),
    };
    let mut bundles: BTreeMap<BundleName, Vec<ListedVersion>> = BTreeMap::new();
    for path in find_archives(&arguments.archives)? {
        let (bundle, signatures) = archive::read_archive_file(&path)?;
        let listed = listed(arguments, &notes, &bundle, &signatures)
            .with_context(|| format!("`{}` cannot be listed", display_path(&path)))?;
        let versions = bundles.entry(bundle.about().name.clone()).or_default();
        if let Some(other) = versions.iter().find(|other| other.version == listed.version) {
            return Err(Error::invalid(format!(
                "`{}` holds `{} {}` ({}), and so does another archive ({})",
                display_path(&path),
                bundle.about().name,
                listed.version,
                listed.digest,
                other.digest
            ))
            .with_hint("name one of them only"));
        }
        versions.push(listed);
    }
    notes.check_listed(|name, version| {
        bundles.get(name).is_some_and(|versions| {
            version.is_none_or(|version| versions.iter().any(|one| one.version == *version))
        })
    })?;
    let made = arguments.made.unwrap_or_else(now_ms);
    let expires = made.saturating_add(u64::from(arguments.days) * DAY);
    let bundles =
        bundles.into_iter().map(|(name, versions)| ListedBundle { name, versions }).collect();
    let document =
        IndexDocument::new(arguments.name.clone(), arguments.serial, made, expires, bundles)
            .context("the index cannot be built")?;
    let artifact = IndexArtifact::new(document).context("the index cannot be built")?;
    let out = arguments.output.clone().unwrap_or_else(|| {
        let name = arguments.name.as_str().replace('/', "-");
        PathBuf::from(format!("{name}-{}.tar", arguments.serial))
    });
    put_index(&out, &artifact, &[])?;
    paint::print_text(&format_result(&artifact, &out, arguments.json));
    Ok(CommandExit::Success)
}

/// Returns the archives that the arguments name: files, image layouts, and in other folders every
/// file that ends with `.tar`, sorted.
fn find_archives(given: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in given {
        if !path.is_dir() || path.join(LAYOUT).is_file() {
            all.push(path.clone());
            continue;
        }
        let shown = display_path(path);
        let entries = fs::read_dir(path).with_context(|| format!("cannot read `{shown}`"))?;
        let mut found: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|end| end == "tar"))
            .collect();
        if found.is_empty() {
            return Err(Error::not_found(format!("`{shown}` holds no archive"))
                .with_hint("name a folder with files that end with `.tar`"));
        }
        found.sort();
        all.extend(found);
    }
    Ok(all)
}

fn listed(
    arguments: &Arguments,
    notes: &IndexNotes,
    bundle: &Bundle,
    signatures: &[Signature],
) -> Result<ListedVersion> {
    let about = bundle.about();
    if signatures.is_empty() {
        return Err(Error::refused("nobody signed it, so nobody could install it")
            .with_hint("sign it: `portcullis bundle sign ARCHIVE --key FILE`"));
    }
    let reference = match (notes.find_reference(&about.name), &arguments.registry) {
        (Some(reference), _) => reference.clone(),
        (None, Some(registry)) => {
            let registry = registry.trim_end_matches('/');
            format!("{registry}/{}", about.name).parse::<Reference>()?
        }
        (None, None) => {
            return Err(Error::invalid(format!("it is unknown where `{}` is", about.name))
                .with_hint("name the registry below which all bundles are: `--registry HOST`")
                .with_hint("note its `reference`: `--notes FILE`"));
        }
    };
    if reference.tag().is_some() || reference.digest().is_some() {
        return Err(Error::invalid(format!("`{reference}` has a tag or a digest"))
            .with_hint("name the registry and a path alone"));
    }
    let mut listed = list_version(bundle, signatures, reference.to_string())?;
    let note = notes.find_version(&about.name, &about.version);
    (listed.change, listed.yanked) = (note.change, note.yanked);
    Ok(listed)
}

fn format_result(artifact: &IndexArtifact, out: &Path, as_json: bool) -> String {
    let (document, digest) = (artifact.document(), artifact.digest());
    if as_json {
        let document = json!({ "archive": out, "digest": digest, "index": document });
        return format!("{document}\n");
    }
    let mut text = format!(
        "{} `{}`\n{} serial {}, {}, until {} UTC  {digest}\n",
        paint::good("built"),
        display_path(out),
        paint::bold(&document.name),
        document.serial,
        count_noun(document.bundles.len() as u64, "bundle"),
        paint::time(document.expires)
    );
    for bundle in &document.bundles {
        let _ = writeln!(text, "  {} {}", bundle.name, list_versions(bundle));
    }
    text
}
