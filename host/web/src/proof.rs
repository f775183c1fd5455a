//! The proof that a person answers: a code of an authenticator, or a password.
//!
//! The agent runs as the same user, so a click proves nothing: it could send the same form. It
//! cannot read what only a person's phone or memory holds. The secret against which the proof is
//! checked stands in the home, whose files the review keeps from agents. It is as safe from a program
//! that evades the review as the journal's key is.

use anyhow::{Context, Result, anyhow, bail};
use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use data_encoding::BASE32_NOPAD;
use portcullis_fs::{SealError, SealedDocument};
use portcullis_store::Home;
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, PoisonError};
use totp_rs::{Builder, Totp};

const FILE: &str = "approver.json";
const PURPOSE: &str = "portcullis 2026 approver's proof";
const MOST_BYTES: u64 = 4096;
/// The bytes of an authenticator's secret.
const SECRET: usize = 20;
/// The fewest letters of a password.
pub const SHORTEST_PASSWORD: usize = 12;

/// The proof that a home's answers need.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProofSettings {
    /// None is set up: the page can deny, and allows nothing.
    #[default]
    Missing,
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
    /// A click is enough: the operator said so.
    Click,
}

impl ProofSettings {
    /// Makes settings with a new secret for an authenticator.
    ///
    /// # Errors
    /// Fails if the system gives no random bytes.
    pub fn new_code() -> Result<Self> {
        let mut bytes = [0; SECRET];
        getrandom::fill(&mut bytes).context("the system gives no random bytes")?;
        Ok(Self::Code { secret: BASE32_NOPAD.encode(&bytes) })
    }

    /// Makes settings with a password.
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

    /// Reads a home's settings.
    ///
    /// # Errors
    /// Fails if they were not written by this home.
    pub fn read(home: &Home) -> Result<Self> {
        let document = document(home);
        match document.read_content() {
            Ok(found) => Ok(found.unwrap_or_default()),
            Err(error @ SealError::Forged) => Err(error)
                .with_context(|| format!("`{}` does not count", document.path().display())),
            Err(error) => {
                Err(error).with_context(|| format!("cannot read `{}`", document.path().display()))
            }
        }
    }

    /// Writes a home's settings.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn write(&self, home: &Home) -> Result<()> {
        let document = document(home);
        let shown = || format!("cannot write `{}`", document.path().display());
        match self {
            Self::Missing => document.remove().map(drop).with_context(shown),
            _ => document.write_content(self).with_context(shown),
        }
    }

    /// Returns the address that an authenticator reads; `None` if there is no secret for one.
    #[must_use]
    pub fn authenticator_url(&self, account: &str) -> Option<String> {
        let Self::Code { secret } = self else { return None };
        let account: String =
            account.chars().filter(|letter| letter.is_ascii_alphanumeric()).collect();
        Some(format!("otpauth://totp/Portcullis:{account}?secret={secret}&issuer=Portcullis"))
    }

    /// Returns the words for how a person proved to be one, for the journal.
    #[must_use]
    pub const fn described(&self) -> &'static str {
        match self {
            Self::Missing => "a person on the page",
            Self::Code { .. } => "a person on the page, with a code of their authenticator",
            Self::Password { .. } => "a person on the page, with their password",
            Self::Click => "somebody on the page, with a click",
        }
    }
}

/// Checks proofs. It remembers the newest code, so that a code that was seen on its way is worth
/// nothing.
#[derive(Debug, Default)]
pub struct Prover {
    newest_step: Mutex<Option<u64>>,
}

impl Prover {
    /// Returns true if `proof` is one at a time (seconds since 1970).
    ///
    /// # Errors
    /// Fails if the settings are unusable.
    pub fn check(&self, settings: &ProofSettings, proof: &str, now: u64) -> Result<bool> {
        match settings {
            ProofSettings::Missing => Ok(false),
            ProofSettings::Click => Ok(true),
            ProofSettings::Password { hash } => {
                let hash = PasswordHash::new(hash)
                    .map_err(|error| anyhow!("the hash of the password is damaged: {error}"))?;
                Ok(Argon2::default().verify_password(proof.as_bytes(), &hash).is_ok())
            }
            ProofSettings::Code { secret } => {
                let Some(step) = authenticator(secret)?.check(proof.trim(), now) else {
                    return Ok(false);
                };
                let mut newest = self.newest_step.lock().unwrap_or_else(PoisonError::into_inner);
                if newest.is_some_and(|newest| step <= newest) {
                    return Ok(false);
                }
                *newest = Some(step);
                Ok(true)
            }
        }
    }
}

fn authenticator(secret: &str) -> Result<Totp> {
    let bytes = BASE32_NOPAD
        .decode(secret.as_bytes())
        .context("the secret of the authenticator is damaged")?;
    Builder::new()
        .with_secret(bytes)
        .build()
        .map_err(|error| anyhow!("the secret of the authenticator is unusable: {error}"))
}

fn document(home: &Home) -> SealedDocument {
    SealedDocument::new(home.path().join(FILE), home.derive_key(PURPOSE), MOST_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn code(settings: &ProofSettings, at: u64) -> String {
        let ProofSettings::Code { secret } = settings else { panic!("no code: {settings:?}") };
        authenticator(secret).unwrap().generate(at).to_string()
    }

    #[test]
    fn a_code_counts_once_and_only_for_its_time() {
        let settings = ProofSettings::new_code().unwrap();
        for (at, counts) in [(NOW, true), (NOW - 30, true), (NOW - 90, false), (NOW + 120, false)] {
            let prover = Prover::default();
            let proof = code(&settings, at);
            assert_eq!(prover.check(&settings, &proof, NOW).unwrap(), counts, "{at}");
            assert!(!prover.check(&settings, &proof, NOW).unwrap(), "used twice: {at}");
        }
        let prover = Prover::default();
        let (older, newer) = (code(&settings, NOW - 30), code(&settings, NOW));
        assert!(prover.check(&settings, &newer, NOW).unwrap());
        assert!(!prover.check(&settings, &older, NOW).unwrap(), "an older one that was seen");
        let other = ProofSettings::new_code().unwrap();
        assert!(!Prover::default().check(&other, &newer, NOW).unwrap(), "another secret");
    }

    #[test]
    fn only_the_password_counts() {
        let settings = ProofSettings::new_password("correct horse battery").unwrap();
        let prover = Prover::default();
        for (proof, counts) in [
            ("correct horse battery", true),
            ("correct horse batterx", false),
            ("", false),
            ("123456", false),
        ] {
            assert_eq!(prover.check(&settings, proof, NOW).unwrap(), counts, "{proof}");
        }
        assert!(ProofSettings::new_password("elevenchars").is_err());
    }

    #[test]
    fn nothing_counts_where_nothing_is_set_up() {
        for proof in ["", "000000", "anything"] {
            assert!(!Prover::default().check(&ProofSettings::Missing, proof, NOW).unwrap());
        }
    }

    #[test]
    fn settings_from_elsewhere_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_root(folder.path()).unwrap();
        assert_eq!(ProofSettings::read(&home).unwrap(), ProofSettings::Missing);
        let settings = ProofSettings::new_code().unwrap();
        settings.write(&home).unwrap();
        assert_eq!(ProofSettings::read(&home).unwrap(), settings);
        std::fs::write(home.path().join(FILE), r#"{"kind":"click"}"#).unwrap();
        assert!(ProofSettings::read(&home).is_err());
        ProofSettings::Missing.write(&home).unwrap();
        assert_eq!(ProofSettings::read(&home).unwrap(), ProofSettings::Missing);
    }
}
