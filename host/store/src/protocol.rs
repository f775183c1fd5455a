//! How parallel hooks of one session come to one history without waiting for each other's reviews.
//!
//! Review on a snapshot; if the session moved meanwhile, an exception that the review relied on ended, or
//! more is known of a plugin that failed, review once more; if that happened again, review under the write
//! lock. So a review runs at most three times, and the third cannot be overtaken.

use crate::error::{CommitError, StoreError};
use crate::past::Past;
use crate::record::Stored;
use crate::store::{Commit, Snapshot, Store};

/// What a review on a snapshot came to: what to commit, and what the caller wants back.
#[derive(Clone, Debug)]
pub struct Draft<T> {
    /// What it leaves behind.
    pub commit: Commit,
    /// What the caller goes on with, the reply for one.
    pub value: T,
}

/// A review that was committed.
#[derive(Clone, Debug)]
pub struct Committed<T> {
    /// What the review that counts came to.
    pub value: T,
    /// Its records, in order.
    pub stored: Vec<Stored>,
    /// How often the review ran, 1 to 3; the third time under the lock.
    pub attempts: u8,
}

impl Store {
    /// Reviews and commits. `review` gets the session as it stands and a way to its past steps. It must
    /// not keep anything of a run that does not count; it should be quick, since its third run holds the write lock.
    ///
    /// # Errors
    /// What `review` fails with, in which case nothing is written, or as for [`Store::append`].
    pub fn review<T, E: From<StoreError>>(
        &mut self,
        session: &str,
        agent: Option<&str>,
        mut review: impl FnMut(&Snapshot, &Past<'_>) -> Result<Draft<T>, E>,
    ) -> Result<Committed<T>, E> {
        for attempts in [1, 2] {
            let snapshot = self.snapshot(session, agent)?;
            let Draft { commit, value } = review(&snapshot, &self.past(session, agent))?;
            match self.commit(&snapshot, commit) {
                Ok(stored) => return Ok(Committed { value, stored, attempts }),
                Err(CommitError::Moved { .. } | CommitError::Spent { .. } | CommitError::Learned { .. }) => {}
                Err(CommitError::Store(error)) => return Err(error.into()),
            }
        }
        let (stored, value) = self.commit_locked(session, agent, |snapshot, past| {
            let Draft { commit, value } = review(snapshot, past)?;
            Ok::<_, E>((commit, value))
        })?;
        Ok(Committed { value, stored, attempts: 3 })
    }
}
