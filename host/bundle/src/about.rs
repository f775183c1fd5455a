//! The description of a bundle. It is part of the index, so the index's digest covers it.

use crate::digest::Digest;
use crate::name::BundleName;
use semver::Version;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The most components in a bundle: more than anybody vets at once.
const MOST_COMPONENTS: usize = 64;

/// The most plugins in a bundle.
const MOST_PLUGINS: usize = 256;
/// The most bytes of a plugin's name.
const LONGEST_NAME: usize = 64;

/// A bundle's own description. The facts that count for loading are derived from the bytes again,
/// and compared with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Its name.
    pub name: BundleName,
    /// Its version. A bundle is only downgraded on an explicit request.
    pub version: Version,
    /// Its purpose, in one sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its licence, as an SPDX expression.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub licence: String,
    /// The location of its sources.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Its components.
    pub components: Vec<Component>,
}

/// A component of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// The digest of its bytes.
    pub digest: Digest,
    /// Its size, in bytes.
    pub size: u64,
    /// The world that it is built for, with the version of the WIT package, for example
    /// `pattern@0.1.0`.
    pub world: String,
    /// Its requests to the host.
    pub wants: ComponentRequests,
    /// The plugins in it: one, or several that share it.
    pub plugins: Vec<Plugin>,
}

/// The requests of a component, as its imports show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComponentRequests {
    /// The interfaces that it imports, with versions, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imports: Vec<String>,
    /// The grant lines that the imports require, sorted; empty if answers without effect are
    /// enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<String>,
}

/// A plugin of a component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plugin {
    /// The name used by records and settings.
    pub name: String,
    /// `risk-calculator`, `pattern`, `intervention` or `audit-exporter`.
    pub kind: String,
    /// Its own version.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Its purpose.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Settings that the bundle gives it; the operator's settings take precedence.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub settings: serde_json::Map<String, serde_json::Value>,
    /// The settings that it declares, in the SDK's schema.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schema: Vec<serde_json::Value>,
}

impl About {
    /// Returns every plugin, with its component.
    pub fn plugins(&self) -> impl Iterator<Item = (&Component, &Plugin)> {
        self.components
            .iter()
            .flat_map(|component| component.plugins.iter().map(move |plugin| (component, plugin)))
    }

    /// Checks the description; the error says what is wrong.
    pub(crate) fn check(&self) -> Result<(), String> {
        let (components, plugins) = (self.components.len(), self.plugins().count());
        if components == 0 || components > MOST_COMPONENTS {
            return Err(format!(
                "a bundle has 1 to {MOST_COMPONENTS} components, this one has {components}"
            ));
        }
        if plugins > MOST_PLUGINS {
            return Err(format!(
                "a bundle has at most {MOST_PLUGINS} plugins, this one has {plugins}"
            ));
        }
        if let Some(empty) = self.components.iter().find(|component| component.plugins.is_empty()) {
            return Err(format!("the component {} has no plugin", empty.digest));
        }
        let digests: BTreeSet<Digest> =
            self.components.iter().map(|component| component.digest).collect();
        if digests.len() < components {
            return Err("a component is listed twice".to_owned());
        }
        let mut names = BTreeSet::new();
        for (_, plugin) in self.plugins() {
            if !is_usable(&plugin.name) {
                let shown = plugin.name.chars().take(LONGEST_NAME).collect::<String>();
                return Err(format!(
                    "`{}` is not a name of a plugin: it takes 1 to {LONGEST_NAME} letters, digits, `_` and `-`",
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
    !name.is_empty()
        && name.len() <= LONGEST_NAME
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
