//! Checks the proof of a person who allows an action.

use crate::passkey::Challenges;
use crate::people::{Approvers, Passkey, Proof};
use anyhow::{Context, Result, anyhow};
use argon2::Argon2;
use argon2::password_hash::PasswordVerifier;
use argon2::password_hash::phc::PasswordHash;
use data_encoding::BASE32_NOPAD;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use totp_rs::{Builder, Totp};

/// Checks proofs. It remembers each person's newest code, so that a code that was seen on its way is
/// worth nothing.
#[derive(Debug, Default)]
pub struct Prover {
    newest_steps: Mutex<HashMap<String, u64>>,
    challenges: Mutex<Challenges>,
}

/// A person who proved to be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvedPerson {
    /// Their name; `None` after a click, which could be anybody's.
    pub name: Option<String>,
    /// The words for the journal.
    pub described: String,
    /// The passkey that they used, in the state that it has now.
    pub passkey: Option<Passkey>,
}

/// The purpose of a proof, and the page that asks for it.
#[derive(Clone, Copy, Debug)]
pub struct ProofContext<'a> {
    /// The page's host without its port.
    pub domain: &'a str,
    /// The page's origin.
    pub origin: &'a str,
    /// The one answer that a passkey signs: a text that no other answer has.
    pub purpose: &'a str,
    /// Seconds since 1970.
    pub now: u64,
}

impl Prover {
    /// Returns the person whose proof it is; `None` if it is nobody's.
    ///
    /// # Errors
    /// Fails if what it is checked against is damaged.
    pub fn check(
        &self,
        approvers: &Approvers,
        proof: &str,
        context: ProofContext<'_>,
    ) -> Result<Option<ProvedPerson>> {
        if proof.starts_with('{') {
            return self.check_passkey(approvers, proof, context);
        }
        for person in &approvers.people {
            for known in &person.proofs {
                let how = match known {
                    Proof::Code { secret } => {
                        if !self.check_code(&person.name, secret, proof.trim(), context.now)? {
                            continue;
                        }
                        "with a code of their authenticator"
                    }
                    Proof::Password { hash } => {
                        let hash = PasswordHash::new(hash).map_err(|error| {
                            anyhow!("the hash of a password is damaged: {error}")
                        })?;
                        if Argon2::default().verify_password(proof.as_bytes(), &hash).is_err() {
                            continue;
                        }
                        "with their password"
                    }
                    Proof::Passkey(_) => continue,
                };
                return Ok(Some(ProvedPerson::named(&person.name, how)));
            }
        }
        Ok((approvers.click && proof.is_empty()).then(|| ProvedPerson {
            name: None,
            described: "somebody on the page, with a click".to_owned(),
            passkey: None,
        }))
    }

    /// Makes the options with which a browser lets a passkey sign, as JSON.
    ///
    /// # Errors
    /// Fails if the page's name cannot have passkeys.
    pub fn begin_passkey(&self, domain: &str, purpose: String) -> Result<String> {
        lock(&self.challenges).begin_proof(domain, purpose)
    }

    /// Makes the options with which a browser creates a passkey for a person, as JSON.
    ///
    /// # Errors
    /// Fails if the name cannot be used.
    pub fn begin_enrollment(&self, domain: &str, name: &str) -> Result<String> {
        lock(&self.challenges).begin_enrollment(domain, name)
    }

    /// Takes a passkey that a browser created, with the name of its person.
    ///
    /// # Errors
    /// Fails if nobody asked for it, or it does not count.
    pub fn finish_enrollment(
        &self,
        domain: &str,
        origin: &str,
        created: &str,
    ) -> Result<(String, Passkey)> {
        lock(&self.challenges).finish_enrollment(domain, origin, created)
    }

    fn check_passkey(
        &self,
        approvers: &Approvers,
        proof: &str,
        context: ProofContext<'_>,
    ) -> Result<Option<ProvedPerson>> {
        let of_person = |proofs: &'_ [Proof], id: &str| {
            proofs.iter().any(|proof| matches!(proof, Proof::Passkey(key) if key.id == id))
        };
        let passkeys = approvers.people.iter().flat_map(|person| &person.proofs);
        let passkeys = passkeys.filter_map(|proof| match proof {
            Proof::Passkey(passkey) => Some(passkey),
            _ => None,
        });
        let ProofContext { domain, origin, purpose, .. } = context;
        let used = lock(&self.challenges).check_proof(domain, origin, purpose, proof, passkeys)?;
        let Some(used) = used else { return Ok(None) };
        let person = approvers.people.iter().find(|person| of_person(&person.proofs, &used.id));
        Ok(person.map(|person| ProvedPerson {
            passkey: Some(used),
            ..ProvedPerson::named(&person.name, "with a passkey")
        }))
    }

    fn check_code(&self, name: &str, secret: &str, code: &str, now: u64) -> Result<bool> {
        let Some(step) = authenticator(secret)?.check(code, now) else { return Ok(false) };
        let mut newest = lock(&self.newest_steps);
        if newest.get(name).is_some_and(|newest| step <= *newest) {
            return Ok(false);
        }
        newest.insert(name.to_owned(), step);
        Ok(true)
    }
}

