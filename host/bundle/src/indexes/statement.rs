//! The signed content for an index of bundles: an in-toto statement about one artifact. Its type is
//! its own, so a signature of a bundle is none of an index, and vice versa.

use crate::digest::Digest;
use crate::display::display_line;
use crate::in_toto::InTotoStatement;
use serde::{Deserialize, Serialize};

/// The type of the predicate: the key's owner publishes this index.
const INDEX_RELEASE: &str = "urn:portcullis:index:release:v1";
/// The most bytes of a statement.
const MOST_BYTES: usize = 64 << 10;

/// A key's statement that an index is its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexStatement {
    /// The index's name in the statement.
    pub name: String,
    /// The digest of its artifact.
    pub digest: Digest,
}

/// The error for a text that is not a statement about an index.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not a statement about an index of bundles: {}", display_line(.0))]
pub struct IndexStatementError(String);

/// Serial and expiry are in the index itself, which the digest covers.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Predicate {}

impl IndexStatement {
    /// Returns its text.
    ///
    /// # Errors
    /// Fails only if JSON cannot be written to memory, which does not happen in practice.
    pub fn to_bytes(&self) -> Result<Vec<u8>, IndexStatementError> {
        let statement = InTotoStatement {
            name: self.name.clone(),
            digest: self.digest,
            says: INDEX_RELEASE.to_owned(),
            predicate: Predicate {},
        };
        statement.into_bytes().map_err(IndexStatementError)
    }

    /// Reads a text whose signature has been verified.
    ///
    /// # Errors
    /// Fails if it is another kind of statement, or has more than one subject.
    pub fn parse_statement(bytes: &[u8]) -> Result<Self, IndexStatementError> {
        let read: InTotoStatement<Predicate> =
            InTotoStatement::parse_statement(bytes, MOST_BYTES, &[INDEX_RELEASE])
                .map_err(IndexStatementError)?;
        Ok(Self { name: read.name, digest: read.digest })
    }
}
