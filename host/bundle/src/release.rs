//! A version of a program as its files: what was built, from which commit, and each file's digest.
//!
//! The text is an in-toto statement with SLSA's provenance 1.0, as `release/build` writes it. It is
//! signed like a statement about a bundle, and a key that signed one says nothing about the other:
//! each names its own type.

use crate::digest::Digest;
use crate::display::display_line;
use crate::document::parse_document;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The type of in-toto statements, and that of the provenance.
const STATEMENT: &str = "https://in-toto.io/Statement/v1";
const PROVENANCE: &str = "https://slsa.dev/provenance/v1";
/// The most bytes of a text.
const MOST_BYTES: usize = 1 << 20;

/// A version, as a signed statement describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// The version.
    pub version: String,
    /// The commit that it was built from.
    pub commit: String,
    /// The digest of each file, by name. A name has no folder.
    pub files: BTreeMap<String, Digest>,
}

/// The error for a text that is no statement about a release.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not a statement about a release: {}", display_line(.0))]
pub struct ReleaseError(String);

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "_type")]
    of: String,
    subject: Vec<Subject>,
    #[serde(rename = "predicateType")]
    says: String,
    predicate: Predicate,
}

#[derive(Deserialize)]
struct Subject {
    name: String,
    digest: Sha256,
}

#[derive(Deserialize)]
struct Sha256 {
    sha256: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Predicate {
    build_definition: BuildDefinition,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BuildDefinition {
    external_parameters: Parameters,
    resolved_dependencies: Vec<Material>,
}

#[derive(Deserialize)]
struct Parameters {
    version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Material {
    #[serde(default)]
    digest: BTreeMap<String, String>,
}

impl Release {
    /// Reads a statement.
    ///
    /// # Errors
    /// Fails if it says something else, names no commit, or names a file twice or with a folder.
    pub fn parse_statement(bytes: &[u8]) -> Result<Self, ReleaseError> {
        let wrong = |what: String| ReleaseError(what);
        let document: Document = parse_document(bytes, MOST_BYTES).map_err(wrong)?;
        if document.of != STATEMENT || document.says != PROVENANCE {
            return Err(wrong(format!("it says `{}`", document.says.escape_debug())));
        }
        let BuildDefinition { external_parameters, resolved_dependencies } =
            document.predicate.build_definition;
        let mut commits =
            resolved_dependencies.iter().filter_map(|material| material.digest.get("gitCommit"));
        let commit = commits.next().ok_or_else(|| wrong("it names no commit".to_owned()))?.clone();
        let mut files = BTreeMap::new();
        for Subject { name, digest } in document.subject {
            if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']) {
                return Err(wrong(format!("`{}` is not the name of a file", name.escape_debug())));
            }
            let digest = format!("sha256:{}", digest.sha256)
                .parse()
                .map_err(|error| wrong(format!("{error}")))?;
            if files.insert(name.clone(), digest).is_some() {
                return Err(wrong(format!("it names `{}` twice", name.escape_debug())));
            }
        }
        Ok(Self { version: external_parameters.version, commit, files })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SecretKey, Signature, SignatureError};
    use serde_json::{Value, json};

    fn statement(files: &[&str]) -> Value {
        let subject: Vec<Value> = files
            .iter()
            .map(|name| json!({ "name": name, "digest": { "sha256": "ab".repeat(32) } }))
            .collect();
        json!({
            "_type": STATEMENT, "subject": subject, "predicateType": PROVENANCE,
            "predicate": {
                "buildDefinition": {
                    "buildType": "https://example.org/v1",
                    "externalParameters": { "version": "1.2.3" },
                    "resolvedDependencies": [
                        { "name": "toolchain" },
                        { "name": "source", "digest": { "gitCommit": "c0ffee" } },
                    ],
                },
                "runDetails": {},
            },
        })
    }

    #[test]
    fn a_statement_names_version_commit_and_files() {
        let text = statement(&["a.tar.gz", "b.deb"]).to_string();
        let release = Release::parse_statement(text.as_bytes()).unwrap();
        assert_eq!((release.version.as_str(), release.commit.as_str()), ("1.2.3", "c0ffee"));
        assert_eq!(release.files.keys().collect::<Vec<_>>(), ["a.tar.gz", "b.deb"]);
    }

    #[test]
    fn other_texts_are_refused() {
        let change = |path: &str, value: Value| {
            let mut changed = statement(&["a"]);
            *changed.pointer_mut(path).unwrap() = value;
            changed
        };
        for (text, holds) in [
            (statement(&["a", "a"]), "names `a` twice"),
            (statement(&["../a"]), "not the name of a file"),
            (statement(&[".profile"]), "not the name of a file"),
            (statement(&[""]), "not the name of a file"),
            (change("/predicateType", json!("https://example.org/other")), "it says"),
            (change("/_type", json!("x")), "it says"),
            (change("/subject/0/digest/sha256", json!("xyz")), "statement about a release"),
            (
                change("/predicate/buildDefinition/resolvedDependencies", json!([])),
                "names no commit",
            ),
            (json!([]), "statement about a release"),
        ] {
            let error = Release::parse_statement(text.to_string().as_bytes()).unwrap_err();
            assert!(error.to_string().contains(holds), "{text}: {error}");
        }
    }

    #[test]
    fn only_the_key_that_signed_it_confirms_it() {
        let (key, other) = (SecretKey::of_seed(&[1; 32]), SecretKey::of_seed(&[2; 32]));
        let text = statement(&["a"]).to_string();
        let signature = Signature::sign_release(text.as_bytes(), &key).unwrap();
        let read = Signature::parse_envelope(signature.file()).unwrap();
        assert_eq!(read.verify_release(&key.public()).unwrap().version, "1.2.3");
        assert!(matches!(read.verify_release(&other.public()), Err(SignatureError::Wrong)));
        // It is not taken for a statement about a bundle.
        assert!(matches!(read.verify_statement(&key.public()), Err(SignatureError::Statement(_))));
        assert!(Signature::sign_release(b"{}", &key).is_err());
    }
}
