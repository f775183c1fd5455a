//! `portcullis bundle install`: installs trusted bundles and locks them.

use super::plan_report::{self, ReportedBundle};
use crate::bundles::indexes::{
    fetch_listed, find_bundle, find_mirrored, refresh_covering, select_version,
};
use crate::bundles::install::{self, InstallLock, InstallPlan, LockFile};
use crate::bundles::source::{self, BundleSource, FetchedBundle, InstallTarget, RegistryOptions};
use crate::compile_line::CompileLine;
use crate::error::{Context, Result};
use crate::exit::CommandExit;
use crate::given_file::display_path;
use crate::recorded_action::record_action;
use crate::{interactive, paint};
use portcullis_bundle::LockedBundle;
use portcullis_config::Config;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::text::one_line;
use portcullis_review::bundles::locks::LockTexts;
use portcullis_review::bundles::open_store;
use portcullis_review::bundles::policies::Policies;
use portcullis_review::bundles::receipt::{self, InstalledRef};
use portcullis_review::bundles::verify::{self, Consent};
use portcullis_review::installed;
use portcullis_review::reviewer::Reviewer;
use portcullis_store::Home;
use serde_json::json;
use std::fmt::Write;

#[derive(clap::Args)]
pub struct Arguments {
    /// Archives, references to registries, or names that an index leads to a registry; without any,
    /// the bundles that the locks name
    #[arg(value_name = "ARCHIVE|REFERENCE|NAME[@VERSION]")]
    bundles: Vec<String>,
    /// Lock it for all your projects instead of this one
    #[arg(long, requires = "bundles")]
    global: bool,
    /// Change versions without asking
    #[arg(long, short)]
    yes: bool,
    /// Show what would be done and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reach: RegistryOptions,
}

pub fn run_install(arguments: &Arguments) -> Result<CommandExit> {
    if !arguments.dry_run {
        interactive::refuse_agents()?;
    }
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let policies = Policies::read_policies(&places)?;
    if arguments.bundles.is_empty() {
        locked(arguments, &places, &home, &policies)
    } else {
        named(arguments, &places, &home, &policies)
    }
}

fn named(
    arguments: &Arguments,
    places: &Paths,
    home: &Home,
    policies: &Policies,
) -> Result<CommandExit> {
    // All names are parsed before anything is fetched, and everything is fetched before anything is
    // installed.
    let targets = arguments
        .bundles
        .iter()
        .map(|text| InstallTarget::parse_target(text))
        .collect::<Result<Vec<_>>>()?;
    if !arguments.dry_run {
        let named = targets.iter().filter_map(|target| match target {
            InstallTarget::Named(name, _) => Some(name.clone()),
            InstallTarget::Source(_) => None,
        });
        let names: Vec<_> = named.collect();
        let _turn = InstallLock::take_lock(places)?;
        refresh_covering(home, policies, &names, &arguments.reach)?;
    }
    let locked = LockFile::find_lock(places, arguments.global)?;
    let fetched = targets
        .iter()
        .map(|target| fetch_target(home, policies, &locked, target, &arguments.reach))
        .collect::<Result<Vec<_>>>()?;
    let turn = InstallLock::take_lock(places)?;
    let mut target = LockFile::find_lock(places, arguments.global)?;
    let mut reported = Vec::new();
    let install_each = || -> Result<()> {
        for fetched in fetched {
            let ready = install::plan_install(places, home, &target, fetched, policies, now_ms())?;
            if !arguments.json {
                paint::print_text(&plan_report::format_plan(&ready));
            }
            if !arguments.dry_run {
                confirm_change(&ready, arguments.yes)?;
                install_and_record(places, home, &mut target, &ready)?;
            }
            reported.push(serde_json::to_value(ReportedBundle::from_plan(&ready))?);
        }
        Ok(())
    };
    let installed = install_each();
    // Compiling takes its time, and others may change locks meanwhile.
    drop(turn);
    let is_locked = !arguments.dry_run && !reported.is_empty();
    if installed.is_ok() && arguments.json {
        paint::print_text(&format!(
            "{}\n",
            json!({ "lock": target.path, "installed": reported, "dry_run": arguments.dry_run })
        ));
    } else if installed.is_ok() && is_locked {
        paint::print_text(&format!(
            "locked in `{}`; every review from now on runs them\n",
            display_path(&target.path),
        ));
    }
    // What was locked before a failure runs from now on, too.
    if is_locked {
        compile_installed(places, home);
    }
    installed.map(|()| CommandExit::Success)
}

