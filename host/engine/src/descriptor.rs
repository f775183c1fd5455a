//! An author's description of a plugin, and the section of a component that holds it.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::fmt;

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
    pub settings: DeclaredSettings,
}

impl Descriptor {
    /// Returns true if it declares a setting of that name.
    #[must_use]
    pub fn declares_setting(&self, setting: &str) -> bool {
        let all = self.settings.parse();
        let all = all.as_array().into_iter().flatten();
        all.filter_map(|declared| declared.get("key")?.as_str()).any(|key| key == setting)
    }
}

/// The settings that an author declares, as JSON in the SDK's schema. It is parsed when it is
/// looked at: a hook loads a dozen plugins and looks at none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredSettings(String);

impl DeclaredSettings {
    /// Returns the declarations; null if there are none.
    #[must_use]
    pub fn parse(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl From<Value> for DeclaredSettings {
    fn from(settings: Value) -> Self {
        Self(if settings.is_null() { String::new() } else { settings.to_string() })
    }
}

impl fmt::Display for DeclaredSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for DeclaredSettings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            self.parse().serialize(serializer)
        } else {
            self.0.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for DeclaredSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            Value::deserialize(deserializer).map(Self::from)
        } else {
            String::deserialize(deserializer).map(Self)
        }
    }
}
