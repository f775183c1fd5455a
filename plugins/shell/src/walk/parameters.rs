//! The expansion of `$name` and `${...}`.

use super::environment::{UNKNOWN, Value};
use super::feed::Source;
use super::{Setting, Walker};
use crate::syntax::{Operator, Parameter, is_name};

/// The longest value that patterns are matched against, in bytes.
const MATCHED: usize = 256;

impl Walker<'_> {
    pub(super) fn parameter(&mut self, parameter: &Parameter, setting: &Setting) -> Value {
        let argument = parameter.argument.as_ref().map(|word| self.single(word, setting));
        let text = argument.as_ref().map_or("", |field| field.text.as_str());
        let given = || {
            let source = argument.as_ref().map_or(Source::LOCAL, |field| field.source);
            Value { text: text.to_owned(), source, ..Value::default() }
        };
        let value = self
            .variable(&parameter.name, parameter.subscript.as_deref())
            .or_else(|| credential(&parameter.name));
        let certain = argument.as_ref().is_none_or(|field| field.known);
        match (parameter.operator, value) {
            (Operator::None, Some(value)) => value,
            (Operator::Default | Operator::Assign, Some(value)) if !value.text.is_empty() => {
                // If the default is the same text, it does not matter whether the variable is set.
                Value { known: value.known || value.text == text, ..value }
            }
            (Operator::Default, _) => given(),
            (Operator::Assign, _) => {
                let value = given();
                if is_name(&parameter.name) {
                    self.env.set(&parameter.name, value.clone());
                }
                value
            }
            (Operator::Alternative, value) => {
                Value { text: text.to_owned(), known: value.is_some(), ..Value::default() }
            }
            (Operator::Indirect, Some(value)) if value.known => {
                self.variable(&value.text, None).unwrap_or_else(Value::unknown)
            }
            (operator, Some(value)) if certain && value.text.len() <= MATCHED => {
                // The pattern is matched against each part of the value.
                self.spend(value.text.len() * value.text.len());
                changed(operator, value, text)
            }
            (_, value) => Value {
                source: value.map_or(Source::LOCAL, |value| value.source),
                ..Value::unknown()
            },
        }
    }

    /// Returns the value of a variable, or of one element of it.
    fn variable(&mut self, name: &str, subscript: Option<&str>) -> Option<Value> {
        let subscript = match subscript {
            None | Some("@" | "*") => return self.env.get(name),
            Some(subscript) => subscript.trim_matches(['"', '\'']),
        };
        let element = match subscript.strip_prefix('$') {
            Some(variable) => {
                self.env.get(variable.trim_matches(['{', '}'])).filter(|value| value.known)?.text
            }
            None => subscript.to_owned(),
        };
        self.env
            .get(&format!("{name}[{element}]"))
            .or_else(|| self.env.get(name).map(|whole| self::element(whole, &element)))
    }
}

/// Returns the placeholder for an environment variable whose name identifies it as a credential.
fn credential(name: &str) -> Option<Value> {
    is_credential(name)
        .then(|| Value { source: Source { credential: true, ..Source::LOCAL }, ..Value::unknown() })
}

/// Returns true for the name of a variable that usually holds a credential.
pub(super) fn is_credential(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    upper.len() > 3
        && [
            "TOKEN",
            "SECRET",
            "PASSWORD",
            "PASSWD",
            "APIKEY",
            "API_KEY",
            "ACCESS_KEY",
            "PRIVATE_KEY",
            "CREDENTIAL",
        ]
        .iter()
        .any(|mark| upper.contains(mark))
}

/// Returns one element of an array. A list that is not an array has its words as elements.
fn element(value: Value, subscript: &str) -> Value {
    let number = subscript.trim().parse::<usize>().ok();
    let nth = |number: usize| match value.elements.get(number) {
        Some(element) => Some(element.text.clone()),
        None => value.text.split_ascii_whitespace().nth(number).map(str::to_owned),
    };
    match number.and_then(nth) {
        Some(text) => Value { known: value.known, source: value.source, text, ..Value::default() },
        None => Value { source: value.source, ..Value::unknown() },
    }
}

