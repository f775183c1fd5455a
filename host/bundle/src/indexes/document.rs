//! The document of an index: what is offered, from where, and what is known of it.

use super::check::check_document;
use super::vettings::ListedVetting;
use crate::about::{About, Component, Plugin};
use crate::bundle::Bundle;
use crate::digest::Digest;
use crate::display::display_line;
use crate::document::parse_document;
use crate::envelope::Signature;
use crate::key::KeyId;
use crate::name::BundleName;
use semver::Version;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The format version that this program writes and reads.
const FORMAT: u32 = 1;
/// The most bytes of a document.
pub(super) const MOST_BYTES: usize = 4 << 20;

/// The document of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexDocument {
    /// The version of this format.
    pub format: u32,
    /// The name of the index, as of a bundle.
    pub name: BundleName,
    /// Its number, which only grows: a machine refuses one below the highest that it has seen.
    pub serial: u64,
    /// The time when it was made, in milliseconds since 1970-01-01T00:00:00Z.
    pub made: u64,
    /// The end of its validity, in milliseconds since 1970-01-01T00:00:00Z.
    pub expires: u64,
    /// The bundles, sorted by name, each once.
    pub bundles: Vec<ListedBundle>,
}

/// A bundle with the versions that are offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedBundle {
    /// Its name.
    pub name: BundleName,
    /// Its versions, the newest first, each once.
    pub versions: Vec<ListedVersion>,
}

/// A version of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedVersion {
    /// The version.
    pub version: Version,
    /// The digest of the bundle's own index, which covers all of it.
    pub digest: Digest,
    /// The registry and repository from which it is fetched.
    pub reference: String,
    /// Its purpose.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its licence, as an SPDX expression.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub licence: String,
    /// The location of its sources.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// What differs from the version before, in the publisher's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub change: String,
    /// Its plugins, in the bundle's order.
    pub plugins: Vec<ListedPlugin>,
    /// The grant lines that they request, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<String>,
    /// The publishers' signatures in its archive, as these name their keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<ListedSignature>,
    /// The vettings in its archive, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vettings: Vec<ListedVetting>,
    /// The reason why it was withdrawn, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yanked: Option<String>,
}

/// A plugin of a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedPlugin {
    /// Its name.
    pub name: String,
    /// `risk-calculator`, `pattern`, `intervention` or `audit-exporter`.
    pub kind: String,
    /// Its own version.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Its purpose.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The inputs that it uses: `action`, `context`, `history`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// The digest of the component that holds it.
    pub digest: Digest,
    /// The size of that component, in bytes.
    pub size: u64,
}

/// A signature, as it describes itself. It proves nothing: installing a bundle verifies the
/// signature itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedSignature {
    /// The id of the key that it names.
    pub key: KeyId,
    /// The end of its validity, in milliseconds since 1970-01-01T00:00:00Z.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

/// The reasons why bytes are not the document of an index.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexDocumentError {
    /// It is too long, not JSON, or has an unknown field.
    #[error("it is not an index of bundles: {}", display_line(.0))]
    Malformed(String),
    /// It was written by a later version.
    #[error("it has format {0}, this version reads {FORMAT}: update portcullis")]
    Later(u32),
    /// It contradicts itself, or exceeds a bound.
    #[error("{}", display_line(.0))]
    Inconsistent(String),
}

/// The format version, which is read first: nothing else of a later format is understood.
#[derive(Deserialize)]
struct Form {
    format: u32,
}

impl IndexDocument {
    /// Creates a document, and sorts bundles and versions.
    ///
    /// # Errors
    /// Fails if something is listed twice, is too long or is not one line of text.
    pub fn new(
        name: BundleName,
        serial: u64,
        made: u64,
        expires: u64,
        mut bundles: Vec<ListedBundle>,
    ) -> Result<Self, IndexDocumentError> {
        bundles.sort_by(|a, b| a.name.cmp(&b.name));
        for bundle in &mut bundles {
            bundle.versions.sort_by(|a, b| b.version.cmp(&a.version));
        }
        let document = Self { format: FORMAT, name, serial, made, expires, bundles };
        check_document(&document).map_err(IndexDocumentError::Inconsistent)?;
        Ok(document)
    }

    /// Reads a document; `bytes` are all of it.
    ///
    /// # Errors
    /// Fails if it is not one, or contradicts itself.
    pub fn parse_document(bytes: &[u8]) -> Result<Self, IndexDocumentError> {
        let Form { format } =
            parse_document(bytes, MOST_BYTES).map_err(IndexDocumentError::Malformed)?;
        if format > FORMAT {
            return Err(IndexDocumentError::Later(format));
        }
        let document: Self =
            parse_document(bytes, MOST_BYTES).map_err(IndexDocumentError::Malformed)?;
        check_document(&document).map_err(IndexDocumentError::Inconsistent)?;
        Ok(document)
    }

