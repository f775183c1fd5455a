//! Work that an earlier part of the same line has saved in git: discarding it afterwards loses
//! nothing.
//!
//! Only the line itself counts: `git stash && git reset --hard`,
//! `git branch kept old && git branch -D old`. Anything else in the repository is the host's
//! business.

use super::Walker;
use super::expand::Field;
use crate::catalogue::{Item, Plan};
use crate::types::EffectKind;

/// Forms that are harmless if git keeps the discarded work.
const FORMS: &[&str] =
    &["hard-reset", "discard-changes", "discard-commits", "delete-branch", "drop-stash"];

/// The work that one repository holds by now.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    /// The words before the subcommand and the folder: the repository, as far as the text
    /// determines it.
    place: (String, Vec<String>),
    /// All changes are stashed.
    all: bool,
    /// A commit of all changes was made, to which no ref points yet.
    made: bool,
    /// Changes of these paths are stashed.
    paths: Vec<String>,
    /// Something else points to these revisions.
    refs: Vec<String>,
}

impl Walker<'_> {
    /// Notes the work that a git command keeps, and removes effects from its plan that therefore
    /// lose nothing.
    pub(super) fn keep(&mut self, rest: &[Field], plan: &mut Plan) {
        let Some(at) = plan.subcommand.first().copied() else { return };
        let Some((before, [name, words @ ..])) = rest.split_at_checked(at) else { return };
        let refers_to_made = self.refers_to_made(&name.text, words);
        // A word that is not known may mean more than was kept.
        if !refers_to_made && !rest.iter().all(|field| field.known) {
            return;
        }
        let words: Vec<&str> = words.iter().map(|field| field.text.as_str()).collect();
        let place = (
            self.env.folder.clone(),
            before.iter().map(|field| field.text.clone()).collect::<Vec<_>>(),
        );
        let known = self.kept.iter().position(|kept| kept.place == place);
        if let Some(kept) = known.and_then(|at| self.kept.get(at))
            && kept.covers(&name.text, &words)
        {
            plan.items.retain(|item| !is_loss(item));
            return;
        }
        let at = known.unwrap_or_else(|| {
            self.kept.push(Kept { place, ..Kept::default() });
            self.kept.len() - 1
        });
        if let Some(kept) = self.kept.get_mut(at) {
            let made = std::mem::take(&mut kept.made);
            kept.all |= made && refers_to_made;
            kept.note(&name.text, &words);
        }
    }

    /// Returns true if one of our refs is set to the value of our rewrites' variable, which is
    /// known only at run time.
    fn refers_to_made(&self, name: &str, words: &[Field]) -> bool {
        let [new, revision] = words else { return false };
        let held = self.env.get(MADE).is_some_and(|value| !value.known && value.text == UNKNOWN);
        name == "update-ref"
            && new.known
            && new.text.starts_with(OURS)
            && !revision.known
            && revision.text == UNKNOWN
            && held
    }
}

/// The variable that holds the commit of a `git stash create` in our rewrites, and the destination
/// of its ref.
const MADE: &str = "portcullis_kept";
const OURS: &str = "refs/portcullis/kept/";
const UNKNOWN: &str = "\u{fffd}";

fn is_loss(item: &Item) -> bool {
    match item {
        Item::Word(kind, _) | Item::Value(kind, _) | Item::Constant(kind, _) => {
            *kind == EffectKind::Discard
        }
        Item::Form(form) => FORMS.contains(form),
        Item::Shell(_)
        | Item::Code(..)
        | Item::Held(..)
        | Item::Run(..)
        | Item::Source(..)
        | Item::RunSource(..)
        | Item::Gives(_) => false,
    }
}

impl Kept {
    fn note(&mut self, name: &str, words: &[&str]) {
        match (name, words) {
            ("stash", []) => self.all = true,
            ("stash", ["create"]) => self.made = true,
            // With `--patch` a person chooses, and may stash nothing.
            ("stash", ["push" | "save", rest @ ..])
                if !rest.iter().any(|word| matches!(*word, "-p" | "--patch")) =>
            {
                let paths = rest
                    .iter()
                    .position(|word| *word == "--")
                    .and_then(|at| rest.get(at + 1..))
                    .unwrap_or_default();
                self.all |= paths.is_empty();
                self.paths.extend(paths.iter().map(|path| (*path).to_owned()));
            }
            ("update-ref" | "branch" | "tag", [new, revision])
                if !new.starts_with('-') && !revision.starts_with('-') =>
            {
                self.refs.push((*revision).to_owned());
            }
            _ => {}
        }
    }

    /// Returns true if everything that the command would discard is kept.
    fn covers(&self, name: &str, words: &[&str]) -> bool {
        let mut operands = words.iter().copied().filter(|word| !word.starts_with('-'));
        let refers = |branch: &str| {
            self.refs
                .iter()
                .any(|kept| kept == branch || kept.strip_prefix("refs/heads/") == Some(branch))
        };
        match name {
            "reset" | "switch" => self.all,
            "checkout" | "restore" if self.all => true,
            "checkout" | "restore" => {
                let paths = words
                    .iter()
                    .position(|word| *word == "--")
                    .map_or(words, |at| words.get(at + 1..).unwrap_or_default());
                let mut named = paths.iter().filter(|word| !word.starts_with('-')).peekable();
                named.peek().is_some()
                    && named.all(|path| self.paths.iter().any(|kept| kept == path))
            }
            "branch" if words.iter().any(|word| word.starts_with("-f") || *word == "--force") => {
                operands.next().is_some_and(refers)
            }
            "branch" => operands.clone().next().is_some() && operands.all(refers),
            "stash" if operands.next() == Some("drop") => {
                // Without a name git drops the newest entry.
                let entry = operands.next().unwrap_or("0");
                self.refs.iter().any(|kept| {
                    kept == entry
                        || kept.strip_prefix("stash@{").and_then(|rest| rest.strip_suffix('}'))
                            == Some(entry)
                })
            }
            _ => false,
        }
    }
}
