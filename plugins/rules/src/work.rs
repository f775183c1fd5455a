//! `prevent_work_loss`: changes that are not committed, stashes and branches are not thrown away before
//! something holds them.
//!
//! Where git itself can keep them the command is rewritten: it stashes the changes first, or leaves a
//! ref below `refs/portcullis/kept`, then does what it was told. Otherwise a person decides.

use crate::config::{Config, WORK};
use crate::git::Git;
use crate::rewriting;
use crate::showing::showing;
use portcullis_builtin_judging::place;
use portcullis_builtin_judging::text::listed;
use portcullis_plugin::risk_calculator::{Rewrite, Ruling};
use portcullis_plugin::types::{Action, Context, Coverage, Effect, EffectKind, Facts};

/// Where refs to what would be lost are kept: git does not show them, and does not collect what they hold.
const KEPT: &str = "refs/portcullis/kept/";

/// The rule.
pub(crate) fn rule(action: &Action, _: &Context, _: &Config<'_>) -> Option<Ruling> {
    let facts = &action.facts;
    let mut lost = lost(facts).peekable();
    lost.peek()?;
    let mut targets: Vec<&str> = Vec::new();
    for target in lost.map(|effect| effect.target.as_str()).filter(|target| !target.is_empty()) {
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    let what = "this throws away work that nothing else holds";
    let why = if targets.is_empty() { what.to_owned() } else { [what, ", in ", &listed(targets.iter().copied())].concat() };
    let ruling = match rewrite(action) {
        Some(rewrite) => Ruling::modify(WORK, &why, rewrite),
        None => Ruling::ask(WORK, &why),
    };
    let ruling = ruling.instead("commit or stash it first");
    Some(showing(ruling, "path", targets))
}

fn lost(facts: &Facts) -> impl Iterator<Item = &Effect> {
    facts.effects.iter().filter(|effect| effect.kind == EffectKind::Discard && !place::is_expendable(effect, facts))
}

/// Every command that throws work away, keeping it first; none unless that covers them all.
fn rewrite(action: &Action) -> Option<Rewrite> {
    let shell = action.shell().filter(|_| action.facts.coverage == Coverage::Full)?;
    let mut commands: Vec<u32> = Vec::new();
    for effect in lost(&action.facts) {
        let index = effect.command?;
        if !commands.contains(&index) {
            commands.push(index);
        }
    }
    let review = rewriting::review(action);
    let mut edits = Vec::new();
    let mut ways: Vec<&str> = Vec::new();
    for index in commands {
        let command = shell.commands.get(usize::try_from(index).ok()?)?;
        let git = Git::of(command).filter(|_| rewriting::is_bare(command, "git"))?;
        let (keep, way) = keep(&git, &review)?;
        let text = [&keep, " && ", rewriting::span(shell, command)?.trim()].concat();
        edits.push(rewriting::splice(shell, command, &text)?);
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    rewriting::of(edits, &["it keeps what would be lost first: ", &ways.join("; ")].concat())
}

const STASHED: &str = "`git stash pop` brings the changes back";
const REFERRED: &str = "`git for-each-ref refs/portcullis/kept` lists what was kept";

/// What keeps the work that the command throws away, and how to have it back.
fn keep(git: &Git<'_>, review: &str) -> Option<(String, &'static str)> {
    let all = || Some((stash(git, review, &[])?, STASHED));
    let these = |paths: &[&str]| Some((stash(git, review, paths)?, STASHED));
    match git.name {
        _ if git.has('p', "--patch") => None,
        "reset" if git.has('\0', "--hard") => all(),
        "switch" if git.has('f', "--force") || git.has('\0', "--discard-changes") => all(),
        "checkout" => match git.after_dashes() {
            Some(paths) if !paths.is_empty() => these(paths),
            _ if git.has('f', "--force") => all(),
            _ => these(&git.operands().filter(|word| is_path(word)).collect::<Vec<_>>()).filter(|_| git.operands().all(is_path)),
        },
        "restore" if git.rest.iter().any(|word| matches!(*word, "-s" | "--source")) => None,
        "restore" => these(&git.operands().collect::<Vec<_>>()).filter(|_| git.operands().next().is_some()),
        "branch" if !git.has('r', "--remotes") => referred(git, review, git.operands().take(if git.has('D', "") { 16 } else { 1 })),
        "stash" if git.rest.first() == Some(&"drop") => {
            let entry = git.operands().nth(1).unwrap_or("stash@{0}");
            let numbered = ["stash@{", entry, "}"].concat();
            let entry = if entry.bytes().all(|byte| byte.is_ascii_digit()) { &numbered } else { entry };
            let kept = [KEPT, review, "/stash"].concat();
            Some((git.beside(&["update-ref", &kept, entry])?, REFERRED))
        }
        _ => None,
    }
}

fn is_path(word: &str) -> bool {
    word == "." || word.starts_with("./") || word.ends_with('/')
}

fn stash(git: &Git<'_>, review: &str, paths: &[&str]) -> Option<String> {
    let message = ["kept by portcullis ", review].concat();
    let mut words = vec!["stash", "push", "-m", &message];
    if !paths.is_empty() {
        words.push("--");
        words.extend(paths);
    }
    git.beside(&words)
}

/// A ref to each branch.
fn referred<'a>(git: &Git<'_>, review: &str, branches: impl Iterator<Item = &'a str>) -> Option<(String, &'static str)> {
    let mut texts = Vec::new();
    for branch in branches {
        let kept = [KEPT, review, "/", branch].concat();
        let head = ["refs/heads/", branch].concat();
        texts.push(git.beside(&["update-ref", &kept, &head])?);
    }
    (!texts.is_empty()).then(|| (texts.join(" && "), REFERRED))
}