    /// Returns its text, which is the same for the same content.
    ///
    /// # Errors
    /// Fails if it is longer than what is read.
    pub fn to_bytes(&self) -> Result<Vec<u8>, IndexDocumentError> {
        let bytes = serde_json::to_vec(self)
            .map_err(|error| IndexDocumentError::Malformed(error.to_string()))?;
        if bytes.len() > MOST_BYTES {
            return Err(IndexDocumentError::Inconsistent(format!(
                "it has {} bytes, at most {MOST_BYTES} are read; list fewer versions",
                bytes.len()
            )));
        }
        Ok(bytes)
    }

    /// Returns the bundle of that name.
    #[must_use]
    pub fn find_bundle(&self, name: &BundleName) -> Option<&ListedBundle> {
        self.bundles.iter().find(|bundle| bundle.name == *name)
    }
}

impl ListedBundle {
    /// Returns that version.
    #[must_use]
    pub fn find_version(&self, version: &Version) -> Option<&ListedVersion> {
        self.versions.iter().find(|listed| listed.version == *version)
    }

    /// Returns the newest version that is neither withdrawn nor a pre-release.
    #[must_use]
    pub fn newest_version(&self) -> Option<&ListedVersion> {
        self.versions.iter().find(|listed| listed.yanked.is_none() && listed.version.pre.is_empty())
    }
}

impl ListedVersion {
    /// Describes a bundle from its archive. `reads` returns the inputs of a plugin, which only its
    /// component says; everything else is in the bundle's own description and in the statements
    /// that were made about exactly this bundle.
    #[must_use]
    pub fn of_bundle(
        bundle: &Bundle,
        signatures: &[Signature],
        reference: String,
        reads: impl Fn(&Component, &Plugin) -> Vec<String>,
    ) -> Self {
        let About { name, version, description, licence, source, components } = bundle.about();
        let digest = bundle.index().digest();
        let plugin = |(component, plugin): (&Component, &Plugin)| ListedPlugin {
            name: plugin.name.clone(),
            kind: plugin.kind.clone(),
            version: plugin.version.clone(),
            description: plugin.description.clone(),
            reads: reads(component, plugin),
            digest: component.digest,
            size: component.size,
        };
        let grants: BTreeSet<&String> =
            components.iter().flat_map(|component| &component.wants.grants).collect();
        let (mut signed, mut vettings) = (BTreeSet::new(), Vec::new());
        for signature in signatures {
            let Ok(statement) = signature.unverified_statement() else { continue };
            let Ok(key) = signature.hint().parse::<KeyId>() else { continue };
            if statement.digest != digest || statement.name != name.as_str() {
                continue;
            }
            match ListedVetting::of_statement(&statement, key) {
                Some(vetting) => vettings.push(vetting),
                None => drop(signed.insert(ListedSignature { key, expires: statement.expires })),
            }
        }
        vettings.sort_by(|a, b| (a.at, a.key, &a.reviewer).cmp(&(b.at, b.key, &b.reviewer)));
        vettings.dedup();
        Self {
            version: version.clone(),
            digest,
            reference,
            description: description.clone(),
            licence: licence.clone(),
            source: source.clone(),
            change: String::new(),
            plugins: bundle.about().plugins().map(plugin).collect(),
            grants: grants.into_iter().cloned().collect(),
            signatures: signed.into_iter().collect(),
            vettings,
            yanked: None,
        }
    }

    /// Checks that a bundle is the listed one, and that the index describes it as it is. The
    /// signatures may be others: more may have been added since.
    ///
    /// # Errors
    /// Says what differs.
    pub fn check_bundle(&self, name: &BundleName, bundle: &Bundle) -> Result<(), String> {
        let (about, digest) = (bundle.about(), bundle.index().digest());
        if digest != self.digest {
            return Err(format!("the index lists {}, and this is {digest}", self.digest));
        }
        if (&about.name, &about.version) != (name, &self.version) {
            return Err(format!(
                "the index lists {digest} as `{name} {}`, and it is `{} {}`",
                self.version, about.name, about.version
            ));
        }
        let found = Self::of_bundle(bundle, &[], self.reference.clone(), |_, plugin| {
            // Only the component says what a plugin reads, and nothing is decided by it.
            let listed = self.plugins.iter().find(|listed| listed.name == plugin.name);
            listed.map(|listed| listed.reads.clone()).unwrap_or_default()
        });
        let differs = [
            ("plugins", self.plugins != found.plugins),
            ("grants", self.grants != found.grants),
            ("description", self.description != found.description),
            ("licence", self.licence != found.licence),
            ("source", self.source != found.source),
        ];
        match differs.iter().find(|(_, differs)| *differs) {
            Some((what, _)) => {
                Err(format!("the index gives `{name} {}` another {what} than it has", self.version))
            }
            None => Ok(()),
        }
    }
}
