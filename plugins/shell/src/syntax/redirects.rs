//! Redirections and heredocs.

use super::cursor::{Parser, Pending};
use super::tree::{Part, Redirect, Word};
use super::words::{Mode, literal};
use crate::types::Direction;

/// The operators, longest first, so that the first match is the right one.
const OPERATORS: &[(&str, u32, Direction)] = &[
    ("&>>", 1, Direction::Append),
    ("&>", 1, Direction::Output),
    ("<<<", 0, Direction::Heredoc),
    ("<<-", 0, Direction::Heredoc),
    ("<<", 0, Direction::Heredoc),
    ("<&", 0, Direction::Duplicate),
    ("<>", 0, Direction::Output),
    ("<", 0, Direction::Input),
    (">>", 1, Direction::Append),
    (">|", 1, Direction::Output),
    (">&", 1, Direction::Duplicate),
    (">", 1, Direction::Output),
];

impl Parser<'_> {
    /// Returns true if a redirection begins here, with or without a descriptor.
    pub(super) fn at_redirect(&self) -> bool {
        let digits = self.digits();
        match self.peek_at(digits) {
            Some(b'<' | b'>') => digits > 0 || self.peek_at(1) != Some(b'('),
            Some(b'&') => digits == 0 && self.peek_at(1) == Some(b'>'),
            _ => false,
        }
    }

    fn digits(&self) -> usize {
        (0..3)
            .take_while(|ahead| self.peek_at(*ahead).is_some_and(|byte| byte.is_ascii_digit()))
            .count()
    }

    pub(super) fn redirect(&mut self) -> Option<Redirect> {
        self.count();
        let start = self.pos;
        self.pos += self.digits();
        let descriptor = self.since(start).parse().ok();
        let (operator, default, mut direction) =
            OPERATORS.iter().find(|(operator, ..)| self.at(operator)).copied()?;
        self.pos += operator.len();
        self.skip_blanks();
        let heredoc =
            (operator == "<<" || operator == "<<-").then(|| self.heredoc(operator == "<<-"));
        let target = if heredoc.is_some() { Word::default() } else { self.word(Mode::Plain) };
        // No shell runs such a line.
        if heredoc.is_none() && target.parts.is_empty() {
            return None;
        }
        if operator == ">&"
            && !target.bare().is_none_or(|text| {
                text == "-" || text.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit())
            })
        {
            direction = Direction::Output;
        }
        Some(Redirect { descriptor: descriptor.unwrap_or(default), direction, target, heredoc })
    }

    /// Notes a heredoc; its text begins on the next line.
    fn heredoc(&mut self, tabs: bool) -> usize {
        let word = self.word(Mode::Plain);
        let mut delimiter = String::new();
        let mut literal = false;
        for part in &word.parts {
            match part {
                Part::Text { text, quoted } => {
                    delimiter.push_str(text);
                    literal |= quoted;
                }
                _ => self.gap("a heredoc with an odd delimiter"),
            }
        }
        let index = self.heredocs.len();
        self.heredocs.push(Word::default());
        self.pending.push(Pending { index, delimiter, literal, tabs });
        index
    }

    /// Reads the texts of the heredocs that were begun on the line which ended here.
    pub(super) fn read_heredocs(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            let start = self.pos;
            let Some((end, next)) = self.heredoc_end(&pending) else { continue };
            let body = if pending.literal {
                let mut parts = Vec::new();
                literal(&mut parts, self.text.get(start..end).unwrap_or(""), true);
                Word { parts, span: self.span(start), open: None }
            } else {
                self.expanding_body(end)
            };
            self.pos = next;
            if let Some(slot) = self.heredocs.get_mut(pending.index) {
                *slot = body;
            }
        }
    }

    fn expanding_body(&mut self, end: usize) -> Word {
        let start = self.pos;
        if !self.enter() {
            return Word::default();
        }
        let limit = std::mem::replace(&mut self.end, end);
        let parts = self.quoted_parts(None);
        self.end = limit;
        self.leave();
        Word { parts, span: self.span(start), open: None }
    }

    /// Returns the end of a heredoc's text, and the position at which reading continues.
    fn heredoc_end(&mut self, pending: &Pending) -> Option<(usize, usize)> {
        let mut at = self.pos;
        let text = self.text.get(..self.end)?;
        while at < self.end {
            let left = text.get(at..)?;
            let length = left.find('\n').unwrap_or(left.len());
            let line = left.get(..length)?;
            let next = (at + length + 1).min(self.end);
            let bare = line.strip_suffix('\r').unwrap_or(line);
            let bare = if pending.tabs { bare.trim_start_matches('\t') } else { bare };
            if bare == pending.delimiter {
                return Some((at, next));
            }
            if let Some(after) = bare.strip_prefix(pending.delimiter.as_str())
                && after.starts_with(')')
                && !pending.delimiter.is_empty()
            {
                return Some((at, at + length - after.len()));
            }
            at = next;
        }
        if self.peek().is_some() || self.pos < self.end {
            self.gap("a heredoc without its end");
        }
        Some((self.end, self.end))
    }
}
