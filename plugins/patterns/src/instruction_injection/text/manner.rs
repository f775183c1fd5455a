//! The manner of a sentence: an order to its reader, or a description for whoever reads it.
//!
//! Documentation, comments and manuals name the same verbs and things as an injection does, but
//! describe them: "can be used to override these limits", "the command to print the credentials".
//! An order has its verb where an imperative stands, or speaks to somebody.

use super::phrases::{BEHAVE, FORGET_FOREIGN, SUPERSEDING, VOID};
use super::sentence::Sentence;
use super::vocabulary::Words as W;

/// Words before an order's verb that do not decide whether it is one.
const ADVERBS: &[&str] = &[
    "also",
    "always",
    "completely",
    "do",
    "dont",
    "first",
    "immediately",
    "instead",
    "just",
    "never",
    "not",
    "now",
    "only",
    "quietly",
    "secretly",
    "silently",
    "simply",
];
/// Words that begin an order or speak to its reader.
const BEFORE_ORDER: &[&str] =
    &["please", "kindly", "you", "urgent", "important", "lets", "hereby", "here", "today"];
/// Words after which a verb is an order only if the sentence ordered something before, or spoke to
/// somebody.
const JOINING: &[&str] = &[
    "and", "but", "can", "could", "may", "might", "must", "or", "shall", "should", "so", "then",
    "to", "will", "would",
];
/// Words that an order's object begins with.
const OBJECTS: &[&str] =
    &["a", "all", "an", "any", "every", "everything", "it", "my", "the", "them", "this", "your"];
/// Verbs that orders begin with.
const USUAL: &[&str] = &[
    "activate", "add", "check", "continue", "create", "download", "enable", "encode", "enter",
    "go", "install", "make", "put", "set", "skip", "start", "stop", "switch", "take", "turn",
    "visit", "write",
];
/// Words before an object that are not verbs.
const NO_VERBS: &[&str] = &[
    "above", "after", "also", "although", "and", "at", "because", "before", "below", "both", "but",
    "by", "during", "else", "even", "for", "from", "how", "if", "in", "into", "like", "not", "of",
    "on", "once", "only", "or", "over", "since", "so", "than", "that", "then", "though", "through",
    "to", "under", "unless", "until", "upon", "via", "what", "when", "where", "whether", "which",
    "while", "who", "why", "with", "within", "without",
];
/// Frequent words of other languages, whose verbs stand elsewhere.
const FOREIGN: &[&str] = &[
    "al", "aux", "das", "de", "del", "den", "der", "des", "die", "du", "een", "el", "et", "gli",
    "het", "il", "la", "las", "le", "les", "los", "los", "os", "puis", "um", "un", "una", "und",
    "une", "van", "y",
];
/// Words before which a verb's letters are a noun: "call can be added".
const AFTER_NOUN: &[&str] =
    &["is", "are", "can", "may", "was", "were", "has", "have", "does", "will", "of", "must"];
/// Programs whose name is also a verb of the vocabulary.
const PROGRAMS: &[&str] =
    &["cat", "curl", "wget", "head", "tail", "find", "mail", "echo", "print", "export", "post"];

/// The manner of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// It says how things are.
    Describes,
    /// It is a line for a shell, such as documentation shows.
    Command,
    /// It orders, or speaks to a reader or about an agent.
    Orders,
}

/// Returns the manner of a sentence. Questions, and declarations that earlier orders are void, are
/// meant for a reader as orders are.
pub(super) fn of(sentence: &Sentence<'_>) -> Manner {
    let verbs = W::OVERRIDE
        .with(W::SHOW)
        .with(W::OFF)
        .with(W::SEND)
        .with(W::OPEN)
        .with(W::USE)
        .with(W::RELAY)
        .with(W::TELL)
        .with(W::KEEP)
        .with(W::CODE);
    let words = sentence.words();
    let asks = sentence.whole.trim_end().ends_with('?');
    let declares = sentence.says_any(SUPERSEDING)
        || (sentence.says_any(VOID) && sentence.near(W::EARLIER, W::ORDERS, 3).is_some());
    let spoken = asks || declares || sentence.all.has(W::YOU.with(W::AGENT));
    if spoken || is_foreign(sentence, &words) || is_bidden(sentence, usize::MAX) {
        return Manner::Orders;
    }
    let first = sentence.places(verbs).find(|at| is_order_among(sentence, &words, *at));
    match first.and_then(|at| words.get(at)) {
        None => Manner::Describes,
        Some(verb) if PROGRAMS.contains(verb) && is_command_line(sentence) => Manner::Command,
        Some(_) => Manner::Orders,
    }
}

