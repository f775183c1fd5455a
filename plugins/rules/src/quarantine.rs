//! The safer form of a deletion: the same targets, moved into a folder of the project from which they
//! can be had back.
//!
//! Only a command that does nothing but delete what is fully known is rewritten, in its own place in the
//! command line; everything around it stays as it is. Where any of that is in doubt there is no rewrite.

use crate::config::Config;
use crate::rewriting;
use portcullis_builtin_judging::place;
use portcullis_builtin_judging::text::{listed, quoted};
use portcullis_plugin::risk_calculator::{Edit, Rewrite};
use portcullis_plugin::types::{Action, Command, Context, Coverage, Effect, EffectKind, Entry, Facts, Scope, Shell};

/// The one program of which deleting is all that can be said: `git rm`, say, also changes the index.
const PROGRAM: &str = "rm";

/// How a masked value begins: it may not be moved.
const PLACEHOLDER: &str = "<secret:";

/// The rewrite of every command that deletes folders for good; none unless it covers them all.
pub(crate) fn rewrite(action: &Action, context: &Context, config: &Config<'_>) -> Option<Rewrite> {
    let shell = action.shell().filter(|_| action.facts.coverage == Coverage::Full)?;
    let mut shelf = Shelf { base: base(action, context, config)?, taken: Vec::new() };
    let mut edits = Vec::new();
    for index in lossy(&action.facts) {
        let command = shell.commands.get(usize::try_from(index?).ok()?)?;
        let targets = targets(&action.facts, index?, &shelf.base)?;
        let text = moves(&targets, &mut shelf)?;
        edits.push(replace(shell, command, &text)?);
    }
    let explanation =
        ["it moves the targets to ", &listed([shelf.base.as_str()]), " instead of deleting them; move them back to undo it"].concat();
    rewriting::of(edits, &explanation)
}

/// The commands that delete with everything below it what could not be had back, each once.
fn lossy(facts: &Facts) -> Vec<Option<u32>> {
    let mut found = Vec::new();
    for effect in facts.effects.iter().filter(|effect| effect.kind == EffectKind::FileDelete && effect.recursive) {
        if !place::is_expendable(effect, facts) && !found.contains(&effect.command) {
            found.push(effect.command);
        }
    }
    found
}

/// Where this action's deletions are kept: below the project that holds the first of them.
fn base(action: &Action, context: &Context, config: &Config<'_>) -> Option<String> {
    let folder = config.quarantine?;
    let facts = &action.facts;
    let deletions = facts.effects.iter().filter(|effect| effect.kind == EffectKind::FileDelete);
    let root = deletions.filter_map(|effect| facts.path(effect)).find_map(|path| place::root_of(&path.text, &context.roots))?;
    Some([root.trim_end_matches('/'), "/", folder, "/", &rewriting::review(action)].concat())
}

/// What the command deletes, as far as it is there; none unless deleting simple, known things is all it
/// does.
fn targets<'a>(facts: &'a Facts, command: u32, base: &str) -> Option<Vec<&'a str>> {
    let own = |effect: &&Effect| effect.command == Some(command);
    let mut targets: Vec<&str> = Vec::new();
    for effect in facts.effects.iter().filter(own).filter(|effect| !place::is_sink(&effect.target)) {
        let path = facts.path(effect)?;
        let simple = effect.certain && !path.glob && !path.text.contains(PLACEHOLDER);
        let reachable = matches!(path.scope, Scope::Inside | Scope::Scratch) || path.entry == Entry::Link;
        let shelved = place::holds(&path.text, base) || place::holds(parent(base), &path.text);
        if effect.kind != EffectKind::FileDelete || !simple || !reachable || shelved {
            return None;
        }
        if path.entry != Entry::Absent && !targets.contains(&path.text.as_str()) {
            targets.push(&path.text);
        }
    }
    let outermost: Vec<&str> =
        targets.iter().copied().filter(|one| !targets.iter().any(|other| other != one && place::holds(other, one))).collect();
    (!outermost.is_empty()).then_some(outermost)
}

/// Folders for what is moved; two things of one name do not share one.
struct Shelf<'a> {
    base: String,
    taken: Vec<(usize, &'a str)>,
}

impl<'a> Shelf<'a> {
    fn place(&mut self, target: &'a str) -> String {
        let name = target.rsplit('/').next().unwrap_or(target);
        let slot = (0..).find(|slot| !self.taken.contains(&(*slot, name))).unwrap_or_default();
        self.taken.push((slot, name));
        if slot == 0 { self.base.clone() } else { [self.base.as_str(), "/part-", &slot.to_string()].concat() }
    }
}

fn moves<'a>(targets: &[&'a str], shelf: &mut Shelf<'a>) -> Option<String> {
    let mut folders: Vec<(String, Vec<String>)> = Vec::new();
    for target in targets {
        let folder = quoted(&shelf.place(target))?;
        let word = quoted(target)?;
        match folders.iter_mut().find(|(known, _)| *known == folder) {
            Some((_, words)) => words.push(word),
            None => folders.push((folder, vec![word])),
        }
    }
    let made: Vec<&str> = folders.iter().map(|(folder, _)| folder.as_str()).collect();
    let mut text = ["mkdir -p ", &made.join(" ")].concat();
    for (folder, words) in &folders {
        text.push_str(&[" && mv -- ", &words.join(" "), " ", folder, "/"].concat());
    }
    Some(text)
}

/// Puts `text` in the place of a command that does nothing else.
fn replace(shell: &Shell, command: &Command, text: &str) -> Option<Edit> {
    let bare = rewriting::is_bare(command, PROGRAM) && command.input_from.is_none() && rewriting::is_undirected(command);
    let named = rewriting::span(shell, command)?.contains(PROGRAM);
    if bare && named { rewriting::splice(shell, command, text) } else { None }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(folder, _)| folder)
}
