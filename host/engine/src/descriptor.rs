//! An author's description of a plugin, and the section of a component that holds it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The custom section that holds the descriptor.
pub const DESCRIPTOR_SECTION: &str = "portcullis-descriptor";

/// An author's description of a plugin. It is shown to people; nothing is granted or decided by it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Descriptor {
    /// The name that the author gave it.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// Its purpose, in a sentence or two.
    pub description: String,
    /// The kind that it is meant to be; empty, or the same as its exports say.
    pub kind: String,
    /// The inputs that it uses: `action`, `context`, `history`.
    pub reads: Vec<String>,
    /// The highest severity that it reports.
    pub severity: Option<String>,
    /// Its settings, in the SDK's schema.
    pub settings: Value,
}

impl Descriptor {
    /// Returns true if it declares a setting of that name.
    #[must_use]
    pub fn declares_setting(&self, setting: &str) -> bool {
        let all = self.settings.as_array().into_iter().flatten();
        all.filter_map(|declared| declared.get("key")?.as_str()).any(|key| key == setting)
    }
}
