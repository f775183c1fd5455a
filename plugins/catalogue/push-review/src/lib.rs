//! Sums up what a session changed before it is pushed, and says what needs a reviewer.
//!
//! It remembers which files the session has changed since its last push, and how many lines as far
//! as its tools show them. When work is about to leave the machine, it reports what goes, if that needs
//! somebody: protected files, a branch that others build on, a large change, a forced push, a merge,
//! a tag. It decides nothing, and what programs write by themselves it does not see.

mod changes;
mod config;
mod edits;
mod git;
mod globs;
mod json;
mod memory;
mod moments;
mod review;

use config::Config;
use git::Git;
use memory::Memory;
use moments::{Kind, Moment};
use portcullis_plugin::pattern::*;
use portcullis_plugin::types::{EffectKind, Outcome, Shell};

/// The plugin.
#[derive(Debug)]
pub struct PushReview;

impl Pattern for PushReview {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "push-review",
        env!("CARGO_PKG_VERSION"),
        "Sums up what a session changed before it is pushed, and says what needs a reviewer.",
    )
    .reads(&[Reads::Action, Reads::Context, Reads::Session])
    .severity(Severity::Medium)
    .config::<Config>();

    fn detect(
        prepared: &[u8],
        state: &[u8],
        _: &History,
        action: &Action,
        context: &Context,
    ) -> Result<Report, Error> {
        match &action.outcome {
            Some(outcome) => remember(prepared, state, action, outcome, context),
            None if moments::may_have_one(action) => look(prepared, state, action, context),
            None => Ok(Report::nothing()),
        }
    }
}

portcullis_plugin::export!(pattern: PushReview);

/// Looks at an action that may push something.
fn look(
    prepared: &[u8],
    state: &[u8],
    action: &Action,
    context: &Context,
) -> Result<Report, Error> {
    let mut memory = Memory::read(state);
    let moments = moments::list_moments(action, &memory.branch);
    if moments.is_empty() {
        return Ok(Report::nothing());
    }
    let config = Config::from_prepared(prepared)?;
    // What stands before the push in the same line goes along with it.
    changes::add_changes(&mut memory, action, context, |place| {
        review::is_protected(&config, place)
    });
    let found = review::review(&moments, &memory, &config, action.step);
    Ok(found.map_or_else(Report::nothing, Report::from))
}

/// Remembers what an action that ended has changed.
fn remember(
    prepared: &[u8],
    state: &[u8],
    action: &Action,
    outcome: &Outcome,
    context: &Context,
) -> Result<Report, Error> {
    let changes_files = |effect: &portcullis_plugin::types::Effect| {
        effect.kind.changes_files() || effect.kind == EffectKind::Discard
    };
    let runs_git = action.shell().is_some_and(runs_git);
    let changes = action.facts.effects.iter().any(changes_files);
    if !changes::may_have_happened(action, outcome) || !(runs_git || changes) {
        return Ok(Report::nothing());
    }
    let before = Memory::read(state);
    let mut memory = before.clone();
    if changes {
        let config = Config::from_prepared(prepared)?;
        changes::add_changes(&mut memory, action, context, |place| {
            review::is_protected(&config, place)
        });
    }
    if let Some(shell) = action.shell().filter(|_| runs_git) {
        follow(&mut memory, shell, action, outcome);
    }
    Ok(if memory == before {
        Report::nothing()
    } else {
        Report::nothing().remember(memory.to_bytes())
    })
}

fn runs_git(shell: &Shell) -> bool {
    shell.commands.iter().any(|command| command.program == "git")
}

/// Follows the branch, and begins again after a push.
fn follow(memory: &mut Memory, shell: &Shell, action: &Action, outcome: &Outcome) {
    let is_ok = outcome.status == Status::Ok;
    for git in shell.commands.iter().filter_map(Git::read).filter(|_| is_ok) {
        changes::follow_branch(&mut memory.branch, &git);
    }
    let shows_branch = shell.commands.iter().filter_map(Git::read).any(|git| {
        (git.verb == "branch" && git.has(None, &["--show-current"]))
            || (git.verb == "rev-parse" && git.has(None, &["--abbrev-ref"]))
    });
    let output = outcome.output.trim();
    if shows_branch
        && shell.commands.len() == 1
        && !output.contains(char::is_whitespace)
        && !output.is_empty()
    {
        output.clone_into(&mut memory.branch);
    } else if let Some(branch) = changes::find_branch(output) {
        branch.clone_into(&mut memory.branch);
    }
    let pushed =
        |moment: &Moment| matches!(moment.kind, Kind::Push | Kind::Force | Kind::LeasedForce);
    if is_ok && moments::list_moments(action, &memory.branch).iter().any(pushed) {
        memory.forget("");
    }
}

#[cfg(test)]
mod tests;
