//! The signed content: an in-toto statement about one index.

use crate::digest::Digest;
use crate::display::display_line;
use crate::in_toto::InTotoStatement;
use crate::index::BundleIndex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The predicate type of a release: the publisher claims the bundle.
const RELEASE: &str = "urn:portcullis:bundle:release:v1";
/// The predicate type of a vetting: a reviewer reports the results of trying the bundle.
const VETTING: &str = "urn:portcullis:bundle:vetting:v1";
/// The most bytes of a statement: the results of a vetting are a table, not a log.
const MOST_BYTES: usize = 1 << 20;

/// A key's statement about a bundle.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The bundle's name in the statement.
    pub name: String,
    /// The digest of the index that it is about.
    pub digest: Digest,
    /// The end of its validity, in milliseconds since 1970-01-01T00:00:00Z.
    pub expires: Option<u64>,
    /// The results of a vetting; `None` for the publisher's own statement.
    pub vetting: Option<Vetting>,
}

/// The results of somebody's evaluation of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vetting {
    /// The reviewer, in their own words.
    pub reviewer: String,
    /// The time, in milliseconds since 1970-01-01T00:00:00Z.
    pub at: u64,
    /// The results: verdicts, imports, resources.
    pub results: Value,
}

/// The error for a text that is not a statement about a bundle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not a statement about a bundle: {}", display_line(.0))]
pub struct StatementError(String);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Predicate {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vetting: Option<Vetting>,
}

impl Statement {
    /// Creates the statement that this index is the publisher's, or the results of vetting it.
    #[must_use]
    pub fn about_index(
        index: &BundleIndex,
        expires: Option<u64>,
        vetting: Option<Vetting>,
    ) -> Self {
        Self { name: index.about().name.to_string(), digest: index.digest(), expires, vetting }
    }

    /// Returns its text.
    ///
    /// # Errors
    /// Fails only if JSON cannot be written to memory, which does not happen in practice.
    pub fn to_bytes(&self) -> Result<Vec<u8>, StatementError> {
        let predicate = Predicate { expires: self.expires, vetting: self.vetting.clone() };
        let says = if self.vetting.is_some() { VETTING } else { RELEASE };
        let statement = InTotoStatement {
            name: self.name.clone(),
            digest: self.digest,
            says: says.to_owned(),
            predicate,
        };
        statement.into_bytes().map_err(StatementError)
    }

    /// Reads a text whose signature has been verified.
    ///
    /// # Errors
    /// Fails if it is another kind of statement, or has more than one subject.
    pub fn parse_statement(bytes: &[u8]) -> Result<Self, StatementError> {
        let wrong = |what: String| StatementError(what);
        let read: InTotoStatement<Predicate> =
            InTotoStatement::parse_statement(bytes, MOST_BYTES, &[RELEASE, VETTING])
                .map_err(wrong)?;
        let Predicate { expires, vetting } = read.predicate;
        if (read.says == VETTING) != vetting.is_some() {
            return Err(wrong("its declared type does not match its content".to_owned()));
        }
        Ok(Self { name: read.name, digest: read.digest, expires, vetting })
    }
}
