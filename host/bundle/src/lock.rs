//! `portcullis.lock`: the exact bundles that a project runs.
//!
//! A line in it never grants anything: the bundle that it names must still be installed and
//! trusted. The lock selects among installed and trusted bundles, so that a thousand machines run
//! one set. If the lock and the installed bundle differ, nothing is loaded instead.

use crate::about::{About, Component};
use crate::bundle::Bundle;
use crate::digest::Digest;
use crate::display::display_line;
use crate::key::KeyId;
use crate::name::BundleName;
use crate::toml_text::{self, TomlError};
use semver::Version;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// The format version that this program writes and reads.
const FORMAT: u32 = 1;
/// The most bytes of a lock.
const MOST_BYTES: usize = 1 << 20;

/// A lock file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lock {
    /// The bundles, sorted by name.
    bundles: Vec<LockedBundle>,
}

/// A locked bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedBundle {
    /// Its name.
    pub name: BundleName,
    /// Its version.
    pub version: Version,
    /// The digest of its index.
    pub digest: Digest,
    /// The registry and repository that it came from; `None` for an archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The index that listed it, if it was found by its name; its updates come through the same one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<BundleName>,
    /// The keys that had signed and vetted it, and were trusted, when it was locked.
    pub signers: Vec<KeyId>,
    /// Its components.
    #[serde(rename = "component")]
    pub components: Vec<LockedComponent>,
}

/// A component of a locked bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedComponent {
    /// The digest of its bytes.
    pub digest: Digest,
    /// The plugins in it.
    pub plugins: Vec<String>,
    /// The grants that it may request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<String>,
}

/// The reasons why a lock cannot be used, or does not match.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// It is not a lock, or has an unknown field.
    #[error("line {line}: {what}")]
    Malformed {
        /// The line, from 1.
        line: usize,
        /// The problem.
        what: String,
    },
    /// It was written by a later version.
    #[error("it has format {0}, this version reads {FORMAT}: update portcullis, or lock again")]
    Later(u32),
    /// It names something twice.
    #[error("{}", display_line(.0))]
    Inconsistent(String),
    /// The bundle is not the locked one.
    #[error(
        "`{name}` is locked as {locked}, and this is {found}: `portcullis bundle update` shows what would change"
    )]
    Other {
        /// Its name.
        name: String,
        /// The value in the lock.
        locked: String,
        /// The actual value.
        found: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: u32,
    #[serde(default)]
    bundle: Vec<LockedBundle>,
}

/// The format version, which is read first: nothing else of a later format is understood.
#[derive(Deserialize)]
struct Form {
    format: Option<u32>,
}

impl LockedBundle {
    /// Creates the entry for a bundle.
    #[must_use]
    pub fn for_bundle(bundle: &Bundle, from: Option<String>, signers: Vec<KeyId>) -> Self {
        let About { name, version, components, .. } = bundle.about();
        let digest = bundle.index().digest();
        Self {
            name: name.clone(),
            version: version.clone(),
            digest,
            from,
            index: None,
            signers,
            components: components.iter().map(locked).collect(),
        }
    }

    /// Checks that this is the locked bundle, with all of its components and no additional
    /// requests.
    ///
    /// # Errors
    /// Fails if something differs; the error says what.
    pub fn check_bundle(&self, bundle: &Bundle) -> Result<(), LockError> {
        let other = |locked: String, found: String| {
            Err(LockError::Other { name: self.name.to_string(), locked, found })
        };
        let (about, digest) = (bundle.about(), bundle.index().digest());
        if digest != self.digest {
            return other(
                format!("{} ({})", self.version, self.digest),
                format!("{} {} ({digest})", about.name, about.version),
            );
        }
        // The digest decides. The other values are for people, so they must not contradict it.
        if (&about.name, &about.version) != (&self.name, &self.version) {
            return other(self.version.to_string(), format!("{} {}", about.name, about.version));
        }
        let found: Vec<LockedComponent> = about.components.iter().map(locked).collect();
        match self.components.iter().zip(&found).find(|(locked, found)| locked != found) {
            Some((locked, found)) => other(locked.to_string(), found.to_string()),
            None if self.components.len() != found.len() => {
                let count = |components: usize| {
                    format!(
                        "a bundle of {components} component{}",
                        if components == 1 { "" } else { "s" }
                    )
                };
                other(count(self.components.len()), count(found.len()))
            }
            None => Ok(()),
        }
    }
}

