//! in-toto statements about one subject. The predicate is the caller's.

use crate::digest::Digest;
use crate::document::parse_document;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The type of an in-toto statement.
const STATEMENT: &str = "https://in-toto.io/Statement/v1";

/// A statement about one subject.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InTotoStatement<P> {
    /// The subject's name.
    pub(crate) name: String,
    /// The subject's digest.
    pub(crate) digest: Digest,
    /// The type of the predicate, which says what is stated.
    pub(crate) says: String,
    /// The predicate.
    pub(crate) predicate: P,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<P> {
    #[serde(rename = "_type")]
    of: String,
    subject: Vec<Subject>,
    #[serde(rename = "predicateType")]
    says: String,
    predicate: P,
}

/// The type alone, which is read first: the predicate of another type has other fields.
#[derive(Deserialize)]
struct PredicateType {
    #[serde(rename = "predicateType")]
    says: String,
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

impl<P: Serialize + DeserializeOwned> InTotoStatement<P> {
    /// Returns its text.
    ///
    /// # Errors
    /// Fails only if JSON cannot be written to memory, which does not happen in practice.
    pub(crate) fn into_bytes(self) -> Result<Vec<u8>, String> {
        let digest = Sha256 { sha256: self.digest.hex() };
        let document = Document {
            of: STATEMENT.to_owned(),
            subject: vec![Subject { name: self.name, digest }],
            says: self.says,
            predicate: self.predicate,
        };
        serde_json::to_vec(&document).map_err(|error| error.to_string())
    }

    /// Reads a text of at most `most` bytes that has one of these types.
    ///
    /// # Errors
    /// Says what is wrong with it: it states something else, or has more than one subject.
    pub(crate) fn parse_statement(
        bytes: &[u8],
        most: usize,
        types: &[&str],
    ) -> Result<Self, String> {
        let PredicateType { says } = parse_document(bytes, most)?;
        if !types.contains(&says.as_str()) {
            return Err(format!("it says `{}`", says.escape_debug()));
        }
        let document: Document<P> = parse_document(bytes, most)?;
        if document.of != STATEMENT {
            return Err(format!("its type is `{}`", document.of.escape_debug()));
        }
        let [subject] = <[Subject; 1]>::try_from(document.subject)
            .map_err(|all| format!("it is about {} things", all.len()))?;
        let digest = format!("sha256:{}", subject.digest.sha256)
            .parse()
            .map_err(|error| format!("{error}"))?;
        Ok(Self { name: subject.name, digest, says, predicate: document.predicate })
    }
}