fn fetch_target(
    home: &Home,
    policies: &Policies,
    locked: &LockFile,
    target: &InstallTarget,
    reach: &RegistryOptions,
) -> Result<FetchedBundle> {
    match target {
        InstallTarget::Source(source) => source.fetch_bundle(reach),
        InstallTarget::Named(name, version) => {
            let found = find_bundle(home, policies, name)?;
            let locked = locked.lock.find_bundle(name);
            fetch_listed(&select_version(found, version.as_ref(), locked)?, reach)
        }
    }
}

/// Compiles the installed plugins now, so that no action waits for it. They are locked already, so
/// what goes wrong is a warning.
pub(super) fn compile_installed(places: &Paths, home: &Home) {
    let warn = |about: &str, why: &str| {
        anstream::eprintln!(
            "{}: {about}: {why}; `portcullis doctor` tells what that means",
            paint::warn("warning")
        );
    };
    let load = || -> Result<Reviewer> {
        let config = Config::load(places, Some(home))?;
        Ok(installed::load_reviewer(places, home, config, &[], now_ms())?)
    };
    let mut reviewer = match load() {
        Ok(reviewer) => reviewer,
        Err(error) => return warn("the plugins are not compiled yet", &format!("{error:#}")),
    };
    let mut faults = Vec::new();
    let mut line = CompileLine::default();
    reviewer.plugins.compile_files(|progress| {
        line.show_step(&progress);
        faults.extend(progress.result.and_then(std::result::Result::err));
    });
    drop(line);
    for fault in faults {
        warn("a plugin cannot be used", &fault.to_string());
    }
}

/// Asks for consent to a change of version: another version is another set of checks, so a person
/// reviews what changes.
pub(super) fn confirm_change(ready: &InstallPlan, yes: bool) -> Result<()> {
    let about = ready.fetched.bundle.about();
    match &ready.locked {
        Some(locked)
            if !yes && ready.changes.as_ref().is_none_or(|changes| !changes.is_empty()) =>
        {
            interactive::confirm_action(&format!(
                "`{}` goes from {locked} to {}.",
                about.name, about.version
            ))
        }
        _ => Ok(()),
    }
}

/// Installs, locks and records a bundle.
pub(super) fn install_and_record(
    places: &Paths,
    home: &Home,
    target: &mut LockFile,
    ready: &InstallPlan,
) -> Result<()> {
    install::install_bundle(places, home, target, ready, now_ms())?;
    let (about, digest) = (ready.fetched.bundle.about(), ready.fetched.bundle.index().digest());
    let what = format!(
        "a person installed the bundle `{} {}`, {digest}, locked in `{}`",
        about.name,
        about.version,
        display_path(&target.path)
    );
    record_action(places, home, "bundle", &what, now_ms())?;
    warn_if_kept(install::remove_unused(places, home, &about.name, now_ms()));
    Ok(())
}

/// Warns if old versions could not be removed: they only cost disk space.
pub(super) fn warn_if_kept(outcome: Result<()>) {
    if let Err(error) = outcome {
        anstream::eprintln!(
            "{}: unused files could not be removed: {error:#}",
            paint::warn("warning")
        );
    }
}

