//! `prevent_work_loss`: uncommitted changes, stashes and branches are not thrown away before
//! something holds them.
//!
//! If git itself can keep them, the command is rewritten: a ref below `refs/portcullis/kept` holds
//! the changes, the branch or the stash, then the command runs as it is written. Keeping touches
//! neither the working tree nor the index nor the list of stashes, so that the rest of the line
//! keeps its meaning. Otherwise a person decides; also if an operation is unfinished in the
//! repository, which the host sees.

use super::config::{Config, WORK};
use super::emptying;
use super::git::Git;
use super::overwriting;
use super::rewriting;
use super::showing::showing;
use portcullis_builtin_shared::place;
use portcullis_builtin_shared::text::listed;
use portcullis_plugin::risk_calculator::{Rewrite, Ruling};
use portcullis_plugin::types::{Action, Command, Context, Coverage, Effect, EffectKind, Facts};

/// The namespace of refs to work that would be lost: git does not show them, and does not collect
/// their objects.
const KEPT: &str = "refs/portcullis/kept/";

/// Applies the rule.
pub(super) fn rule(action: &Action, context: &Context, _: &Config) -> Option<Ruling> {
    let facts = &action.facts;
    let mut lost = lost(facts).peekable();
    if lost.peek().is_none() {
        return emptying::rule(action, context).or_else(|| overwritten(action, context));
    }
    let mut targets: Vec<&str> = Vec::new();
    for target in lost.map(|effect| effect.target.as_str()).filter(|target| !target.is_empty()) {
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    let what = "this throws away work that nothing else holds";
    let why = if targets.is_empty() {
        what.to_owned()
    } else {
        [what, ", in ", &listed(targets.iter().copied())].concat()
    };
    let ruling = match rewrite(action) {
        Some(rewrite) => Ruling::modify(WORK, &why, rewrite),
        None => Ruling::ask(WORK, &why),
    };
    let ruling = ruling.instead("commit or stash it first");
    Some(showing(ruling, "path", targets))
}

/// Objects to files that get other contents though nothing else holds theirs.
fn overwritten(action: &Action, context: &Context) -> Option<Ruling> {
    let mut files = overwriting::replaced(action, context);
    files.dedup();
    if files.is_empty() {
        return None;
    }
    let reason = ["this replaces what only this file holds: ", &listed(files.iter().copied())];
    let ruling = Ruling::warn(WORK, &reason.concat())
        .instead("write to a file of another name, or keep a copy first");
    Some(showing(ruling, "path", files))
}

fn lost(facts: &Facts) -> impl Iterator<Item = &Effect> {
    facts
        .effects
        .iter()
        .filter(|effect| effect.kind == EffectKind::Discard && !place::is_expendable(effect, facts))
}

/// Rewrites every command that throws work away to keep it first; none unless that covers them all.
fn rewrite(action: &Action) -> Option<Rewrite> {
    let shell = action
        .shell()
        .filter(|_| action.facts.coverage == Coverage::Full && !names_the_repository(action))?;
    let mut commands: Vec<u32> = Vec::new();
    for effect in lost(&action.facts) {
        let index = effect.command?;
        if !commands.contains(&index) {
            commands.push(index);
        }
    }
    let review = rewriting::review(action);
    let mut edits = Vec::new();
    let mut ways: Vec<String> = Vec::new();
    for (at, index) in commands.into_iter().enumerate() {
        let command = shell.commands.get(usize::try_from(index).ok()?)?;
        let bare = rewriting::is_bare(command, "git")
            && command.input_from.is_none()
            && rewriting::runs_once(shell, command);
        let git = Git::of(command).filter(|git| bare && git.is_located())?;
        let earlier = shell.commands.iter().take(usize::try_from(index).ok()?);
        let place = Place {
            git: &git,
            kept: [KEPT, &review, "/", &(at + 1).to_string()].concat(),
            settled: !unsettles(earlier),
        };
        let kept = place.keep()?;
        let text = [&kept.text, " && ", rewriting::span(shell, command)?.trim()].concat();
        edits.push(rewriting::splice(shell, command, &text, "")?);
        ways.push(kept.way);
    }
    rewriting::of(edits, &["it keeps what would be lost first: ", &ways.join("; ")].concat())
}

/// Returns true if the line selects git's repository by variables.
fn names_the_repository(action: &Action) -> bool {
    action.shell().is_some_and(|shell| shell.text.contains("GIT_"))
}

/// Subcommands after which a repository is as settled as before.
const SETTLED: &[&str] = &[
    "add",
    "blame",
    "branch",
    "cat-file",
    "checkout",
    "clean",
    "commit",
    "config",
    "describe",
    "diff",
    "fetch",
    "for-each-ref",
    "grep",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "mv",
    "push",
    "remote",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "rm",
    "shortlog",
    "show",
    "status",
    "switch",
    "tag",
    "update-ref",
];

/// Returns true if an earlier git command may leave a conflict or an unfinished operation behind.
fn unsettles<'a>(mut earlier: impl Iterator<Item = &'a Command>) -> bool {
    let half_done = |command: &Command| match Git::of(command) {
        Some(git) if matches!(git.name, "checkout" | "switch") => git.has('m', "--merge"),
        // Adding an empty entry for a file to come keeps git from making a stash.
        Some(git) if git.name == "add" => git.has('N', "--intent-to-add"),
        Some(git) if git.name == "stash" => !matches!(
            git.rest.first().copied(),
            None | Some("push" | "save" | "list" | "show" | "drop" | "clear")
        ),
        Some(git) => !SETTLED.contains(&git.name),
        None => true,
    };
    earlier.any(|command| command.program == "git" && half_done(command))
}

