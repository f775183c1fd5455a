//! The entry of a trust policy for an index of bundles, and the judgement of an index by it.

use super::artifact::IndexArtifact;
use super::statement::IndexStatement;
use crate::digest::Digest;
use crate::envelope::Signature;
use crate::judgement::{Judgement, Requirement};
use crate::key::PublicKey;
use crate::name::{BundleName, NameScope};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// An index that a policy names.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustedIndex {
    name: BundleName,
    signers: Vec<String>,
    names: Vec<NameScope>,
    source: IndexSource,
}

/// The place from which an index is fetched.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum IndexSource {
    /// An archive on this machine, or a folder with an index and the archives of its bundles.
    Path(PathBuf),
    /// A repository of a registry, with an optional tag.
    Registry(String),
}

/// An index to be judged.
#[derive(Clone, Copy, Debug)]
pub struct CandidateIndex<'a> {
    /// Its artifact.
    pub artifact: &'a IndexArtifact,
    /// Its signatures.
    pub signatures: &'a [Signature],
    /// The newest index of that name that this machine has accepted, if it has any.
    pub seen: Option<SeenIndex>,
    /// The current time, in milliseconds since 1970-01-01T00:00:00Z.
    pub now: u64,
}

/// An index that a machine has accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeenIndex {
    /// Its number.
    pub serial: u64,
    /// The digest of its artifact.
    pub digest: Digest,
}

impl TryFrom<String> for IndexSource {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.starts_with('/') {
            return Ok(Self::Path(PathBuf::from(text)));
        }
        if text.starts_with(['.', '~']) || !text.contains('/') {
            return Err(format!(
                "the source `{}` is neither a repository, as in `ghcr.io/acme/index`, nor a path \
                 that begins with `/`",
                text.escape_debug()
            ));
        }
        Ok(Self::Registry(text))
    }
}

impl TrustedIndex {
    /// Returns the name of the index.
    #[must_use]
    pub const fn name(&self) -> &BundleName {
        &self.name
    }

    /// Returns the place from which it is fetched.
    #[must_use]
    pub const fn source(&self) -> &IndexSource {
        &self.source
    }

    /// Returns the names that it may list.
    #[must_use]
    pub fn scopes(&self) -> &[NameScope] {
        &self.names
    }

    /// Returns true if the index may list that bundle.
    #[must_use]
    pub fn may_list(&self, name: &BundleName) -> bool {
        self.names.iter().any(|scope| scope.holds_for(name))
    }

    /// Checks that the policy has its keys; the error says what is wrong.
    pub(crate) fn check_keys(&self, keys: &BTreeMap<String, PublicKey>) -> Result<(), String> {
        let name = &self.name;
        if self.signers.is_empty() || self.names.is_empty() {
            return Err(format!(
                "the index `{name}` needs `signers` and `names`: without them it would be \
                 anybody's, or list nothing"
            ));
        }
        match self.signers.iter().find(|signer| !keys.contains_key(*signer)) {
            Some(unknown) => Err(format!(
                "the index `{name}` names the key `{unknown}`, which this policy does not have"
            )),
            None => Ok(()),
        }
    }
}

/// Judges an index by the policy's entry for it, with the policy's keys and those that are revoked.
pub(crate) fn judge_index(
    entry: &TrustedIndex,
    keys: &BTreeMap<String, PublicKey>,
    revoked: &[PublicKey],
    subject: &CandidateIndex<'_>,
) -> Judgement {
    let document = subject.artifact.document();
    let requirement = |what: String, met| Requirement { what, met };
    let is_named = document.name == entry.name;
    let named = requirement(
        format!("it is the index `{}`", entry.name),
        if is_named {
            Ok(document.name.to_string())
        } else {
            Err(format!("it is `{}`", document.name))
        },
    );
    let signers: Vec<String> = entry.signers.iter().map(|name| format!("`{name}`")).collect();
    let theirs = entry.signers.iter().filter_map(|name| Some((name, keys.get(name)?)));
    let theirs = theirs.filter(|(_, public)| !revoked.contains(public)).collect::<Vec<_>>();
    let signed = requirement(
        format!("signed by {}", signers.join(" or ")),
        find_signer(&entry.name, &theirs, subject),
    );
    let stranger = document.bundles.iter().find(|bundle| !entry.may_list(&bundle.name));
    let scopes: Vec<String> = entry.names.iter().map(|scope| format!("`{scope}`")).collect();
    let within = requirement(
        format!("lists nothing but {}", scopes.join(" and ")),
        match stranger {
            Some(bundle) => Err(format!("it lists `{}`", bundle.name)),
            None => Ok(format!("{} bundles", document.bundles.len())),
        },
    );
    let requirements = vec![
        named,
        signed,
        within,
        requirement(
            "in its time".to_owned(),
            check_time(document.made, document.expires, subject.now),
        ),
        requirement("no older than the index seen before".to_owned(), check_serial(subject)),
    ];
    Judgement { requirements, until: Some(document.expires) }
}

/// Returns the first key that signed exactly this index under its name.
fn find_signer(
    name: &BundleName,
    keys: &[(&String, &PublicKey)],
    subject: &CandidateIndex<'_>,
) -> Result<String, String> {
    let digest = subject.artifact.digest();
    let statements = |public: &PublicKey| -> Vec<IndexStatement> {
        subject.signatures.iter().filter_map(|one| one.verify_index(public).ok()).collect()
    };
    let all: Vec<(&String, IndexStatement)> = keys
        .iter()
        .flat_map(|(key, public)| statements(public).into_iter().map(|said| (*key, said)))
        .collect();
    let this = |said: &IndexStatement| said.digest == digest && said.name == name.as_str();
    match all.iter().find(|(_, said)| this(said)) {
        Some((key, _)) => Ok((*key).clone()),
        None if all.is_empty() => Err("none of them signed it as an index".to_owned()),
        None => Err("they signed another index, not this one".to_owned()),
    }
}

fn check_time(made: u64, expires: u64, now: u64) -> Result<String, String> {
    if made > now {
        return Err("it is dated in the future".to_owned());
    }
    if expires <= now {
        return Err(format!("it expired {} ago", time_in_words(now - expires)));
    }
    Ok(format!("it expires in {}", time_in_words(expires - now)))
}

fn check_serial(subject: &CandidateIndex<'_>) -> Result<String, String> {
    let serial = subject.artifact.document().serial;
    match subject.seen {
        Some(seen) if serial < seen.serial => {
            Err(format!("it has the serial {serial}, and this machine has seen {}", seen.serial))
        }
        Some(seen) if serial == seen.serial && subject.artifact.digest() != seen.digest => {
            Err(format!(
                "it has the serial {serial} and other bytes than the one that this machine has seen"
            ))
        }
        _ => Ok(format!("its serial is {serial}")),
    }
}

/// Formats a time in its largest unit.
fn time_in_words(milliseconds: u64) -> String {
    let minutes = milliseconds / 60_000;
    let (count, unit) = match minutes {
        2880.. => (minutes / 1440, "day"),
        120.. => (minutes / 60, "hour"),
        _ => (minutes, "minute"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}
