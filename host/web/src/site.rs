//! A home that visitors look at, and what all requests about it share.

use crate::changes::Changes;
use crate::people::Approvers;
use crate::proof::{ProofContext, ProvedPerson, Prover};
use anyhow::Result;
use portcullis_config::Config;
use portcullis_config::boundary::{find_record_commands, user_of_state};
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::policy::RiskThresholds;
use portcullis_core::record_commands::RecordCommands;
use portcullis_credentials::{CredentialUse, UseOutcome};
use portcullis_review::credentials::{record_sign_in, record_use};
use portcullis_review::metrics::{JournalMetrics, Metrics};
use portcullis_served::{Failures, Role};
use portcullis_store::{Durability, Home, Store};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// A home that visitors look at.
pub(crate) struct Site {
    /// The page's host with its port.
    host: String,
    /// The page's origin.
    pub(crate) origin: String,
    pub(crate) places: Paths,
    commands: RecordCommands,
    pub(crate) prover: Prover,
    pub(crate) changes: Changes,
    /// The proofs that were wrong.
    failures: Failures,
    /// What was counted of the journal so far, so that each request counts only what is new.
    counted: Mutex<JournalMetrics>,
    /// Held while an action is tried.
    turn: Mutex<()>,
}

/// A form that counts only with the proof of a person.
pub(crate) trait ProvedForm: DeserializeOwned + Send + 'static {
    /// The least role that may send it.
    const LEAST: Role;

    /// Returns the token that shows that it is a form of this page.
    fn token(&self) -> &str;

    /// Returns a text that no other form for another purpose has: what a passkey signs, in effect.
    fn purpose(&self) -> String;

    /// Returns the proof that was given with it.
    fn proof(&self) -> &GivenProof;
}

/// The fields of a form for the proof that a person sends it.
#[derive(Debug, Deserialize)]
pub(crate) struct GivenProof {
    #[serde(default)]
    proof: String,
    /// The answer of a passkey, in place of `proof`.
    #[serde(default)]
    signed: String,
}

impl GivenProof {
    /// Returns the code or the password, or what a passkey signed.
    fn as_str(&self) -> &str {
        if self.signed.is_empty() { &self.proof } else { &self.signed }
    }
}

/// The result of a proof.
#[derive(Debug)]
pub(crate) enum ProofCheck {
    Right(ProvedPerson),
    Wrong,
    /// Too many were wrong.
    Closed,
}

/// The parts that one request reads.
pub(crate) struct Reading {
    pub(crate) home: Home,
    /// The commands that a page names.
    pub(crate) commands: RecordCommands,
    pub(crate) store: Store,
    /// The levels of risk that a chart shows.
    pub(crate) levels: RiskThresholds,
    /// The target for the time of a review, in milliseconds.
    pub(crate) target_ms: u64,
}

impl Site {
    /// Creates the home of these places, on a page of that host.
    pub(crate) fn new(host: String, places: Paths) -> Self {
        Self {
            origin: format!("http://{host}"),
            host,
            commands: find_record_commands(&places.state),
            places,
            prover: Prover::default(),
            changes: Changes::default(),
            failures: Failures::default(),
            counted: Mutex::default(),
            turn: Mutex::default(),
        }
    }

    /// Opens what a page reads.
    ///
    /// # Errors
    /// Fails if the journal cannot be opened.
    pub(crate) fn open(&self) -> Result<Reading> {
        let home = Home::open_root(&self.places.state)?;
        // Hooks refuse what a broken configuration governs; the page still shows what has happened.
        let (durability, levels, target_ms) = self
            .config(&home)
            .map(|config| {
                (config.durability, config.policy.decision.risk, config.max_review_time_ms)
            })
            .unwrap_or_default();
        let store = Store::open_database(&home, durability)?;
        let commands = self.commands.clone();
        Ok(Reading { home, commands, store, levels, target_ms })
    }

    /// Loads the configuration.
    ///
    /// # Errors
    /// Fails if it is unusable.
    pub(crate) fn config(&self, home: &Home) -> Result<Config> {
        Config::load(&self.places, Some(home))
    }

    /// Counts the journal, and hands the totals on.
    ///
    /// # Errors
    /// Fails if the journal cannot be read.
    pub(crate) fn count_metrics<T>(
        &self,
        reading: &Reading,
        show: impl FnOnce(&Metrics) -> T,
    ) -> Result<T> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(show(counted.update(&reading.store, reading.target_ms, now_ms())?))
    }

    /// Returns the turn to try an action; `None` while another one is tried, so that trials cannot
    /// take all threads of the page.
    pub(crate) fn take_turn(&self) -> Option<MutexGuard<'_, ()>> {
        match self.turn.try_lock() {
            Ok(turn) => Some(turn),
            Err(TryLockError::Poisoned(turn)) => Some(turn.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Returns true if this process may look at the files that actions are about. Behind a boundary
    /// they belong to somebody else, and what it looked at would be the visitor's choice.
    pub(crate) fn sees_files(&self) -> bool {
        user_of_state(&self.places.state).is_none()
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
        if self.failures.are_too_many() {
            return Ok(ProofCheck::Closed);
        }
        let purpose = form.purpose();
        let (domain, origin, now) = (self.domain(), self.origin.as_str(), now_ms() / 1000);
        let context = ProofContext { domain, origin, purpose: &purpose, now };
        let mut approvers = Approvers::read(home)?;
        let proved = self.prover.check(&approvers, form.proof().as_str(), context)?;
        let outcome = if proved.is_some() { UseOutcome::Used } else { UseOutcome::Refused };
        let noted = CredentialUse {
            credential: "proof of a person".into(),
            purpose: "page".into(),
            outcome,
        };
        record_use(home, Durability::Process, &noted, now_ms())?;
        let Some(person) = proved else {
            self.failures.note_failure();
            return Ok(ProofCheck::Wrong);
        };
        // A device counts how often it signed: a copy of it is noticed by a count that stands still.
        if let Some(used) = &person.passkey {
            approvers.keep_state(home, used)?;
        }
        Ok(ProofCheck::Right(person))
    }

    /// Records that a browser signed in, or tried to with a link that does not count.
    ///
    /// # Errors
    /// Fails if the journal cannot be written.
    pub(crate) fn record_sign_in(&self, outcome: UseOutcome) -> Result<()> {
        let home = Home::open_root(&self.places.state)?;
        let noted =
            CredentialUse { credential: "sign-in link".into(), purpose: "page".into(), outcome };
        let record = match outcome {
            UseOutcome::Used => record_sign_in,
            UseOutcome::Refused | UseOutcome::Unreadable => record_use,
        };
        Ok(record(&home, Durability::Process, &noted, now_ms())?)
    }

    /// Returns the people who may allow.
    ///
    /// # Errors
    /// Fails if their file was changed from outside.
    pub(crate) fn approvers(&self) -> Result<Approvers> {
        Approvers::read(&Home::open_root(&self.places.state)?)
    }
}
