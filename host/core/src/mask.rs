//! Masking: secrets and named kinds of personal data become stable keyed placeholders, once, right
//! after the facts. Plugins, journal, exporters and replay see only the placeholders.
//!
//! A secret is recognised by its form (a token's prefix, a private key's frame) or by its place
//! (the value of something called `password`). A value found in the parameters is then replaced
//! everywhere in the action, so that a word of a parsed command cannot reveal what its text hides.
//! Secrets that look like ordinary words in ordinary places are not found.

mod detect;
mod patterns;
mod personal;
mod policy;
mod secret;
mod triggers;

pub use patterns::{MOST_PATTERNS, check_pattern};
pub use policy::MaskPolicy;
pub use secret::{Secret, SecretKind};

use crate::action::{Action, Operation};
use crate::text::floor_boundary;
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use std::collections::BTreeMap;
use std::ops::Range;

/// The prefix of every placeholder.
pub const PLACEHOLDER: &str = "<secret:";

/// Finds secrets and makes their placeholders. There is one per process; its key is the
/// installation's.
pub struct Masker {
    key: [u8; 32],
    detector: detect::Detector,
    unlinked: Vec<SecretKind>,
}

impl Masker {
    /// Creates a masker with an installation's key, for secrets and these values.
    #[must_use]
    pub fn new(key: [u8; 32], policy: &MaskPolicy) -> Self {
        Self { key, detector: detect::Detector::new(policy), unlinked: policy.unlinked.clone() }
    }

    /// Returns the secrets in `text`, in order, without overlaps.
    #[must_use]
    pub fn find_secrets(&self, text: &str) -> Vec<Secret> {
        self.detector.find(text)
    }

    /// Collects the secrets of several texts for [`Mask::apply_to`].
    #[must_use]
    pub fn build_mask(&self, texts: &[&str]) -> Mask {
        let mut values = BTreeMap::new();
        for text in texts {
            for secret in self.find_secrets(text) {
                if let Some(value) = text.get(secret.range.clone()) {
                    values
                        .entry(value.to_owned())
                        .or_insert_with(|| self.placeholder(secret.kind, value));
                }
            }
        }
        Mask::new(values)
    }

    /// Returns `text` with its own secrets masked.
    #[must_use]
    pub fn mask_text(&self, text: &str) -> String {
        self.build_mask(&[text]).apply_to(text)
    }

    /// Returns a value's digest under the installation's key.
    #[must_use]
    pub fn digest(&self, value: &str) -> [u8; 8] {
        let hash = blake3::keyed_hash(&self.key, value.as_bytes());
        let (digest, _) = hash.as_bytes().split_first_chunk().unwrap_or((&[0; 8], &[]));
        *digest
    }

    /// Returns `<secret:kind:8 hex digits>`: the same for the same value under the same key. A kind
    /// that is not to be linked has zeros.
    fn placeholder(&self, kind: SecretKind, value: &str) -> String {
        if self.unlinked.contains(&kind) {
            return format!("{PLACEHOLDER}{kind}:00000000>");
        }
        let hash = blake3::keyed_hash(&self.key, format!("mask\0{kind}\0{value}").as_bytes());
        let digits = hash.to_hex();
        format!("{PLACEHOLDER}{kind}:{}>", digits.get(..8).unwrap_or_default())
    }
}

/// The secrets of one action and their placeholders.
pub struct Mask {
    values: BTreeMap<String, String>,
    finder: Option<AhoCorasick>,
    placeholders: Vec<String>,
}

impl Mask {
    fn new(values: BTreeMap<String, String>) -> Self {
        // The smallest automaton: a private key is a long pattern, and building a larger automaton
        // for it takes longer than searching the text.
        let builder = || {
            AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .kind(Some(AhoCorasickKind::NoncontiguousNFA))
                .clone()
        };
        let finder = if values.is_empty() { None } else { builder().build(values.keys()).ok() };
        let placeholders = values.values().cloned().collect();
        Self { values, finder, placeholders }
    }

