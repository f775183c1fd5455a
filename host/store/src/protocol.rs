//! The commit protocol: parallel hooks of one session produce one history without waiting for each
//! other's reviews.
//!
//! Review on a snapshot; review again if meanwhile the session moved, an exception that the review
//! relied on ended, or the failure record of a plugin changed; if that happens again, review under
//! the write lock. So a review runs at most three times, and the third cannot be overtaken.

use crate::commit::{Commit, SessionSnapshot};
use crate::error::{CommitError, StoreError};
use crate::past::SessionHistory;
use crate::record::StoredRecord;
use crate::store::Store;

/// The result of a review on a snapshot: the commit, and a value for the caller.
#[derive(Clone, Debug)]
pub struct PendingCommit<T> {
    /// The changes to commit.
    pub commit: Commit,
    /// The caller's value, for example the reply.
    pub value: T,
}

/// A review that was committed.
#[derive(Clone, Debug)]
pub struct CommittedReview<T> {
    /// The value of the review that counts.
    pub value: T,
    /// Its records, in order.
    pub stored: Vec<StoredRecord>,
    /// The number of runs of the review, 1 to 3; the third one runs under the lock.
    pub attempts: u8,
}

impl Store {
    /// Reviews and commits. `review` gets the current session and access to its past steps. It must
    /// not keep anything from a run that does not count; it should be quick, since its third run
    /// holds the write lock.
    ///
    /// # Errors
    /// Fails with the error of `review`, in which case nothing is written, and in the same cases as
    /// [`Store::append_records`].
    pub fn review_in_session<T, E: From<StoreError>>(
        &mut self,
        session: &str,
        agent: Option<&str>,
        mut review: impl FnMut(&SessionSnapshot, &SessionHistory<'_>) -> Result<PendingCommit<T>, E>,
    ) -> Result<CommittedReview<T>, E> {
        for attempts in [1, 2] {
            let snapshot = self.take_snapshot(session, agent)?;
            let PendingCommit { commit, value } =
                review(&snapshot, &self.session_history(session, agent))?;
            match self.commit_review(&snapshot, commit) {
                Ok(stored) => return Ok(CommittedReview { value, stored, attempts }),
                Err(
                    CommitError::Moved { .. }
                    | CommitError::Spent { .. }
                    | CommitError::Learned { .. },
                ) => {}
                Err(CommitError::Store(error)) => return Err(error.into()),
            }
        }
        let (stored, value) = self.commit_locked(session, agent, |snapshot, past| {
            let PendingCommit { commit, value } = review(snapshot, past)?;
            Ok::<_, E>((commit, value))
        })?;
        Ok(CommittedReview { value, stored, attempts: 3 })
    }
}
