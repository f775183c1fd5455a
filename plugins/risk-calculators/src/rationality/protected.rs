//! Sentences that protect something without forbidding a verb: "leave X alone", "keep your hands
//! off X", "X stays as it is", "X must not be changed".
//!
//! The things are files and folders by name, and words only where the sentence is an order. A
//! question, a condition and a negated sentence ("don't leave X alone") protect nothing.

/// A part of a text that protects something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Protection<'t> {
    /// The sentence from its order to its end.
    pub(super) text: &'t str,
    /// The part that names the things.
    pub(super) things: &'t str,
    /// Only names count in it, not words.
    pub(super) only_names: bool,
    /// The condition that follows, if any.
    pub(super) after: &'t str,
    /// Only deletion is forbidden.
    pub(super) deletion: bool,
}

/// States in which a thing is as it was.
const STATES: &[&str] = &[
    "as-is",
    "as is",
    "as it is",
    "as it was",
    "as they are",
    "as they were",
    "frozen",
    "how it is",
    "how they are",
    "intact",
    "in place as it is",
    "the way it is",
    "the way they are",
    "unchanged",
    "unedited",
    "unmodified",
    "untouched",
];
/// States in which nobody may touch it, for a thing that is named before.
const FORBIDDEN: &[&str] = &[
    "not to be changed",
    "not to be edited",
    "not to be modified",
    "not to be touched",
    "not yours to change",
    "not yours to touch",
    "off limits",
    "off-limits",
    "taboo",
    "untouchable",
];
/// Verbs before such a state.
const STAYS: &[&str] = &["stay", "stays", "remain", "remains"];
/// Orders that name the things after them.
const AWAY: &[&str] = &[
    "hands off of",
    "hands off",
    "keep away from",
    "keep clear of",
    "keep out of",
    "stay away from",
    "stay clear of",
    "stay out of",
    "steer clear of",
];
/// Words between a thing and what must not be done to it.
const MUST_NOT: &[&str] = &[
    "is never to be",
    "are never to be",
    "may not be",
    "must never be",
    "must not be",
    "mustn't be",
    "should never be",
    "should not be",
    "shouldn't be",
    "shall not be",
    "are not to be",
    "is not to be",
];
const CHANGED: &[&str] = &[
    "altered",
    "changed",
    "edited",
    "modified",
    "overwritten",
    "replaced",
    "rewritten",
    "touched",
];
const DELETED: &[&str] = &["deleted", "erased", "removed", "wiped"];
/// Words that turn a sentence around.
const NOT: &[&str] = &[
    "aren't",
    "can't",
    "cannot",
    "didn't",
    "doesn't",
    "don't",
    "dont",
    "isn't",
    "never",
    "no",
    "not",
    "shouldn't",
    "why",
    "won't",
];
/// Words that make it a condition.
const IF: &[&str] = &["if", "when", "whether", "while", "unless"];
/// The most bytes of a sentence that is looked at.
const LONGEST: usize = 1024;

/// Returns the protections of a text, each with its place in it.
pub(super) fn find_protections(text: &str) -> Vec<Protection<'_>> {
    sentences(text).into_iter().filter_map(read).collect()
}

/// Cuts a text into sentences. A full stop inside a name ends nothing; a question is left out.
fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let last = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        if c == '\n' || matches!(c, '.' | ';' | '!' | '?') && last {
            if c != '?' {
                found.push(text.get(start..at).unwrap_or_default());
            }
            start = at + c.len_utf8();
        }
    }
    found.push(text.get(start..).unwrap_or_default());
    found.retain(|sentence| sentence.len() <= LONGEST);
    found
}

fn read(sentence: &str) -> Option<Protection<'_>> {
    // Only the case of ASCII changes, so that every place stays where it is.
    let lower = sentence.to_ascii_lowercase();
    by_order(sentence, &lower).or_else(|| by_subject(sentence, &lower))
}

/// Reads "leave X alone", "keep X as it is", "leave alone X", "hands off X".
fn by_order<'t>(sentence: &'t str, lower: &str) -> Option<Protection<'t>> {
    for (at, word) in places(lower, AWAY) {
        let begin = at + word.len();
        let end = end_of(lower, begin);
        let before = lower.get(..at)?.trim_end();
        let orders = before.is_empty()
            || before.ends_with([',', ':'])
            || [" but", " and", "keep your", "keep", "please"]
                .iter()
                .any(|end| before.ends_with(end));
        if (orders || !word.starts_with("hands")) && is_plain(before) {
            return protection(sentence, at, (begin, end), end, false);
        }
    }
    for (at, verb) in places(lower, &["leave", "keep"]) {
        if !is_plain(lower.get(..at)?) {
            continue;
        }
        let begin = at + verb.len();
        let rest = lower.get(begin..)?;
        if let Some(after) = rest.strip_prefix(" alone ").filter(|_| verb == "leave") {
            let begin = lower.len() - after.len();
            let end = end_of(lower, begin);
            return protection(sentence, at, (begin, end), end, false);
        }
        let alone: &[&str] = if verb == "leave" { &["alone", "be"] } else { &[] };
        let state = places(rest, alone).into_iter().chain(places(rest, STATES)).min();
        // "Leave X" and "keep X" name the thing at once.
        if let Some((to, state)) = state
            && rest.get(..to).is_some_and(|things| things.split_whitespace().count() <= 16)
        {
            let only_names = verb == "keep" || state == "be";
            let after = begin + to + state.len();
            return protection(sentence, at, (begin, begin + to), after, only_names);
        }
    }
    None
}

