//! The safer form of a deletion: the same targets, moved into a folder of the project from which
//! they can be restored.
//!
//! Only a command that does nothing but delete fully known targets is rewritten, in its own place
//! in the command line; everything around it stays as it is. In any doubt there is no rewrite: in a
//! loop, if the rest of the line makes, moves or reads the targets, or if `rm` prints or asks
//! something, or refuses.
//!
//! The quarantine holds a `.gitignore` that matches everything, itself included, so that no
//! `git add` takes a deleted file into a commit.

use super::config::Config;
use super::rewriting;
use portcullis_builtin_shared::masked::PLACEHOLDER;
use portcullis_builtin_shared::place;
use portcullis_builtin_shared::text::{listed, quoted};
use portcullis_plugin::risk_calculator::{Edit, Rewrite};
use portcullis_plugin::types::{
    Action, Command, Context, Coverage, Effect, EffectKind, Entry, Facts, Path, Scope, Shell,
};

/// The only program that does nothing but delete: `git rm`, say, also changes the index.
const PROGRAM: &str = "rm";

/// Returns the rewrite of every command that deletes folders permanently; none unless it covers
/// them all.
pub(super) fn rewrite(action: &Action, context: &Context, config: &Config) -> Option<Rewrite> {
    let shell = action.shell().filter(|_| action.facts.coverage == Coverage::Full)?;
    let folder = folder(&action.facts, context, config)?;
    let base = [folder.as_str(), "/", &rewriting::review(action)].concat();
    let mut quarantine = QuarantineFolder { folder, base, taken: Vec::new() };
    let mut edits = Vec::new();
    for index in lossy(&action.facts) {
        let index = index?;
        let command = shell.commands.get(usize::try_from(index).ok()?)?;
        let targets = targets(action, shell, index, &quarantine.base)?;
        let text = move_command(&targets, &mut quarantine)?;
        edits.push(replace(shell, command, &text)?);
    }
    let explanation = [
        "it moves the targets to ",
        &listed([quarantine.base.as_str()]),
        " instead of deleting them; move them back to undo it",
    ]
    .concat();
    rewriting::of(edits, &explanation)
}

/// Returns the commands that recursively delete something that cannot be restored, each once.
fn lossy(facts: &Facts) -> Vec<Option<u32>> {
    let mut found = Vec::new();
    for effect in facts
        .effects
        .iter()
        .filter(|effect| effect.kind == EffectKind::FileDelete && effect.recursive)
    {
        if !place::is_expendable(effect, facts) && !found.contains(&effect.command) {
            found.push(effect.command);
        }
    }
    found
}

/// Returns the quarantine of the project that holds the first of this action's deletions.
fn folder(facts: &Facts, context: &Context, config: &Config) -> Option<String> {
    let folder = config.quarantine.as_deref()?;
    let deletions = facts.effects.iter().filter(|effect| effect.kind == EffectKind::FileDelete);
    let root = deletions
        .filter_map(|effect| facts.path(effect))
        .find_map(|path| place::root_of(&path.text, &context.roots))?;
    Some([root.trim_end_matches('/'), "/", folder].concat())
}

