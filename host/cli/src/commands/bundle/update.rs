//! `portcullis bundle update`: updates locked bundles to the newest version, after a person has
//! seen what changes.

use super::install::{compile_installed, confirm_change, install_and_record};
use super::plan_report::{self, ReportedBundle};
use super::vet::{self, MaterialPaths, Verdicts};
use crate::bundles::indexes::{
    ListedTarget, fetch_listed, find_bundle, refresh_covering, select_version,
};
use crate::bundles::install::{self, InstallLock, InstallPlan, LockFile};
use crate::bundles::source::{self, FetchedBundle, RegistryOptions};
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::given_file::display_path;
use crate::{interactive, paint};
use portcullis_bundle::{BundleName, LockedBundle};
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::text::one_line;
use portcullis_registry::{Client, Reference, Tag};
use portcullis_review::bundles::Policies;
use portcullis_review::bundles::open_store;
use portcullis_store::Home;
use semver::Version;
use serde_json::json;

#[derive(clap::Args)]
pub struct Arguments {
    /// The bundles; without any, all bundles locked here that come from a registry
    names: Vec<BundleName>,
    /// Update to this version instead of the newest; it must not be older than the locked one
    #[arg(long, value_name = "VERSION")]
    to: Option<Version>,
    /// Update the lock for all your projects instead of this project's
    #[arg(long)]
    global: bool,
    #[command(flatten)]
    material: MaterialPaths,
    /// Show what would change, without changing it; exit code 1 if something would
    #[arg(long)]
    check: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reach: RegistryOptions,
}

pub fn run_update(arguments: &Arguments) -> Result<CommandExit> {
    if !arguments.check {
        interactive::refuse_agents()?;
    }
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let policies = Policies::read_policies(&places)?;
    let turn = InstallLock::take_lock(&places)?;
    let mut target = LockFile::find_lock(&places, arguments.global)?;
    let client = arguments.reach.client()?;
    let (mut reported, mut newer) = (Vec::new(), false);
    let requested = requested_bundles(arguments, &target)?;
    let listed = requested.iter().filter(|locked| locked.index.is_some());
    let names: Vec<BundleName> = listed.map(|locked| locked.name.clone()).collect();
    // `--check` is for agents too, and what is kept here is for people to change.
    if !arguments.check || interactive::refuse_agents().is_ok() {
        refresh_covering(&home, &policies, &names, &arguments.reach)?;
    }
    let update_each = || -> Result<()> {
        for locked in requested {
            let name = &locked.name;
            let found = match (&locked.index, locked.from.as_deref()) {
                (Some(index), _) => newer_listed(arguments, &home, &policies, &locked, index)?,
                (None, Some(repository)) => newer_tagged(arguments, &client, &locked, repository)?,
                (None, None) => {
                    if !arguments.json {
                        paint::print_text(&format!(
                            "{name} {} is from an archive: `portcullis bundle install FILE` takes a newer one\n",
                            locked.version
                        ));
                    }
                    continue;
                }
            };
            let Some(fetched) = found else {
                if !arguments.json {
                    paint::print_text(&format!("{name} {} is the newest\n", locked.version));
                }
                continue;
            };
            let version = fetched.bundle.about().version.clone();
            let ready =
                install::plan_install(&places, &home, &target, fetched, &policies, now_ms())
                    .with_context(|| format!("`{name}` stays at {}", locked.version))?;
            newer = true;
            if !arguments.json {
                paint::print_text(&plan_report::format_plan(&ready));
            }
            let verdicts = verdicts(arguments, &places, &locked, &ready)?;
            if let Some(verdicts) = verdicts.as_ref().filter(|_| !arguments.json) {
                paint::print_text(&verdicts.text());
            }
            if !arguments.check {
                confirm_change(&ready, arguments.yes)?;
                install_and_record(&places, &home, &mut target, &ready)?;
                if !arguments.json {
                    paint::print_text(&format!(
                        "{name} {version} is locked in `{}`\n",
                        display_path(&target.path)
                    ));
                }
            }
            let mut one = serde_json::to_value(ReportedBundle::from_plan(&ready))?;
            if let Some(fields) = one.as_object_mut() {
                fields.insert("verdicts".to_owned(), serde_json::to_value(verdicts)?);
            }
            reported.push(one);
        }
        Ok(())
    };
    let updated = update_each();
    // Compiling takes its time, and others may change locks meanwhile. What was locked before a
    // failure runs from now on.
    drop(turn);
    if newer && !arguments.check {
        compile_installed(&places, &home);
    }
    updated?;
    if arguments.json {
        paint::print_text(&format!(
            "{}\n",
            json!({ "lock": target.path, "updated": reported, "check": arguments.check })
        ));
    }
    Ok(CommandExit::of_check(!(arguments.check && newer)))
}

