//! Compiles conditions to code: every name is looked up, every type checked.
//!
//! A condition that passes can only fail because of values in the action. The first problem in a
//! condition is reported, with its place in it.

mod calls;

use crate::code::{Code, Operator};
use crate::functions::names;
use crate::nearest;
use crate::place::{Problem, Span, shown};
use crate::schema::{Kind, Type};
use crate::tree::{Node, Tree, Word};

/// The type of a part of a condition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Of {
    Flag,
    Number,
    Text,
    Word(&'static [&'static str]),
    /// A list; an empty list has items of the type `Nothing`.
    List(Box<Self>),
    Map,
    Record(Kind),
    Nothing,
}

type Checked = Result<(Code<'static>, Of), Problem>;

/// Checks a condition, which has to evaluate to true or false. `text` is its source.
pub(crate) fn condition(text: &str, tree: &Tree) -> Result<Code<'static>, Problem> {
    let (code, of) = value(text, tree)?;
    if of == Of::Flag {
        return Ok(code);
    }
    let (part, of) = (quote(text, tree.span), of.describe());
    Err(Problem::new(tree.span, format!("{part} is {of}; a condition has to be true or false")))
}

/// Checks an expression of any type. `text` is its source.
pub(crate) fn value(text: &str, tree: &Tree) -> Checked {
    Checker { text, variables: Vec::new() }.check(tree)
}

/// Returns a part of a source in backticks, as the subject of a message.
pub(crate) fn quote(text: &str, span: Span) -> String {
    format!("`{}`", shown(text.get(span.start..span.end).unwrap_or_default()))
}

struct Checker<'s> {
    text: &'s str,
    variables: Vec<(String, Of)>,
}

