//! Sentences as words, without quotations.

use super::vocabulary::{Words, of};

/// The maximum number of words of a sentence that are looked at, and of sentences of a text.
const MOST_WORDS: usize = 80;
const MOST_SENTENCES: usize = 2000;

/// One sentence.
#[derive(Debug)]
pub(super) struct Sentence<'a> {
    /// The original text, in lower case, without quotations.
    pub(super) raw: String,
    /// Its words with one blank before, between and after.
    pub(super) line: String,
    /// The position of each word in `line`.
    starts: Vec<usize>,
    /// The kinds of each word.
    pub(super) kinds: Vec<Words>,
    /// The kinds of all its words together.
    pub(super) all: Words,
    /// The place of each word in its clause.
    spots: Vec<Spot>,
    /// The original text, in lower case, with quotations.
    pub(super) whole: &'a str,
    /// Its position in the text.
    pub(super) start: usize,
    /// The first letters of its words: a phrase whose words begin otherwise does not occur in it.
    beginnings: Beginnings,
}

/// The place of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spot {
    /// A clause begins with it.
    First,
    /// Another word of the clause comes before it.
    Inside,
    /// Code surrounds it: it is a name, and no verb.
    Name,
}

/// Signs at which a clause begins.
const CLAUSE: &[char] = &[
    '.', ',', ':', ';', '!', '?', '>', '#', '*', '(', '[', ']', '/', '|', '\u{2014}', '\u{2013}',
    '-',
];

/// A set of the first two letters of words.
#[derive(Clone, Copy, Debug, Default)]
struct Beginnings([u64; 4]);

impl Beginnings {
    fn place(word: &str) -> (usize, u64) {
        let byte = |at: usize| usize::from(word.as_bytes().get(at).copied().unwrap_or(b' '));
        // Two beginnings may share a place, which costs a search and hides nothing.
        let key = (byte(0) * 31 + byte(1)) % 256;
        (key / 64, 1 << (key % 64))
    }

    fn add(&mut self, word: &str) {
        let (at, bit) = Self::place(word);
        if let Some(part) = self.0.get_mut(at) {
            *part |= bit;
        }
    }

    fn has(&self, phrase: &str) -> bool {
        let (at, bit) = Self::place(phrase);
        self.0.get(at).is_some_and(|part| part & bit != 0)
    }
}

/// Returns the sentences of folded text that hold a word of the vocabulary.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = Sentence<'_>> {
    let mut begin = 0;
    let lines = text.split_inclusive('\n').map(move |line| {
        let start = begin;
        begin += line.len();
        (start, line.trim_end_matches('\n'))
    });
    lines
        .flat_map(|(begin, line)| {
            let spoken = unquoted(line);
            pieces(line)
                .into_iter()
                .filter_map(move |(start, end)| sentence(line, begin, &spoken, start, end))
        })
        .take(MOST_SENTENCES)
}

fn sentence<'a>(
    line: &'a str,
    begin: usize,
    spoken: &[bool],
    start: usize,
    end: usize,
) -> Option<Sentence<'a>> {
    let whole = line.get(start..end)?;
    let raw: String = whole
        .char_indices()
        .map(|(at, c)| if spoken.get(start + at).copied().unwrap_or(true) { c } else { ' ' })
        .collect();
    let mut words = String::from(" ");
    let mut starts = Vec::new();
    let mut kinds = Vec::new();
    let mut spots = Vec::new();
    let mut all = Words::default();
    let mut beginnings = Beginnings::default();
    let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
    let mut rest = raw.as_str();
    while let Some(at) = rest.find(inside).filter(|_| kinds.len() < MOST_WORDS) {
        let (before, from) = rest.split_at(at);
        let (word, after) = from.split_at(from.find(|c| !inside(c)).unwrap_or(from.len()));
        rest = after;
        // A part of a host's name has no meaning: `attacker.example`.
        let named = before.ends_with('.')
            || (after.starts_with('.') && after.chars().nth(1).is_some_and(char::is_alphanumeric));
        let word = if word.contains('\'') { word.replace('\'', "") } else { word.to_owned() };
        if word.is_empty() {
            continue;
        }
        let kind = if named { Words::default() } else { of(&word) };
        all = all.with(kind);
        beginnings.add(&word);
        spots.push(spot(before, after, kinds.len()));
        kinds.push(kind);
        starts.push(words.len());
        words.push_str(&word);
        words.push(' ');
    }
    // One word instructs nobody, unless the script has no blanks or it marks a role.
    let says_something =
        !all.is_empty() && (kinds.len() > 1 || !words.is_ascii() || whole.contains(['<', '[']));
    says_something.then_some(Sentence {
        raw,
        line: words,
        starts,
        kinds,
        all,
        spots,
        whole,
        start: begin + start,
        beginnings,
    })
}

