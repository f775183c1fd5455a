//! The reader's position, its bounds, and what it could not read.

use super::tree::{Script, Span, Word};
use std::rc::Rc;

/// How deep constructs may be nested, text inside other text included.
pub(crate) const DEPTH: usize = 48;
/// How many words, parts and commands one reading may hold.
const NODES: usize = 20_000;

/// What a text was read as.
pub(crate) struct Parsed {
    pub script: Script,
    /// Bodies of the heredocs; `Redirect::heredoc` counts in it.
    pub heredocs: Rc<Vec<Word>>,
    pub gaps: Vec<&'static str>,
    /// From where on the text was too deeply nested to be read.
    pub rest: Option<usize>,
    /// How many words, parts and commands were read.
    pub nodes: usize,
}

/// What ends a list of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closer {
    Paren,
    Brace,
    Then,
    Else,
    Fi,
    Do,
    Done,
    Esac,
    Arm,
}

const CLOSERS: usize = 9;

/// A heredoc whose body has not been reached.
pub(super) struct Pending {
    pub index: usize,
    pub delimiter: String,
    pub literal: bool,
    pub tabs: bool,
}

/// Reads one text.
pub(super) struct Parser<'a> {
    pub text: &'a str,
    pub pos: usize,
    pub end: usize,
    pub fixed: Option<Span>,
    /// Nesting is taken out: reserved words are skipped.
    pub flat: bool,
    pub pending: Vec<Pending>,
    pub heredocs: Vec<Word>,
    pub gaps: Vec<&'static str>,
    /// The command at hand is one of Windows.
    pub windows: bool,
    /// A quote that has no end; the word that it stands in takes it.
    pub open: Option<&'static str>,
    pub depth: usize,
    nodes: usize,
    awaited: [u16; CLOSERS],
    rest: Option<usize>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, depth: usize, fixed: Option<Span>) -> Self {
        Self {
            text,
            pos: 0,
            end: text.len(),
            fixed,
            flat: false,
            pending: Vec::new(),
            heredocs: Vec::new(),
            gaps: Vec::new(),
            windows: false,
            open: None,
            depth,
            nodes: 0,
            awaited: [0; CLOSERS],
            rest: None,
        }
    }

    pub(super) fn parse(mut self) -> Parsed {
        let script = self.script(&[]);
        self.settle();
        if !self.pending.is_empty() {
            self.gap("a heredoc without its text");
        }
        Parsed { script, heredocs: Rc::new(self.heredocs), gaps: self.gaps, rest: self.rest, nodes: self.nodes }
    }

    /// Reads another text as a part of this one, with the same bounds.
    pub(super) fn inner(&mut self, text: &str, span: Span) -> Script {
        let mut parser = Parser::new(text, self.depth, Some(self.fixed.unwrap_or(span)));
        parser.nodes = self.nodes;
        parser.heredocs = std::mem::take(&mut self.heredocs);
        let script = parser.script(&[]);
        parser.read_heredocs();
        parser.settle();
        self.nodes = parser.nodes;
        self.heredocs = parser.heredocs;
        for gap in parser.gaps {
            self.gap(gap);
        }
        if parser.rest.is_some() {
            self.stop();
        }
        script
    }

    /// A quote without its end that stands in no command's word is a gap here.
    fn settle(&mut self) {
        if let Some(open) = self.open.take() {
            self.gap(open);
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        let at = self.pos + ahead;
        if at < self.end && self.rest.is_none() { self.text.as_bytes().get(at).copied() } else { None }
    }

    pub(super) fn at(&self, token: &str) -> bool {
        self.rest.is_none() && self.text.as_bytes().get(self.pos..self.end).is_some_and(|left| left.starts_with(token.as_bytes()))
    }

    /// Consumes `token` if it stands here.
    pub(super) fn take(&mut self, token: &str) -> bool {
        let found = self.at(token);
        if found {
            self.pos += token.len();
        }
        found
    }

    /// The text from `start` to here.
    pub(super) fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.pos.min(self.end)).unwrap_or("")
    }

    /// Consumes bytes up to the first that `stop` names. Stops are ASCII, so that the cut is between
    /// characters.
    pub(super) fn run(&mut self, stop: impl Fn(u8) -> bool) -> &'a str {
        let start = self.pos;
        while self.peek().is_some_and(|byte| !stop(byte)) {
            self.pos += 1;
        }
        self.since(start)
    }

    /// Consumes one character.
    pub(super) fn character(&mut self) -> &'a str {
        let start = self.pos;
        let length = self.text.get(start..self.end).and_then(|left| left.chars().next()).map_or(1, char::len_utf8);
        self.pos = (start + length).min(self.end);
        self.since(start)
    }

    pub(super) fn span(&self, start: usize) -> Span {
        self.fixed.unwrap_or(Span { start: u32::try_from(start).unwrap_or(u32::MAX), end: u32::try_from(self.pos).unwrap_or(u32::MAX) })
    }

    pub(super) fn gap(&mut self, gap: &'static str) {
        let again = self.gaps.last().is_some_and(|last| std::ptr::eq(*last, gap));
        if !again && !self.gaps.contains(&gap) {
            self.gaps.push(gap);
        }
    }

    /// Counts one node of the tree. Past the bound nothing more is read.
    pub(super) fn count(&mut self) {
        self.nodes += 1;
        if self.nodes > NODES && self.rest.is_none() {
            self.gap("longer than is read");
            self.rest = Some(self.text.len());
        }
    }

    /// One level down; false, and the end of the reading, where that would be too deep.
    pub(super) fn enter(&mut self) -> bool {
        if self.depth >= DEPTH {
            self.stop();
            return false;
        }
        self.depth += 1;
        true
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    fn stop(&mut self) {
        self.gap("nested too deeply");
        self.rest.get_or_insert(self.pos);
    }

    pub(super) fn expect_closer(&mut self, closer: Closer, waiting: bool) {
        if let Some(count) = self.awaited.get_mut(closer as usize) {
            *count = if waiting { count.saturating_add(1) } else { count.saturating_sub(1) };
        }
    }

    pub(super) fn is_awaited(&self, closer: Closer) -> bool {
        self.awaited.get(closer as usize).is_some_and(|count| *count > 0)
    }
}
