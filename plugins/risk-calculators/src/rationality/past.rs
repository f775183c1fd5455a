//! The relation of the newest steps to this one.

use portcullis_builtin_shared::checks::names_a_check;
use portcullis_builtin_shared::place;
use portcullis_plugin::types::{Action, EffectKind, Operation, Status, StepDetail};

/// One past step in full.
pub(super) type Detail<'a> = dyn Fn(u64) -> Option<StepDetail> + 'a;

/// The maximum number of paths of this action, and of each earlier step, that are compared: a bound
/// on the work.
const OWN: usize = 32;
const THEIRS: usize = 64;

/// The results of the look back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Past {
    /// An earlier step concerned the same path, or a neighbouring one.
    pub(super) near: bool,
    /// An earlier step concerned the very path that this one changes.
    pub(super) known: bool,
    /// Every step of the session was looked at.
    pub(super) whole: bool,
    /// The newest test or build that was seen failed.
    pub(super) broken: bool,
}

/// Looks back over at most `most` steps, newest first.
pub(super) fn look(action: &Action, most: u64, detail: &Detail<'_>) -> Past {
    let own: Vec<(&EffectKind, &str)> = action
        .touched()
        .filter(|(kind, _)| **kind != EffectKind::FileRead)
        .map(|(kind, path)| (kind, path.text.as_str()))
        .take(OWN)
        .collect();
    let first = action.step.saturating_sub(most);
    let mut past = Past { whole: first == 0, ..Past::default() };
    let mut tested = false;
    for step in (first..action.step).rev() {
        let is_settled = (own.is_empty() || past.near && past.known)
            && (tested || !matches!(action.operation, Operation::Shell(_)));
        // No earlier step would change anything, and each costs a look into the journal.
        if is_settled && !past.whole {
            break;
        }
        let Some(earlier) = detail(step) else {
            past.whole = false;
            continue;
        };
        past.near |= earlier
            .paths
            .iter()
            .take(THEIRS)
            .any(|path| own.iter().any(|(_, own)| beside(own, &path.text)));
        past.known |= earlier
            .paths
            .iter()
            .take(THEIRS)
            .any(|path| own.iter().any(|(kind, own)| shows(kind, own, &path.text)));
        if !tested && let Some(failed) = ended_badly(&earlier, action) {
            tested = true;
            past.broken = failed;
        }
    }
    past
}

/// Returns true if a step on `other` reveals the contents of `own`: it is the same or a part of it;
/// for a deletion, also its parent folder.
fn shows(kind: &EffectKind, own: &str, other: &str) -> bool {
    let listed = *kind == EffectKind::FileDelete
        && own.rsplit_once('/').is_some_and(|(folder, _)| folder == other);
    place::holds(own, other) || listed
}

/// Returns true for the same folder, or if one of the two is below the other.
fn beside(own: &str, other: &str) -> bool {
    let folder = own.rsplit_once('/').map_or("", |(folder, _)| folder);
    place::holds(own, other)
        || place::holds(other, own)
        || (!folder.is_empty() && place::holds(folder, other))
}

/// Returns true if a past test or build failed; none for any other step. The details keep no parsed
/// commands, so its parameters' text has to name a runner that this action's shape would be known
/// by.
fn ended_badly(earlier: &StepDetail, action: &Action) -> Option<bool> {
    let outcome = earlier.outcome.as_ref()?;
    let shell = matches!(action.operation, Operation::Shell(_)) && earlier.tool == action.tool;
    let ended = matches!(outcome.status, Status::Ok | Status::Failed);
    (shell && ended && names_a_check(&earlier.parameters))
        .then_some(outcome.status == Status::Failed)
}
