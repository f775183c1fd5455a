//! Configurations that were loaded before, for a process that loads one for each event.
//!
//! The files are read for each event; only parsing and merging them again is spared. A configuration
//! counts again only if all texts that it was made of are the same, so a change counts at once, whatever
//! the times of the files are. One that names further files, of rules or templates, is not kept.

use crate::clock::now_ms;
use crate::layers::Layer;
use crate::paths::Paths;
use crate::reading::{ConfigTexts, read_order_text, read_texts};
use crate::{Config, trust};
use anyhow::Result;
use portcullis_store::Home;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most configurations that are kept: one for each project that agents work in at once.
const MOST: usize = 16;

/// Configurations with all that they depend on, the most recently used last.
#[derive(Default)]
pub struct KeptConfigs(Mutex<Vec<KeptConfig>>);

struct KeptConfig {
    basis: ConfigBasis,
    config: Arc<Config>,
}

/// All that a configuration without further files depends on.
#[derive(PartialEq, Eq)]
struct ConfigBasis {
    person: String,
    config: PathBuf,
    managed: PathBuf,
    project: Option<PathBuf>,
    real_project: Option<PathBuf>,
    /// True if a hook hands the files over, as behind a boundary: other users may write them then.
    is_handed: bool,
    texts: Vec<(Layer, Option<String>)>,
    orders: Option<(String, PathBuf)>,
    /// A person trusted the project's file.
    is_trusted: bool,
}

impl KeptConfigs {
    /// Does the same as [`Config::load`].
    ///
    /// # Errors
    /// Fails like [`Config::load`]. A failure is not kept.
    pub fn load(&self, places: &Paths, home: &Home) -> Result<Arc<Config>> {
        let orders = read_order_text(home, now_ms());
        let texts = ConfigTexts { files: read_texts(places), orders };
        let basis = ConfigBasis::of(places, home, &texts);
        if let Some(known) = basis.as_ref().and_then(|basis| self.find(basis)) {
            return Ok(known);
        }
        let parsed = texts.parse(places)?;
        // Such a file counts in a section that is not in force, too: a person trusts it with the
        // project's file.
        let names_templates = parsed.names_templates();
        let settled = parsed.settle(places, Some(home), None)?;
        let config = Arc::new(Config::with_files(&settled, places, Some(home))?);
        if let Some(basis) = basis.filter(|_| !names_templates && !names_rules(&config)) {
            let mut kept = self.lock();
            if kept.len() >= MOST {
                kept.remove(0);
            }
            kept.push(KeptConfig { basis, config: Arc::clone(&config) });
        }
        Ok(config)
    }

    fn find(&self, basis: &ConfigBasis) -> Option<Arc<Config>> {
        let mut kept = self.lock();
        let position = kept.iter().rposition(|known| known.basis == *basis)?;
        let known = kept.remove(position);
        let config = Arc::clone(&known.config);
        kept.push(known);
        Some(config)
    }

    /// Locks the list. A panic leaves none half-changed.
    fn lock(&self) -> MutexGuard<'_, Vec<KeptConfig>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConfigBasis {
    /// Returns what a configuration of these texts depends on; `None` if a text is unusable.
    fn of(places: &Paths, home: &Home, texts: &ConfigTexts) -> Option<Self> {
        let read = |(layer, text): (Layer, Option<&Option<String>>)| Some((layer, text?.clone()));
        let files = texts.files.iter().map(|file| (file.layer, file.text.as_ref().ok()));
        let texts_of_files: Vec<(Layer, Option<String>)> =
            files.map(read).collect::<Option<_>>()?;
        let of_project = texts_of_files.iter().find(|(layer, _)| *layer == Layer::Project);
        let is_trusted = match (of_project.and_then(|(_, text)| text.as_ref()), &places.project) {
            (Some(text), Some(folder)) => {
                trust::is_trusted(home, folder, &blake3::hash(text.as_bytes()))
            }
            _ => false,
        };
        Some(Self {
            person: places.person.clone(),
            config: places.config.clone(),
            managed: places.managed.clone(),
            project: places.project.clone(),
            real_project: places.real_project().map(PathBuf::from),
            is_handed: places.handed.is_some(),
            texts: texts_of_files,
            orders: texts.orders.as_ref().ok()?.clone(),
            is_trusted,
        })
    }
}

/// Returns true if a configuration depends on files of rules. Disabled rules do, too: a receipt on the
/// disk says whether they exist.
fn names_rules(config: &Config) -> bool {
    !config.rules.files.is_empty() || !config.rules.disabled.is_empty()
}
