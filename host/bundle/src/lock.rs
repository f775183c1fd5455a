//! `portcullis.lock`: which bundles a project runs, to the byte.
//!
//! A line of it never brings anything in: what it names has to be installed, and trusted, all the same. It says which of
//! all that is so is meant, so that a thousand machines run one set; where it and what is installed differ, nothing is
//! loaded in its place.

use crate::about::{About, Component};
use crate::bundle::Bundle;
use crate::digest::Digest;
use crate::key::KeyId;
use crate::name::Name;
use crate::shown::shown;
use crate::toml_text::{self, Wrong};
use semver::Version;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// The form of the file that this version writes and reads.
const FORMAT: u32 = 1;
/// Bytes of a lock.
const MOST_BYTES: usize = 1 << 20;

/// The file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lock {
    /// The bundles, by name.
    bundles: Vec<Locked>,
}

/// One bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locked {
    /// Its name.
    pub name: Name,
    /// Its version.
    pub version: Version,
    /// Of its index.
    pub digest: Digest,
    /// Where it is from; none for an archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Who signed and vetted it, as it was trusted when it was locked.
    pub signers: Vec<KeyId>,
    /// Its components.
    #[serde(rename = "component")]
    pub components: Vec<LockedComponent>,
}

/// One component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedComponent {
    /// Of its bytes.
    pub digest: Digest,
    /// The plugins in it.
    pub plugins: Vec<String>,
    /// What it may ask for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<String>,
}

/// Why a lock cannot be used, or does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// No lock, or one with a field that nobody knows.
    #[error("line {line}: {what}")]
    Malformed {
        /// From 1.
        line: usize,
        /// What is wrong there.
        what: String,
    },
    /// Written by a later version.
    #[error("it has form {0}, this version reads {FORMAT}: update portcullis, or lock again")]
    Later(u32),
    /// It says something twice.
    #[error("{}", shown(.0))]
    Inconsistent(String),
    /// The bundle is not the one that is locked.
    #[error("`{name}` is locked as {locked}, and this is {found}: `portcullis bundle update` shows what would change")]
    Other {
        /// Its name.
        name: String,
        /// What the lock says.
        locked: String,
        /// What it is.
        found: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: u32,
    #[serde(default)]
    bundle: Vec<Locked>,
}

/// The form alone, which is read first: of a later one nothing else is understood.
#[derive(Deserialize)]
struct Form {
    format: Option<u32>,
}

impl Locked {
    /// The line for a bundle.
    #[must_use]
    pub fn of(bundle: &Bundle, from: Option<String>, signers: Vec<KeyId>) -> Self {
        let About { name, version, components, .. } = bundle.about();
        let digest = bundle.index().digest();
        Self { name: name.clone(), version: version.clone(), digest, from, signers, components: components.iter().map(locked).collect() }
    }

    /// Whether this is the bundle that is meant, with all of its components and no wider wishes.
    ///
    /// # Errors
    /// What differs.
    pub fn holds(&self, bundle: &Bundle) -> Result<(), LockError> {
        let other = |locked: String, found: String| Err(LockError::Other { name: self.name.to_string(), locked, found });
        let (about, digest) = (bundle.about(), bundle.index().digest());
        if digest != self.digest {
            return other(format!("{} ({})", self.version, self.digest), format!("{} {} ({digest})", about.name, about.version));
        }
        // The digest decides; what else the line says is what people read, so it may not say something else.
        if (&about.name, &about.version) != (&self.name, &self.version) {
            return other(self.version.to_string(), format!("{} {}", about.name, about.version));
        }
        let found: Vec<LockedComponent> = about.components.iter().map(locked).collect();
        match self.components.iter().zip(&found).find(|(locked, found)| locked != found) {
            Some((locked, found)) => other(locked.to_string(), found.to_string()),
            None if self.components.len() != found.len() => {
                let count = |components: usize| format!("a bundle of {components} component{}", if components == 1 { "" } else { "s" });
                other(count(self.components.len()), count(found.len()))
            }
            None => Ok(()),
        }
    }
}

impl fmt::Display for LockedComponent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grants = if self.grants.is_empty() { "no grant".to_owned() } else { self.grants.join(", ") };
        write!(f, "the component of {} ({}), which asks for {grants}", self.plugins.join(", "), self.digest)
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
    /// It is none, or contradicts itself.
    pub fn read(text: &str) -> Result<Self, LockError> {
        let malformed = |Wrong { line, what }| LockError::Malformed { line, what };
        if text.len() > MOST_BYTES {
            return Err(LockError::Malformed { line: 1, what: format!("it has {} bytes, at most {MOST_BYTES} are read", text.len()) });
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
            if let Some(twice) = bundle.components.iter().flat_map(|component| &component.plugins).find(|plugin| !plugins.insert(*plugin)) {
                return Err(LockError::Inconsistent(format!("the plugin `{twice}` is locked twice")));
            }
        }
        Ok(Self { bundles: document.bundle })
    }

    /// Its text: the same for the same bundles, whatever the order in which they came.
    ///
    /// # Errors
    /// Never in practice: writing TOML into memory failed.
    pub fn to_text(&self) -> Result<String, LockError> {
        let document = Document { format: FORMAT, bundle: self.bundles.clone() };
        let text = toml::to_string(&document).map_err(|error| LockError::Inconsistent(error.to_string()))?;
        Ok(format!("# Written by `portcullis bundle`. Not for editing: what it says is held against what is installed.\n{text}"))
    }

    /// The bundles, by name.
    #[must_use]
    pub fn bundles(&self) -> &[Locked] {
        &self.bundles
    }

    /// The line of that bundle.
    #[must_use]
    pub fn bundle(&self, name: &Name) -> Option<&Locked> {
        self.bundles.iter().find(|bundle| bundle.name == *name)
    }

    /// Puts a bundle in, in place of one of its name.
    pub fn put(&mut self, bundle: Locked) {
        self.bundles.retain(|other| other.name != bundle.name);
        self.bundles.push(bundle);
        self.bundles.sort_by(|a, b| a.name.cmp(&b.name));
    }

    /// Takes a bundle out; whether it was in.
    pub fn remove(&mut self, name: &Name) -> bool {
        let before = self.bundles.len();
        self.bundles.retain(|bundle| bundle.name != *name);
        self.bundles.len() < before
    }
}
