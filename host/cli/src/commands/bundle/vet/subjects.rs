//! The plugins of a bundle where they can be tried: their components in files of their own, pinned to their bytes, which
//! the engine holds them to as it does for installed ones.

use crate::bundles::receipt::Pinned;
use crate::config::{Config, GrantConfig, PluginConfig};
use crate::places::Places;
use crate::runtime::{OURS, Reviewer, code_cache};
use crate::trial;
use anyhow::{Context, Result, bail};
use portcullis_bundle::{Bundle, Component, Plugin, grant_key};
use portcullis_core::text::one_line;
use portcullis_engine::{CodeCache, Kind};
use portcullis_store::Home;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Has a component loaded that asks for hosts. A name that nobody can have; nothing is ever sent.
const NO_HOST: &str = "https://vetting.invalid";
/// The key of a grant of hosts.
const HOSTS: &str = "hosts";

/// A plugin that is tried.
#[derive(Clone, Debug)]
pub struct Subject {
    /// What it does for the host.
    pub kind: Kind,
    /// How it is loaded.
    pub pinned: Pinned,
}

/// The plugins of a bundle, and the folder that they are tried from.
pub struct Subjects {
    /// In the bundle's order.
    pub all: Vec<Subject>,
    config: Config,
    home: Home,
    _folder: Folder,
}

/// A folder that goes with its owner.
struct Folder(PathBuf);

impl Subjects {
    /// Lays the components of a bundle out.
    ///
    /// # Errors
    /// One cannot be tried here, or the folder cannot be written.
    pub fn of(bundle: &Bundle, places: &Places) -> Result<Self> {
        let home = Home::open(&places.state)?;
        let folder = Folder::new(home.cache().join(format!("vet-{}", std::process::id())))?;
        let (about, mut all) = (bundle.about(), Vec::new());
        for component in &about.components {
            let bytes = bundle.component(component).context("a component is missing")?;
            let file = folder.0.join(component.digest.hex()).with_extension("wasm");
            write(&file, bytes).with_context(|| format!("cannot write `{}`", file.display()))?;
            let digest = blake3::hash(bytes).to_hex().to_string();
            for plugin in &component.plugins {
                all.push(subject(about.name.as_str(), component, plugin, &file, &digest)?);
            }
        }
        Ok(Self { all, config: Config::plain(places), home, _folder: folder })
    }

    /// The builtin plugins, and with them those of the bundle where `with` says so: as a machine has them that installs
    /// it, without any grant.
    ///
    /// # Errors
    /// The sandbox cannot be set up.
    pub fn reviewer(&self, with: bool) -> Result<Reviewer> {
        let mut config = trial::alone(&self.config, |_| true);
        let mut bundled = Vec::new();
        for Subject { pinned, .. } in self.all.iter().filter(|_| with) {
            let hosts: Vec<String> = pinned.grants.iter().filter(|key| *key == HOSTS).map(|_| NO_HOST.to_owned()).collect();
            if !hosts.is_empty() {
                let said = PluginConfig { grants: GrantConfig { hosts, ..GrantConfig::default() }, ..PluginConfig::default() };
                config.plugins.insert(pinned.name.clone(), said);
            }
            bundled.push(pinned.clone());
        }
        let mut reviewer = trial::reviewer(config, &[], &bundled, Some(self.cache()))?;
        reviewer.remember();
        Ok(reviewer)
    }

    /// The plugin of that name.
    ///
    /// # Errors
    /// There is none.
    pub fn named(&self, name: &str) -> Result<&Subject> {
        let names = || self.all.iter().map(|subject| format!("`{}`", subject.pinned.name)).collect::<Vec<_>>().join(", ");
        self.all
            .iter()
            .find(|subject| subject.pinned.name == name)
            .with_context(|| format!("`--cases {}=...`: the bundle has no such plugin, it has {}", one_line(name, 64), names()))
    }

    /// What is not said of any plugin.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Where compiled code is kept.
    pub fn cache(&self) -> CodeCache {
        code_cache(&self.home)
    }
}

fn subject(bundle: &str, component: &Component, plugin: &Plugin, file: &Path, digest: &str) -> Result<Subject> {
    let name = &plugin.name;
    if bundle != OURS && portcullis_builtin::find(name).is_some() {
        bail!("`{name}` is the name of a builtin plugin, so no machine can load this bundle: have its publisher give it another");
    }
    let kind = Kind::ALL.iter().copied().find(|kind| kind.as_str() == plugin.kind);
    let pinned = Pinned {
        bundle: bundle.to_owned(),
        name: name.clone(),
        file: file.to_owned(),
        digest: digest.to_owned(),
        several: component.plugins.len() > 1,
        settings: plugin.settings.clone(),
        organisation: false,
        grants: component.wants.grants.iter().map(|line| grant_key(line).to_owned()).collect(),
    };
    Ok(Subject { kind: kind.with_context(|| format!("`{name}` is of no kind"))?, pinned })
}

fn write(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?.write_all(bytes)
}

impl Folder {
    fn new(path: PathBuf) -> Result<Self> {
        DirBuilder::new().mode(0o700).create(&path).with_context(|| format!("cannot make `{}`", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays behind lies among what can be made again.
        let _ = fs::remove_dir_all(&self.0);
    }
}