/// The command, and the ref that keeps the work that it throws away.
struct Place<'a> {
    git: &'a Git<'a>,
    /// The ref.
    kept: String,
    /// No operation is unfinished in the repository when the command runs, as far as the line
    /// shows.
    settled: bool,
}

/// A command that keeps work, and the way to restore it.
struct Kept {
    text: String,
    way: String,
}

impl Place<'_> {
    fn keep(&self) -> Option<Kept> {
        let git = self.git;
        match git.name {
            // A person answers the one, and no stash holds the work of submodules for the other.
            _ if git.has('p', "--patch")
                || git.rest.iter().any(|word| word.starts_with("--recurse")) =>
            {
                None
            }
            "reset" if git.has('\0', "--hard") && git.operands().all(is_head) => self.changes(),
            "checkout" => match git.after_dashes() {
                Some(paths) if !paths.is_empty() => {
                    self.changes().filter(|_| git.before_dashes().all(is_head))
                }
                // Without dashes a word may be a branch; only these are surely paths.
                _ => self.changes().filter(|_| git.operands().all(is_path)),
            },
            "restore"
                if git.has('s', "--source")
                    || git.rest.iter().any(|word| word.starts_with("--so")) =>
            {
                None
            }
            "restore" => self.changes().filter(|_| git.operands().next().is_some()),
            "branch" if !git.has('r', "--remotes") => self.branches(),
            "stash" if git.rest.first() == Some(&"drop") => self.stash(),
            _ => None,
        }
    }

    /// Keeps uncommitted changes of files that git knows. Unknown files stay in place: only the
    /// contents of the index and the current commit are written there.
    fn changes(&self) -> Option<Kept> {
        let made = self.git.beside(&["stash", "create"])?;
        let kept = self.git.beside(&["update-ref", &self.kept])?;
        // `git stash create` prints nothing if nothing has changed; the ref then holds HEAD.
        let text =
            ["portcullis_kept=$(", &made, ") && ", &kept, " \"${portcullis_kept:-HEAD}\""].concat();
        self.settled.then(|| Kept {
            text,
            way: ["`git stash apply ", &self.kept, "` brings the changes back"].concat(),
        })
    }

    /// Keeps the branches that exist.
    fn branches(&self) -> Option<Kept> {
        let deletes = self.git.has('D', "--delete") || self.git.has('d', "--delete");
        let branches: Vec<&str> =
            // Unless it deletes, only the first word is a branch that moves.
            self.git.operands().take(if deletes { MOST_BRANCHES + 1 } else { 1 }).collect();
        let named = |branch: &&str| {
            !branch.contains("..")
                && branch
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte))
        };
        if branches.is_empty() || branches.len() > MOST_BRANCHES || !branches.iter().all(named) {
            return None;
        }
        let texts: Option<Vec<String>> = branches
            .iter()
            .map(|branch| {
                self.referred(
                    &["refs/heads/", branch].concat(),
                    &[&self.kept, "/", branch].concat(),
                )
            })
            .collect();
        let first = branches.first().copied().unwrap_or_default();
        let way = ["`git branch ", first, " ", &self.kept, "/", first, "` brings it back"].concat();
        Some(Kept { text: texts?.join(" && "), way })
    }

    fn stash(&self) -> Option<Kept> {
        let entry = self.git.operands().nth(1).unwrap_or("0");
        let number =
            entry.strip_prefix("stash@{").and_then(|rest| rest.strip_suffix('}')).unwrap_or(entry);
        let plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let text =
            self.referred(&["stash@{", plain.then_some(number)?, "}"].concat(), &self.kept)?;
        Some(Kept {
            text,
            way: ["`git stash apply ", &self.kept, "` brings the changes back"].concat(),
        })
    }

    /// Adds a second ref to a revision; nothing if the revision does not exist, which the command
    /// itself reports.
    fn referred(&self, revision: &str, kept: &str) -> Option<String> {
        let there = self.git.beside(&["rev-parse", "-q", "--verify", revision])?;
        let keep = self.git.beside(&["update-ref", kept, revision])?;
        Some(["if ", &there, " >/dev/null; then ", &keep, "; fi"].concat())
    }
}

/// The most branches that one command deletes and that are kept.
const MOST_BRANCHES: usize = 16;

fn is_head(word: &str) -> bool {
    matches!(word, "HEAD" | "@")
}

fn is_path(word: &str) -> bool {
    word == "." || word.starts_with("./") || word.ends_with('/')
}
