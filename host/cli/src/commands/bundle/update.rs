//! `portcullis bundle update`: the newest version of what is locked, once a person has seen what changes.

use super::install::{agree, put};
use super::shown::{self, Told};
use super::vet::{self, Named, Verdicts};
use crate::bundles::Policies;
use crate::bundles::install::{self, Ready, Target, Turn};
use crate::bundles::shelf;
use crate::bundles::source::{self, Reach};
use crate::commands::hook::now;
use crate::places::Places;
use crate::{human, paint};
use anyhow::{Context, Result, bail};
use portcullis_bundle::{Locked, Name};
use portcullis_registry::{Client, Reference, Tag};
use portcullis_store::Home;
use semver::Version;
use serde_json::json;

#[derive(clap::Args)]
pub struct Arguments {
    /// The bundles; without any, all that are locked here and come from a registry
    names: Vec<Name>,
    /// This version in place of the newest; it may be no older than the one that is locked
    #[arg(long, value_name = "VERSION")]
    to: Option<Version>,
    /// What is locked for all your projects, in place of what is locked for this one
    #[arg(long)]
    global: bool,
    #[command(flatten)]
    material: Named,
    /// Only show what would change; exit code 1 where something would
    #[arg(long)]
    check: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reach: Reach,
}

pub fn run(arguments: &Arguments) -> Result<u8> {
    if !arguments.check {
        human::refuse_agents()?;
    }
    let places = Places::from_environment()?;
    let home = Home::open(&places.state)?;
    let policies = Policies::read(&places)?;
    let _turn = Turn::take(&places)?;
    let mut target = Target::find(&places, arguments.global)?;
    let client = arguments.reach.client()?;
    let (mut told, mut newer) = (Vec::new(), false);
    for locked in wanted(arguments, &target)? {
        let name = &locked.name;
        let Some(repository) = locked.from.as_deref() else {
            if !arguments.json {
                paint::print(&format!(
                    "{name} {} is from an archive: `portcullis bundle install FILE` takes a newer one\n",
                    locked.version
                ));
            }
            continue;
        };
        let repository: Reference = repository.parse()?;
        let found = newest(&client, &repository, &locked, arguments.to.as_ref())?;
        let Some((version, tag)) = found else {
            if !arguments.json {
                paint::print(&format!("{name} {} is the newest\n", locked.version));
            }
            continue;
        };
        let fetched = source::pull(&client, &repository.with_tag(tag.clone()))?;
        let about = fetched.bundle.about();
        if (&about.name, &about.version) != (name, &version) {
            bail!("the tag `{}` of `{}` holds `{} {}`, not `{name} {version}`", tag.as_str(), repository.path(), about.name, about.version);
        }
        let ready = install::ready(&places, &home, &target, fetched, &policies, now())
            .with_context(|| format!("`{name}` stays at {}", locked.version))?;
        newer = true;
        if !arguments.json {
            paint::print(&shown::ready(&ready));
        }
        let verdicts = verdicts(arguments, &places, &locked, &ready)?;
        if let Some(verdicts) = verdicts.as_ref().filter(|_| !arguments.json) {
            paint::print(&verdicts.text());
        }
        if !arguments.check {
            agree(&ready, arguments.yes)?;
            put(&places, &home, &mut target, &ready)?;
            if !arguments.json {
                paint::print(&format!("{name} {version} is locked in `{}`\n", install::shown(&target.path)));
            }
        }
        let mut one = serde_json::to_value(Told::of(&ready))?;
        if let Some(fields) = one.as_object_mut() {
            fields.insert("verdicts".to_owned(), serde_json::to_value(verdicts)?);
        }
        told.push(one);
    }
    if arguments.json {
        paint::print(&format!("{}\n", json!({ "lock": target.path, "updated": told, "check": arguments.check })));
    }
    Ok(u8::from(arguments.check && newer))
}

/// How verdicts move on the material that is named; none where none is.
fn verdicts(arguments: &Arguments, places: &Places, locked: &Locked, ready: &Ready) -> Result<Option<Verdicts>> {
    if arguments.material.is_empty() {
        return Ok(None);
    }
    let shelf = shelf(places)?;
    let installed = shelf.installed()?.into_iter().find(|installed| installed.index.digest == locked.digest);
    let installed =
        installed.with_context(|| format!("`{} {}` is not installed: `portcullis bundle install` first", locked.name, locked.version))?;
    let (old, _) = shelf.read(&installed)?;
    vet::verdicts(&old, &ready.fetched.bundle, &arguments.material, &places.clone().without_project()).map(Some)
}

fn wanted(arguments: &Arguments, target: &Target) -> Result<Vec<Locked>> {
    if arguments.names.is_empty() {
        if target.lock.bundles().is_empty() {
            bail!("`{}` locks nothing; `portcullis bundle install` begins it", install::shown(&target.path));
        }
        return Ok(target.lock.bundles().to_vec());
    }
    let find =
        |name: &Name| target.lock.bundle(name).cloned().with_context(|| format!("`{}` locks no `{name}`", install::shown(&target.path)));
    arguments.names.iter().map(find).collect()
}

/// The version to go to; none where there is no newer one. A version before a release counts only after another one.
fn newest(client: &Client, repository: &Reference, locked: &Locked, to: Option<&Version>) -> Result<Option<(Version, Tag)>> {
    let all = client.versions(repository)?;
    if let Some(to) = to {
        let found = all.iter().find(|(version, _)| version == to);
        let found = found.with_context(|| format!("`{}` has no version {to}", repository.path()))?;
        return Ok(Some(found.clone()).filter(|(version, _)| *version != locked.version));
    }
    let may = |version: &Version| *version > locked.version && (version.pre.is_empty() || !locked.version.pre.is_empty());
    Ok(all.into_iter().rfind(|(version, _)| may(version)))
}
