//! Counts wrong codes and proofs, so that nobody can try all of them.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The most failures in [`WINDOW`].
const MOST: usize = 8;
const WINDOW: Duration = Duration::from_secs(60);

/// The failures of the last minute.
#[derive(Debug, Default)]
pub struct Failures(Mutex<VecDeque<Instant>>);

impl Failures {
    /// Notes one.
    pub fn note_failure(&self) {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The newest ones decide, so that a flood takes no memory.
        if failures.len() >= MOST {
            failures.pop_front();
        }
        failures.push_back(Instant::now());
    }

    /// Returns true while there were too many.
    #[must_use]
    pub fn are_too_many(&self) -> bool {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while failures.front().is_some_and(|at| at.elapsed() > WINDOW) {
            failures.pop_front();
        }
        failures.len() >= MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eighth_closes() {
        let failures = Failures::default();
        for _ in 0..MOST {
            assert!(!failures.are_too_many());
            failures.note_failure();
        }
        for _ in 0..MOST * 2 {
            assert!(failures.are_too_many());
            failures.note_failure();
        }
    }
}
