//! The people who may allow actions on the page, with what each proves it with.
//!
//! The agent runs as the same user, so a click proves nothing: it could send the same form. It
//! cannot read what only a person's phone, key or memory holds. What the proofs are checked against
//! stands in the home, whose files the review keeps from agents. It is as safe from a program that
//! evades the review as the journal's key is.

use anyhow::{Context, Result, anyhow, bail};
use argon2::Argon2;
use argon2::password_hash::PasswordHasher;
use data_encoding::BASE32_NOPAD;
use portcullis_config::clock::now_ms;
use portcullis_core::record::{Record, RecordKind};
use portcullis_fs::{SealError, SealedDocument};
use portcullis_review::stored_records::to_store;
use portcullis_store::{Durability, Home, Store};
use serde::{Deserialize, Serialize};

pub use crate::passkey::Passkey;

const FILE: &str = "approvers.json";
const PURPOSE: &str = "portcullis 2026 approvers";
const MOST_BYTES: u64 = 64 << 10;
/// The most proofs of all people.
const MOST_PROOFS: usize = 32;
/// The longest name of a person.
const LONGEST_NAME: usize = 32;
/// The bytes of an authenticator's secret.
const SECRET: usize = 20;
/// The fewest letters of a password.
pub const SHORTEST_PASSWORD: usize = 12;

/// A proof that a person has set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Proof {
    /// A code of six digits, new every 30 seconds, each used once.
    Code {
        /// The secret that the authenticator has, in base 32.
        secret: String,
    },
    /// A password.
    Password {
        /// Its hash, by Argon2id with a salt.
        hash: String,
    },
    /// A passkey: a key on a device that checks who its user is.
    Passkey(Passkey),
}

/// A person with their proofs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approver {
    /// Their name, as records have it.
    pub name: String,
    /// One of them is enough.
    pub proofs: Vec<Proof>,
}

/// The people who may allow actions on the page. Nobody means that the page allows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approvers {
    /// True if a click is enough: the operator said so.
    #[serde(default)]
    pub click: bool,
    /// The people, by name.
    #[serde(default)]
    pub people: Vec<Approver>,
}

impl Proof {
    /// Makes a new secret for an authenticator.
    ///
    /// # Errors
    /// Fails if the system gives no random bytes.
    pub fn new_code() -> Result<Self> {
        let mut bytes = [0; SECRET];
        getrandom::fill(&mut bytes).context("the system gives no random bytes")?;
        Ok(Self::Code { secret: BASE32_NOPAD.encode(&bytes) })
    }

    /// Makes a proof by a password.
    ///
    /// # Errors
    /// Fails if it has fewer than [`SHORTEST_PASSWORD`] letters, or the system gives no random bytes.
    pub fn new_password(password: &str) -> Result<Self> {
        if password.chars().count() < SHORTEST_PASSWORD {
            bail!("the password needs at least {SHORTEST_PASSWORD} letters");
        }
        let hash = Argon2::default().hash_password(password.as_bytes());
        let hash = hash.map_err(|error| anyhow!("cannot hash the password: {error}"))?;
        Ok(Self::Password { hash: hash.to_string() })
    }

    /// Returns the address that an authenticator reads; `None` if there is no secret for one.
    #[must_use]
    pub fn authenticator_url(&self, account: &str) -> Option<String> {
        let Self::Code { secret } = self else { return None };
        let account: String =
            account.chars().filter(|letter| letter.is_ascii_alphanumeric()).collect();
        Some(format!("otpauth://totp/Portcullis:{account}?secret={secret}&issuer=Portcullis"))
    }

    /// Returns `code`, `password` or `passkey`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Code { .. } => "code",
            Self::Password { .. } => "password",
            Self::Passkey(_) => "passkey",
        }
    }
}

impl Approvers {
    /// Reads those of a home.
    ///
    /// # Errors
    /// Fails if the file was not written by this home.
    pub fn read(home: &Home) -> Result<Self> {
        let document = document(home);
        match document.read_content() {
            Ok(approvers) => Ok(approvers.unwrap_or_default()),
            Err(error @ SealError::Forged) => Err(error)
                .with_context(|| format!("`{}` does not count", document.path().display())),
            Err(error) => {
                Err(error).with_context(|| format!("cannot read `{}`", document.path().display()))
            }
        }
    }

    /// Writes those of a home, and what has changed into its journal.
    ///
    /// # Errors
    /// Fails if the journal or the file cannot be written. Nothing counts that is not in the
    /// journal.
    pub fn write(&self, home: &Home, change: &str) -> Result<()> {
        let mut store = Store::open_database(home, Durability::Process)?;
        let at = now_ms();
        let record =
            Record::outside_session(RecordKind::Configuration, "approvers", change, at, change);
        store.append_records(vec![to_store(&record)])?;
        let document = document(home);
        let shown = || format!("cannot write `{}`", document.path().display());
        if *self == Self::default() {
            return document.remove().map(drop).with_context(shown);
        }
        document.write_content(self).with_context(shown)
    }