impl Checker<'_> {
    fn quote(&self, tree: &Tree) -> String {
        quote(self.text, tree.span)
    }

    fn check(&mut self, tree: &Tree) -> Checked {
        Ok(match &tree.node {
            Node::Flag(flag) => (Code::Flag(*flag), Of::Flag),
            Node::Number(number) => (Code::Number(*number), Of::Number),
            Node::Text(text) => (Code::Text(text.clone().into()), Of::Text),
            Node::List(items) => self.list(items)?,
            Node::Name(name) => self.name(name, tree.span)?,
            Node::Select(of, word) => self.select(of, word)?,
            Node::Index(of, index) => self.index(of, index)?,
            Node::Call(of, word, arguments) => {
                self.call(of.as_deref(), word, arguments, tree.span)?
            }
            Node::Not(of) => (Code::Not(Box::new(self.wanted(of, &Of::Flag)?)), Of::Flag),
            Node::Minus(of) => (Code::Minus(Box::new(self.wanted(of, &Of::Number)?)), Of::Number),
            Node::And(items) => (Code::And(self.flags(items)?), Of::Flag),
            Node::Or(items) => (Code::Or(self.flags(items)?), Of::Flag),
            Node::Pair(sign, at, left, right) => self.pair(sign, *at, left, right)?,
            Node::Choice(parts) => self.choice(parts)?,
        })
    }

    fn flags(&mut self, items: &[Tree]) -> Result<Vec<Code<'static>>, Problem> {
        items.iter().map(|item| self.wanted(item, &Of::Flag)).collect()
    }

    fn wanted(&mut self, tree: &Tree, of: &Of) -> Result<Code<'static>, Problem> {
        let (code, found) = self.check(tree)?;
        if common(&found, of).is_some() {
            return Ok(code);
        }
        Err(Problem::new(
            tree.span,
            format!("{} is {}; it has to be {}", self.quote(tree), found.describe(), of.describe()),
        ))
    }

    fn list(&mut self, items: &[Tree]) -> Checked {
        let (mut codes, mut of) = (Vec::with_capacity(items.len()), Of::Nothing);
        for item in items {
            let (code, found) = self.check(item)?;
            let Some(both) = common(&of, &found) else {
                return Err(Problem::new(
                    item.span,
                    format!(
                        "{} is {} in a list of others, of which each is {}",
                        self.quote(item),
                        found.describe(),
                        of.describe()
                    ),
                ));
            };
            of = both;
            codes.push(code);
        }
        Ok((Code::List(codes), Of::List(Box::new(of))))
    }

    fn name(&mut self, name: &str, span: Span) -> Checked {
        // The innermost variable of a name hides those around it.
        if let Some(at) = self.variables.iter().rposition(|(known, _)| known == name)
            && let (Ok(slot), Some((_, of))) = (u8::try_from(at), self.variables.get(at))
        {
            return Ok((Code::Variable(slot), of.clone()));
        }
        match position(Kind::Action, name) {
            Some((at, of)) => Ok((Code::Name(at), of)),
            None => {
                let variables = self.variables.iter().map(|(name, _)| name.as_str());
                let known = variables.chain(Kind::Action.fields().iter().map(|field| field.name));
                let fix = match nearest(known, name) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None if names().any(|known| known == name) => {
                        "it is a function; call it".to_owned()
                    }
                    None => group_of(name)
                        .unwrap_or_else(|| "`portcullis rules fields` lists the names".to_owned()),
                };
                Err(Problem::new(span, format!("`{}` is unknown; {fix}", shown(name))))
            }
        }
    }

    fn select(&mut self, of: &Tree, word: &Word) -> Checked {
        let (code, found) = self.check(of)?;
        match found {
            Of::Record(kind) => match position(kind, &word.name) {
                Some((at, of)) => Ok((Code::Select(Box::new(code), number(kind), at), of)),
                None => {
                    let known = || kind.fields().iter().map(|field| field.name);
                    let fix = match nearest(known(), &word.name) {
                        Some(name) => format!("did you mean `{name}`?"),
                        None => format!("it has `{}`", known().collect::<Vec<_>>().join("`, `")),
                    };
                    Err(Problem::new(
                        word.span,
                        format!("{} has no `{}`; {fix}", kind.as_str(), shown(&word.name)),
                    ))
                }
            },
            Of::Map => Ok((
                Code::Entry(Box::new(code), Box::new(Code::Text(word.name.clone().into()))),
                Of::Text,
            )),
            Of::List(_) => {
                let what = format!(
                    "a list has no `{0}`; ask each of its items: `.exists(x, x.{0} ...)`",
                    shown(&word.name)
                );
                Err(Problem::new(word.span, what))
            }
            other => Err(Problem::new(
                word.span,
                format!("{} has no `{}`", other.describe(), shown(&word.name)),
            )),
        }
    }

    fn index(&mut self, of: &Tree, index: &Tree) -> Checked {
        let (code, found) = self.check(of)?;
        match found {
            Of::List(item) => {
                Ok((Code::Item(Box::new(code), Box::new(self.wanted(index, &Of::Number)?)), *item))
            }
            Of::Map => Ok((
                Code::Entry(Box::new(code), Box::new(self.wanted(index, &Of::Text)?)),
                Of::Text,
            )),
            other => Err(Problem::new(
                of.span,
                format!(
                    "{} is {}; only lists and maps have items",
                    self.quote(of),
                    other.describe()
                ),
            )),
        }
    }

    fn choice(&mut self, parts: &[Tree; 3]) -> Checked {
        let [condition, yes, no] = parts;
        let condition = self.wanted(condition, &Of::Flag)?;
        let (yes, left) = self.check(yes)?;
        let (other, right) = self.check(no)?;
        let Some(of) = common(&left, &right) else {
            return Err(Problem::new(
                no.span,
                format!(
                    "{} is {}; the other side is {}",
                    self.quote(no),
                    right.describe(),
                    left.describe()
                ),
            ));
        };
        Ok((Code::Choice(Box::new([condition, yes, other])), of))
    }

    fn pair(&mut self, sign: &str, at: Span, left: &Tree, right: &Tree) -> Checked {
        let ((a, of), (b, other)) = (self.check(left)?, self.check(right)?);
        word_fits(&of, right)?;
        word_fits(&other, left)?;
        let wrong = || {
            Problem::new(
                at,
                format!(
                    "`{sign}` between {} and {}: {}",
                    of.describe(),
                    other.describe(),
                    sides(sign)
                ),
            )
        };
        let both = common(&of, &other);
        let (operator, gives) = match (sign, &both) {
            ("in", _) => match (&of, &other) {
                (_, Of::Map) if common(&of, &Of::Text).is_some() => (Operator::InMap, Of::Flag),
                (item, Of::List(items)) if item.compares() && common(item, items).is_some() => {
                    (Operator::InList, Of::Flag)
                }
                _ => return Err(wrong()),
            },
            ("==", Some(same)) if same.compares() => (Operator::Equal, Of::Flag),
            ("!=", Some(same)) if same.compares() => (Operator::Unequal, Of::Flag),
            ("<", Some(Of::Number | Of::Text)) => (Operator::Less, Of::Flag),
            ("<=", Some(Of::Number | Of::Text)) => (Operator::AtMost, Of::Flag),
            (">", Some(Of::Number | Of::Text)) => (Operator::More, Of::Flag),
            (">=", Some(Of::Number | Of::Text)) => (Operator::AtLeast, Of::Flag),
            ("+", Some(Of::Number)) => (Operator::Add, Of::Number),
            ("+", Some(Of::Text | Of::Word(_))) => (Operator::Join, Of::Text),
            ("+", Some(list @ Of::List(_))) => (Operator::Append, list.clone()),
            ("-", Some(Of::Number)) => (Operator::Subtract, Of::Number),
            ("*", Some(Of::Number)) => (Operator::Multiply, Of::Number),
            ("/", Some(Of::Number)) => (Operator::Divide, Of::Number),
            ("%", Some(Of::Number)) => (Operator::Remainder, Of::Number),
            _ => return Err(wrong()),
        };
        Ok((Code::Pair(operator, Box::new(a), Box::new(b)), gives))
    }
}

