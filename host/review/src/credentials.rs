//! The credentials of a home, and the records of their uses.
//!
//! A record of the kind `authentication` says which credential was used for what, and whether it was
//! read and taken. The same outcome is recorded once a day: an export that delivers each second would
//! otherwise fill the journal with records about itself, and then deliver those.

use crate::stored_records::write_record;
use portcullis_core::record::{Record, RecordKind};
use portcullis_credentials::{
    CredentialFailure, CredentialReader, CredentialSource, CredentialStore, CredentialUse,
    UseOutcome,
};
use portcullis_store::{Durability, Home, StoreError};
use secrecy::SecretString;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;

/// The folder of the store in a home, and the purpose of its key.
const STORE: &str = "credentials";

/// Returns the credential store of a home.
#[must_use]
pub fn open_credentials(home: &Home) -> CredentialStore {
    CredentialStore::new(home.path().join(STORE), home.derive_key(STORE))
}

/// Reads credentials from the environment, and from the store of a home where there is one.
#[derive(Debug)]
pub struct HomeCredentials {
    store: Option<CredentialStore>,
}

impl HomeCredentials {
    /// Returns the reader of a home.
    #[must_use]
    pub fn of_home(home: Option<&Home>) -> Self {
        Self { store: home.map(open_credentials) }
    }
}

impl CredentialReader for HomeCredentials {
    fn variable(&self, name: &str) -> Option<OsString> {
        std::env::var_os(name)
    }

    fn read_stored(&self, name: &str) -> Result<SecretString, CredentialFailure> {
        match &self.store {
            Some(store) => store.read_secret(&name.parse()?, &|name| self.variable(name)),
            None => Err(CredentialFailure::new(
                "there is no credential store yet",
                "`portcullis credential set NAME` begins one",
            )),
        }
    }
}

/// Reads credentials, and remembers which: their uses are recorded once the outcome is known.
#[derive(Debug)]
pub struct WatchedCredentials {
    reader: HomeCredentials,
    /// Each source that was read since the last record, and whether it could be.
    read: RefCell<BTreeMap<String, bool>>,
}

impl WatchedCredentials {
    /// Returns a reader of the credentials of a home.
    #[must_use]
    pub fn of_home(home: &Home) -> Self {
        Self { reader: HomeCredentials::of_home(Some(home)), read: RefCell::default() }
    }

    /// Records the uses since the last call at `now`, in milliseconds since 1970. `purpose` names the
    /// user, such as `exports.siem`; `is_refused` says that a server refused a credential.
    ///
    /// # Errors
    /// Fails if the journal cannot be written.
    pub fn record_uses(
        &self,
        home: &Home,
        durability: Durability,
        purpose: &str,
        is_refused: bool,
        now: u64,
    ) -> Result<(), StoreError> {
        for (credential, is_read) in self.read.take() {
            let outcome = match (is_read, is_refused) {
                (false, _) => UseOutcome::Unreadable,
                (true, true) => UseOutcome::Refused,
                (true, false) => UseOutcome::Used,
            };
            let noted = CredentialUse { credential, purpose: purpose.to_owned(), outcome };
            record_use(home, durability, &noted, now)?;
        }
        Ok(())
    }
}

impl CredentialReader for WatchedCredentials {
    fn variable(&self, name: &str) -> Option<OsString> {
        self.reader.variable(name)
    }

    fn read_stored(&self, name: &str) -> Result<SecretString, CredentialFailure> {
        self.reader.read_stored(name)
    }

    fn note_read(&self, source: &CredentialSource, is_read: bool) {
        self.read.borrow_mut().insert(source.to_string(), is_read);
    }
}

/// Records a use of a credential at `now`, in milliseconds since 1970, unless the same outcome was
/// recorded within a day.
///
/// # Errors
/// Fails if the journal cannot be written.
pub fn record_use(
    home: &Home,
    durability: Durability,
    noted: &CredentialUse,
    now: u64,
) -> Result<(), StoreError> {
    // A log that cannot be written leads to a record too many, not to one too few.
    match open_credentials(home).use_log().note_use(noted, now) {
        Ok(false) => Ok(()),
        Ok(true) | Err(_) => write_use(home, durability, noted, now),
    }
}

/// Records that somebody signed in at `now`, in milliseconds since 1970: each time, unlike a use.
///
/// # Errors
/// Fails if the journal cannot be written.
pub fn record_sign_in(
    home: &Home,
    durability: Durability,
    noted: &CredentialUse,
    now: u64,
) -> Result<(), StoreError> {
    // Noted all the same, so that the next refusal has a record.
    let _is_new = open_credentials(home).use_log().note_use(noted, now);
    write_use(home, durability, noted, now)
}

fn write_use(
    home: &Home,
    durability: Durability,
    noted: &CredentialUse,
    now: u64,
) -> Result<(), StoreError> {
    let CredentialUse { credential, purpose, outcome } = noted;
    let summary = match outcome {
        UseOutcome::Used => format!("the credential `{credential}` was used for `{purpose}`"),
        UseOutcome::Unreadable => {
            format!("the credential `{credential}` for `{purpose}` could not be read")
        }
        UseOutcome::Refused => {
            format!("the credential `{credential}` was refused for `{purpose}`")
        }
    };
    let seed = format!("{credential}\n{purpose}\n{}", outcome.as_str());
    let mut record =
        Record::outside_session(RecordKind::Authentication, purpose, &summary, now, &seed);
    record.details.insert("credential".into(), credential.as_str().into());
    record.details.insert("outcome".into(), outcome.as_str().into());
    write_record(home, durability, &record)
}
