//! A plugin as the configuration names it: where its bytes are, its settings, its limits and grants.

use crate::grants::Grants;
use crate::kind::Kind;
use crate::limits::Limits;
use crate::settings::Setting;
use portcullis_core::fault::OnFault;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

/// The bytes of a component in the program itself. They may be packed until they are asked for.
pub trait ComponentBytes: AsRef<[u8]> + Debug + Send + Sync {}

impl<T: AsRef<[u8]> + Debug + Send + Sync> ComponentBytes for T {}

/// The location of a plugin's bytes.
#[derive(Clone, Debug)]
pub enum Source {
    /// In the program itself.
    Builtin {
        /// The plugin's own name.
        name: &'static str,
        /// Its kind.
        kind: Kind,
        /// It considers ended actions only; trusted, as `digest` is.
        waits_for_outcome: bool,
        /// Its descriptor; none if that is read from `bytes`, which then hold this plugin alone.
        descriptor: Option<&'static str>,
        /// BLAKE3 of `bytes`, 64 hex digits; trusted, since it was compiled in with them.
        digest: &'static str,
        /// The component; asked for when it is compiled. If it holds several plugins, the first
        /// of the settings says which one this is.
        bytes: &'static dyn ComponentBytes,
    },
    /// In a file, with any content.
    File(PathBuf),
    /// In a file that has to hold exactly these bytes, and may hold several plugins.
    Pinned {
        /// The file.
        path: PathBuf,
        /// BLAKE3 of its bytes, 64 hex digits; another file is not loaded.
        digest: String,
        /// The plugin to use, by the name in its descriptor; none if the file holds one. The first
        /// of the settings has to pass it to the plugin.
        plugin: Option<String>,
    },
}

impl PartialEq for Source {
    /// Compares components of the program by their digests: a service compares sets of plugins for
    /// each event, and the bytes of all of them are some megabytes.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Builtin { name, kind, digest, .. },
                Self::Builtin { name: name_2, kind: kind_2, digest: digest_2, .. },
            ) => (name, kind, digest) == (name_2, kind_2, digest_2),
            (Self::File(path), Self::File(other)) => path == other,
            (
                Self::Pinned { path, digest, plugin },
                Self::Pinned { path: path_2, digest: digest_2, plugin: plugin_2 },
            ) => (path, digest, plugin) == (path_2, digest_2, plugin_2),
            _ => false,
        }
    }
}

impl Eq for Source {}

/// A plugin as the configuration names it.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginSpec {
    /// Its name, unique among all entries; it is used in records and settings.
    pub name: String,
    /// The location of its bytes.
    pub source: Source,
    /// The input of its `prepare`.
    pub settings: Vec<Setting>,
    /// Settings that it gets in addition to `settings` if it is a pattern, its descriptor declares
    /// a setting of that name, and `settings` does not contain it.
    pub injected_settings: Vec<Setting>,
    /// The effect of its faults.
    pub on_fault: OnFault,
    /// The limits of each call.
    pub limits: Limits,
    /// Its grants while it answers; `prepare` gets none, since its answer is cached.
    pub grants: Arc<Grants>,
    /// It runs and is recorded, but does not count. The engine only carries this; the pipeline
    /// applies it.
    pub shadow: bool,
}
