//! The safer form of a deletion: the same targets, moved into a folder of the project from which they
//! can be had back.
//!
//! Only a command that does nothing but delete what is fully known is rewritten, in its own place in the
//! command line; everything around it stays as it is. Where any of that is in doubt there is no rewrite.

use crate::config::Config;
use portcullis_builtin_judging::place;
use portcullis_builtin_judging::text::{listed, quoted};
use portcullis_plugin::risk_calculator::{Change, Edit, Rewrite, Splice};
use portcullis_plugin::types::{Action, Command, Context, Coverage, Direction, Effect, EffectKind, Entry, Facts, Origin, Scope, Shell};

/// The host takes this many edits, and texts of this many bytes.
const MOST_EDITS: usize = 16;
const MOST_TEXT: usize = 4096;

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
        edits.push(splice(shell, command, text)?);
    }
    if edits.is_empty() || edits.len() > MOST_EDITS || overlap(&edits) {
        return None;
    }
    let explanation =
        ["it moves the targets to ", &listed([shelf.base.as_str()]), " instead of deleting them; move them back to undo it"].concat();
    Some(Rewrite { edits, explanation })
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
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    let id: String = action.id.chars().map(safe).collect();
    let id = if id.trim_matches('.').is_empty() { "review" } else { &id };
    Some([root.trim_end_matches('/'), "/", folder, "/", id].concat())
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

/// Puts `text` in the command's place; in braces unless it stands alone, so that what is around it still
/// sees one command.
fn splice(shell: &Shell, command: &Command, text: String) -> Option<Edit> {
    let range = usize::try_from(command.start).ok()?..usize::try_from(command.end).ok()?;
    let span = shell.text.get(range)?;
    let harmless = command.redirections.iter().all(|redirection| {
        let target = &redirection.target;
        redirection.direction == Direction::Duplicate || (target.known && place::is_sink(&target.text))
    });
    let bare = command.program == PROGRAM
        && command.wrappers.is_empty()
        && command.assignments.is_empty()
        && command.input_from.is_none()
        && !command.privileged;
    if command.origin != Origin::Plain || !bare || !harmless || !span.contains(PROGRAM) {
        return None;
    }
    let inside = |other: &&Command| other.start >= command.start && other.end <= command.end;
    if shell.commands.iter().filter(inside).count() != 1 {
        return None;
    }
    let alone = shell.text.trim() == span.trim();
    let text = if alone { text } else { ["{ ", &text, "; }"].concat() };
    let fits = text.len() <= MOST_TEXT;
    fits.then(|| Edit { parameter: "command".to_owned(), change: Change::Splice(Splice { start: command.start, end: command.end, text }) })
}

fn overlap(edits: &[Edit]) -> bool {
    let span = |edit: &Edit| match &edit.change {
        Change::Splice(splice) => Some((splice.start, splice.end)),
        _ => None,
    };
    let spans = || edits.iter().enumerate().filter_map(|(at, edit)| Some((at, span(edit)?)));
    spans().any(|(at, (start, end))| spans().any(|(other, (from, to))| other != at && from < end && start < to))
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(folder, _)| folder)
}
