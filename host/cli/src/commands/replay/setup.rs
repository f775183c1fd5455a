//! The set-ups that a replay reviews with: one's own, or one that is tried.

use crate::bundles::verify;
use crate::config::Config;
use crate::places::Places;
use crate::runtime::{REPLAY_KEY, Reviewer, Setup, code_cache};
use anyhow::Result;
use portcullis_engine::ReviewClock;
use portcullis_store::Home;
use std::path::PathBuf;

/// What differs from one's own set-up.
#[derive(Default, clap::Args)]
#[group(id = "tried", multiple = true)]
pub struct Tried {
    /// Load this component too
    #[arg(long, value_name = "FILE")]
    pub plugin: Vec<PathBuf>,
    // The same id as the option of all commands, whose place it takes.
    /// Use this configuration in place of your own: a file, or a folder with a `config.toml`
    #[arg(id = "config", long, alias = "config-file", value_name = "PATH")]
    pub config: Option<PathBuf>,
}

impl Tried {
    /// The configuration, with rules that keep what they promise.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn config(&self, places: &Places, home: &Home) -> Result<Config> {
        let config = match &self.config {
            Some(path) if path.is_dir() => Config::load(&Places { config: std::path::absolute(path)?, ..places.clone() }, Some(home))?,
            Some(path) => Config::read_file(path, places)?,
            None => Config::load(places, Some(home))?,
        };
        crate::rules::prove(&config, home)?;
        Ok(config)
    }

    /// What reviews recordings: [`apart`](Self::apart), remembering how a command line was read. `shadow`: its
    /// plugins look on.
    ///
    /// # Errors
    /// Configuration or plugins cannot be used.
    pub fn reviewer(&self, shadow: bool) -> Result<Reviewer> {
        let mut reviewer = self.with(shadow)?;
        reviewer.remember();
        Ok(reviewer)
    }

    /// What reviews actions apart from any session of this machine: depends on them, the plugins and the
    /// configuration alone.
    ///
    /// # Errors
    /// Configuration or plugins cannot be used.
    pub fn apart(&self) -> Result<Reviewer> {
        self.with(false)
    }

    fn with(&self, shadow: bool) -> Result<Reviewer> {
        let places = Places::from_environment()?.without_project();
        let home = Home::open(&places.state)?;
        let mut config = self.config(&places, &home)?;
        for name in self.plugin.iter().filter_map(|path| path.file_stem()).filter(|_| shadow) {
            config.plugins.entry(name.to_string_lossy().into_owned()).or_default().shadow = true;
        }
        // A configuration to try is tried without what is locked here.
        let bundled = if self.config.is_none() {
            verify::plugins(&places, &home, crate::commands::hook::now(), verify::Memory::None)?
        } else {
            Vec::new()
        };
        Reviewer::new(Setup {
            config,
            extra: &self.plugin,
            bundled: &bundled,
            clock: ReviewClock { now_ms: crate::recording::EPOCH, backstop: None },
            observes: false,
            mask_key: REPLAY_KEY,
            cache: Some(code_cache(&home)),
            person: "/home/user".into(),
            project: None,
        })
    }
}
