//! The checkpoints of a home, with what the journal knows about their actions.

use super::{each_review, open_vault, vault_folder};
use portcullis_checkpoint::{Cause, CheckpointError, CheckpointSummary, Vault};
use portcullis_core::record::Record;
use portcullis_core::text::one_line;
use portcullis_store::{Filter, Home, Store, StoreError};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// The journal's information about a checkpoint's action.
#[derive(Clone, Debug)]
pub struct ReportedAction {
    /// The session.
    pub session: String,
    /// The review.
    pub review: String,
    /// The action, in one line.
    pub action: String,
    /// The folder that it ran in.
    pub cwd: Option<PathBuf>,
}

/// Opens the vault; `None` if nothing was ever saved.
///
/// # Errors
/// Fails like [`open_vault`].
pub fn open_kept_vault(
    home: &Home,
    config: &portcullis_config::Checkpoints,
) -> Result<Option<Vault>, CheckpointError> {
    if !vault_folder(home.path()).exists() {
        return Ok(None);
    }
    open_vault(home.path(), home.data_keys(), config).map(Some)
}

/// Reads the journal's information about the actions since then, by checkpoint.
///
/// # Errors
/// Fails if the journal cannot be read.
pub fn reported_actions(
    store: &Store,
    since: u64,
) -> Result<BTreeMap<String, ReportedAction>, StoreError> {
    let mut reported = BTreeMap::new();
    let each = |id, record: Record| {
        reported.insert(
            id,
            ReportedAction {
                session: record.session,
                review: record.id,
                action: record.summary,
                cwd: record.action.map(|action| PathBuf::from(action.cwd)),
            },
        );
        ControlFlow::Continue(())
    };
    each_review(store, Filter { since: Some(since), ..Filter::default() }, each)?;
    Ok(reported)
}

/// Describes the checkpoint's action in one line.
#[must_use]
pub fn describe_action(listed: &CheckpointSummary, reported: Option<&ReportedAction>) -> String {
    match (&listed.cause, reported) {
        (Cause::Restore(of), _) => format!("restore of {of}"),
        (Cause::Action, Some(reported)) => one_line(&reported.action, 240),
        (Cause::Action, None) => "an action that is no longer in the journal".to_owned(),
    }
}