/// Returns true if the word at a place stands where an order's verb does.
pub(super) fn is_order(sentence: &Sentence<'_>, at: usize) -> bool {
    let words = sentence.words();
    is_foreign(sentence, &words) || is_order_among(sentence, &words, at)
}

fn is_order_among(sentence: &Sentence<'_>, words: &[&str], at: usize) -> bool {
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let noun = AFTER_NOUN.contains(&word(at + 1)) && !sentence.begins_clause(at + 1);
    if sentence.is_name(at) || noun {
        return false;
    }
    let mut at = at;
    while let Some(before) = at.checked_sub(1) {
        match word(at - 1) {
            _ if sentence.begins_clause(at) => return true,
            adverb if ADVERBS.contains(&adverb) => at = before,
            start if BEFORE_ORDER.contains(&start) => return !is_conditional(words, before),
            "and" | "but" | "or" | "so" | "then" if before == 0 => return true,
            joint if JOINING.contains(&joint) => return is_spoken_before(sentence, words, before),
            _ => return false,
        }
    }
    true
}

/// Returns true for "if you ..." and the like.
fn is_conditional(words: &[&str], you: usize) -> bool {
    let before = you.checked_sub(1).and_then(|at| words.get(at)).copied().unwrap_or_default();
    matches!(before, "if" | "when" | "unless" | "that" | "which" | "because")
}

/// Returns true if the words before a place order something or speak to somebody.
fn is_spoken_before(sentence: &Sentence<'_>, words: &[&str], at: usize) -> bool {
    let spoken = sentence.has_at(W::YOU.with(W::AGENT), at.saturating_sub(8)..at);
    let bare = W::OVERRIDE.with(W::SHOW).with(W::OPEN).with(W::USE).with(W::SEND).with(W::RELAY);
    let earlier = (0..at).find(|place| sentence.has_at(bare, *place..place + 1));
    spoken
        || earlier.is_some_and(|place| is_order_among(sentence, words, place))
        || is_bidden(sentence, at)
        || words.first().is_some_and(|first| BEFORE_ORDER.contains(first))
}

/// Returns true if a clause before a place begins with an imperative, of whatever verb.
pub(super) fn is_bidden(sentence: &Sentence<'_>, before: usize) -> bool {
    let words = sentence.words();
    (0..before.min(words.len())).any(|at| {
        let asked = at.checked_sub(1).and_then(|at| words.get(at));
        (at == 0 || sentence.begins_clause(at) || asked.is_some_and(|word| *word == "please"))
            && !sentence.is_name(at)
            && begins_with_order(words.get(at..).unwrap_or_default())
    })
}

/// Returns true if the first word is an imperative: a usual one, or one that has its object at
/// once.
fn begins_with_order(words: &[&str]) -> bool {
    let [first, second, ..] = words else { return false };
    let verb = !NO_VERBS.contains(first) && !first.ends_with(['s', 'd']) && !first.ends_with("ing");
    (verb && OBJECTS.contains(second))
        || (BEHAVE.contains(first) && *second == "without")
        || (USUAL.contains(first) && !AFTER_NOUN.contains(second))
}

fn is_foreign(sentence: &Sentence<'_>, words: &[&str]) -> bool {
    sentence.says_any(FORGET_FOREIGN)
        || words.iter().any(|word| !word.is_ascii())
        || words.iter().filter(|word| FOREIGN.contains(*word)).count() >= 2
}

/// Returns true for words as a shell takes them: options, pipes, redirections, a path at once.
fn is_command_line(sentence: &Sentence<'_>) -> bool {
    let mut parts = sentence.raw.split_whitespace();
    let marked = |part: &str| {
        matches!(part, "|" | ">" | ">>" | "<" | "$" | "&&")
            || (part.starts_with('-') && part.len() > 1)
    };
    let placed = |part: &str| part.starts_with(['/', '~']) || part.contains("://");
    sentence.raw.contains("\\-")
        || parts.clone().any(marked)
        || (parts.nth(1).is_some_and(placed) && !sentence.says_any(&["and", "then"]))
}