impl fmt::Display for LockedComponent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grants =
            if self.grants.is_empty() { "no grant".to_owned() } else { self.grants.join(", ") };
        write!(
            f,
            "the component of {} ({}), which asks for {grants}",
            self.plugins.join(", "),
            self.digest
        )
    }
}

fn locked(component: &Component) -> LockedComponent {
    LockedComponent {
        digest: component.digest,
        plugins: component.plugins.iter().map(|plugin| plugin.name.clone()).collect(),
        grants: component.wants.grants.clone(),
    }
}

impl Lock {
    /// Reads a lock.
    ///
    /// # Errors
    /// Fails if it is not a lock, or contradicts itself.
    pub fn parse_lock(text: &str) -> Result<Self, LockError> {
        let malformed = |TomlError { line, what }| LockError::Malformed { line, what };
        if text.len() > MOST_BYTES {
            return Err(LockError::Malformed {
                line: 1,
                what: format!("it has {} bytes, at most {MOST_BYTES} are read", text.len()),
            });
        }
        let form: Form = toml_text::read(text).map_err(malformed)?;
        if let Some(later) = form.format.filter(|format| *format > FORMAT) {
            return Err(LockError::Later(later));
        }
        let document: Document = toml_text::read(text).map_err(malformed)?;
        let (mut names, mut plugins) = (BTreeSet::new(), BTreeSet::new());
        for bundle in &document.bundle {
            if !names.insert(&bundle.name) {
                return Err(LockError::Inconsistent(format!("`{}` is locked twice", bundle.name)));
            }
            if let Some(twice) = bundle
                .components
                .iter()
                .flat_map(|component| &component.plugins)
                .find(|plugin| !plugins.insert(*plugin))
            {
                return Err(LockError::Inconsistent(format!(
                    "the plugin `{twice}` is locked twice"
                )));
            }
        }
        Ok(Self { bundles: document.bundle })
    }

    /// Returns its text, which is the same for the same bundles in any order.
    ///
    /// # Errors
    /// Fails only if TOML cannot be written to memory, which does not happen in practice.
    pub fn to_text(&self) -> Result<String, LockError> {
        let document = Document { format: FORMAT, bundle: self.bundles.clone() };
        let text = toml::to_string(&document)
            .map_err(|error| LockError::Inconsistent(error.to_string()))?;
        Ok(format!(
            "# Written by `portcullis bundle`. Do not edit: its content is checked against what is installed.\n{text}"
        ))
    }

    /// Returns the bundles, sorted by name.
    #[must_use]
    pub fn bundles(&self) -> &[LockedBundle] {
        &self.bundles
    }

    /// Returns the entry of that bundle.
    #[must_use]
    pub fn find_bundle(&self, name: &BundleName) -> Option<&LockedBundle> {
        self.bundles.iter().find(|bundle| bundle.name == *name)
    }

    /// Adds a bundle, or replaces the one with its name.
    pub fn put_bundle(&mut self, bundle: LockedBundle) {
        self.bundles.retain(|other| other.name != bundle.name);
        self.bundles.push(bundle);
        self.bundles.sort_by(|a, b| a.name.cmp(&b.name));
    }

    /// Removes a bundle; returns true if it was present.
    pub fn remove_bundle(&mut self, name: &BundleName) -> bool {
        let before = self.bundles.len();
        self.bundles.retain(|bundle| bundle.name != *name);
        self.bundles.len() < before
    }
}