/// Returns the existing targets that the command deletes; none unless it only deletes simple, known
/// things, and the rest of the line does not touch them.
fn targets<'a>(action: &'a Action, shell: &Shell, index: u32, base: &str) -> Option<Vec<&'a str>> {
    let facts = &action.facts;
    let command = shell.commands.get(usize::try_from(index).ok()?)?;
    let request = Request::of(command)?;
    let own = |effect: &&Effect| effect.command == Some(index);
    let mut targets: Vec<&Path> = Vec::new();
    for effect in facts.effects.iter().filter(own).filter(|effect| !place::is_sink(&effect.target))
    {
        let path = facts.path(effect)?;
        let simple = effect.certain && !path.glob && !path.text.contains(PLACEHOLDER);
        let reachable =
            matches!(path.scope, Scope::Inside | Scope::Scratch) || path.entry == Entry::Link;
        // Neither the quarantine nor a folder around it can be moved into it.
        let shelved = place::holds(&path.text, base) || place::holds(parent(base), &path.text);
        if effect.kind != EffectKind::FileDelete || !simple || !reachable || shelved {
            return None;
        }
        if !targets.iter().any(|target| target.text == path.text) {
            targets.push(path);
        }
    }
    let around = Around { facts, shell, index, base };
    if !targets.iter().all(|target| request.fits(target) && around.leaves(target))
        || around.sees_the_quarantine()
    {
        return None;
    }
    let there: Vec<&str> = targets
        .iter()
        .filter(|target| target.entry != Entry::Absent)
        .map(|target| target.text.as_str())
        .collect();
    // A folder takes the targets in it with it.
    let outermost: Vec<&str> = there
        .iter()
        .copied()
        .filter(|one| !there.iter().any(|other| other != one && place::holds(other, one)))
        .collect();
    (!outermost.is_empty()).then_some(outermost)
}

/// The options and targets in the words of an `rm`.
struct Request {
    /// Without `-f` it fails on a missing target.
    forced: bool,
    /// A word ends in a slash, which only a folder accepts.
    slashed: bool,
}

impl Request {
    /// Parses the command; none if it prints or asks something, if it refuses, or if a flag is not
    /// known.
    fn of(command: &Command) -> Option<Self> {
        let (mut request, mut recursive, mut only) =
            (Self { forced: false, slashed: false }, false, false);
        for word in &command.words {
            let text = word.text.as_str();
            match text {
                _ if only || !text.starts_with('-') || text == "-" => {
                    let last = text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                    // `rm` refuses to delete the current folder and its parent.
                    if !word.known || matches!(last, "" | "." | "..") {
                        return None;
                    }
                    request.slashed |= text.ends_with('/');
                }
                "--" => only = true,
                "--recursive" => recursive = true,
                "--force" => request.forced = true,
                _ if text.bytes().skip(1).all(|flag| b"rRfd".contains(&flag)) => {
                    recursive |= text.contains(['r', 'R']);
                    request.forced |= text.contains('f');
                }
                _ => return None,
            }
        }
        recursive.then_some(request)
    }

    /// Returns true if it deletes the target, or prints nothing if the target is missing.
    fn fits(&self, target: &Path) -> bool {
        match target.entry {
            Entry::Folder => true,
            Entry::Absent => self.forced,
            Entry::File | Entry::Link | Entry::Special => !self.slashed,
            Entry::Unknown => false,
        }
    }
}

/// The rest of the command line.
struct Around<'a> {
    facts: &'a Facts,
    shell: &'a Shell,
    index: u32,
    base: &'a str,
}

/// Programs that look at a folder but not at hidden files in it, or not below it.
const SHALLOW: &[&str] = &[
    "ls", "cd", "pushd", "stat", "test", "[", "git", "rg", "ag", "fd", "tree", "mkdir", "touch",
    "chmod",
];

