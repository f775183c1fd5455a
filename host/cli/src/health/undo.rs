//! What is kept of files before actions: whether it can be used.

use super::finding::{Check, Finding};
use crate::checkpoints;
use crate::config;
use portcullis_core::text::one_line;
use std::path::Path;

/// Looks at the vault, where the configuration has one.
pub fn check(state: &Path, config: &config::Checkpoints) -> Vec<Finding> {
    if !config.enabled {
        return Vec::new();
    }
    if !checkpoints::folder(state).exists() {
        return vec![Finding::ok(Check::Checkpoints, "none were taken yet")];
    }
    let listing = match checkpoints::open(state, config).and_then(|vault| vault.list()) {
        Ok(listing) => listing,
        Err(error) => {
            let mend = "mend what it names; until then actions run and cannot be undone";
            return vec![Finding::warning(Check::Checkpoints, error.to_string(), mend)];
        }
    };
    let damaged = listing.damaged.iter().map(|error| {
        Finding::warning(Check::Checkpoints, error.to_string(), "what it held cannot be put back, the others can; move it away")
    });
    let unfinished = listing.unfinished.iter().map(|undo| {
        let mend = "run `portcullis checkpoint restore` again, which completes it";
        Finding::warning(Check::Checkpoints, format!("the restore `{}` did not end", one_line(undo.as_str(), 128)), mend)
    });
    let told = format!("{} are kept", listing.checkpoints.len());
    super::finding::or_ok(damaged.chain(unfinished).collect(), Check::Checkpoints, told)
}
