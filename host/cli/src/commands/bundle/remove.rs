//! `portcullis bundle remove`: removes a bundle that no longer has to run.

use super::install::warn_if_kept;
use crate::bundles::install::{self, InstallLock, LockFile};
use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::given_file::display_path;
use crate::recorded_action::record_action;
use crate::{interactive, paint};
use portcullis_bundle::BundleName;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_store::Home;
use serde_json::json;

#[derive(clap::Args)]
pub struct Arguments {
    /// The bundle's name
    name: BundleName,
    /// Remove it from the lock for all your projects instead of this project's
    #[arg(long)]
    global: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run_remove(arguments: &Arguments) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let _turn = InstallLock::take_lock(&places)?;
    let mut target = LockFile::find_lock(&places, arguments.global)?;
    let (name, lock) = (&arguments.name, display_path(&target.path));
    let Some(locked) = target.lock.find_bundle(name) else {
        return Err(Error::not_found(format!("`{lock}` locks no `{name}`"))
            .with_hint("`portcullis bundle list` lists what is locked"));
    };
    let version = locked.version.clone();
    interactive::confirm_action(&format!(
        "`{name} {version}` will be removed from `{lock}`: reviews will no longer use it."
    ))?;
    let others = install::remove_bundle(&places, &home, &mut target, name, now_ms())?;
    record_action(
        &places,
        &home,
        "bundle",
        &format!("a person removed the bundle `{name} {version}` from `{lock}`"),
        now_ms(),
    )?;
    if arguments.json {
        let problem = others.as_ref().map(|error| format!("{error:#}"));
        paint::print_text(&format!(
            "{}\n",
            json!({ "removed": name, "version": version, "lock": target.path, "problem": problem })
        ));
    } else {
        paint::print_text(&format!("{name} {version} was removed from `{lock}`\n"));
    }
    if let Some(error) = others.filter(|_| !arguments.json) {
        paint::print_text(&format!(
            "{}: {error:#}\n",
            paint::warn("something else that is locked here does not run")
        ));
    }
    warn_if_kept(install::remove_unused(&places, &home, name, now_ms()));
    Ok(CommandExit::Success)
}