    /// Returns the secrets with their placeholders.
    pub fn secrets(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(value, placeholder)| (value.as_str(), placeholder.as_str()))
    }

    /// Returns a mask that hides further texts too.
    #[must_use]
    pub fn hiding(mut self, more: Vec<(String, String)>) -> Self {
        if more.is_empty() {
            return self;
        }
        for (value, placeholder) in more {
            self.values.entry(value).or_insert(placeholder);
        }
        Self::new(self.values)
    }

    /// Returns true if nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the placeholders in use, for the record: the first 256, and how many more there are.
    #[must_use]
    pub fn placeholders(&self) -> Vec<String> {
        let more = self.placeholders.len().saturating_sub(MOST_LISTED);
        let more = (more > 0).then(|| format!("and {more} more"));
        self.placeholders.iter().take(MOST_LISTED).cloned().chain(more).collect()
    }

    /// Returns `text` with every secret replaced.
    #[must_use]
    pub fn apply_to(&self, text: &str) -> String {
        self.trace_text(text).text
    }

    /// Returns at most about `limit` bytes of `text`, with every secret replaced; one that crosses
    /// the cut is replaced whole.
    #[must_use]
    pub fn cut_text(&self, text: &str, limit: usize) -> String {
        if text.len() <= limit {
            return self.apply_to(text);
        }
        let mut masked =
            self.trace_text(text).up_to(floor_boundary(text, limit.saturating_sub('…'.len_utf8())));
        masked.push('…');
        masked
    }

    /// Returns `text` with every secret replaced, and the places of the placeholders. If the text
    /// was cut (it ends in `…`), the beginning of a secret at its end is replaced too.
    #[must_use]
    pub fn trace_text(&self, text: &str) -> Masked {
        let (body, end) = text.strip_suffix('…').map_or((text, ""), |body| (body, "…"));
        let mut traced = self.trace_whole(body);
        if !end.is_empty() {
            self.replace_tail(&mut traced, body.len());
            traced.text.push_str(end);
        }
        traced
    }

    /// Replaces the part of a secret that is visible at the end of a cut text; `length` is the
    /// original's length.
    fn replace_tail(&self, traced: &mut Masked, length: usize) {
        let plain = traced.places.last().map_or(0, |place| place.masked.end);
        let Some(tail) = traced.text.get(plain..) else { return };
        let parts = self
            .values
            .iter()
            .filter_map(|(value, placeholder)| Some((begun(tail, value)?, placeholder)));
        let Some((shown, placeholder)) = parts.max_by_key(|(shown, _)| *shown) else { return };
        let start = traced.text.len() - shown;
        traced.text.truncate(start);
        traced.text.push_str(placeholder);
        traced.places.push(Placeholder {
            masked: start..traced.text.len(),
            original: length - shown..length,
        });
    }

    fn trace_whole(&self, text: &str) -> Masked {
        let Some(finder) = &self.finder else {
            return Masked { text: text.to_owned(), places: Vec::new() };
        };
        let mut masked = String::with_capacity(text.len());
        let mut places = Vec::new();
        let mut last = 0;
        for found in finder.find_iter(text) {
            masked.push_str(text.get(last..found.start()).unwrap_or_default());
            let start = masked.len();
            masked.push_str(
                self.placeholders
                    .get(found.pattern().as_usize())
                    .map_or(PLACEHOLDER, String::as_str),
            );
            places.push(Placeholder { masked: start..masked.len(), original: found.range() });
            last = found.end();
        }
        masked.push_str(text.get(last..).unwrap_or_default());
        Masked { text: masked, places }
    }

    /// Returns true if `text` shows none of these secrets.
    #[must_use]
    pub fn hides_all(&self, text: &str) -> bool {
        self.trace_text(text).places.is_empty()
    }

    /// Masks every text of an action in place and adjusts the commands' spans.
    pub fn mask_action(&self, action: &mut Action) {
        if self.is_empty() {
            return;
        }
        let replace = |text: &mut String| *text = self.apply_to(text);
        replace(&mut action.tool);
        replace(&mut action.parameters);
        match &mut action.operation {
            Operation::Shell(shell) => self.shell(shell),
            Operation::File(file) => {
                replace(&mut file.path);
                file.content.iter_mut().chain(file.replaced.iter_mut()).for_each(replace);
            }
            Operation::Network(request) => {
                replace(&mut request.url);
                request.body.iter_mut().for_each(replace);
            }
            Operation::Message(message) => {
                replace(&mut message.recipient);
                replace(&mut message.text);
            }
            Operation::Tool(tool) => {
                tool.server.iter_mut().for_each(replace);
                replace(&mut tool.name);
                tool.arguments.iter_mut().flat_map(|(key, value)| [key, value]).for_each(replace);
            }
            Operation::Other(text) => replace(text),
        }
        let facts = &mut action.facts;
        facts.effects.iter_mut().for_each(|effect| replace(&mut effect.target));
        facts
            .gaps
            .iter_mut()
            .chain(&mut facts.limits)
            .chain(facts.hosts.iter_mut())
            .chain(facts.programs.iter_mut())
            .for_each(replace);
        facts.forms.iter_mut().for_each(|form| replace(&mut form.label));
        for path in &mut facts.paths {
            replace(&mut path.text);
            path.link_target.iter_mut().for_each(replace);
        }
    }

    fn shell(&self, shell: &mut crate::action::Shell) {
        let traced = self.trace_text(&shell.text);
        for command in &mut shell.commands {
            command.start = traced.to_masked(command.start);
            command.end = traced.to_masked(command.end);
            command.program = self.apply_to(&command.program);
            command.words.iter_mut().for_each(|word| word.text = self.apply_to(&word.text));
            command.assignments.iter_mut().for_each(|(_, value)| *value = self.apply_to(value));
            command.wrappers.iter_mut().for_each(|wrapper| *wrapper = self.apply_to(wrapper));
            command.redirections.iter_mut().for_each(|redirection| {
                redirection.target.text = self.apply_to(&redirection.target.text)
            });
        }
        shell.text = traced.text;
    }
}