fn changed(operator: Operator, value: Value, argument: &str) -> Value {
    let unknown = Value { source: value.source, ..Value::unknown() };
    // A pattern may cut from the known end of a value.
    if !value.known && !matches!(operator, Operator::TrimStart { .. } | Operator::TrimEnd { .. }) {
        return unknown;
    }
    match operator {
        Operator::Slice => slice(&value, argument).unwrap_or(unknown),
        Operator::TrimEnd { longest } => change(value, |whole| {
            whole.get(..trim_end(whole, argument, longest)).unwrap_or(whole).to_owned()
        }),
        Operator::TrimStart { longest } => change(value, |whole| {
            whole.get(trim_start(whole, argument, longest)..).unwrap_or(whole).to_owned()
        }),
        Operator::Upper => change(value, |whole| whole.to_uppercase()),
        Operator::Lower => change(value, |whole| whole.to_lowercase()),
        Operator::Length => {
            Value { text: value.text.chars().count().to_string(), others: Vec::new(), ..value }
        }
        Operator::Replace { every } => {
            let (pattern, with) = argument.split_once('/').unwrap_or((argument, ""));
            if pattern.is_empty() || pattern.contains(['*', '?', '[']) {
                return unknown;
            }
            change(value, |whole| {
                if every { whole.replace(pattern, with) } else { whole.replacen(pattern, with, 1) }
            })
        }
        _ => unknown,
    }
}

fn change(value: Value, cut: impl Fn(&str) -> String) -> Value {
    Value {
        text: cut(&value.text),
        others: value.others.iter().map(|other| cut(other)).collect(),
        ..value
    }
}

/// Returns `start:length` of a value; a start below 0 counts from the end.
fn slice(value: &Value, range: &str) -> Option<Value> {
    let mut numbers =
        range.split(':').map(|number| number.trim().trim_matches(['(', ')']).parse::<i64>());
    let start = numbers.next()?.ok()?;
    let length = match numbers.next() {
        None => usize::MAX,
        Some(length) => usize::try_from(length.ok()?).ok()?,
    };
    let count = i64::try_from(value.text.chars().count()).ok()?;
    let start = usize::try_from(if start < 0 { (count + start).max(0) } else { start }).ok()?;
    let text = value.text.chars().skip(start).take(length).collect();
    Some(Value { text, known: value.known, source: value.source, ..Value::default() })
}

/// Returns the start of the part that `%pattern` removes.
fn trim_end(whole: &str, pattern: &str, longest: bool) -> usize {
    let mut cuts = (0..=whole.len())
        .filter(|at| whole.is_char_boundary(*at) && fits(whole.get(*at..).unwrap_or(""), pattern));
    if longest { cuts.next() } else { cuts.next_back() }.unwrap_or(whole.len())
}

/// Returns the end of the part that `#pattern` removes.
fn trim_start(whole: &str, pattern: &str, longest: bool) -> usize {
    let mut cuts = (0..=whole.len())
        .filter(|at| whole.is_char_boundary(*at) && fits(whole.get(..*at).unwrap_or(""), pattern));
    if longest { cuts.next_back() } else { cuts.next() }.unwrap_or(0)
}

/// Returns true if `text` matches the glob `pattern`: `*`, `?`, `[...]` and literals. An unknown
/// part of the text matches only a `*`.
pub(super) fn fits(text: &str, pattern: &str) -> bool {
    let (text, pattern): (Vec<char>, Vec<char>) =
        (text.chars().collect(), pattern.chars().take(64).collect());
    let (mut at, mut of) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    loop {
        match (text.get(at), pattern.get(of)) {
            (_, Some('*')) => {
                // A return to the last `*` is enough for a match, and takes no exponential time.
                back = Some((at, of + 1));
                of += 1;
                continue;
            }
            (None, None) => return true,
            (Some(c), Some(wanted)) => {
                let (fit, length) = one(*c, *wanted, pattern.get(of..).unwrap_or_default());
                if fit && *c != UNKNOWN {
                    at += 1;
                    of += length;
                    continue;
                }
            }
            _ => {}
        }
        match back {
            Some((start, after)) if start < text.len() => {
                back = Some((start + 1, after));
                at = start + 1;
                of = after;
            }
            _ => return false,
        }
    }
}

/// Returns true if one character matches the pattern's next element, and the length of that
/// element.
fn one(c: char, wanted: char, pattern: &[char]) -> (bool, usize) {
    match wanted {
        '?' => (true, 1),
        // A `]` right behind the bracket is a member of the set.
        '[' => match pattern.iter().skip(2).position(|end| *end == ']') {
            Some(end) => (set(c, pattern.get(1..end + 2).unwrap_or_default()), end + 3),
            None => (c == '[', 1),
        },
        wanted => (c == wanted, 1),
    }
}

fn set(c: char, members: &[char]) -> bool {
    let (negated, members) = match members {
        ['!' | '^', rest @ ..] => (true, rest),
        all => (false, all),
    };
    let ranged = members
        .windows(3)
        .any(|range| matches!(range, [first, '-', last] if (*first..=*last).contains(&c)));
    (ranged || members.contains(&c)) != negated
}
