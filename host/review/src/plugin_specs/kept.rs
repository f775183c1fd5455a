//! Specifications that were made before, for a process that needs them for each event.

use super::{GrantScope, components, list_plugin_specs};
use crate::bundles::receipt::PluginPin;
use anyhow::Result;
use portcullis_config::Config;
use portcullis_engine::PluginSpec;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The most specifications that are kept: one for each project that agents work in at once.
const MOST: usize = 16;

/// Specifications of plugins with all that they depend on, the most recently used last.
#[derive(Default)]
pub(crate) struct KeptSpecs(Mutex<Vec<KeptSpec>>);

struct KeptSpec {
    config: Arc<Config>,
    /// The components of the plugin folder.
    files: Vec<PathBuf>,
    person: String,
    project: Option<PathBuf>,
    specs: Arc<[PluginSpec]>,
}

impl KeptSpecs {
    /// Returns the specifications of a configuration's plugins, except the shell reader's, in the
    /// order in which they are loaded. `extra` holds components in addition to those of the plugin
    /// folder. `check` judges specifications that were not kept.
    ///
    /// # Errors
    /// Fails if the plugin folder cannot be read, and with the error of `check`.
    pub(crate) fn list_specs(
        &self,
        config: &Arc<Config>,
        extra: &[PathBuf],
        pins: &[PluginPin],
        scope: GrantScope<'_>,
        check: impl FnOnce(&[PluginSpec]) -> Result<()>,
    ) -> Result<Arc<[PluginSpec]>> {
        let mut files = components(&config.plugins_dir)?;
        let is_kept = extra.is_empty() && pins.is_empty() && is_all_named(config, scope);
        let Self(kept) = self;
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().rposition(|known| is_kept && known.is_for(config, &files, scope));
        if let Some(known) = known.map(|position| kept.remove(position)) {
            let specs = Arc::clone(&known.specs);
            kept.push(known);
            return Ok(specs);
        }
        drop(kept);
        files.extend_from_slice(extra);
        let specs: Arc<[PluginSpec]> = list_plugin_specs(config, &files, pins, scope).into();
        check(&specs)?;
        if is_kept {
            let (person, project) = (scope.person.to_owned(), scope.project.map(PathBuf::from));
            let (config, made) = (Arc::clone(config), Arc::clone(&specs));
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() >= MOST {
                kept.remove(0);
            }
            kept.push(KeptSpec { config, files, person, project, specs: made });
        }
        Ok(specs)
    }
}

impl KeptSpec {
    fn is_for(&self, config: &Arc<Config>, files: &[PathBuf], scope: GrantScope<'_>) -> bool {
        Arc::ptr_eq(&self.config, config)
            && self.files == files
            && self.person == scope.person
            && self.project.as_deref() == scope.project
    }
}

/// Returns true if nothing in the specifications comes from the environment, which is another one for
/// each event.
fn is_all_named(config: &Config, scope: GrantScope<'_>) -> bool {
    scope.granted && config.plugins.values().all(|said| said.grants.environment.is_empty())
}
