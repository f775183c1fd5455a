//! The records of files that were saved before an action, and of files that were restored.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The result of restoring files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedRestore {
    /// The checkpoint that undoes it; none if nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub undo: Option<String>,
    /// The number of paths that are restored.
    pub paths: u64,
    /// The first of those paths, masked.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub first: Vec<String>,
    /// The number of paths that are not as before, since their earlier state was not kept or since
    /// they could not be restored.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub not_restored: u64,
    /// The first of those paths, masked, each with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub first_not_restored: Vec<RecordedLeftOut>,
    /// The first and the last step whose files are restored.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steps: Option<(u64, u64)>,
    /// The effects of these steps that no file holds and that therefore remain, the gravest first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub still_done: Vec<String>,
    /// The limits that are again those of the checkpoint, with their amounts.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub limits: Vec<String>,
    /// The reason, if nothing was restored.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub problem: Option<String>,
}

impl RecordedRestore {
    /// Masks secrets in the fields that name files.
    pub fn mask_texts(&mut self, mask: &dyn Fn(&str) -> String) {
        let missing = self.first_not_restored.iter_mut().map(|one| &mut one.path);
        self.first
            .iter_mut()
            .chain(missing)
            .chain(&mut self.problem)
            .for_each(|text| *text = mask(text));
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The files that were saved before an action, so that it can be undone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedCheckpoint {
    /// Its id; none if nothing could be saved.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub id: Option<String>,
    /// True if nothing is missing except files left out on purpose, such as build output.
    pub complete: bool,
    /// The number of files whose content it has; none in the record of the action's end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub files: Option<u64>,
    /// The bytes that were stored for it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bytes: Option<u64>,
    /// The number of paths that the action changed; none before it ended.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub changed: Option<u64>,
    /// The first paths that were left out.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub left_out: Vec<RecordedLeftOut>,
    /// The number of paths left out, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub left_out_counts: BTreeMap<String, u64>,
    /// Data that the action destroys or overwrites and that could not be saved, and a remedy: the
    /// action cannot be undone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub irreversible: Option<String>,
    /// The reason that nothing could be saved, or that the action's changes are not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub problem: Option<String>,
}

impl RecordedCheckpoint {
    /// Masks secrets in the fields that name files.
    pub fn mask_texts(&mut self, mask: &dyn Fn(&str) -> String) {
        let paths = self.left_out.iter_mut().map(|left_out| &mut left_out.path);
        paths
            .chain(&mut self.problem)
            .chain(&mut self.irreversible)
            .for_each(|text| *text = mask(text));
    }
}

/// A path that is missing from a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedLeftOut {
    /// Absolute, masked.
    pub path: String,
    /// The reason.
    pub why: String,
}
