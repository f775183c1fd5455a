//! `portcullis bundle revoke`: what must not run any more, written into the person's trust policy.
//!
//! The file is edited, not written anew: what people wrote around it stays. An organisation writes its own.

use crate::bundles::install::{record, shown};
use crate::bundles::locks::Texts;
use crate::bundles::{Policies, archive, policies, shelf, verify};
use crate::commands::hook::now;
use crate::config::file;
use crate::places::Places;
use crate::{human, paint};
use anyhow::{Context, Result, anyhow, bail};
use portcullis_bundle::{Digest, Name, Trust};
use portcullis_core::text::one_line;
use portcullis_store::Home;
use serde_json::json;
use std::path::Path;
use toml_edit::{Array, DocumentMut, Item, Table};

/// The rights of a policy: nothing in it is secret.
const RIGHTS: u32 = 0o644;

const EXAMPLES: &str = "\
Examples:
  portcullis bundle revoke sha256:DIGEST       of a bundle or of one component
  portcullis bundle revoke acme/checks         every version of it that is installed
  portcullis bundle revoke --key acme-release  all that this key of your trust.toml signed";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Digests, archives, or names of installed bundles
    #[arg(value_name = "DIGEST|ARCHIVE|NAME", required_unless_present = "key")]
    what: Vec<String>,
    /// A key, by its name in your trust.toml
    #[arg(long, value_name = "NAME")]
    key: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<u8> {
    human::refuse_agents()?;
    let places = Places::from_environment()?;
    let home = Home::open(&places.state)?;
    let mut digests = Vec::new();
    for what in &arguments.what {
        digests.extend(meant(&places, what)?);
    }
    let path = policies::of_person(&places);
    let text = file::read(&path).map_err(|problems| anyhow!("{}", problems.lines().join("\n")))?.unwrap_or_default();
    let mut document: DocumentMut = text.parse().with_context(|| format!("`{}` is no TOML", shown(&path)))?;
    for key in &arguments.key {
        if !has_key(&document, key) {
            bail!("`{}` has no key `{}`: only its own keys can be revoked there, by their names", shown(&path), one_line(key, 200));
        }
    }
    let new: Vec<String> = [("digests", digests.iter().map(ToString::to_string).collect::<Vec<_>>()), ("keys", arguments.key.clone())]
        .into_iter()
        .map(|(list, values)| add(&mut document, list, values))
        .collect::<Result<Vec<_>>>()?
        .concat();
    let text = document.to_string();
    Trust::read(&text).with_context(|| format!("`{}` would be no trust policy", shown(&path)))?;
    if !new.is_empty() {
        write(&path, &text)?;
        record(&places, &home, "bundle", &format!("a person revoked {}", new.join(", ")), now())?;
    }
    let stopped = stopped(&places)?;
    if arguments.json {
        paint::print(&format!("{}\n", json!({ "file": path, "revoked": new, "stopped": stopped })));
        return Ok(0);
    }
    match new.as_slice() {
        [] => paint::print("all of it was revoked already\n"),
        new => paint::print(&format!("revoked in `{}`:\n  {}\n", shown(&path), new.join("\n  "))),
    }
    for why in stopped {
        paint::print(&format!("{}\n", paint::warn(one_line(&why, 1000))));
    }
    Ok(0)
}

/// The digests that somebody names.
fn meant(places: &Places, what: &str) -> Result<Vec<Digest>> {
    if let Ok(digest) = what.parse::<Digest>() {
        return Ok(vec![digest]);
    }
    let told = one_line(what, 200);
    // A name is a name, whatever file is there.
    let Ok(name) = what.parse::<Name>().map_err(drop).and_then(|name| if what.ends_with(".tar") { Err(()) } else { Ok(name) }) else {
        let path = Path::new(what);
        if !path.exists() {
            bail!("`{told}` is no digest, no archive and no name of a bundle");
        }
        return Ok(vec![archive::read(path)?.0.index().digest()]);
    };
    let installed = shelf(places)?.installed()?;
    let found: Vec<Digest> = installed.iter().filter(|installed| installed.name == name).map(|installed| installed.index.digest).collect();
    if found.is_empty() {
        bail!("no bundle `{told}` is installed: name the digest that has to go, `sha256:...`");
    }
    Ok(found)
}

/// Whether the policy has a key of that name.
fn has_key(document: &DocumentMut, name: &str) -> bool {
    let keys = document.get("key").and_then(Item::as_array_of_tables);
    keys.is_some_and(|keys| keys.iter().any(|key| key.get("name").and_then(Item::as_str) == Some(name)))
}

/// Adds what a list of `[revoked]` does not hold yet, and says what that was.
fn add(document: &mut DocumentMut, list: &str, values: Vec<String>) -> Result<Vec<String>> {
    if values.is_empty() {
        return Ok(Vec::new());
    }
    let revoked = document.entry("revoked").or_insert(Item::Table(Table::new()));
    let revoked = revoked.as_table_like_mut().context("`revoked` is no table")?;
    let held = revoked.entry(list).or_insert(Item::Value(Array::new().into()));
    let held = held.as_array_mut().with_context(|| format!("`revoked.{list}` is no list"))?;
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
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", shown(folder)))?;
    }
    let told = || format!("cannot write `{}`", shown(path));
    archive::durable(path, RIGHTS, |file| Ok(file.write_all(text.as_bytes())?)).with_context(told)
}

/// What is locked here and does not run any more, and why.
fn stopped(places: &Places) -> Result<Vec<String>> {
    let (policies, shelf) = (Policies::read(places)?, shelf(places)?);
    let all = Texts::read(places)?.wanted()?;
    Ok(all.iter().filter_map(|wanted| verify::one(&shelf, wanted, &policies, now()).err()).map(|error| format!("{error:#}")).collect())
}
