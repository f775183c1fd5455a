//! What all requests share.

use crate::access::Access;
use crate::changes::Changes;
use crate::people::Approvers;
use crate::proof::{ProofContext, ProvedPerson, Prover};
use anyhow::Result;
use portcullis_config::Config;
use portcullis_config::paths::Paths;
use portcullis_core::policy::RiskThresholds;
use portcullis_store::{Home, Store};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The most failed codes, passwords and links in [`WINDOW`].
const MOST_FAILURES: usize = 8;
const WINDOW: Duration = Duration::from_secs(60);

/// What all requests share.
pub(crate) struct Site {
    /// The only value of the header `Host` that is answered.
    pub(crate) host: String,
    /// The only value of `Origin` whose forms count.
    pub(crate) origin: String,
    pub(crate) places: Paths,
    pub(crate) access: Access,
    pub(crate) prover: Prover,
    pub(crate) changes: Changes,
    failures: Mutex<VecDeque<Instant>>,
}

/// What one request reads.
pub(crate) struct Reading {
    pub(crate) home: Home,
    pub(crate) store: Store,
    /// The levels of risk that a chart shows.
    pub(crate) levels: RiskThresholds,
}

impl Site {
    pub(crate) fn new(host: String, places: Paths) -> Self {
        Self {
            origin: format!("http://{host}"),
            host,
            places,
            access: Access::default(),
            prover: Prover::default(),
            changes: Changes::default(),
            failures: Mutex::default(),
        }
    }

    /// Opens what a page reads.
    ///
    /// # Errors
    /// Fails if the journal cannot be opened.
    pub(crate) fn open(&self) -> Result<Reading> {
        let home = Home::open_root(&self.places.state)?;
        // Hooks refuse what a broken configuration governs; the page still shows what has happened.
        let (durability, levels) = Config::load(&self.places, Some(&home))
            .map(|config| (config.durability, config.policy.decision.risk))
            .unwrap_or_default();
        let store = Store::open_database(&home, durability)?;
        Ok(Reading { home, store, levels })
    }

    /// Returns the name of its host, without the port.
    pub(crate) fn domain(&self) -> &str {
        self.host.split(':').next().unwrap_or_default()
    }

    /// Returns the person whose proof of a purpose it is, at a time in seconds since 1970; `None`
    /// if it is nobody's.
    ///
    /// # Errors
    /// Fails if the approvers were changed from outside, or cannot be written.
    pub(crate) fn check_proof(
        &self,
        home: &Home,
        proof: &str,
        purpose: &str,
        now: u64,
    ) -> Result<Option<ProvedPerson>> {
        let context = ProofContext { domain: self.domain(), origin: &self.origin, purpose, now };
        let mut approvers = Approvers::read(home)?;
        let proved = self.prover.check(&approvers, proof, context)?;
        // A device counts how often it signed: a copy of it is noticed by a count that stands still.
        if let Some(used) = proved.as_ref().and_then(|person| person.passkey.as_ref()) {
            approvers.keep_state(home, used)?;
        }
        Ok(proved)
    }

    /// Notes that a code, a password or a link was wrong.
    pub(crate) fn note_failure(&self) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.push_back(Instant::now());
    }

    /// Returns true while too many were wrong: nobody can try all codes.
    pub(crate) fn is_closed(&self) -> bool {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        while failures.front().is_some_and(|at| at.elapsed() > WINDOW) {
            failures.pop_front();
        }
        failures.len() >= MOST_FAILURES
    }
}
