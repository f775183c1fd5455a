//! `portcullis bundle install`: puts bundles in that are trusted, and locks them.

use super::shown::{self, Told};
use crate::bundles::install::{self, Ready, Target, Turn};
use crate::bundles::locks::Texts;
use crate::bundles::policies::Policies;
use crate::bundles::receipt::{self, Ran};
use crate::bundles::shelf;
use crate::bundles::source::{self, Reach, Source};
use crate::bundles::verify::{self, Agreed};
use crate::commands::hook::now;
use crate::places::Places;
use crate::{human, paint};
use anyhow::{Context, Result};
use portcullis_core::text::one_line;
use portcullis_store::Home;
use serde_json::json;
use std::fmt::Write;

const EXAMPLES: &str = "\
Examples:
  portcullis bundle install ghcr.io/acme/checks:1.2.0
  portcullis bundle install checks-1.2.0.tar --global
  portcullis bundle install                    what the project's portcullis.lock names";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Archives, or references to registries; without any, what the locks name
    #[arg(value_name = "ARCHIVE|REFERENCE")]
    bundles: Vec<String>,
    /// Lock it for all your projects, in place of this one
    #[arg(long, requires = "bundles")]
    global: bool,
    /// Go from one version to another without asking
    #[arg(long)]
    yes: bool,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reach: Reach,
}

pub fn run(arguments: &Arguments) -> Result<u8> {
    if !arguments.dry_run {
        human::refuse_agents()?;
    }
    let places = Places::from_environment()?;
    let home = Home::open(&places.state)?;
    let policies = Policies::read(&places)?;
    if arguments.bundles.is_empty() { locked(arguments, &places, &home, &policies) } else { named(arguments, &places, &home, &policies) }
}

fn named(arguments: &Arguments, places: &Places, home: &Home, policies: &Policies) -> Result<u8> {
    // All of them are names of something before anything is fetched, and all are fetched before any is installed.
    let sources = arguments.bundles.iter().map(|text| Source::read(text)).collect::<Result<Vec<_>>>()?;
    let fetched = sources.iter().map(|source| source.fetch(&arguments.reach)).collect::<Result<Vec<_>>>()?;
    let _turn = Turn::take(places)?;
    let mut target = Target::find(places, arguments.global)?;
    let mut told = Vec::new();
    for fetched in fetched {
        let ready = install::ready(places, home, &target, fetched, policies, now())?;
        if !arguments.json {
            paint::print(&shown::ready(&ready));
        }
        if !arguments.dry_run {
            agree(&ready, arguments.yes)?;
            put(places, home, &mut target, &ready)?;
        }
        told.push(serde_json::to_value(Told::of(&ready))?);
    }
    if arguments.json {
        paint::print(&format!("{}\n", json!({ "lock": target.path, "installed": told, "dry_run": arguments.dry_run })));
    } else if !arguments.dry_run {
        paint::print(&format!("locked in `{}`; every review from now on runs them\n", install::shown(&target.path)));
    }
    Ok(0)
}

/// Another version of what runs is another set of checks: a person looks at what changes.
pub(super) fn agree(ready: &Ready, yes: bool) -> Result<()> {
    let about = ready.fetched.bundle.about();
    match &ready.locked {
        Some(locked) if !yes && ready.changes.as_ref().is_none_or(|changes| !changes.is_empty()) => {
            human::confirm(&format!("`{}` goes from {locked} to {}.", about.name, about.version))
        }
        _ => Ok(()),
    }
}

/// Installs, locks and records.
pub(super) fn put(places: &Places, home: &Home, target: &mut Target, ready: &Ready) -> Result<()> {
    install::install(places, home, target, ready, now())?;
    let (about, digest) = (ready.fetched.bundle.about(), ready.fetched.bundle.index().digest());
    let what =
        format!("a person installed the bundle `{} {}`, {digest}, locked in `{}`", about.name, about.version, install::shown(&target.path));
    install::record(places, home, "bundle", &what, now())?;
    cleared(install::clear(places, home, &about.name, now()));
    Ok(())
}

/// What is left over costs room and nothing else.
pub(super) fn cleared(outcome: Result<()>) {
    if let Err(error) = outcome {
        anstream::eprintln!("{}: what nobody runs any more is still there: {error:#}", paint::warn("warning"));
    }
}

/// What the locks name and is not there yet; then all of it is verified, and counts from now on.
fn locked(arguments: &Arguments, places: &Places, home: &Home, policies: &Policies) -> Result<u8> {
    let _turn = Turn::take(places)?;
    let wanted = Texts::read(places)?.wanted()?;
    let shelf = shelf(places)?;
    let there = shelf.installed()?;
    let mut fetched = Vec::new();
    for wanted in &wanted {
        // What is there and whole need not be fetched again.
        let installed = there.iter().find(|installed| installed.index.digest == wanted.locked.digest);
        if installed.is_some_and(|installed| shelf.read(installed).is_ok()) {
            continue;
        }
        let name = format!("{} {}", wanted.locked.name, wanted.locked.version);
        let told = || format!("`{}` locks `{name}`", install::shown(&wanted.by));
        let reference = source::of_locked(&wanted.locked).with_context(told)?;
        if !arguments.dry_run {
            let found = source::pull(&arguments.reach.client()?, &reference).with_context(told)?;
            install::restore(places, wanted, &found, policies, now())?;
        }
        fetched.push(name);
    }
    // What this home did not write says nothing of what ran.
    let known = receipt::around(home, places);
    let unknown = known.is_err();
    let gone = verify::lost(&known.unwrap_or_default(), &wanted);
    let lost: Vec<String> = gone.iter().map(|ran| format!("{} {}", ran.name, ran.version)).collect();
    if !arguments.dry_run {
        if unknown || !gone.is_empty() {
            let question = question(&lost, unknown);
            human::confirm(&question).with_context(|| one_line(&question, 600))?;
        }
        let names = gone.iter().map(|ran| ran.name.clone()).collect();
        let before: Vec<Ran> = gone.into_iter().filter(|ran| !wanted.iter().any(|wanted| wanted.locked.name == ran.name)).collect();
        receipt::forget(home, &before, now())?;
        verify::anew(places, home, now(), &Agreed { names, unknown })?;
        if !fetched.is_empty() || !lost.is_empty() || unknown {
            let what =
                format!("a person installed what the locks name: fetched [{}], no longer run [{}]", fetched.join(", "), lost.join(", "));
            install::record(places, home, "bundle", &what, now())?;
        }
    }
    if arguments.json {
        let all: Vec<_> = wanted.iter().map(|wanted| json!({ "locked": wanted.locked, "by": wanted.by })).collect();
        paint::print(&format!("{}\n", json!({ "locked": all, "fetched": fetched, "lost": lost, "dry_run": arguments.dry_run })));
        return Ok(0);
    }
    let mut text = String::new();
    for name in &fetched {
        let _ = writeln!(text, "fetched {name}");
    }
    let _ = match wanted.len() {
        0 => writeln!(text, "nothing is locked here"),
        count => writeln!(text, "{count} locked, all verified"),
    };
    paint::print(&text);
    Ok(0)
}

fn question(lost: &[String], unknown: bool) -> String {
    let mut text = String::new();
    if unknown {
        text.push_str("What ran here before is not known: the receipt is not one of this installation.\n");
    }
    if !lost.is_empty() {
        text.push_str("These ran here, and are locked no more, only in an older version, or as others of their version:\n");
    }
    for name in lost {
        let _ = writeln!(text, "  {}", one_line(name, 200));
    }
    text.push_str("Reviews in this project will run what is locked now, and nothing else.");
    text
}
