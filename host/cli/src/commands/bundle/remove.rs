//! `portcullis bundle remove`: a bundle that no longer has to run.

use super::install::cleared;
use crate::bundles::install::{self, Target, Turn};
use crate::commands::hook::now;
use crate::places::Places;
use crate::{human, paint};
use anyhow::{Result, bail};
use portcullis_bundle::Name;
use portcullis_store::Home;

#[derive(clap::Args)]
pub struct Arguments {
    /// The bundle
    name: Name,
    /// From the lock for all your projects, in place of this project's
    #[arg(long)]
    global: bool,
}

pub fn run(arguments: &Arguments) -> Result<u8> {
    human::refuse_agents()?;
    let places = Places::from_environment()?;
    let home = Home::open(&places.state)?;
    let _turn = Turn::take(&places)?;
    let mut target = Target::find(&places, arguments.global)?;
    let (name, lock) = (&arguments.name, install::shown(&target.path));
    let Some(locked) = target.lock.bundle(name) else { bail!("`{lock}` locks no `{name}`") };
    let version = locked.version.clone();
    human::confirm(&format!("`{name} {version}` goes from `{lock}`: reviews will do without it."))?;
    let others = install::remove(&places, &home, &mut target, name, now())?;
    install::record(&places, &home, "bundle", &format!("a person took the bundle `{name} {version}` out of `{lock}`"), now())?;
    paint::print(&format!("{name} {version} is out of `{lock}`\n"));
    if let Some(error) = others {
        paint::print(&format!("{}: {error:#}\n", paint::warn("something else that is locked here does not run")));
    }
    cleared(install::clear(&places, &home, name, now()));
    Ok(0)
}
