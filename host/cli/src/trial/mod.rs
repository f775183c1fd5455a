//! Trying plugins away from this machine's projects: the project is `/project`, the person's home `/home/user`,
//! the clock stands where a recording begins, and nobody looks at the disk. What comes out is the same everywhere.

pub mod cases;

use crate::bundles::receipt::Pinned;
use crate::config::{Config, PluginConfig};
use crate::recording::EPOCH;
use crate::runtime::{REPLAY_KEY, Reviewer, Setup};
use anyhow::Result;
use portcullis_core::policy::Policy;
use portcullis_engine::{CodeCache, ReviewClock};
use std::path::PathBuf;

/// Where an action runs if nothing else is said.
pub const PROJECT: &str = "/project";
/// The person's home.
pub const PERSON: &str = "/home/user";

/// A configuration with the defaults of all keys, in which every builtin plugin is off but those that `stay`.
pub fn alone(config: &Config, stay: impl Fn(&str) -> bool) -> Config {
    let others = portcullis_builtin::ALL.iter().map(|builtin| builtin.name).filter(|name| !stay(name));
    let off = others.map(|name| (name.to_owned(), PluginConfig { enabled: Some(false), ..PluginConfig::default() }));
    Config { policy: Policy::default(), plugins_dir: PathBuf::new(), plugins: off.collect(), ..config.clone() }
}

/// A reviewer with these components and plugins of bundles besides what the configuration leaves on.
///
/// # Errors
/// The sandbox cannot be set up.
pub fn reviewer(config: Config, extra: &[PathBuf], bundled: &[Pinned], cache: Option<CodeCache>) -> Result<Reviewer> {
    Reviewer::new(Setup {
        config,
        extra,
        bundled,
        clock: ReviewClock { now_ms: EPOCH, backstop: None },
        observes: false,
        mask_key: REPLAY_KEY,
        cache,
        person: PERSON.into(),
        project: None,
    })
}
