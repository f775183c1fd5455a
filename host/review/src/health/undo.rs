//! Checkpoints of files before actions: checks that they are usable.

use super::finding::{Check, HealthFinding};
use crate::checkpoints;
use portcullis_checkpoint::CheckpointError;
use portcullis_core::text::one_line;
use portcullis_store::Home;

/// Checks the vault, if the configuration enables it.
pub(super) fn check(home: &Home, config: &portcullis_config::Checkpoints) -> Vec<HealthFinding> {
    if !config.enabled {
        return Vec::new();
    }
    if !checkpoints::vault_folder(home.path()).exists() {
        return vec![HealthFinding::ok(Check::Checkpoints, "none were taken yet")];
    }
    let opened = checkpoints::open_vault(home.path(), home.data_keys(), config);
    let listing = match opened.and_then(|vault| vault.list()) {
        Ok(listing) => listing,
        Err(error) => {
            let fix = "fix what it names; until then actions run and cannot be undone";
            return vec![HealthFinding::warning(Check::Checkpoints, error.to_string(), fix)];
        }
    };
    let damaged = listing.damaged.iter().map(|error| {
        let fix = match error {
            CheckpointError::Encryption { .. } => "nothing is lost: put the key back",
            _ => "what it held cannot be put back, the others can; move it away",
        };
        HealthFinding::warning(Check::Checkpoints, error.to_string(), fix)
    });
    let unfinished = listing.unfinished.iter().map(|undo| {
        let fix = "run `portcullis checkpoint restore` again, which completes it";
        HealthFinding::warning(
            Check::Checkpoints,
            format!("the restore `{}` did not end", one_line(undo.as_str(), 128)),
            fix,
        )
    });
    let summary = format!("{} are kept", listing.checkpoints.len());
    super::finding::or_ok(damaged.chain(unfinished).collect(), Check::Checkpoints, summary)
}