/// Returns the common type of two sides; a text is compatible with a word.
fn common(a: &Of, b: &Of) -> Option<Of> {
    match (a, b) {
        (a, b) if a == b => Some(a.clone()),
        (Of::Nothing, other) | (other, Of::Nothing) => Some(other.clone()),
        (Of::Text | Of::Word(_), Of::Text | Of::Word(_)) => Some(Of::Text),
        (Of::List(a), Of::List(b)) => common(a, b).map(|item| Of::List(Box::new(item))),
        _ => None,
    }
}

/// Checks that a constant that is compared with a word is one of the allowed words.
fn word_fits(of: &Of, tree: &Tree) -> Result<(), Problem> {
    let Of::Word(words) = of else { return Ok(()) };
    match &tree.node {
        Node::Text(text) if !words.contains(&text.as_str()) => {
            // Some fields may be empty; that helps nobody who misspelled a word.
            let fix = match nearest(words.iter().copied(), text).filter(|word| !word.is_empty()) {
                Some(word) => format!("did you mean `{word}`?"),
                None => format!("it is {}", of.describe()),
            };
            Err(Problem::new(
                tree.span,
                format!("`{}` is not a value of this field; {fix}", shown(text)),
            ))
        }
        Node::List(items) => items.iter().try_for_each(|item| word_fits(of, item)),
        _ => Ok(()),
    }
}

fn position(kind: Kind, name: &str) -> Option<(u8, Of)> {
    let at = kind.fields().iter().position(|field| field.name == name)?;
    Some((u8::try_from(at).ok()?, Of::from(kind.fields().get(at)?.kind)))
}

fn number(kind: Kind) -> u8 {
    Kind::ALL
        .iter()
        .position(|known| *known == kind)
        .and_then(|at| u8::try_from(at).ok())
        .unwrap_or_default()
}

/// Returns the group in which a name that is not a top-level name is found.
fn group_of(name: &str) -> Option<String> {
    let holder = |kind: Kind| match kind {
        Kind::Context => Some("context"),
        Kind::History => Some("history"),
        _ => None,
    };
    let kind = Kind::ALL
        .iter()
        .find(|kind| holder(**kind).is_some() && position(**kind, name).is_some())?;
    Some(format!("did you mean `{}.{name}`?", holder(*kind)?))
}

fn sides(sign: &str) -> &'static str {
    match sign {
        "in" => "its right side must be a list of such items, or a map",
        "==" | "!=" => "both sides have to be of one type, and no group of names",
        "<" | "<=" | ">" | ">=" => "both sides have to be numbers, or both texts",
        "+" => "both sides have to be numbers, texts or lists",
        _ => "both sides have to be numbers",
    }
}

impl Of {
    fn describe(&self) -> String {
        match self {
            Self::Flag => "true or false".into(),
            Self::Number => "a number".into(),
            Self::Text => "a text".into(),
            Self::Word(words) => Type::Word(words).to_string(),
            Self::List(item) if **item == Self::Nothing => "a list".into(),
            Self::List(item) => format!("a list, of which each is {}", item.describe()),
            Self::Map => "a map".into(),
            Self::Record(kind) => kind.as_str().into(),
            Self::Nothing => "nothing".into(),
        }
    }

    fn compares(&self) -> bool {
        match self {
            Self::Flag | Self::Number | Self::Text | Self::Word(_) | Self::Nothing => true,
            Self::List(item) => item.compares(),
            Self::Map | Self::Record(_) => false,
        }
    }
}

impl From<Type> for Of {
    fn from(kind: Type) -> Self {
        match kind {
            Type::Flag => Self::Flag,
            Type::Number => Self::Number,
            Type::Text => Self::Text,
            Type::Word(words) => Self::Word(words),
            Type::Texts => Self::List(Box::new(Self::Text)),
            Type::Map => Self::Map,
            Type::Record(kind) => Self::Record(kind),
            Type::Records(kind) => Self::List(Box::new(Self::Record(kind))),
        }
    }
}