/// The most placeholders that a record lists.
const MOST_LISTED: usize = 256;
/// The shortest part of a secret that is worth hiding, in bytes.
const LEAST_SHOWN: usize = 4;
/// The number of leading bytes of a longer secret that are searched for at once.
const HEAD: usize = 64;

/// Returns the number of bytes at the end of `tail` that are the beginning of `value`, if they are
/// enough to reveal something.
fn begun(tail: &str, value: &str) -> Option<usize> {
    let (tail, value) = (tail.as_bytes(), value.as_bytes());
    let most = tail.len().min(value.len().saturating_sub(1));
    let fits = |length: &usize| tail.ends_with(value.get(..*length).unwrap_or(tail));
    let long = (most > HEAD).then(|| {
        let end = tail.get(tail.len() - most..)?;
        let starts = end
            .windows(HEAD)
            .enumerate()
            .filter(|(_, window)| value.starts_with(window))
            .map(|(start, _)| most - start);
        // Each try compares up to the whole value: a text of repeats would make every window one.
        starts.take(HEAD).find(fits)
    });
    long.flatten().or_else(|| (LEAST_SHOWN..=most.min(HEAD)).rev().find(fits))
}

/// A masked text and the places of its placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Masked {
    /// The text with placeholders.
    pub text: String,
    /// The placeholders' places, in order.
    pub places: Vec<Placeholder>,
}

/// One placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholder {
    /// Its bytes in the masked text.
    pub masked: Range<usize>,
    /// The bytes of the original that it replaces.
    pub original: Range<usize>,
}

impl Masked {
    /// Maps a range of the masked text to the original; none if the range cuts or contains a
    /// placeholder.
    #[must_use]
    pub fn to_original(&self, range: Range<usize>) -> Option<Range<usize>> {
        let touches =
            |place: &Placeholder| place.masked.start < range.end && range.start < place.masked.end;
        let inside = |place: &Placeholder| {
            place.masked.start < range.start && range.start < place.masked.end
        };
        if self.places.iter().any(|place| touches(place) || inside(place)) {
            return None;
        }
        let shift = |index: usize| {
            let before = self.places.iter().take_while(|place| place.masked.end <= index).last();
            before.map_or(index, |place| place.original.end + (index - place.masked.end))
        };
        Some(shift(range.start)..shift(range.end))
    }

    /// Returns the masked text of the original's first `index` bytes; a secret that crosses the end
    /// is included whole.
    fn up_to(mut self, index: usize) -> String {
        let before = self.places.iter().take_while(|place| place.original.start < index).last();
        let end = before
            .map_or(index, |place| place.masked.end + index.saturating_sub(place.original.end));
        self.text.truncate(floor_boundary(&self.text, end));
        self.text
    }

    fn to_masked(&self, index: u32) -> u32 {
        let index = index as usize;
        let before = self.places.iter().take_while(|place| place.original.end <= index).last();
        let moved = before.map_or(index, |place| place.masked.end + (index - place.original.end));
        u32::try_from(moved).unwrap_or(u32::MAX)
    }
}
