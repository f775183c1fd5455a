//! `portcullis bundle revoke`: adds revocations to the person's trust policy.
//!
//! The file is edited, not rewritten, so that what people wrote in it remains. An organisation
//! edits its own policy itself.

use crate::bundles::archive;
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::given_file::display_path;
use crate::recorded_action::record_action;
use crate::{interactive, paint};
use portcullis_bundle::{BundleName, Digest, TrustPolicy};
use portcullis_config::clock::now_ms;
use portcullis_config::file;
use portcullis_config::paths::Paths;
use portcullis_core::text::one_line;
use portcullis_review::bundles::locks::LockTexts;
use portcullis_review::bundles::{Policies, open_store, policies, verify};
use portcullis_store::Home;
use serde_json::json;
use std::path::Path;
use toml_edit::{Array, DocumentMut, Item, Table};

/// The permissions of a policy: it contains no secrets.
const RIGHTS: u32 = 0o644;

#[derive(clap::Args)]
pub struct Arguments {
    /// Digests, archives, or names of installed bundles
    #[arg(value_name = "DIGEST|ARCHIVE|NAME", required_unless_present = "key")]
    what: Vec<String>,
    /// Revoke a key, by its name in your trust.toml
    #[arg(long, value_name = "NAME")]
    key: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run_revoke(arguments: &Arguments) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let mut digests = Vec::new();
    for what in &arguments.what {
        digests.extend(meant(&places, what)?);
    }
    let path = policies::of_person(&places);
    let text = file::read_file(&path)?.unwrap_or_default();
    let mut document: DocumentMut =
        text.parse().with_context(|| format!("`{}` is not valid TOML", display_path(&path)))?;
    for key in &arguments.key {
        if !has_key(&document, key) {
            return Err(Error::not_found(format!(
                "`{}` has no key `{}`",
                display_path(&path),
                one_line(key, 200)
            ))
            .with_hint("only its own keys can be revoked there, by their names"));
        }
    }
    let new: Vec<String> = [
        ("digests", digests.iter().map(ToString::to_string).collect::<Vec<_>>()),
        ("keys", arguments.key.clone()),
    ]
    .into_iter()
    .map(|(list, values)| add(&mut document, list, values))
    .collect::<Result<Vec<_>>>()?
    .concat();
    let text = document.to_string();
    TrustPolicy::parse_policy(&text)
        .with_context(|| format!("`{}` would not be a valid trust policy", display_path(&path)))?;
    if !new.is_empty() {
        write(&path, &text)?;
        record_action(
            &places,
            &home,
            "bundle",
            &format!("a person revoked {}", new.join(", ")),
            now_ms(),
        )?;
    }
    let stopped = stopped(&places)?;
    if arguments.json {
        paint::print_text(&format!(
            "{}\n",
            json!({ "file": path, "revoked": new, "stopped": stopped })
        ));
        return Ok(CommandExit::Success);
    }
    match new.as_slice() {
        [] => paint::print_text("all of it was revoked already\n"),
        new => paint::print_text(&format!(
            "revoked in `{}`:\n  {}\n",
            display_path(&path),
            new.join("\n  ")
        )),
    }
    for why in &stopped {
        paint::print_text(&format!("{}\n", paint::warn(one_line(why, 1000))));
    }
    if !stopped.is_empty() {
        paint::print_text(
            "to go on: `portcullis bundle update` takes a newer version, and `portcullis bundle remove NAME` does without it\n",
        );
    }
    Ok(CommandExit::Success)
}

/// Resolves an argument to digests.
fn meant(places: &Paths, what: &str) -> Result<Vec<Digest>> {
    if let Ok(digest) = what.parse::<Digest>() {
        return Ok(vec![digest]);
    }
    let shown = one_line(what, 200);
    // A valid bundle name is taken as a name, even if a file has the same name.
    let Ok(name) = what
        .parse::<BundleName>()
        .map_err(drop)
        .and_then(|name| if what.ends_with(".tar") { Err(()) } else { Ok(name) })
    else {
        let path = Path::new(what);
        if !path.exists() {
            return Err(Error::invalid(format!(
                "`{shown}` is not a digest, an archive or the name of a bundle"
            )));
        }
        return Ok(vec![archive::read_archive_file(path)?.0.index().digest()]);
    };
    let installed = open_store(places)?.installed()?;
    let found: Vec<Digest> = installed
        .iter()
        .filter(|installed| installed.name == name)
        .map(|installed| installed.index.digest)
        .collect();
    if found.is_empty() {
        return Err(Error::not_found(format!("no bundle `{shown}` is installed"))
            .with_hint("name the digest to revoke, `sha256:...`"));
    }
    Ok(found)
}

/// Returns true if the policy has a key of that name.
fn has_key(document: &DocumentMut, name: &str) -> bool {
    let keys = document.get("key").and_then(Item::as_array_of_tables);
    keys.is_some_and(|keys| {
        keys.iter().any(|key| key.get("name").and_then(Item::as_str) == Some(name))
    })
}

/// Adds the values that a list of `[revoked]` does not hold yet, and returns those.
fn add(document: &mut DocumentMut, list: &str, values: Vec<String>) -> Result<Vec<String>> {
    if values.is_empty() {
        return Ok(Vec::new());
    }
    let revoked = document.entry("revoked").or_insert(Item::Table(Table::new()));
    let revoked =
        revoked.as_table_like_mut().ok_or_else(|| Error::invalid("`revoked` is not a table"))?;
    let held = revoked.entry(list).or_insert(Item::Value(Array::new().into()));
    let held = held
        .as_array_mut()
        .ok_or_else(|| Error::invalid(format!("`revoked.{list}` is not a list")))?;
    let mut new = Vec::new();
    for value in values {
        if !held.iter().any(|known| known.as_str() == Some(&value)) {
            held.push(value.as_str());
            new.push(value);
        }
    }
    Ok(new)
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make `{}`", display_path(folder)))?;
    }
    let context = || format!("cannot write `{}`", display_path(path));
    portcullis_fs::replace_bytes(path, RIGHTS, text.as_bytes()).with_context(context)
}

/// Lists the bundles that are locked here and no longer run, with the reasons.
fn stopped(places: &Paths) -> Result<Vec<String>> {
    let (policies, store) = (Policies::read_policies(places)?, open_store(places)?);
    let all = LockTexts::read_texts(places)?.required_bundles()?;
    Ok(all
        .iter()
        .filter_map(|wanted| verify::verify_bundle(&store, wanted, &policies, now_ms()).err())
        .map(|error| format!("{error:#}"))
        .collect())
}
