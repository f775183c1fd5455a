//! What all requests share.

use crate::access::Access;
use crate::changes::Changes;
use crate::people::Approvers;
use crate::proof::{ProofContext, ProvedPerson, Prover};
use anyhow::Result;
use portcullis_config::Config;
use portcullis_config::clock::now_ms;
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

/// A form that counts only with the proof of a person.
pub(crate) trait ProvedForm {
    /// Returns a text that no other form for another purpose has: what a passkey signs, in effect.
    fn purpose(&self) -> String;

    /// Returns the code or the password, or what a passkey signed.
    fn proof(&self) -> &str;
}

/// What became of a proof.
#[derive(Debug)]
pub(crate) enum ProofCheck {
    Right(ProvedPerson),
    Wrong,
    /// Too many were wrong.
    Closed,
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

    /// Checks the proof that a person gives with a form; a wrong one counts against all further
    /// ones.
    ///
    /// # Errors
    /// Fails if the approvers were changed from outside, or cannot be written.
    pub(crate) fn check_proof(&self, home: &Home, form: &impl ProvedForm) -> Result<ProofCheck> {
        if self.is_closed() {
            return Ok(ProofCheck::Closed);
        }
        let purpose = form.purpose();
        let (domain, origin, now) = (self.domain(), self.origin.as_str(), now_ms() / 1000);
        let context = ProofContext { domain, origin, purpose: &purpose, now };
        let mut approvers = Approvers::read(home)?;
        let Some(person) = self.prover.check(&approvers, form.proof(), context)? else {
            self.note_failure();
            return Ok(ProofCheck::Wrong);
        };
        // A device counts how often it signed: a copy of it is noticed by a count that stands still.
        if let Some(used) = &person.passkey {
            approvers.keep_state(home, used)?;
        }
        Ok(ProofCheck::Right(person))
    }

    /// Returns the people who may allow.
    ///
    /// # Errors
    /// Fails if their file was changed from outside.
    pub(crate) fn approvers(&self) -> Result<Approvers> {
        Approvers::read(&Home::open_root(&self.places.state)?)
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