impl Around<'_> {
    /// Returns true if the target is still the same when the command runs as when it was looked at.
    fn leaves(&self, target: &Path) -> bool {
        let earlier = self
            .facts
            .effects
            .iter()
            .filter(|effect| effect.command.is_none_or(|command| command < self.index));
        let mut changing = earlier.filter(|effect| effect.kind != EffectKind::FileRead);
        // An earlier part of the line may make what is not there yet.
        if target.entry == Entry::Absent {
            return changing.next().is_none();
        }
        let files = |kind: &EffectKind| {
            matches!(kind, EffectKind::FileCreate | EffectKind::FileModify | EffectKind::FileDelete)
        };
        !changing.any(|effect| files(&effect.kind) && effect.certain && moves_away(effect, target))
    }

    /// Returns true if a later command would find the quarantine where the original leaves nothing.
    fn sees_the_quarantine(&self) -> bool {
        let program = |effect: &Effect| {
            self.shell
                .commands
                .get(usize::try_from(effect.command?).ok()?)
                .map(|command| command.program.as_str())
        };
        let sees = |effect: &Effect| match effect.kind {
            EffectKind::FileRead | EffectKind::FileDelete | EffectKind::Send => {
                !program(effect).is_some_and(|name| SHALLOW.contains(&name))
            }
            EffectKind::Discard => effect.recursive,
            _ => false,
        };
        let later = self
            .facts
            .effects
            .iter()
            .filter(|effect| effect.command.is_none_or(|command| command > self.index));
        let mut seen = later.filter(|effect| {
            place::holds(place::whole(&effect.target).0, self.base) && sees(effect)
        });
        seen.next().is_some() || self.shell.commands.iter().any(takes_ignored)
    }
}

/// Returns true if the effect can move the target away: it is on it, or on a folder above it that
/// it names in full.
fn moves_away(effect: &Effect, target: &Path) -> bool {
    let makes_above = matches!(effect.kind, EffectKind::FileCreate) && effect.target != target.text;
    !makes_above && place::holds(&effect.target, &target.text)
}

/// Returns true for a git command that does not spare ignored files.
fn takes_ignored(command: &Command) -> bool {
    let has = |names: &[&str]| command.words.iter().any(|word| names.contains(&word.text.as_str()));
    command.program == "git"
        && (has(&["add"]) && has(&["-f", "--force", "-Af", "-fA"])
            || has(&["stash"]) && has(&["-a", "--all"]))
}

/// Folders for moved files; two things of one name do not share one.
struct QuarantineFolder<'a> {
    /// The quarantine.
    folder: String,
    /// This review's folder in it.
    base: String,
    taken: Vec<(usize, &'a str)>,
}

impl<'a> QuarantineFolder<'a> {
    fn place(&mut self, target: &'a str) -> String {
        let name = target.rsplit('/').next().unwrap_or(target);
        let slot = (0..).find(|slot| !self.taken.contains(&(*slot, name))).unwrap_or_default();
        self.taken.push((slot, name));
        if slot == 0 {
            self.base.clone()
        } else {
            [self.base.as_str(), "/part-", &slot.to_string()].concat()
        }
    }
}

fn move_command<'a>(targets: &[&'a str], quarantine: &mut QuarantineFolder<'a>) -> Option<String> {
    let mut folders: Vec<(String, Vec<String>)> = Vec::new();
    for target in targets {
        let folder = quoted(&quarantine.place(target))?;
        let word = quoted(target)?;
        match folders.iter_mut().find(|(known, _)| *known == folder) {
            Some((_, words)) => words.push(word),
            None => folders.push((folder, vec![word])),
        }
    }
    let made: Vec<&str> = folders.iter().map(|(folder, _)| folder.as_str()).collect();
    let ignore = quoted(&[quarantine.folder.as_str(), "/.gitignore"].concat())?;
    let mut text = ["mkdir -p ", &made.join(" "), " && echo '*' > ", &ignore].concat();
    for (folder, words) in &folders {
        // The slash at the end makes `mv` fail where no folder is.
        text.push_str(&[" && mv -- ", &words.join(" "), " ", folder, "/"].concat());
    }
    Some(text)
}

/// Replaces a command that does nothing else by `text`.
fn replace(shell: &Shell, command: &Command, text: &str) -> Option<Edit> {
    let bare = rewriting::is_bare(command, PROGRAM)
        && command.input_from.is_none()
        && rewriting::runs_once(shell, command);
    // The text may write the name in another way: `r\m`, a variable.
    let named = rewriting::span(shell, command)?.contains(PROGRAM);
    if bare && named {
        rewriting::splice(shell, command, text, &rewriting::redirections(command)?)
    } else {
        None
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(folder, _)| folder)
}
