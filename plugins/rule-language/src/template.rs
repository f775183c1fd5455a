//! Texts with values in them: `touches {path}` contains the value of the condition language's
//! `path`.
//!
//! `{{` and `}}` are escapes for braces. A value is truncated, and cannot break the line.

use crate::check::{self, Of};
use crate::code::Piece;
use crate::evaluate::{Budget, EvaluationContext};
use crate::place::{Problem, Span};
use crate::syntax;

/// The longest text of a rule, as written and as filled, in bytes.
pub(crate) const MOST_BYTES: usize = 1024;
/// The longest value in a text, in bytes.
const MOST_VALUE: usize = 160;
/// The most items of a list that are shown.
const MOST_ITEMS: usize = 3;

/// Reads a text.
pub(crate) fn parse(text: &str) -> Result<Vec<Piece<'static>>, Problem> {
    let (mut pieces, mut plain, mut at) = (Vec::new(), String::new(), 0);
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or_default();
        if rest.starts_with("{{") || rest.starts_with("}}") {
            plain.push(c);
            at += 2;
        } else if c == '{' {
            let Some(end) = rest.find('}') else {
                return Err(Problem::new(
                    Span::new(at, at + 1),
                    "this brace does not close; a brace by itself is `{{`",
                ));
            };
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain).into()));
            }
            pieces.push(value(rest.get(1..end).unwrap_or_default(), at + 1)?);
            at += end + 1;
        } else if c == '}' {
            return Err(Problem::new(
                Span::new(at, at + 1),
                "this brace was not opened; a brace by itself is `}}`",
            ));
        } else {
            plain.push(c);
            at += c.len_utf8();
        }
    }
    if !plain.is_empty() {
        pieces.push(Piece::Text(plain.into()));
    }
    Ok(pieces)
}

fn value(text: &str, start: usize) -> Result<Piece<'static>, Problem> {
    let place = |problem: Problem| {
        Problem::new(Span::new(problem.span.start + start, problem.span.end + start), problem.what)
    };
    let tree = syntax::parse(text).map_err(place)?;
    let (code, of) = check::value(text, &tree).map_err(place)?;
    let shows = |of: &Of| matches!(of, Of::Text | Of::Word(_) | Of::Number | Of::Flag);
    match &of {
        Of::List(item) if shows(item) => Ok(Piece::Value(code)),
        of if shows(of) => Ok(Piece::Value(code)),
        _ => Err(place(Problem::new(
            tree.span,
            format!(
                "{} cannot be shown; name a text, a number or a list of them",
                check::quote(text, tree.span)
            ),
        ))),
    }
}

/// Fills a text with its values. A missing value is shown as `?`: the rule objects all the same.
#[must_use]
pub fn fill<'v>(
    pieces: &'v [Piece<'v>],
    evaluation: &EvaluationContext<'v>,
    budget: &mut Budget,
) -> String {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(plain) => text.push_str(plain),
            Piece::Value(code) => match evaluation.shown(code, budget, MOST_ITEMS) {
                Ok(value) => text.push_str(&one_line(&value)),
                Err(_) => text.push('?'),
            },
        }
    }
    cut(&mut text, MOST_BYTES);
    text
}

fn one_line(value: &str) -> String {
    // One more than fits shows that something is left out; a blank can be shorter than the character
    // that it replaces.
    let mut line: String =
        value.chars().take(MOST_VALUE + 1).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.len() > MOST_VALUE {
        // Three bytes are left for the dots.
        cut(&mut line, MOST_VALUE - 3);
        line.push_str("...");
    }
    line
}

fn cut(text: &mut String, most: usize) {
    let end = text.floor_char_boundary(most);
    text.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::{MOST_VALUE, one_line};

    #[test]
    fn a_value_is_cut_only_if_it_is_too_long() {
        for (value, cut) in [
            ("a\u{85}b".to_owned(), false),
            ("a".repeat(MOST_VALUE), false),
            ("\u{85}".repeat(MOST_VALUE), false),
            ("a".repeat(MOST_VALUE + 1), true),
            ("\u{85}".repeat(MOST_VALUE + 1), true),
            ("ü".repeat(MOST_VALUE), true),
            ("\u{1f600}".repeat(MOST_VALUE / 4), false),
        ] {
            let line = one_line(&value);
            assert!(line.len() <= MOST_VALUE, "{value}: {line}");
            assert_eq!(line.ends_with("..."), cut, "{value}: {line}");
            assert!(!line.contains(char::is_control), "{line}");
        }
    }
}