    /// Keeps the state of a passkey after its use. That is no change worth a record.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub(crate) fn keep_state(&mut self, home: &Home, used: &Passkey) -> Result<()> {
        let all = self.people.iter_mut().flat_map(|person| &mut person.proofs);
        for proof in all {
            match proof {
                Proof::Passkey(known) if known.id == used.id && known != used => {
                    known.clone_from(used);
                }
                _ => continue,
            }
            let document = document(home);
            let shown = || format!("cannot write `{}`", document.path().display());
            return document.write_content(self).with_context(shown);
        }
        Ok(())
    }

    /// Adds a proof of a person. A new code or password takes the place of the earlier one.
    ///
    /// # Errors
    /// Fails if there are too many, or the name is not one.
    pub fn add_proof(&mut self, name: &str, proof: Proof) -> Result<()> {
        check_name(name)?;
        let count: usize = self.people.iter().map(|person| person.proofs.len()).sum();
        if count >= MOST_PROOFS {
            bail!("there are {MOST_PROOFS} proofs already: remove those of somebody");
        }
        let at = match self.people.binary_search_by(|person| person.name.as_str().cmp(name)) {
            Ok(at) => at,
            Err(at) => {
                self.people.insert(at, Approver { name: name.to_owned(), proofs: Vec::new() });
                at
            }
        };
        if let Some(person) = self.people.get_mut(at) {
            let kind = proof.kind();
            person.proofs.retain(|old| old.kind() == "passkey" || old.kind() != kind);
            person.proofs.push(proof);
        }
        Ok(())
    }

    /// Removes a person; returns false if there is none of that name.
    pub fn remove_person(&mut self, name: &str) -> bool {
        let before = self.people.len();
        self.people.retain(|person| person.name != name);
        self.people.len() < before
    }

    /// Returns true if the page can allow nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.click && self.people.is_empty()
    }

    /// Returns true if somebody has a proof of that kind.
    #[must_use]
    pub fn has_kind(&self, kind: &str) -> bool {
        self.people.iter().flat_map(|person| &person.proofs).any(|proof| proof.kind() == kind)
    }
}

/// Checks a person's name.
///
/// # Errors
/// Fails if it is not one word of a usual length.
pub fn check_name(name: &str) -> Result<()> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "._-@".contains(letter);
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_letter) {
        bail!(
            "a person's name has up to {LONGEST_NAME} letters and digits, `.`, `_`, `-` and `@`, \
             and no spaces"
        );
    }
    Ok(())
}

fn document(home: &Home) -> SealedDocument {
    SealedDocument::new(home.path().join(FILE), home.derive_key(PURPOSE), MOST_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_from_elsewhere_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_root(folder.path()).unwrap();
        assert!(Approvers::read(&home).unwrap().is_empty());
        let mut approvers = Approvers::default();
        approvers.add_proof("ann", Proof::new_code().unwrap()).unwrap();
        approvers.write(&home, "ann has a code").unwrap();
        assert_eq!(Approvers::read(&home).unwrap(), approvers);
        std::fs::write(home.path().join(FILE), r#"{"click":true}"#).unwrap();
        assert!(Approvers::read(&home).is_err());
        Approvers::default().write(&home, "nobody").unwrap();
        assert!(Approvers::read(&home).unwrap().is_empty());
    }

    #[test]
    fn each_person_has_one_code_and_one_password() {
        let mut approvers = Approvers::default();
        for name in ["zoe", "ann", "zoe"] {
            approvers.add_proof(name, Proof::new_code().unwrap()).unwrap();
        }
        approvers.add_proof("ann", Proof::new_password("correct horse").unwrap()).unwrap();
        let kinds: Vec<(&str, Vec<&str>)> = approvers
            .people
            .iter()
            .map(|person| (person.name.as_str(), person.proofs.iter().map(Proof::kind).collect()))
            .collect();
        assert_eq!(kinds, [("ann", vec!["code", "password"]), ("zoe", vec!["code"])]);
        assert!(approvers.has_kind("password") && !approvers.has_kind("passkey"));
        assert!(approvers.remove_person("ann") && !approvers.remove_person("ann"));
        assert!(Proof::new_password("elevenchars").is_err());
        for name in ["", "a b", "a\nb", "<b>", &"x".repeat(33)] {
            assert!(approvers.add_proof(name, Proof::new_code().unwrap()).is_err(), "{name}");
        }
        for number in 0..MOST_PROOFS - 1 {
            approvers.add_proof(&format!("p{number}"), Proof::new_code().unwrap()).unwrap();
        }
        let error = approvers.add_proof("more", Proof::new_code().unwrap()).unwrap_err();
        assert!(error.to_string().contains("32 proofs"), "{error}");
    }
}
