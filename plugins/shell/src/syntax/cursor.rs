//! The reader's position, its bounds, and what it could not read.

use super::tree::{Script, Span, Word};
use std::rc::Rc;

/// The maximum nesting of constructs, including text inside other text.
pub(crate) const DEPTH: usize = 48;
/// The maximum number of words, parts and commands in one tree: the bound for one list or pipeline,
/// which cannot be cut.
const NODES: usize = 100_000;
/// The number of nodes after which a text continues in another tree, at the next command of its own
/// level.
const PIECE: usize = 20_000;

/// The result of reading a text.
pub(crate) struct Parsed {
    pub script: Script,
    /// Bodies of the heredocs; `Redirect::heredoc` is an index into it.
    pub heredocs: Rc<Vec<Word>>,
    pub gaps: Vec<&'static str>,
    /// Limits that were exceeded.
    pub limits: Vec<&'static str>,
    /// The position from which the text was too deeply nested, or too long, to be read.
    pub rest: Option<usize>,
    /// The position of the next piece of the text.
    pub more: Option<usize>,
    /// The number of words, parts and commands that were read.
    pub nodes: usize,
}

/// The tokens that end a list of commands.
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
/// The nesting limit, in words.
pub(crate) const DEEP: &str = "nested too deeply";

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
    /// Nesting is removed: reserved words are skipped.
    pub flat: bool,
    pub pending: Vec<Pending>,
    pub heredocs: Vec<Word>,
    pub gaps: Vec<&'static str>,
    limits: Vec<&'static str>,
    /// The current command is one of Windows.
    pub windows: bool,
    /// A quote without an end; the word that contains it takes it.
    pub open: Option<&'static str>,
    pub depth: usize,
    nodes: usize,
    awaited: [u16; CLOSERS],
    rest: Option<usize>,
    /// It reads piece by piece.
    in_pieces: bool,
    more: Option<usize>,
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
            limits: Vec::new(),
            windows: false,
            open: None,
            depth,
            nodes: 0,
            awaited: [0; CLOSERS],
            rest: None,
            in_pieces: false,
            more: None,
        }
    }

    /// Reads a piece of the text, from `start` on.
    pub(super) fn parse_piece(mut self, start: usize) -> Parsed {
        self.pos = start;
        self.in_pieces = true;
        self.parse()
    }

    /// Ends the piece here, if it is long enough: between two commands of the text's own level.
    pub(super) fn ends_piece(&mut self) -> bool {
        let ends = self.in_pieces
            && self.nodes > PIECE
            // The text of a heredoc belongs to the piece with its command.
            && self.pending.is_empty()
            && self.peek().is_some();
        if ends {
            self.more = Some(self.pos);
        }
        ends
    }

    pub(super) fn parse(mut self) -> Parsed {
        let script = self.script(&[]);
        self.settle();
        if !self.pending.is_empty() {
            self.gap("a heredoc without its text");
        }
        let Self { heredocs, gaps, limits, rest, more, nodes, .. } = self;
        Parsed { script, heredocs: Rc::new(heredocs), gaps, limits, rest, more, nodes }
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
            let limit = parser.limits.first().copied().unwrap_or(DEEP);
            self.stop(limit);
        }
        script
    }

    /// Records a gap for a quote without an end that is not in a command's word.
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
        // Past a limit the text has ended for everything that reads it, so that each loop ends too.
        if at < self.end && self.rest.is_none() {
            self.text.as_bytes().get(at).copied()
        } else {
            None
        }
    }

    pub(super) fn at(&self, token: &str) -> bool {
        self.rest.is_none()
            && self
                .text
                .as_bytes()
                .get(self.pos..self.end)
                .is_some_and(|left| left.starts_with(token.as_bytes()))
    }

    /// Consumes `token` if it is at this position.
    pub(super) fn take(&mut self, token: &str) -> bool {
        let found = self.at(token);
        if found {
            self.pos += token.len();
        }
        found
    }

    /// Returns the text from `start` to here.
    pub(super) fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.pos.min(self.end)).unwrap_or("")
    }

    /// Consumes bytes up to the first that `stop` accepts. Stops are ASCII, so that the cut is
    /// between characters.
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
        let length = self
            .text
            .get(start..self.end)
            .and_then(|left| left.chars().next())
            .map_or(1, char::len_utf8);
        self.pos = (start + length).min(self.end);
        self.since(start)
    }

    pub(super) fn span(&self, start: usize) -> Span {
        self.fixed.unwrap_or(Span {
            start: u32::try_from(start).unwrap_or(u32::MAX),
            end: u32::try_from(self.pos).unwrap_or(u32::MAX),
        })
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
            self.stop("more words than are read");
        }
    }

    /// Enters one level; false, and the end of the reading, if that would be too deep.
    pub(super) fn enter(&mut self) -> bool {
        if self.depth >= DEPTH {
            self.stop(DEEP);
            return false;
        }
        self.depth += 1;
        true
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    fn stop(&mut self, limit: &'static str) {
        if !self.limits.contains(&limit) {
            self.limits.push(limit);
        }
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
