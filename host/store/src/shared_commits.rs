//! Commits of reviews that end at the same time, in one transaction.
//!
//! A process that reviews several events at once has a connection for each. They would wait for
//! SQLite's lock by sleeping, and each commit would write the same pages again. So while one of
//! them writes, the others queue here, and the next writer commits all that wait. With
//! [`crate::Durability::Full`] they share the flush of the disk too.
//!
//! Each commit stays on its own: one that cannot be made, for example because its session moved, is
//! rolled back alone. If the transaction itself fails, all of its commits fail. None is reported as
//! done before the transaction is.

use crate::error::{CommitError, StoreError};
use crate::hash::Hash;
use crate::mark::MarkState;
use crate::record::StoredRecord;
use crate::writer::Writer;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Lets the stores of one process commit together, those of the same journal.
#[derive(Clone, Default)]
pub struct SharedCommits(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queue: Mutex<CommitQueue>,
    /// Signalled at the end of each transaction.
    written: Condvar,
}

#[derive(Default)]
struct CommitQueue {
    is_writing: bool,
    next_ticket: u64,
    waiting: Vec<WaitingCommit>,
    done: BTreeMap<u64, CommitResult>,
}

pub(crate) type CommitResult = Result<Vec<StoredRecord>, CommitError>;

/// A commit, which any store of the same journal can write.
pub(crate) type CommitBody = Box<dyn FnOnce(&Writer<'_>) -> CommitResult + Send>;

struct WaitingCommit {
    ticket: u64,
    target: CommitTarget,
    body: CommitBody,
}

/// All that two stores must have in common for one to commit for the other.
#[derive(Clone, PartialEq)]
pub(crate) struct CommitTarget {
    pub(crate) path: PathBuf,
    /// The identity of the open file.
    pub(crate) file: (u64, u64),
    /// True if its commits survive the death of the machine.
    pub(crate) flushes: bool,
    /// One of the keys, which all derive from the same one.
    pub(crate) key: Hash,
    pub(crate) mark: MarkState,
}

impl SharedCommits {
    /// Makes a commit, with those that wait for the same journal: `write` writes them all in one
    /// transaction, and returns the result of each.
    pub(crate) fn commit(
        &self,
        target: &CommitTarget,
        body: CommitBody,
        write: impl FnOnce(Vec<CommitBody>) -> Result<Vec<CommitResult>, StoreError>,
    ) -> CommitResult {
        let mut queue = self.0.lock();
        let ticket = queue.next_ticket;
        queue.next_ticket += 1;
        queue.waiting.push(WaitingCommit { ticket, target: target.clone(), body });
        loop {
            if let Some(result) = queue.done.remove(&ticket) {
                return result;
            }
            if !queue.is_writing {
                break;
            }
            queue = self.0.written.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue.is_writing = true;
        let all = std::mem::take(&mut queue.waiting);
        let (ours, others) = all.into_iter().partition(|waiting| waiting.target == *target);
        queue.waiting = others;
        drop(queue);
        self.0.write_for_all(&target.path, ours, write);
        let result = self.0.lock().done.remove(&ticket);
        result.unwrap_or_else(|| Err(CommitError::Store(lost_result(&target.path))))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, CommitQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_for_all(
        &self,
        path: &Path,
        commits: Vec<WaitingCommit>,
        write: impl FnOnce(Vec<CommitBody>) -> Result<Vec<CommitResult>, StoreError>,
    ) {
        let (tickets, bodies) =
            commits.into_iter().map(|waiting| (waiting.ticket, waiting.body)).unzip();
        let failure = lost_result(path);
        let mut turn = WriterTurn { shared: self, path, tickets, results: Vec::new(), failure };
        match write(bodies) {
            Ok(results) => turn.results = results,
            Err(error) => turn.failure = error,
        }
    }
}

/// Reports the results of a transaction when it is dropped, also by a panic: nobody may wait for
/// ever.
struct WriterTurn<'a> {
    shared: &'a Shared,
    path: &'a Path,
    tickets: Vec<u64>,
    /// In the order of the tickets; none if the transaction failed.
    results: Vec<CommitResult>,
    /// The error of the commits without a result.
    failure: StoreError,
}

impl Drop for WriterTurn<'_> {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        let mut results = std::mem::take(&mut self.results).into_iter();
        for ticket in &self.tickets {
            let failed = || Err(CommitError::Store(self.failure.of_same_transaction(self.path)));
            queue.done.insert(*ticket, results.next().unwrap_or_else(failed));
        }
        queue.is_writing = false;
        drop(queue);
        self.shared.written.notify_all();
    }
}

/// Writes commits in one transaction, each so that it can be rolled back alone.
pub(crate) fn commit_each(
    writer: &Writer<'_>,
    commits: Vec<CommitBody>,
) -> Result<Vec<CommitResult>, StoreError> {
    let run = |sql: &str| {
        let done = writer.transaction.prepare_cached(sql).and_then(|mut step| step.execute([]));
        done.map_err(|error| writer.named(&error))
    };
    let mut results = Vec::with_capacity(commits.len());
    for commit in commits {
        run("SAVEPOINT review")?;
        let result = commit(writer);
        match &result {
            // SQLite ends a transaction by itself if the disk is full, for example.
            Err(CommitError::Store(error)) if writer.transaction.is_autocommit() => {
                return Err(error.of_same_transaction(writer.path));
            }
            Err(_) => run("ROLLBACK TO review").map(drop)?,
            Ok(_) => {}
        }
        run("RELEASE review")?;
        results.push(result);
    }
    Ok(results)
}

/// The error of a commit whose writer ended without a result.
fn lost_result(path: &Path) -> StoreError {
    let reason = "a defect ended the transaction".to_owned();
    StoreError::Database { path: path.to_owned(), reason }
}

impl std::fmt::Debug for SharedCommits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedCommits").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
