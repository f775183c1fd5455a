//! The signed content: an in-toto statement about one index.

use crate::digest::Digest;
use crate::display::display_line;
use crate::document::parse_document;
use crate::index::BundleIndex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The type of an in-toto statement.
const STATEMENT: &str = "https://in-toto.io/Statement/v1";
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
struct Document {
    #[serde(rename = "_type")]
    of: String,
    subject: Vec<Subject>,
    #[serde(rename = "predicateType")]
    says: String,
    predicate: Predicate,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Subject {
    name: String,
    digest: Sha256,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sha256 {
    sha256: String,
}

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
        let document = Document {
            of: STATEMENT.to_owned(),
            subject: vec![Subject {
                name: self.name.clone(),
                digest: Sha256 { sha256: self.digest.hex() },
            }],
            says: if self.vetting.is_some() { VETTING } else { RELEASE }.to_owned(),
            predicate: Predicate { expires: self.expires, vetting: self.vetting.clone() },
        };
        serde_json::to_vec(&document).map_err(|error| StatementError(error.to_string()))
    }

    /// Reads a text whose signature has been verified.
    ///
    /// # Errors
    /// Fails if it is another kind of statement, or has more than one subject.
    pub fn parse_statement(bytes: &[u8]) -> Result<Self, StatementError> {
        let wrong = |what: String| StatementError(what);
        let document: Document = parse_document(bytes, MOST_BYTES).map_err(wrong)?;
        if document.of != STATEMENT {
            return Err(wrong(format!("its type is `{}`", document.of.escape_debug())));
        }
        let vets = match document.says.as_str() {
            RELEASE => false,
            VETTING => true,
            other => return Err(wrong(format!("it says `{}`", other.escape_debug()))),
        };
        let Predicate { expires, vetting } = document.predicate;
        if vets != vetting.is_some() {
            return Err(wrong("its declared type does not match its content".to_owned()));
        }
        let [subject] = <[Subject; 1]>::try_from(document.subject)
            .map_err(|all| wrong(format!("it is about {} things", all.len())))?;
        let digest = format!("sha256:{}", subject.digest.sha256)
            .parse()
            .map_err(|error| wrong(format!("{error}")))?;
        Ok(Self { name: subject.name, digest, expires, vetting })
    }
}
