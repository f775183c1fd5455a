//! Shell text to a tree.
//!
//! A hand-written reader for the language of bash: linear in the length of the text (each byte is
//! consumed once; the one look-ahead, for `((`, is bounded), with its nesting counted, so that no
//! input can overflow the stack. It never rejects a text. It knows nothing of what programs do, and
//! fills in no values.

mod commands;
mod compounds;
mod cursor;
mod dollar;
mod redirects;
mod tree;
mod windows;
mod words;

pub(crate) use commands::is_name;
pub(crate) use cursor::{DEEP, DEPTH, Parsed};
pub(crate) use dollar::unescape;
pub(crate) use tree::{
    Assignment, Body, Operator, Parameter, Part, Pipeline, Redirect, Script, Span, Stage, Word,
};

use cursor::Parser;

/// Reads a text from `start` on, up to its end or to the start of the next piece. `depth` is the
/// nesting depth of the text itself; `fixed` is the place that all its commands carry, for text
/// that does not occur literally in the command line.
pub(crate) fn parse(text: &str, start: usize, depth: usize, fixed: Option<Span>) -> Parsed {
    Parser::new(text, depth, fixed).parse_piece(start)
}

/// Reads text that was too deeply nested again, without the nesting, so that its commands are still
/// seen.
pub(crate) fn parse_flat(text: &str, fixed: Option<Span>) -> Parsed {
    let flat: String = text
        .chars()
        .map(|c| if matches!(c, '(' | ')' | '`' | '{' | '}' | '$') { '\n' } else { c })
        .collect();
    let mut parser = Parser::new(&flat, 0, fixed);
    parser.flat = true;
    parser.parse()
}
