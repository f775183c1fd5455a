//! The setups that a replay reviews with: the person's own, or one that is tried.

use crate::error::Result;
use portcullis_config::Config;
use portcullis_config::paths::Paths;
use portcullis_engine::ReviewClock;
use portcullis_review::bundles::verify;
use portcullis_review::installed::open_engine;
use portcullis_review::reviewer::{REPLAY_KEY, Reviewer, Setup};
use portcullis_store::Home;
use std::path::PathBuf;

/// The differences from the person's own setup.
#[derive(Default, clap::Args)]
#[group(id = "tried", multiple = true)]
pub struct ReplaySetup {
    /// Load this component too
    #[arg(long, value_name = "FILE")]
    pub plugin: Vec<PathBuf>,
    /// Use this configuration instead of your own: a file, or a folder with a `config.toml`
    #[arg(long, value_name = "PATH")]
    pub config_file: Option<PathBuf>,
}

impl ReplaySetup {
    /// Reads the configuration and proves its rules.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    pub fn load_config(&self, places: &Paths, home: &Home) -> Result<Config> {
        let config = match &self.config_file {
            Some(path) if path.is_dir() => Config::load(
                &Paths { config: std::path::absolute(path)?, ..places.clone() },
                Some(home),
            )?,
            Some(path) => Config::read_file(path, places)?,
            None => Config::load(places, Some(home))?,
        };
        portcullis_review::rules::check_examples(&config, home)?;
        Ok(config)
    }

    /// Creates the reviewer for recordings: [`isolated_reviewer`](Self::isolated_reviewer), with a
    /// cache of parsed command lines. With `shadow`, its plugins run in shadow mode.
    ///
    /// # Errors
    /// Fails if the configuration or the plugins cannot be used.
    pub fn new_reviewer(&self, shadow: bool) -> Result<Reviewer> {
        let mut reviewer = self.with(shadow)?;
        reviewer.enable_shell_cache();
        Ok(reviewer)
    }

    /// Creates a reviewer that is independent of this machine's sessions: its results depend only
    /// on the actions, the plugins and the configuration.
    ///
    /// # Errors
    /// Fails if the configuration or the plugins cannot be used.
    pub fn isolated_reviewer(&self) -> Result<Reviewer> {
        self.with(false)
    }

    fn with(&self, shadow: bool) -> Result<Reviewer> {
        let places = Paths::from_environment()?.without_project();
        let home = Home::open_root(&places.state)?;
        let mut config = self.load_config(&places, &home)?;
        for name in self.plugin.iter().filter_map(|path| path.file_stem()).filter(|_| shadow) {
            config.plugins.entry(name.to_string_lossy().into_owned()).or_default().shadow = true;
        }
        // A trial configuration ignores the local lock.
        let bundled = if self.config_file.is_none() {
            verify::verified_plugins(
                &places,
                &home,
                portcullis_config::clock::now_ms(),
                verify::ReceiptPolicy::None,
            )?
        } else {
            Vec::new()
        };
        Ok(Reviewer::new(Setup {
            config: config.into(),
            extra: &self.plugin,
            bundled: &bundled,
            clock: ReviewClock { now_ms: portcullis_review::recording::EPOCH, time_budget: None },
            observes: false,
            mask_key: REPLAY_KEY,
            engine: open_engine(&home)?,
            person: "/home/user".into(),
            project: None,
            places: None,
        })?)
    }
}
