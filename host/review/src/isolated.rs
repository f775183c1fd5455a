//! Runs plugins isolated from this machine's projects: the project is `/project`, the person's home
//! `/home/user`, the clock starts with the recording, and the disk is not read. The result is the
//! same on every machine.

use crate::bundles::receipt::PluginPin;
use crate::recording::EPOCH;
use crate::reviewer::{REPLAY_KEY, Reviewer, Setup, new_engine};
use anyhow::Result;
use portcullis_config::{Config, PluginConfig};
use portcullis_core::policy::Policy;
use portcullis_engine::{CodeCache, ReviewClock};
use std::path::PathBuf;

/// The working directory of an action that does not specify one.
pub const PROJECT: &str = "/project";
/// The person's home.
pub const PERSON: &str = "/home/user";

/// Returns a configuration with the defaults of all keys, in which only the builtin plugins that
/// `stay` are on.
pub fn isolated_config(config: &Config, stay: impl Fn(&str) -> bool) -> Config {
    let others =
        portcullis_builtin::ALL.iter().map(|builtin| builtin.name).filter(|name| !stay(name));
    let off = others.map(|name| {
        (name.to_owned(), PluginConfig { enabled: Some(false), ..PluginConfig::default() })
    });
    Config {
        policy: Policy { clients: portcullis_agents::PROFILES, ..Policy::default() },
        plugins_dir: PathBuf::new(),
        plugins: off.collect(),
        ..config.clone()
    }
}

/// Returns a reviewer with these components and bundled plugins, in addition to those that the
/// configuration leaves on.
///
/// # Errors
/// Fails if the sandbox cannot be set up.
pub fn new_reviewer(
    config: Config,
    extra: &[PathBuf],
    bundled: &[PluginPin],
    cache: Option<CodeCache>,
) -> Result<Reviewer> {
    Reviewer::new(Setup {
        config: config.into(),
        extra,
        bundled,
        clock: ReviewClock { now_ms: EPOCH, time_budget: None },
        observes: false,
        mask_key: REPLAY_KEY,
        engine: new_engine(cache)?,
        person: PERSON.into(),
        project: None,
        places: None,
    })
}