/// Returns the place of a word between these texts, `at` words after the sentence's beginning.
fn spot(before: &str, after: &str, at: usize) -> Spot {
    let code = after.starts_with(['(', '=', '/'])
        || after.starts_with("::")
        || after.trim_start().starts_with('=')
        || before.ends_with(['/', '$', '-', '\\'])
        || after.starts_with('-')
        || before.ends_with("::")
        || (before.ends_with('"') && after.starts_with('"'));
    match () {
        // A verb of two parts: base64-encode it.
        () if at == 1 && before == "-" => Spot::First,
        () if code => Spot::Name,
        () if at == 0 || before.contains(CLAUSE) => Spot::First,
        () => Spot::Inside,
    }
}

/// Returns the start and end of sentences in a line: at a full stop or a similar sign before a
/// blank.
fn pieces(line: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let ends = matches!(c, '.' | '!' | '?' | ';')
            && next
                .is_none_or(|next| next.is_whitespace() || matches!(next, '"' | '\'' | ')' | '<'));
        if ends {
            let end = at + c.len_utf8();
            found.push((start, end));
            start = end;
        }
    }
    found.push((start, line.len()));
    found
}

/// Marks each byte of a line that is said, not quoted. A quotation that is nearly all of the line
/// is said.
fn unquoted(line: &str) -> Vec<bool> {
    let mut spoken = vec![true; line.len()];
    let mut open: Option<(char, usize)> = None;
    let mut before = ' ';
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map_or(' ', |(_, next)| *next);
        match open {
            // A mark behind a letter is an apostrophe: don't.
            None if matches!(c, '"' | '`') || (c == '\'' && !before.is_alphanumeric()) => {
                open = Some((c, at))
            }
            Some((mark, from)) if c == mark && (mark != '\'' || !next.is_alphanumeric()) => {
                spoken.get_mut(from..at).unwrap_or_default().fill(false);
                open = None;
            }
            _ => {}
        }
        before = c;
    }
    if spoken.iter().all(|byte| *byte) {
        return spoken;
    }
    let said: String = line
        .char_indices()
        .filter(|(at, _)| spoken.get(*at).copied().unwrap_or(true))
        .map(|(_, c)| c)
        .collect();
    let words: Vec<&str> =
        said.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1).collect();
    let relayed = words.iter().any(|word| of(word).has(Words::RELAY))
        && !words.iter().any(|word| of(word).has(Words::META));
    // A line that is all quotation, or passes one on as an order, means what it quotes.
    if words.len() < 3 || relayed { vec![true; line.len()] } else { spoken }
}

impl Sentence<'_> {
    /// Returns true if the words occur, as whole words.
    pub(super) fn says(&self, phrase: &str) -> bool {
        // A phrase begins with a word: looking at these places costs less than a search.
        let (line, phrase_bytes) = (self.line.as_bytes(), phrase.as_bytes());
        let follows = |at: &usize| {
            let rest = line.get(*at..).filter(|rest| rest.first() == phrase_bytes.first());
            let after = rest.and_then(|rest| rest.strip_prefix(phrase_bytes));
            after.is_some_and(|after| after.first().is_none_or(|byte| *byte == b' '))
        };
        self.beginnings.has(phrase) && self.starts.iter().any(follows)
    }

    pub(super) fn says_any(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.says(phrase))
    }

    /// Returns the words.
    pub(super) fn words(&self) -> Vec<&str> {
        self.line.split_whitespace().collect()
    }

    /// Returns true if a clause begins with the word at a place.
    pub(super) fn begins_clause(&self, at: usize) -> bool {
        self.spots.get(at) == Some(&Spot::First)
    }

    /// Returns true if the word at a place is a name in code.
    pub(super) fn is_name(&self, at: usize) -> bool {
        self.spots.get(at) == Some(&Spot::Name)
    }

    /// Returns the positions of words of a kind.
    pub(super) fn places(&self, kind: Words) -> impl Iterator<Item = usize> + '_ {
        self.kinds.iter().enumerate().filter(move |(_, word)| word.has(kind)).map(|(at, _)| at)
    }

    /// Returns true if a word of the kind is at one of the places.
    pub(super) fn has_at(&self, kind: Words, places: std::ops::Range<usize>) -> bool {
        self.kinds.iter().take(places.end).skip(places.start).any(|word| word.has(kind))
    }

    /// Returns the position of a word of the first kind that one of the second follows within so
    /// many words.
    pub(super) fn near(&self, first: Words, second: Words, within: usize) -> Option<usize> {
        self.places(first).find(|at| self.has_at(second, at + 1..at + 1 + within))
    }

    /// Returns true if the word before negates it.
    pub(super) fn negated(&self, at: usize) -> bool {
        self.has_at(Words::NOT, at.saturating_sub(2)..at)
    }
}