/// Installs the bundles that the locks name and that are missing; then verifies all of them, and
/// records a receipt.
fn locked(
    arguments: &Arguments,
    places: &Paths,
    home: &Home,
    policies: &Policies,
) -> Result<CommandExit> {
    let turn = InstallLock::take_lock(places)?;
    let wanted = LockTexts::read_texts(places)?.required_bundles()?;
    let store = open_store(places)?;
    let there = store.installed()?;
    let mut fetched = Vec::new();
    for wanted in &wanted {
        // A bundle that is already installed and complete need not be fetched again.
        let installed =
            there.iter().find(|installed| installed.index.digest == wanted.locked.digest);
        if installed.is_some_and(|installed| store.read_bundle(installed).is_ok()) {
            continue;
        }
        let name = format!("{} {}", wanted.locked.name, wanted.locked.version);
        let context = || format!("`{}` locks `{name}`", display_path(&wanted.by));
        let source = locked_source(policies, &wanted.locked).with_context(context)?;
        if !arguments.dry_run {
            let found = source.fetch_bundle(&arguments.reach).with_context(context)?;
            install::restore_bundle(places, wanted, &found, policies, now_ms())?;
        }
        fetched.push(name);
    }
    // A receipt that this home did not write does not say what ran here.
    let known = receipt::receipts_around(home, places);
    let unknown = known.is_err();
    let gone = verify::missing_bundles(&known.unwrap_or_default(), &wanted);
    let lost: Vec<String> =
        gone.iter().map(|ran| format!("{} {}", ran.name, ran.version)).collect();
    if !arguments.dry_run {
        if unknown || !gone.is_empty() {
            let question = question(&lost, unknown);
            interactive::confirm_action(&question).with_context(|| one_line(&question, 600))?;
        }
        let names = gone.iter().map(|ran| ran.name.clone()).collect();
        let before: Vec<InstalledRef> = gone
            .into_iter()
            .filter(|ran| !wanted.iter().any(|wanted| wanted.locked.name == ran.name))
            .collect();
        receipt::forget_bundles(home, &before, now_ms())?;
        verify::verify_again(places, home, now_ms(), &Consent { names, unknown })?;
        if !fetched.is_empty() || !lost.is_empty() || unknown {
            let what = format!(
                "a person installed what the locks name: fetched [{}], no longer run [{}]",
                fetched.join(", "),
                lost.join(", ")
            );
            record_action(places, home, "bundle", &what, now_ms())?;
        }
    }
    drop(turn);
    if !arguments.dry_run && !wanted.is_empty() {
        compile_installed(places, home);
    }
    if arguments.json {
        let all: Vec<_> = wanted
            .iter()
            .map(|wanted| json!({ "locked": wanted.locked, "by": wanted.by }))
            .collect();
        paint::print_text(&format!(
            "{}\n",
            json!({ "locked": all, "fetched": fetched, "lost": lost, "dry_run": arguments.dry_run })
        ));
        return Ok(CommandExit::Success);
    }
    let mut text = String::new();
    for name in &fetched {
        let _ = writeln!(text, "fetched {name}");
    }
    let _ = match wanted.len() {
        0 => writeln!(text, "nothing is locked here"),
        count => writeln!(text, "{count} locked, all verified"),
    };
    paint::print_text(&text);
    Ok(CommandExit::Success)
}

/// Returns the place of a locked bundle: the folder of the index that listed it, if it is there, or
/// the registry that the lock names.
fn locked_source(policies: &Policies, locked: &LockedBundle) -> Result<BundleSource> {
    match find_mirrored(policies, locked) {
        Some(path) => Ok(BundleSource::Archive(path)),
        None => source::of_locked(locked).map(BundleSource::Registry),
    }
}

fn question(lost: &[String], unknown: bool) -> String {
    let mut text = String::new();
    if unknown {
        text.push_str(
            "What ran here before is not known: the receipt is not one of this installation.\n",
        );
    }
    if !lost.is_empty() {
        text.push_str(
            "These ran here, and are now not locked, locked in an older version, or \
             locked with other bytes:\n",
        );
    }
    for name in lost {
        let _ = writeln!(text, "  {}", one_line(name, 200));
    }
    text.push_str("Reviews in this project will run what is locked now, and nothing else.");
    text
}