impl ProvedPerson {
    fn named(name: &str, how: &str) -> Self {
        let described = format!("{name} on the page, {how}");
        Self { name: Some(name.to_owned()), described, passkey: None }
    }
}

fn authenticator(secret: &str) -> Result<Totp> {
    let bytes = BASE32_NOPAD
        .decode(secret.as_bytes())
        .context("the secret of an authenticator is damaged")?;
    Builder::new()
        .with_secret(bytes)
        .build()
        .map_err(|error| anyhow!("the secret of an authenticator is unusable: {error}"))
}

/// Locks a value. A panic leaves none half-changed.
fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn context(now: u64) -> ProofContext<'static> {
        let (domain, origin) = ("portcullis.localhost", "http://portcullis.localhost:4747");
        ProofContext { domain, origin, purpose: "a", now }
    }

    fn with(proofs: &[(&str, Proof)]) -> Approvers {
        let mut approvers = Approvers::default();
        for (name, proof) in proofs {
            approvers.add_proof(name, proof.clone()).unwrap();
        }
        approvers
    }

    fn code(proof: &Proof, at: u64) -> String {
        let Proof::Code { secret } = proof else { panic!("no code: {proof:?}") };
        authenticator(secret).unwrap().generate(at).to_string()
    }

    fn name(prover: &Prover, approvers: &Approvers, proof: &str, now: u64) -> Option<String> {
        prover.check(approvers, proof, context(now)).unwrap()?.name
    }

    #[test]
    fn a_code_counts_once_and_only_for_its_time() {
        let proof = Proof::new_code().unwrap();
        let approvers = with(&[("ann", proof.clone())]);
        for (at, counts) in [(NOW, true), (NOW - 30, true), (NOW - 90, false), (NOW + 120, false)] {
            let (prover, code) = (Prover::default(), code(&proof, at));
            assert_eq!(name(&prover, &approvers, &code, NOW).is_some(), counts, "{at}");
            assert_eq!(name(&prover, &approvers, &code, NOW), None, "used twice: {at}");
        }
        let prover = Prover::default();
        let (older, newer) = (code(&proof, NOW - 30), code(&proof, NOW));
        assert!(name(&prover, &approvers, &newer, NOW).is_some());
        assert_eq!(name(&prover, &approvers, &older, NOW), None, "an older one that was seen");
    }

    #[test]
    fn a_proof_tells_whose_it_is() {
        let codes = [Proof::new_code().unwrap(), Proof::new_code().unwrap()];
        let password = Proof::new_password("correct horse battery").unwrap();
        let approvers =
            with(&[("ann", codes[0].clone()), ("ann", password), ("zoe", codes[1].clone())]);
        let prover = Prover::default();
        for (proof, expected) in [
            (code(&codes[1], NOW), Some("zoe")),
            (code(&codes[0], NOW), Some("ann")),
            ("correct horse battery".to_owned(), Some("ann")),
            ("correct horse batterx".to_owned(), None),
            (code(&Proof::new_code().unwrap(), NOW), None),
            (String::new(), None),
            ("{}".to_owned(), None),
        ] {
            assert_eq!(name(&prover, &approvers, &proof, NOW).as_deref(), expected, "{proof}");
        }
    }

    #[test]
    fn nothing_counts_where_nobody_is_set_up_and_a_click_has_no_name() {
        for proof in ["", "000000", "anything", "{\"id\":\"x\"}"] {
            let nobody = Approvers::default();
            assert!(Prover::default().check(&nobody, proof, context(NOW)).unwrap().is_none());
            let click = Approvers { click: true, people: Vec::new() };
            let found = Prover::default().check(&click, proof, context(NOW)).unwrap();
            assert_eq!(found.is_some(), proof.is_empty(), "{proof}");
            assert!(found.is_none_or(|person| person.name.is_none()));
        }
    }
}
