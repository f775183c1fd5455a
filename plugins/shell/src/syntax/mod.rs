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
pub(crate) use cursor::{DEPTH, Parsed};
pub(crate) use dollar::unescape;
pub(crate) use tree::{Assignment, Body, Operator, Parameter, Part, Pipeline, Redirect, Script, Span, Stage, Word};

use cursor::Parser;

/// Reads a whole text. `depth` is how deep the text itself is nested in others; `fixed` is the place
/// that all its commands carry, for text that does not stand in the command line as it is.
pub(crate) fn parse(text: &str, depth: usize, fixed: Option<Span>) -> Parsed {
    Parser::new(text, depth, fixed).parse()
}

/// Reads what was too deeply nested once more, with the nesting taken out, so that the commands in it
/// are still seen.
pub(crate) fn parse_flat(text: &str, fixed: Option<Span>) -> Parsed {
    let flat: String = text.chars().map(|c| if matches!(c, '(' | ')' | '`' | '{' | '}' | '$') { '\n' } else { c }).collect();
    let mut parser = Parser::new(&flat, 0, fixed);
    parser.flat = true;
    parser.parse()
}