/// Reads "X stays as it is", "X is off limits", "X must not be changed".
fn by_subject<'t>(sentence: &'t str, lower: &str) -> Option<Protection<'t>> {
    let follows = |at: usize, words: &'static [&'static str]| {
        let rest = lower.get(at..)?.strip_prefix(' ')?;
        let word = words.iter().find(|word| begins(rest, word))?;
        Some((at + 1 + word.len(), *word))
    };
    let stays = places(lower, STAYS).into_iter().map(|place| (place, STATES));
    let is = places(lower, &["is", "are"]).into_iter().map(|place| (place, FORBIDDEN));
    let changed = places(lower, MUST_NOT).into_iter().map(|place| (place, CHANGED));
    let deleted = places(lower, MUST_NOT).into_iter().map(|place| (place, DELETED));
    let mut all: Vec<_> = stays.chain(is).chain(changed).chain(deleted).collect();
    all.sort_by_key(|((at, _), _)| *at);
    all.into_iter().find_map(|((at, verb), words)| {
        let (after, word) = follows(at + verb.len(), words)?;
        let begin = begin_of(lower.get(..at)?);
        let before = lower.get(begin..at)?;
        let mut found = protection(sentence, begin, (begin, at), after, true)?;
        found.deletion = DELETED.contains(&word);
        is_plain(before).then_some(found)
    })
}

fn protection(
    sentence: &str,
    start: usize,
    (begin, end): (usize, usize),
    after: usize,
    only_names: bool,
) -> Option<Protection<'_>> {
    Some(Protection {
        text: sentence.get(start..)?.trim(),
        things: sentence.get(begin..end)?,
        only_names,
        after: sentence.get(after..)?,
        deletion: false,
    })
}

/// Returns true if nothing before an order turns it around.
fn is_plain(before: &str) -> bool {
    let own = before.rsplit([',', ':']).next().unwrap_or(before);
    let own = own.rsplit(" but ").next().unwrap_or(own);
    !own.split_whitespace().any(|word| NOT.contains(&word))
        && !before.split_whitespace().next().is_some_and(|word| IF.contains(&word))
        && !own.split_whitespace().next().is_some_and(|word| IF.contains(&word))
}

/// Returns the place at which the things that a verb follows begin: after a comma, unless they are a
/// list of names.
fn begin_of(before: &str) -> usize {
    let start = |joint: &str| before.rfind(joint).map_or(0, |at| at + joint.len());
    let begin = [" but ", ": ", " then ", " though ", " while "].map(start);
    let mut begin = begin.into_iter().max().unwrap_or(0);
    let mut parts = before.get(begin..).unwrap_or_default().split(", ").peekable();
    // The last parts of single words are a list: `a.py, b.py and c.py`.
    while let Some(part) = parts.next() {
        let single = part.split_whitespace().filter(|word| !matches!(*word, "and" | "the")).count();
        let is_list = single <= 1 && part.split_whitespace().count() <= 2;
        let joined = before.get(begin..).is_some_and(|list| list.contains(" and "));
        if parts.peek().is_none() || (is_list && joined) {
            break;
        }
        begin += part.len() + 2;
    }
    begin
}

/// Returns the end of things that follow an order.
fn end_of(lower: &str, begin: usize) -> usize {
    let rest = lower.get(begin..).unwrap_or_default();
    let ends = [" until ", " till ", " unless ", " before ", " but ", " while ", " when ", ": "];
    ends.iter().filter_map(|end| rest.find(end)).min().map_or(lower.len(), |at| begin + at)
}

/// Returns the places of words, each at the borders of words, in order.
fn places<'w>(text: &str, words: &[&'w str]) -> Vec<(usize, &'w str)> {
    let mut found: Vec<(usize, &str)> = words
        .iter()
        .flat_map(|word| text.match_indices(word).map(|(at, _)| (at, *word)))
        .filter(|(at, word)| {
            let before = text.get(..*at).and_then(|before| before.chars().next_back());
            before.is_none_or(|c| c.is_whitespace() || matches!(c, ',' | ':' | '(' | '"'))
                && text.get(*at..).is_some_and(|rest| begins(rest, word))
        })
        .collect();
    // Of the words at one place the longest counts.
    found.sort_by_key(|(at, word)| (*at, std::cmp::Reverse(word.len())));
    found
}

/// Returns true if a text begins with words that end there.
fn begins(text: &str, words: &str) -> bool {
    text.strip_prefix(words).is_some_and(|rest| {
        rest.chars().next().is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '/'))
    })
}

/// Lists the words by which protections are found: one of them is in each.
#[cfg(test)]
pub(super) fn list_openings() -> Vec<String> {
    let forbidden = FORBIDDEN.iter().map(|words| ["is ", words].concat());
    let must_not = MUST_NOT.iter().map(|words| [words, " changed"].concat());
    let orders = [STAYS, AWAY, &["leave", "keep"]].concat();
    orders.into_iter().map(str::to_owned).chain(forbidden).chain(must_not).collect()
}