/// Fetches a newer version that the index lists; `None` if there is none.
fn newer_listed(
    arguments: &Arguments,
    home: &Home,
    policies: &Policies,
    locked: &LockedBundle,
    index: &BundleName,
) -> Result<Option<FetchedBundle>> {
    let name = &locked.name;
    let found = find_bundle(home, policies, name)
        .with_context(|| format!("`{name} {}` came through an index", locked.version))?;
    if found.index.name != *index {
        return Err(Error::refused(format!(
            "`{name}` came through the index `{index}`, and now `{}` takes precedence",
            found.index.name
        ))
        .with_hint(format!("to take it from there, `portcullis bundle install {name}`")));
    }
    let current = found.bundle.find_version(&locked.version);
    if let Some(reason) = current.and_then(|listed| listed.yanked.as_deref()) {
        anstream::eprintln!(
            "{}: `{name} {}` was withdrawn: {}",
            paint::warn("warning"),
            locked.version,
            one_line(reason, 400)
        );
    }
    let target: ListedTarget = match &arguments.to {
        Some(to) => select_version(found, Some(to), Some(locked))?,
        None => {
            let may = |version: &Version| may_replace(locked, version);
            let newest = found
                .bundle
                .versions
                .iter()
                .find(|listed| listed.yanked.is_none() && may(&listed.version));
            let Some(listed) = newest.cloned() else { return Ok(None) };
            ListedTarget { name: name.clone(), listed, index: found.index }
        }
    };
    if target.listed.version == locked.version {
        return Ok(None);
    }
    fetch_listed(&target, &arguments.reach).map(Some)
}

/// Fetches a newer version that the repository has a tag for; `None` if there is none.
fn newer_tagged(
    arguments: &Arguments,
    client: &Client,
    locked: &LockedBundle,
    repository: &str,
) -> Result<Option<FetchedBundle>> {
    let name = &locked.name;
    let repository: Reference = repository.parse()?;
    let found = newest(client, &repository, locked, arguments.to.as_ref())?;
    let Some((version, tag)) = found else { return Ok(None) };
    let fetched = source::pull_bundle(client, &repository.with_tag(tag.clone()))?;
    let about = fetched.bundle.about();
    if (&about.name, &about.version) != (name, &version) {
        return Err(Error::integrity(format!(
            "the tag `{}` of `{}` holds `{} {}`, not `{name} {version}`",
            tag.as_str(),
            repository.path(),
            about.name,
            about.version
        )));
    }
    Ok(Some(fetched))
}

/// Computes how verdicts change on the given material; `None` without material.
fn verdicts(
    arguments: &Arguments,
    places: &Paths,
    locked: &LockedBundle,
    ready: &InstallPlan,
) -> Result<Option<Verdicts>> {
    if arguments.material.is_empty() {
        return Ok(None);
    }
    let store = open_store(places)?;
    let installed =
        store.installed()?.into_iter().find(|installed| installed.index.digest == locked.digest);
    let installed = installed.ok_or_else(|| {
        Error::not_found(format!("`{} {}` is not installed", locked.name, locked.version))
            .with_hint("install it first: `portcullis bundle install`")
    })?;
    let (old, _) = store.read_bundle(&installed)?;
    vet::compare_verdicts(
        &old,
        &ready.fetched.bundle,
        &arguments.material,
        &places.clone().without_project(),
    )
    .map(Some)
}

fn requested_bundles(arguments: &Arguments, target: &LockFile) -> Result<Vec<LockedBundle>> {
    if arguments.names.is_empty() {
        if target.lock.bundles().is_empty() {
            return Err(Error::invalid(format!("`{}` locks nothing", display_path(&target.path)))
                .with_hint("`portcullis bundle install` begins it"));
        }
        return Ok(target.lock.bundles().to_vec());
    }
    let find = |name: &BundleName| {
        target.lock.find_bundle(name).cloned().ok_or_else(|| {
            Error::not_found(format!("`{}` locks no `{name}`", display_path(&target.path)))
                .with_hint("`portcullis bundle list` lists what is locked")
        })
    };
    arguments.names.iter().map(find).collect()
}

/// Returns the version to update to; `None` if there is no newer one. A pre-release counts only if
/// the locked version is one too.
fn newest(
    client: &Client,
    repository: &Reference,
    locked: &LockedBundle,
    to: Option<&Version>,
) -> Result<Option<(Version, Tag)>> {
    let all = client.list_versions(repository)?;
    if let Some(to) = to {
        let found = all.iter().find(|(version, _)| version == to);
        let found = found.ok_or_else(|| {
            Error::not_found(format!("`{}` has no version {to}", repository.path()))
        })?;
        return Ok(Some(found.clone()).filter(|(version, _)| *version != locked.version));
    }
    Ok(all.into_iter().rfind(|(version, _)| may_replace(locked, version)))
}

/// Returns true for a newer version; a pre-release only replaces another one.
fn may_replace(locked: &LockedBundle, version: &Version) -> bool {
    *version > locked.version && (version.pre.is_empty() || !locked.version.pre.is_empty())
}
