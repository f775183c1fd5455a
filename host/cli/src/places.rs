//! Where things lie: the person's home, our configuration, our state.

use anyhow::{Result, bail};
use std::env;
use std::path::PathBuf;

/// The folders that this process works with.
#[derive(Clone, Debug)]
pub struct Places {
    /// The person's home folder; empty when the environment does not say.
    pub person: String,
    /// Holds `config.toml` and `plugins/`.
    pub config: PathBuf,
    /// Holds journal, key and compiled code.
    pub state: PathBuf,
}

impl Places {
    /// From the environment: `PORTCULLIS_HOME` for both folders, else the XDG folders.
    ///
    /// # Errors
    /// Neither `PORTCULLIS_HOME` nor `HOME` says where.
    pub fn from_environment() -> Result<Self> {
        let person = env::var("HOME").ok().filter(|home| home.starts_with('/')).unwrap_or_default();
        if let Some(home) = env::var_os("PORTCULLIS_HOME").filter(|home| !home.is_empty()) {
            let home = PathBuf::from(home);
            if !home.is_absolute() {
                bail!("PORTCULLIS_HOME is `{}`: it must be an absolute path", home.display());
            }
            return Ok(Self { person, config: home.clone(), state: home });
        }
        if person.is_empty() {
            bail!("HOME is not set: set it, or set PORTCULLIS_HOME to a folder for our state and configuration");
        }
        let xdg = |name: &str, default: &str| {
            let named = env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
            named.unwrap_or_else(|| PathBuf::from(&person).join(default)).join("portcullis")
        };
        Ok(Self { config: xdg("XDG_CONFIG_HOME", ".config"), state: xdg("XDG_STATE_HOME", ".local/state"), person })
    }
}
