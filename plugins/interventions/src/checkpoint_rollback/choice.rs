//! The choice of a checkpoint that is safe to roll back to.
//!
//! A checkpoint is safe if it was taken before the issue began, the host does not mark it as
//! unsafe, enough steps before it ended well and none failed just then, it is not too old, and
//! rolling back to it has not failed too often. The newest of these is taken.
//!
//! Failures just before a checkpoint are looked up in the steps before it, as far as the host
//! answers; beyond that the host is trusted, since it marks unsafe checkpoints itself.

use super::config::Config;
use portcullis_plugin::intervention::{Checkpoint, Context, Issue, Situation};
use portcullis_plugin::template::line;
use portcullis_plugin::text::score;
use portcullis_plugin::types::{Status, StepDetail};

/// The maximum number of past steps that are looked up: the host answers no more.
const LOOKED_UP: usize = 16;
/// The effectiveness from which on an intervention has worked.
const WORKED: u16 = 600;
/// The most bytes of the host's reason.
const REASON: usize = 200;

/// The result of the choice.
#[derive(Debug)]
pub(super) enum Choice<'a> {
    /// A checkpoint that is safe to roll back to.
    Safe(&'a Checkpoint),
    /// No safe checkpoint: each with the reason, newest first.
    None(Vec<(&'a Checkpoint, String)>),
}

/// One past step in full.
pub(super) type Detail<'a> = dyn Fn(u64) -> Option<StepDetail> + 'a;

/// Returns the newest safe checkpoint, or the reasons why none is safe.
pub(super) fn of<'a>(
    config: &Config,
    issue: &Issue,
    situation: &'a Situation,
    context: &Context,
    detail: &Detail<'_>,
) -> Choice<'a> {
    // One without a name cannot be referred to.
    let mut checkpoints: Vec<&Checkpoint> =
        situation.checkpoints.iter().filter(|known| !line(&known.id, REASON).is_empty()).collect();
    checkpoints.sort_by_key(|checkpoint| std::cmp::Reverse((checkpoint.step, checkpoint.at)));
    let mut left = LOOKED_UP;
    let mut refused = Vec::new();
    for checkpoint in checkpoints {
        match find_objection(config, issue, situation, context, checkpoint)
            .or_else(|| failed(config, checkpoint, detail, &mut left))
        {
            None => return Choice::Safe(checkpoint),
            Some(reason) => refused.push((checkpoint, reason)),
        }
    }
    Choice::None(refused)
}

/// Returns the objection to a checkpoint.
fn find_objection(
    config: &Config,
    issue: &Issue,
    situation: &Situation,
    context: &Context,
    checkpoint: &Checkpoint,
) -> Option<String> {
    if checkpoint.step > issue.first_step {
        return Some(format!("it was taken after this began at step {}", issue.first_step));
    }
    if let Some(reason) = &checkpoint.unsafe_because {
        let reason = line(reason, REASON);
        return Some(if reason.is_empty() { "it is marked as unsafe".to_owned() } else { reason });
    }
    if checkpoint.success_rate < config.success {
        return Some(format!(
            "only {} of the steps before it ended well, {} is asked for",
            score(checkpoint.success_rate),
            score(config.success)
        ));
    }
    let age = context.now.saturating_sub(checkpoint.at);
    if age > config.kept_ms {
        return Some(format!(
            "it is {} minutes old, {} are allowed",
            age / 60_000,
            config.kept_ms / 60_000
        ));
    }
    let tried = in_vain(situation, checkpoint);
    (tried >= config.depth).then(|| {
        format!("a rollback was the answer {tried} times since it was taken, without success")
    })
}

/// Returns the number of rollbacks in a row that did not help since a checkpoint was taken. The
/// host does not report to which checkpoint, so all of these count.
fn in_vain(situation: &Situation, checkpoint: &Checkpoint) -> usize {
    let returns = situation.past.iter().filter(|past| past.is("checkpoint-rollback"));
    let vain = returns.take_while(|past| past.effectiveness.is_none_or(|effect| effect < WORKED));
    vain.filter(|past| past.at >= checkpoint.at).count()
}

/// Returns the reason if a step failed just before a checkpoint was taken.
fn failed(
    config: &Config,
    checkpoint: &Checkpoint,
    detail: &Detail<'_>,
    left: &mut usize,
) -> Option<String> {
    for step in (0..checkpoint.step).rev() {
        *left = left.checked_sub(1)?;
        let Some(outcome) = detail(step)?.outcome else { continue };
        let before = checkpoint.at.saturating_sub(outcome.at);
        if before >= config.quiet_ms {
            return None;
        }
        if outcome.status == Status::Failed {
            return Some(format!(
                "step {step} failed {} seconds before it was taken",
                before / 1000
            ));
        }
    }
    None
}
