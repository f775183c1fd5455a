//! The plugins of a bundle, prepared for an evaluation: each component is in a file of its own and
//! pinned to its bytes, which the engine enforces as it does for installed ones.

use crate::error::{Context, Error, Result};
use portcullis_bundle::{Bundle, Component, Plugin, grant_key};
use portcullis_config::paths::Paths;
use portcullis_config::{Config, GrantConfig, PluginConfig};
use portcullis_core::text::one_line;
use portcullis_engine::{CodeCache, Kind};
use portcullis_review::bundles::receipt::PluginPin;
use portcullis_review::isolated;
use portcullis_review::plugin_specs::OURS;
use portcullis_review::reviewer::{Reviewer, code_cache};
use portcullis_store::Home;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A placeholder host that lets a component load that requests hosts. The name cannot exist, and
/// nothing is ever sent.
const NO_HOST: &str = "https://vetting.invalid";
/// The key of a grant of hosts.
const HOSTS: &str = "hosts";

/// A plugin that is evaluated.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Its kind.
    pub kind: Kind,
    /// The pinned component that is loaded.
    pub pinned: PluginPin,
}

/// The plugins of a bundle, and the folder that holds them during the evaluation.
pub struct Subjects {
    /// All of them, in the bundle's order.
    pub all: Vec<Subject>,
    config: Config,
    home: Home,
    _folder: Folder,
}

/// A folder that is removed when dropped.
struct Folder(PathBuf);

impl Subjects {
    /// Writes the components of a bundle to a folder.
    ///
    /// # Errors
    /// Fails if a component cannot be tried here, or if the folder cannot be written.
    pub fn from_bundle(bundle: &Bundle, places: &Paths) -> Result<Self> {
        let home = Home::open_root(&places.state)?;
        let folder = Folder::new(home.cache().join(format!("vet-{}", std::process::id())))?;
        let (about, mut all) = (bundle.about(), Vec::new());
        for component in &about.components {
            let bytes = bundle
                .component_bytes(component)
                .ok_or_else(|| Error::integrity("a component is missing"))?;
            let file = folder.0.join(component.digest.hex()).with_extension("wasm");
            write(&file, bytes).with_context(|| format!("cannot write `{}`", file.display()))?;
            let digest = blake3::hash(bytes).to_hex().to_string();
            for plugin in &component.plugins {
                all.push(subject(about.name.as_str(), component, plugin, &file, &digest)?);
            }
        }
        Ok(Self { all, config: Config::builtin_only(places), home, _folder: folder })
    }

    /// Creates a reviewer with the builtin plugins, and if `with` is true also with those of the
    /// bundle, as on a machine that installs it without any grant.
    ///
    /// # Errors
    /// Fails if the sandbox cannot be set up.
    pub fn new_reviewer(&self, with: bool) -> Result<Reviewer> {
        let mut config = isolated::isolated_config(&self.config, |_| true);
        let mut bundled = Vec::new();
        for Subject { pinned, .. } in self.all.iter().filter(|_| with) {
            let hosts: Vec<String> = pinned
                .grants
                .iter()
                .filter(|key| *key == HOSTS)
                .map(|_| NO_HOST.to_owned())
                .collect();
            if !hosts.is_empty() {
                let said = PluginConfig {
                    grants: GrantConfig { hosts, ..GrantConfig::default() },
                    ..PluginConfig::default()
                };
                config.plugins.insert(pinned.name.clone(), said);
            }
            bundled.push(pinned.clone());
        }
        let mut reviewer = isolated::new_reviewer(config, &[], &bundled, Some(self.cache()))?;
        reviewer.enable_shell_cache();
        Ok(reviewer)
    }

    /// Returns the plugin of that name.
    ///
    /// # Errors
    /// Fails if there is no such plugin.
    pub fn find_subject(&self, name: &str) -> Result<&Subject> {
        let names = || {
            self.all
                .iter()
                .map(|subject| format!("`{}`", subject.pinned.name))
                .collect::<Vec<_>>()
                .join(", ")
        };
        self.all.iter().find(|subject| subject.pinned.name == name).ok_or_else(|| {
            Error::not_found(format!(
                "`--cases {}=...`: the bundle has no such plugin",
                one_line(name, 64)
            ))
            .with_hint(format!("it has {}", names()))
        })
    }

    /// Returns the default configuration.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the cache of compiled code.
    pub fn cache(&self) -> CodeCache {
        code_cache(&self.home)
    }
}

fn subject(
    bundle: &str,
    component: &Component,
    plugin: &Plugin,
    file: &Path,
    digest: &str,
) -> Result<Subject> {
    let name = &plugin.name;
    if bundle != OURS && portcullis_builtin::find(name).is_some() {
        return Err(Error::invalid(format!(
            "`{name}` is the name of a builtin plugin, so no machine can load this bundle"
        ))
        .with_hint("have its publisher give it another"));
    }
    let kind = Kind::ALL.iter().copied().find(|kind| kind.as_str() == plugin.kind);
    let pinned = PluginPin {
        bundle: bundle.to_owned(),
        name: name.clone(),
        file: file.to_owned(),
        digest: digest.to_owned(),
        several: component.plugins.len() > 1,
        settings: plugin.settings.clone(),
        organisation: false,
        grants: component.wants.grants.iter().map(|line| grant_key(line).to_owned()).collect(),
    };
    Ok(Subject {
        kind: kind.ok_or_else(|| Error::invalid(format!("`{name}` is of no kind")))?,
        pinned,
    })
}

fn write(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?.write_all(bytes)
}

impl Folder {
    fn new(path: PathBuf) -> Result<Self> {
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("cannot make `{}`", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A leftover folder is in the cache, whose contents can be created again.
        let _ = fs::remove_dir_all(&self.0);
    }
}
