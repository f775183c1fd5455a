//! `prevent_force_push` and `warn_direct_push`: a branch that others build on changes only
//! deliberately.
//!
//! A remote branch is overwritten only if nobody else has changed it.

use super::config::{Config, DIRECT, PUSH};
use super::git::Git;
use super::rewriting;
use crate::requests::asks_to_push;
use portcullis_builtin_shared::text::listed;
use portcullis_plugin::risk_calculator::{Rewrite, Ruling};
use portcullis_plugin::types::{Action, Context, Coverage, Effect, EffectKind, Operation};

/// Branches that others build on.
const SHARED: &[&str] = &["main", "master", "trunk", "production", "prod", "release", "stable"];

/// Objects to a push to a branch that others build on, or one past the repository's own checks.
pub(super) fn direct(action: &Action, context: &Context, _: &Config) -> Option<Ruling> {
    if matches!(&action.operation, Operation::Tool(_) | Operation::Network(_)) {
        return by_tool(action);
    }
    to_elsewhere(action).or_else(|| by_git(action, context)).or_else(|| by_command(action))
}

/// The form that the host's reader reports for a push to a remote which the session set.
const ELSEWHERE: &str = "push-elsewhere";

/// Asks about a push to a machine that the project did not know before.
fn to_elsewhere(action: &Action) -> Option<Ruling> {
    action.facts.forms.iter().find(|form| form.id == ELSEWHERE)?;
    let why = "this pushes the project to a machine that none of its remotes led to before";
    Some(Ruling::ask(DIRECT, why).instead("let the person set the remote, or name it"))
}

fn by_git(action: &Action, context: &Context) -> Option<Ruling> {
    let shell = action.shell()?;
    let publishes = |index: usize| {
        let own = |effect: &Effect| {
            effect.kind == EffectKind::Publish
                && effect.command.and_then(|at| usize::try_from(at).ok()) == Some(index)
        };
        action.facts.effects.iter().any(own)
    };
    let commands =
        shell.commands.iter().enumerate().filter(|(_, command)| command.program == "git");
    let parts = commands.filter_map(|(index, command)| Some((index, Git::of(command)?)));
    parts
        .filter(|(index, git)| git.name == "remote" || git.name == "push" && publishes(*index))
        .find_map(|(_, git)| {
            if git.name == "remote" {
                let moves = git.rest.first() == Some(&"set-url");
                return moves.then(|| {
                    Ruling::warn(DIRECT, "this changes where pushes go")
                        .instead("add a second remote under a name of its own")
                });
            }
            // `SOURCE:TARGET`, with a plus in front if it is forced.
            let to = git
                .operands()
                .map(|word| word.rsplit(':').next().unwrap_or(word).trim_start_matches('+'));
            let shared = to
                .map(|branch| branch.trim_start_matches("refs/heads/"))
                .find(|branch| SHARED.contains(branch) && !asks_to_push(branch, context));
            let ruling = match shared {
                Some(branch) => Ruling::warn(
                    DIRECT,
                    &[
                        "this changes ",
                        &listed([branch]),
                        ", which others build on, without a review of theirs",
                    ]
                    .concat(),
                ),
                // It has no letter here: `git push -n` is a dry run.
                None if git.has('\0', "--no-verify") => {
                    Ruling::warn(DIRECT, "this pushes past the checks of the repository")
                }
                None => return None,
            };
            Some(ruling.instead("push a branch of its own and let somebody review it"))
        })
}

/// Programs whose pushes are judged by the branch.
const VERSION_CONTROL: &[&str] = &["git", "gt", "hg", "jj", "sl", "svn"];

/// Objects to a command that deploys or publishes.
fn by_command(action: &Action) -> Option<Ruling> {
    let shell = action.shell()?;
    let program = |effect: &Effect| {
        let command = shell.commands.get(usize::try_from(effect.command?).ok()?)?;
        Some(command.program.as_str())
    };
    let why = action.facts.effects.iter().find_map(|effect| match effect.kind {
        EffectKind::Publish
            if effect.target != "origin"
                && !program(effect).is_some_and(|name| VERSION_CONTROL.contains(&name)) =>
        {
            Some("this deploys or publishes: others get it at once")
        }
        _ => None,
    })?;
    let ruling = Ruling::warn(DIRECT, why);
    Some(ruling.instead("show the person the plan or a dry run of it first"))
}

/// Objects to a foreign tool that publishes something, pays, or gives rights away.
fn by_tool(action: &Action) -> Option<Ruling> {
    let (asks, why) = action
        .facts
        .effects
        .iter()
        .filter_map(|effect| match effect.kind {
            EffectKind::Publish => {
                const WHY: &str =
                    "this merges, deploys, publishes or stops something: it is so for others at once";
                Some((false, WHY))
            }
            EffectKind::Privilege => Some((true, "this lets others do or see more")),
            EffectKind::ResourceUse => Some((true, "this spends or moves money")),
            _ => None,
        })
        .max_by_key(|(asks, _)| *asks)?;
    let ruling = if asks { Ruling::ask(DIRECT, why) } else { Ruling::warn(DIRECT, why) };
    Some(ruling.instead("show the person what it is about, and let them do it"))
}

/// The form that the host's reader finds.
const FORM: &str = "force-push";
const WHY: &str = "this overwrites a remote branch, with whatever others have put there";

/// Applies the rule.
pub(super) fn rule(action: &Action, _: &Context, _: &Config) -> Option<Ruling> {
    action.facts.forms.iter().find(|form| form.id == FORM)?;
    let ruling = match rewrite(action) {
        Some(rewrite) => Ruling::modify(PUSH, WHY, rewrite),
        None => Ruling::ask(PUSH, WHY),
    };
    Some(
        ruling
            .instead("push with `--force-with-lease`, which stops where somebody else has pushed"),
    )
}

/// Returns the same push with a lease, for every command that forces one.
fn rewrite(action: &Action) -> Option<Rewrite> {
    let shell = action.shell().filter(|_| action.facts.coverage == Coverage::Full)?;
    let mut edits = Vec::new();
    for form in action.facts.forms.iter().filter(|form| form.id == FORM) {
        let command = shell.commands.get(usize::try_from(form.command?).ok()?)?;
        let git = Git::of(command)
            .filter(|git| git.name == "push" && rewriting::is_bare(command, "git"))?;
        edits.push(rewriting::splice(
            shell,
            command,
            &leased(&git)?,
            &rewriting::redirections(command)?,
        )?);
    }
    rewriting::of(
        edits,
        "it pushes with `--force-with-lease`: it stops where somebody else has pushed",
    )
}

/// Returns the command with a lease; none if something else forces too.
fn leased(git: &Git<'_>) -> Option<String> {
    let mut words = vec!["push", "--force-with-lease"];
    let mut shorts = String::from("-");
    for word in &git.rest {
        match *word {
            "--force" | "-f" => {}
            "--mirror" | "--delete" | "--prune" => return None,
            refspec if refspec.starts_with('+') => return None,
            cluster if is_cluster(cluster) => {
                shorts.extend(cluster.chars().skip(1).filter(|letter| *letter != 'f'))
            }
            other => words.push(other),
        }
    }
    if shorts.len() > 1 {
        words.insert(2, &shorts);
    }
    git.beside(&words)
}

fn is_cluster(word: &str) -> bool {
    word.len() > 2
        && word.starts_with('-')
        && !word.starts_with("--")
        && word.bytes().skip(1).all(|byte| b"fuqvn46d".contains(&byte))
}
