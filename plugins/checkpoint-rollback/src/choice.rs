//! Which checkpoint is safe to go back to.
//!
//! Safe is one that was taken before the issue began, that the host has nothing against, before which enough
//! steps ended well and none failed just then, that is not too old, and to which going back has not been tried
//! in vain too often. The newest of these is taken.
//!
//! Failures just before a checkpoint are looked up in the steps before it, as far as the host answers; what it does
//! not answer counts as its own word, since it says itself which checkpoints are unsafe.

use crate::config::Config;
use portcullis_plugin::intervention::{Checkpoint, Context, Issue, Situation};
use portcullis_plugin::template::line;
use portcullis_plugin::text::score;
use portcullis_plugin::types::{Status, StepDetail};

/// Past steps that are looked up: the host answers no more.
const LOOKED_UP: usize = 16;
/// From this effectiveness on, an intervention has worked.
const WORKED: u16 = 600;
/// The most bytes of the host's reason.
const REASON: usize = 200;

/// What came of looking.
#[derive(Debug)]
pub(crate) enum Choice<'a> {
    /// It can be gone back to.
    Safe(&'a Checkpoint),
    /// None can: each with the reason, newest first.
    None(Vec<(&'a Checkpoint, String)>),
}

/// One past step in full.
pub(crate) type Detail<'a> = dyn Fn(u64) -> Option<StepDetail> + 'a;

/// The newest safe checkpoint, or why there is none.
pub(crate) fn of<'a>(config: &Config, issue: &Issue, situation: &'a Situation, context: &Context, detail: &Detail<'_>) -> Choice<'a> {
    // One without a name cannot be named to anybody.
    let mut checkpoints: Vec<&Checkpoint> = situation.checkpoints.iter().filter(|known| !line(&known.id, REASON).is_empty()).collect();
    checkpoints.sort_by_key(|checkpoint| std::cmp::Reverse((checkpoint.step, checkpoint.at)));
    let mut left = LOOKED_UP;
    let mut refused = Vec::new();
    for checkpoint in checkpoints {
        match told(config, issue, situation, context, checkpoint).or_else(|| failed(config, checkpoint, detail, &mut left)) {
            None => return Choice::Safe(checkpoint),
            Some(reason) => refused.push((checkpoint, reason)),
        }
    }
    Choice::None(refused)
}

/// What the situation has against a checkpoint.
fn told(config: &Config, issue: &Issue, situation: &Situation, context: &Context, checkpoint: &Checkpoint) -> Option<String> {
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
        return Some(format!("it is {} minutes old, {} are allowed", age / 60_000, config.kept_ms / 60_000));
    }
    let tried = in_vain(situation, checkpoint);
    (tried >= config.depth).then(|| format!("the session went back {tried} times since it was taken, in vain"))
}

/// How often in a row the session went back since a checkpoint was taken, and it did not help. The host does not
/// say to which checkpoint, so all of these count.
fn in_vain(situation: &Situation, checkpoint: &Checkpoint) -> usize {
    let returns = situation.past.iter().filter(|past| past.is("checkpoint-rollback"));
    let vain = returns.take_while(|past| past.effectiveness.is_none_or(|effect| effect < WORKED));
    vain.filter(|past| past.at >= checkpoint.at).count()
}

/// A step that failed just before a checkpoint was taken.
fn failed(config: &Config, checkpoint: &Checkpoint, detail: &Detail<'_>, left: &mut usize) -> Option<String> {
    for step in (0..checkpoint.step).rev() {
        *left = left.checked_sub(1)?;
        let Some(outcome) = detail(step)?.outcome else { continue };
        let before = checkpoint.at.saturating_sub(outcome.at);
        if before >= config.quiet_ms {
            return None;
        }
        if outcome.status == Status::Failed {
            return Some(format!("step {step} failed {} seconds before it was taken", before / 1000));
        }
    }
    None
}
