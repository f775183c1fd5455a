//! Masking: secrets and named kinds of personal data become stable keyed placeholders, once, right
//! after the facts. Plugins, journal, exporters and replay see only those.
//!
//! A secret is known by its form (a token's prefix, a private key's frame) or by its place (the value
//! of something called `password`). What is found in the parameters is then replaced wherever it
//! occurs in the action, so that a word of a parsed command cannot show what its text hides. It does
//! not find secrets that look like ordinary words in ordinary places.

mod detect;

pub use detect::{Kind, Secret};

use crate::action::{Action, Operation};
use aho_corasick::{AhoCorasick, MatchKind};
use std::collections::BTreeMap;
use std::ops::Range;

/// Begins every placeholder.
pub const PLACEHOLDER: &str = "<secret:";

/// Finds secrets and makes their placeholders. One for each process: its key is the installation's.
pub struct Masker {
    key: [u8; 32],
    detector: detect::Detector,
}

impl Masker {
    /// A masker with an installation's key, for secrets and these kinds of personal data.
    #[must_use]
    pub fn new(key: [u8; 32], personal: &[Kind]) -> Self {
        Self { key, detector: detect::Detector::new(personal) }
    }

    /// The secrets in `text`, in order, without overlaps.
    #[must_use]
    pub fn find(&self, text: &str) -> Vec<Secret> {
        self.detector.find(text)
    }

    /// Collects the secrets of several texts for [`Mask::apply`].
    #[must_use]
    pub fn mask(&self, texts: &[&str]) -> Mask {
        let mut values = BTreeMap::new();
        for text in texts {
            for secret in self.find(text) {
                if let Some(value) = text.get(secret.range.clone()) {
                    values.entry(value.to_owned()).or_insert_with(|| self.placeholder(secret.kind, value));
                }
            }
        }
        Mask::new(values)
    }

    /// `text` with its own secrets masked.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        self.mask(&[text]).apply(text)
    }

    /// `<secret:kind:8 hex digits>`: the same for the same value under the same key.
    fn placeholder(&self, kind: Kind, value: &str) -> String {
        let hash = blake3::keyed_hash(&self.key, format!("mask\0{kind}\0{value}").as_bytes());
        let digits = hash.to_hex();
        format!("{PLACEHOLDER}{kind}:{}>", digits.get(..8).unwrap_or_default())
    }
}

/// The secrets of one action and what stands for them.
pub struct Mask {
    values: BTreeMap<String, String>,
    finder: Option<AhoCorasick>,
    placeholders: Vec<String>,
}

impl Mask {
    fn new(values: BTreeMap<String, String>) -> Self {
        let finder =
            if values.is_empty() { None } else { AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(values.keys()).ok() };
        let placeholders = values.values().cloned().collect();
        Self { values, finder, placeholders }
    }

    /// Nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The placeholders in use, for the record.
    #[must_use]
    pub fn placeholders(&self) -> &[String] {
        &self.placeholders
    }

    /// `text` with every secret replaced.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        self.trace(text).text
    }

    /// `text` with every secret replaced, and where.
    #[must_use]
    pub fn trace(&self, text: &str) -> Masked {
        let Some(finder) = &self.finder else { return Masked { text: text.to_owned(), places: Vec::new() } };
        let mut masked = String::with_capacity(text.len());
        let mut places = Vec::new();
        let mut last = 0;
        for found in finder.find_iter(text) {
            masked.push_str(text.get(last..found.start()).unwrap_or_default());
            let start = masked.len();
            masked.push_str(self.placeholders.get(found.pattern().as_usize()).map_or(PLACEHOLDER, String::as_str));
            places.push(Place { masked: start..masked.len(), original: found.range() });
            last = found.end();
        }
        masked.push_str(text.get(last..).unwrap_or_default());
        Masked { text: masked, places }
    }

    /// Masks every text of an action in place and moves the commands' spans along.
    pub fn action(&self, action: &mut Action) {
        if self.is_empty() {
            return;
        }
        let replace = |text: &mut String| *text = self.apply(text);
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
            Operation::Message(message) => replace(&mut message.text),
            Operation::Tool(tool) => tool.arguments.iter_mut().for_each(|(_, value)| replace(value)),
            Operation::Other(text) => replace(text),
        }
        let facts = &mut action.facts;
        facts.effects.iter_mut().for_each(|effect| replace(&mut effect.target));
        facts.gaps.iter_mut().chain(facts.hosts.iter_mut()).chain(facts.programs.iter_mut()).for_each(replace);
        for path in &mut facts.paths {
            replace(&mut path.text);
            path.link_target.iter_mut().for_each(replace);
        }
        if let Some(outcome) = &mut action.outcome {
            replace(&mut outcome.error);
            replace(&mut outcome.output);
        }
    }

    fn shell(&self, shell: &mut crate::action::Shell) {
        let traced = self.trace(&shell.text);
        for command in &mut shell.commands {
            command.start = traced.to_masked(command.start);
            command.end = traced.to_masked(command.end);
            command.program = self.apply(&command.program);
            command.words.iter_mut().for_each(|word| word.text = self.apply(&word.text));
            command.assignments.iter_mut().for_each(|(_, value)| *value = self.apply(value));
            command.redirections.iter_mut().for_each(|redirection| redirection.target.text = self.apply(&redirection.target.text));
        }
        shell.text = traced.text;
    }
}

/// A masked text and where its placeholders stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Masked {
    /// The text with placeholders.
    pub text: String,
    /// In order.
    pub places: Vec<Place>,
}

/// One placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its bytes in the masked text.
    pub masked: Range<usize>,
    /// The bytes of the original that it stands for.
    pub original: Range<usize>,
}

impl Masked {
    /// Where a range of the masked text lies in the original; none when it cuts a placeholder or holds one.
    #[must_use]
    pub fn to_original(&self, range: Range<usize>) -> Option<Range<usize>> {
        let touches = |place: &Place| place.masked.start < range.end && range.start < place.masked.end;
        let inside = |place: &Place| place.masked.start < range.start && range.start < place.masked.end;
        if self.places.iter().any(|place| touches(place) || inside(place)) {
            return None;
        }
        let shift = |index: usize| {
            let before = self.places.iter().take_while(|place| place.masked.end <= index).last();
            before.map_or(index, |place| place.original.end + (index - place.masked.end))
        };
        Some(shift(range.start)..shift(range.end))
    }

    fn to_masked(&self, index: u32) -> u32 {
        let index = index as usize;
        let before = self.places.iter().take_while(|place| place.original.end <= index).last();
        let moved = before.map_or(index, |place| place.masked.end + (index - place.original.end));
        u32::try_from(moved).unwrap_or(u32::MAX)
    }
}
