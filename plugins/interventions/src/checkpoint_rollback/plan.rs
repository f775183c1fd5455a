//! The plan for a person if no checkpoint is safe.

use crate::first_checks::{SINCE, look_at};
use portcullis_builtin_shared::text::quoted;
use portcullis_plugin::intervention::{Checkpoint, Error, Issue};
use portcullis_plugin::template::{Values, fill, line};

/// The maximum number of checkpoints that are listed with the objections to them.
const SHOWN: usize = 3;
/// The most bytes of a checkpoint's name.
const NAME: usize = 128;

const BY_HAND: &str = "\
Restore the wrong files yourself, from git or from a backup.
Undo what is not in files: programs that still run, requests that were sent, packages that were installed.
The request was: {request}
Then tell the agent how to go on, or begin a new session with a narrower request.";

/// Explains why nothing can be done automatically.
pub(super) fn none_safe(refused: &[(&Checkpoint, String)]) -> String {
    match refused {
        [] => "there is no checkpoint of this session's files".into(),
        [(_, reason)] => {
            format!("the only checkpoint of this session's files is not safe: {reason}")
        }
        more => format!("none of the {} checkpoints of this session's files is safe", more.len()),
    }
}

/// Returns the steps of the plan, in order.
pub(super) fn steps(
    issue: &Issue,
    refused: &[(&Checkpoint, String)],
    values: &Values,
) -> Result<Vec<String>, Error> {
    let lines = |template: &str| {
        fill("plan", template, values)
            .map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
    };
    let mut steps = lines(look_at(issue))?;
    steps.extend(lines(SINCE)?);
    steps.extend(
        refused.iter().take(SHOWN).filter_map(|(checkpoint, reason)| offer(checkpoint, reason)),
    );
    steps.extend(lines(BY_HAND)?);
    Ok(steps)
}

/// Offers a checkpoint that only a person can judge.
fn offer(checkpoint: &Checkpoint, reason: &str) -> Option<String> {
    let name = line(&checkpoint.id, NAME);
    let word = quoted(&name)?;
    Some(format!(
        "The checkpoint `{name}` from before step {} was not taken: {reason}. If you judge it \
         good: `portcullis checkpoint restore {word}`",
        checkpoint.step
    ))
}
