//! Deletions that the person's newest request names: `remove fix.sh`. Only a person makes requests,
//! so no text of a file or a tool can ask for one.

use portcullis_plugin::types::{Context, Effect, Facts, Scope};

/// Words that ask for a deletion.
const VERBS: &[&str] = &[
    "clean", "delete", "deleted", "discard", "drop", "purge", "remove", "removed", "removing", "rm",
];
/// Words that forbid one, in whatever sentence they stand.
const FORBIDDING: &[&str] = &["don't", "don’t", "dont", "keep", "never", "not", "without"];
/// The number of words before a name in which the verb has to be.
const BEFORE: usize = 6;
/// The least length of a file's name that a request can name.
const NAME: usize = 4;

/// Returns true if the newest request asks to delete the file of this effect, by its name.
pub(super) fn is_requested(effect: &Effect, facts: &Facts, context: &Context) -> bool {
    let Some(path) = facts.path(effect).filter(|path| path.scope == Scope::Inside) else {
        return false;
    };
    let name = path.text.rsplit('/').next().unwrap_or_default().to_lowercase();
    let newest = context.goals.iter().max_by_key(|goal| goal.at);
    let Some(request) = newest.map(|goal| goal.text.to_lowercase()) else { return false };
    let words: Vec<&str> = request
        .split(|c: char| c.is_whitespace() || "`\"(),;:".contains(c))
        .map(|word| word.trim_matches(|c: char| "'!?.".contains(c)))
        .collect();
    let is_named = |at: usize, word: &str| {
        let before = words.get(at.saturating_sub(BEFORE)..at).unwrap_or_default();
        word.rsplit('/').next() == Some(name.as_str())
            && before.iter().any(|word| VERBS.contains(word))
    };
    let is_single = effect.certain && !effect.recursive && !path.glob && name.len() >= NAME;
    is_single
        && words.iter().enumerate().any(|(at, word)| is_named(at, word))
        && !words.iter().any(|word| FORBIDDING.contains(word))
}
