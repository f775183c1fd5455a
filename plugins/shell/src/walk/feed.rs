//! The data that one command passes to the next through a pipe, as far as the text determines it.

use super::edits::Edit;
use super::environment::{UNKNOWN, Value};
use std::rc::Rc;

/// The origin of a text, from the most to the least trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trust {
    /// It is on the command line, or a local program prints it.
    #[default]
    Local,
    /// The variables of the environment, which often hold credentials.
    Environment,
    /// It was encoded, so that nobody could read it.
    Decoded,
    Downloaded,
}

/// The origin of a text, and a flag for secrets in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Source {
    pub trust: Trust,
    /// It contains data that was read from a file of credentials.
    pub secret: bool,
    /// It contains an environment variable whose name identifies it as a credential.
    pub credential: bool,
    /// It contains a table or a dump of a database.
    pub dumped: bool,
    /// A program of the command line changed it in a way that is not known.
    pub changed: bool,
}

impl Source {
    pub(crate) const LOCAL: Self = Self::of(Trust::Local);
    pub(crate) const ENVIRONMENT: Self = Self::of(Trust::Environment);
    pub(crate) const DECODED: Self = Self::of(Trust::Decoded);
    pub(crate) const DOWNLOADED: Self = Self::of(Trust::Downloaded);

    const fn of(trust: Trust) -> Self {
        Self { trust, secret: false, credential: false, dumped: false, changed: false }
    }

    /// Combines the origins of a text made from two sources.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            trust: self.trust.max(other.trust),
            secret: self.secret || other.secret,
            credential: self.credential || other.credential,
            dumped: self.dumped || other.dumped,
            changed: self.changed || other.changed,
        }
    }

    pub(crate) fn worst(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self::LOCAL, Self::max)
    }

    /// Returns true if nobody has seen the text: it was encoded or comes from another machine.
    pub(crate) fn is_unseen(self) -> bool {
        self.trust >= Trust::Decoded
    }
}

/// A part of a text that stands in files.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece {
    /// The path of a file on the disk.
    File(Rc<str>),
    /// The same after changes of the command line.
    Changed(Rc<str>, Rc<[Edit]>),
    Text(Rc<str>),
    /// A program makes it of another text, in a way that nothing here shows.
    Made,
}

/// The output of a command.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Feed {
    /// All of it, if the text determines it.
    pub text: Option<Rc<str>>,
    /// It is the text of files on the disk, which are looked up only if the text is run.
    pub pieces: Option<Rc<[Piece]>>,
    /// It is a list of paths, each of this form.
    pub items: Option<String>,
    pub source: Source,
    /// The command that writes it.
    pub from: Option<u32>,
    /// The feed exists: the command reads a pipe or a redirection.
    pub open: bool,
}

impl Feed {
    pub(crate) fn of_text(text: &str) -> Self {
        Self { text: Some(Rc::from(text)), open: true, ..Self::default() }
    }

    /// Returns the text of a file on the disk.
    pub(crate) fn of_file(path: &str) -> Self {
        Self { pieces: Some(Rc::from([Piece::File(Rc::from(path))])), ..Self::default() }
    }

    /// Returns the parts of the text, if they are known.
    pub(crate) fn all_pieces(&self) -> Option<Rc<[Piece]>> {
        let text = || Some(Rc::from([Piece::Text(Rc::clone(self.text.as_ref()?))]));
        self.pieces.clone().or_else(text)
    }

    /// Returns the value of a substitution with this output.
    pub(crate) fn into_value(self) -> Value {
        let (source, pieces) = (self.source, self.pieces);
        match (self.text, self.items) {
            (Some(text), _) => Value {
                text: text.trim_end_matches('\n').to_owned(),
                known: true,
                source,
                ..Value::default()
            },
            (None, Some(items)) => Value { text: items, source, ..Value::default() },
            (None, None) => Value { text: UNKNOWN.to_string(), pieces, source, ..Value::default() },
        }
    }
}

/// Decodes base64, of either alphabet, ignoring other characters.
pub(crate) fn base64(text: &str) -> Option<String> {
    String::from_utf8(base64_bytes(text)?).ok()
}

/// Decodes base64 to bytes.
pub(crate) fn base64_bytes(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let (mut bits, mut count) = (0_u32, 0_u32);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' | b'\n' | b'\r' | b' ' => continue,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 255).unwrap_or(0));
        }
    }
    Some(bytes)
}

/// Decodes hexadecimal digits, with or without spaces.
pub(crate) fn hex(text: &str) -> Option<String> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16))
        .collect::<Option<_>>()?;
    let bytes = digits
        .chunks_exact(2)
        .map(|pair| u8::try_from(pair.iter().fold(0, |sum, digit| sum * 16 + digit)).unwrap_or(0))
        .collect();
    String::from_utf8(bytes).ok()
}
