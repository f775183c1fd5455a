//! Keeps secrets out of commits and away from what is published.
//!
//! It looks at what git is told to stage and commit, at what the clients of forges publish, at
//! literal secrets that are written into files (the host has masked their values: the placeholder is
//! the evidence), and at whatever turns a scanner for secrets off. It opens no file: what a folder
//! holds, it does not know.

mod config;
mod contents;
mod edits;
mod files;
mod git;
mod globs;
mod json;
mod objections;
mod placeholders;
mod publishing;
mod scanners;
mod staging;

use config::Config;
use objections::Objecting;
use portcullis_plugin::risk_calculator::*;
use portcullis_plugin::types::{EffectKind, Operation, Shell};

/// The plugin.
#[derive(Debug)]
pub struct CommitSecrets;

impl RiskCalculator for CommitSecrets {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "commit-secrets",
        env!("CARGO_PKG_VERSION"),
        "Asks before a secret gets into a commit, a gist or a comment, and before a scanner for secrets is turned off.",
    )
    .severity(Severity::High)
    .config::<Config>();

    fn assess(prepared: &[u8], action: &Action, _: &Context) -> Result<Assessment, Error> {
        if !is_concerned(action) {
            return Ok(Assessment::nothing());
        }
        let config = Config::from_prepared(prepared)?;
        let mut found: Vec<Objecting> = Vec::new();
        match &action.operation {
            Operation::Shell(shell) => judge_shell(shell, action, &config, &mut found),
            Operation::Tool(call) => publishing::judge_tool(call, action, &config, &mut found),
            _ => {}
        }
        for edit in edits::list_edits(action, |_| true) {
            contents::judge(&edit, action, &config, &mut found);
            scanners::judge_edit(&edit, &config, &mut found);
        }
        scanners::judge_deletions(action, &config, &mut found);
        Ok(objections::assess(found))
    }
}

portcullis_plugin::export!(risk-calculator: CommitSecrets);

/// Returns true if an action can be of interest: it writes a file, or runs a program that this
/// plugin reads.
fn is_concerned(action: &Action) -> bool {
    let changes = || action.facts.effects.iter().any(|effect| effect.kind.changes_files());
    match &action.operation {
        Operation::Shell(shell) => {
            shell.commands.iter().any(|command| is_read(&command.program)) || changes()
        }
        Operation::File(_) => changes(),
        Operation::Tool(_) => {
            let publishes =
                |effect: &portcullis_plugin::types::Effect| effect.kind == EffectKind::Publish;
            changes() || action.tool.contains("git") || action.facts.effects.iter().any(publishes)
        }
        _ => false,
    }
}

fn is_read(program: &str) -> bool {
    matches!(
        program,
        "git"
            | "gh"
            | "glab"
            | "hub"
            | "hg"
            | "svn"
            | "jj"
            | "sl"
            | "bzr"
            | "fossil"
            | "darcs"
            | "pre-commit"
            | "husky"
            | "lefthook"
            | "overcommit"
            | "export"
            | "chmod"
            | "apply_patch"
    )
}

fn judge_shell(shell: &Shell, action: &Action, config: &Config, found: &mut Vec<Objecting>) {
    for command in &shell.commands {
        staging::judge(command, action, config, found);
        publishing::judge(command, shell, config, found);
        scanners::judge(command, config, found);
    }
}

#[cfg(test)]
mod tests;
