//! What a bundle says of itself. Read from the index, so that the index's digest covers it.

use crate::digest::Digest;
use crate::index::MOST_COMPONENTS;
use crate::name::Name;
use semver::Version;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Plugins of a bundle.
const MOST_PLUGINS: usize = 256;
/// Bytes of a plugin's name.
const LONGEST_NAME: usize = 64;

/// A bundle in its own words. What counts for loading is derived from the bytes again, and held against this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Its name.
    pub name: Name,
    /// Its version; a newer one never goes back without being told to.
    pub version: Version,
    /// What it is for, in a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its licence, as SPDX has it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub licence: String,
    /// Where its sources are.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Its components.
    pub components: Vec<Component>,
}

/// A component of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// Of its bytes.
    pub digest: Digest,
    /// How many bytes.
    pub size: u64,
    /// The world that it is built for, with the version of the WIT package, for example `pattern@0.1.0`.
    pub world: String,
    /// What it wants of the host.
    pub wants: Wants,
    /// The plugins in it: one, or several that share it.
    pub plugins: Vec<Plugin>,
}

/// What a component wants, as its imports tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wants {
    /// The interfaces that it imports, with versions, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imports: Vec<String>,
    /// The lines of a table of grants that they ask for, sorted; none where an answer without effect is enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<String>,
}

/// A plugin of a component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plugin {
    /// The name that records and settings have it by.
    pub name: String,
    /// `risk-calculator`, `pattern`, `intervention` or `audit-exporter`.
    pub kind: String,
    /// Its own version.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// What it does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Settings that the bundle gives it; the operator's go before them.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub settings: serde_json::Map<String, serde_json::Value>,
    /// The settings that it knows, in the SDK's schema.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schema: Vec<serde_json::Value>,
}

impl About {
    /// Every plugin, with its component.
    pub fn plugins(&self) -> impl Iterator<Item = (&Component, &Plugin)> {
        self.components.iter().flat_map(|component| component.plugins.iter().map(move |plugin| (component, plugin)))
    }

    /// What is wrong with it, in words.
    pub(crate) fn check(&self) -> Result<(), String> {
        let (components, plugins) = (self.components.len(), self.plugins().count());
        if components == 0 || components > MOST_COMPONENTS {
            return Err(format!("a bundle has 1 to {MOST_COMPONENTS} components, this one has {components}"));
        }
        if plugins > MOST_PLUGINS {
            return Err(format!("a bundle has at most {MOST_PLUGINS} plugins, this one has {plugins}"));
        }
        if let Some(empty) = self.components.iter().find(|component| component.plugins.is_empty()) {
            return Err(format!("the component {} has no plugin", empty.digest));
        }
        let digests: BTreeSet<Digest> = self.components.iter().map(|component| component.digest).collect();
        if digests.len() < components {
            return Err("a component is there twice".to_owned());
        }
        let mut names = BTreeSet::new();
        for (_, plugin) in self.plugins() {
            if !is_usable(&plugin.name) {
                let shown = plugin.name.chars().take(LONGEST_NAME).collect::<String>();
                return Err(format!(
                    "`{}` is no name of a plugin: it takes 1 to {LONGEST_NAME} letters, digits, `_` and `-`",
                    shown.escape_debug()
                ));
            }
            if !names.insert(plugin.name.as_str()) {
                return Err(format!("two plugins have the name `{}`", plugin.name));
            }
        }
        Ok(())
    }
}

fn is_usable(name: &str) -> bool {
    !name.is_empty() && name.len() <= LONGEST_NAME && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
