//! Values, as far as a program's text determines them.

use crate::scope::Local;
use std::rc::Rc;

/// Stands for a part of a text that is known only when the program runs.
pub const HOLE: char = '\u{fffd}';

/// The maximum length of a text, in bytes.
const TEXT: usize = 8 * 1024;
/// The maximum number of alternatives.
pub(crate) const ALTERNATIVES: usize = 16;
/// The maximum number of members of a list.
pub(crate) const MEMBERS: usize = 256;
/// The maximum number of values inside values.
const DEPTH: u8 = 24;
/// The longest text that is a list of its signs, in bytes.
const SIGNS: usize = 128;
/// The maximum number of origins.
const ORIGINS: usize = 16;

/// A value, and the calls whose results are in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The value itself.
    pub kind: Kind,
    /// The numbers of the calls whose results are in it, in the list of calls.
    pub origins: Vec<u32>,
    depth: u8,
}

/// The value itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Nothing is known.
    Unknown,
    /// A text, with [`HOLE`] for each unknown part.
    Text(Rc<str>),
    /// A whole number.
    Number(i64),
    /// A list, a tuple or a set.
    List(Rc<Vec<Value>>),
    /// Names or texts with their values.
    Map(Rc<Vec<(String, Value)>>),
    /// One of these.
    Any(Rc<Vec<Value>>),
    /// Something outside the program: a module, a function, a class.
    Name(Rc<str>),
    /// The result of a call: its name with brackets, and its receiver and arguments.
    Made(Rc<str>, Rc<Vec<Value>>),
    /// A member of the first, which is not a module.
    Member(Rc<Value>, Rc<str>),
    /// A function or an object of the program itself.
    Local(Local),
}

impl Value {
    pub(crate) const fn unknown() -> Self {
        Self { kind: Kind::Unknown, origins: Vec::new(), depth: 0 }
    }

    pub(crate) fn text(text: &str) -> Self {
        let mut text = std::borrow::Cow::Borrowed(text);
        if text.len() > TEXT {
            let end = (0..=TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text = format!("{}{HOLE}", text.get(..end).unwrap_or("")).into();
        }
        Self { kind: Kind::Text(Rc::from(&*text)), origins: Vec::new(), depth: 0 }
    }

    pub(crate) const fn number(number: i64) -> Self {
        Self { kind: Kind::Number(number), origins: Vec::new(), depth: 0 }
    }

    pub(crate) fn name(name: &str) -> Self {
        Self { kind: Kind::Name(Rc::from(name)), origins: Vec::new(), depth: 0 }
    }

    pub(crate) const fn local(local: Local) -> Self {
        Self { kind: Kind::Local(local), origins: Vec::new(), depth: 0 }
    }

    /// Puts a value together; one that contains too many others inside each other is unknown.
    fn nested(kind: Kind, parts: &[&Self]) -> Self {
        let depth = parts.iter().map(|part| part.depth).max().unwrap_or(0).saturating_add(1);
        let origins = origins_of(parts.iter().copied());
        if depth > DEPTH {
            return Self { kind: Kind::Unknown, origins, depth: 0 };
        }
        Self { kind, origins, depth }
    }

    pub(crate) fn list(mut items: Vec<Self>) -> Self {
        if items.len() > MEMBERS {
            items.truncate(MEMBERS);
            items.push(Self::unknown());
        }
        let depth = Self::nested(Kind::Unknown, &items.iter().collect::<Vec<_>>());
        Self { kind: Kind::List(Rc::new(items)), ..depth }.checked()
    }

    pub(crate) fn map(mut items: Vec<(String, Self)>) -> Self {
        items.truncate(MEMBERS);
        let depth =
            Self::nested(Kind::Unknown, &items.iter().map(|(_, item)| item).collect::<Vec<_>>());
        Self { kind: Kind::Map(Rc::new(items)), ..depth }.checked()
    }

    /// Returns the value that is one of these.
    pub(crate) fn any(values: Vec<Self>) -> Self {
        let mut all: Vec<Self> = Vec::new();
        for value in values {
            let parts = match &value.kind {
                Kind::Any(parts) => parts.as_ref().clone(),
                _ => vec![value],
            };
            for part in parts {
                if all.len() == ALTERNATIVES {
                    all.pop();
                    all.push(Self::unknown());
                    break;
                }
                if !all.contains(&part) {
                    all.push(part);
                }
            }
        }
        if all.len() == 1
            && let Some(only) = all.pop()
        {
            return only;
        }
        if all.is_empty() {
            return Self::unknown();
        }
        let depth = Self::nested(Kind::Unknown, &all.iter().collect::<Vec<_>>());
        Self { kind: Kind::Any(Rc::new(all)), ..depth }.checked()
    }

    pub(crate) fn made(name: &str, parts: Vec<Self>, call: Option<u32>) -> Self {
        let depth = Self::nested(Kind::Unknown, &parts.iter().collect::<Vec<_>>());
        let made = Self { kind: Kind::Made(Rc::from(name), Rc::new(parts)), ..depth }.checked();
        made.with_origin(call)
    }

    pub(crate) fn member(of: &Self, name: &str) -> Self {
        Self::nested(Kind::Member(Rc::new(of.clone()), Rc::from(name)), &[of])
    }

    fn checked(self) -> Self {
        if self.depth == 0 { Self { kind: Kind::Unknown, ..self } } else { self }
    }

    pub(crate) fn with_origin(mut self, call: Option<u32>) -> Self {
        if let Some(call) = call
            && !self.origins.contains(&call)
        {
            if self.origins.len() >= ORIGINS {
                self.origins.remove(0);
            }
            self.origins.push(call);
        }
        self
    }

    pub(crate) fn with_origins(mut self, others: &[&Self]) -> Self {
        self.origins = origins_of(others.iter().copied().chain([&self.clone()]));
        self
    }

    /// Returns the alternatives: the value itself, unless it is one of several.
    #[must_use]
    pub fn alternatives(&self) -> Vec<Self> {
        match &self.kind {
            Kind::Any(values) => values.as_ref().clone(),
            _ => vec![self.clone()],
        }
    }

    /// Returns the text, with [`HOLE`] for unknown parts: none if nothing of it is known.
    #[must_use]
    pub fn as_text(&self) -> Option<Rc<str>> {
        match &self.kind {
            Kind::Text(text) => Some(Rc::clone(text)),
            Kind::Number(number) => Some(Rc::from(number.to_string())),
            _ => None,
        }
    }

    /// Returns the text that stands for it inside another one.
    pub(crate) fn in_text(&self) -> Rc<str> {
        match &self.kind {
            Kind::Made(name, parts) if &**name == "pathlib.Path" => {
                parts.first().and_then(Self::as_text).unwrap_or_else(hole)
            }
            _ => self.as_text().unwrap_or_else(hole),
        }
    }

    /// Returns true if it is a list of unknown length.
    pub(crate) fn is_list(&self) -> bool {
        matches!(&self.kind, Kind::Made(class, _) if &**class == "[]")
    }

    /// Applies a function to each alternative.
    pub(crate) fn each(&self, mut apply: impl FnMut(&Self) -> Self) -> Self {
        match &self.kind {
            Kind::Any(values) => {
                Self::any(values.iter().map(apply).collect()).with_origins(&[self])
            }
            _ => apply(self).with_origins(&[self]),
        }
    }

    /// Applies a function to each pair of alternatives.
    pub(crate) fn each_pair(one: &Self, two: &Self, apply: impl Fn(&Self, &Self) -> Self) -> Self {
        one.each(|one| two.each(|two| apply(one, two)))
    }

    /// Joins texts; each combination of alternatives, up to a bound.
    pub(crate) fn joined(parts: &[Self]) -> Self {
        let mut whole = Self::text("");
        for part in parts {
            whole = Self::each_pair(&whole, part, |before, after| {
                Self::text(&format!("{}{}", before.in_text(), after.in_text()))
            });
        }
        whole
    }
}

fn hole() -> Rc<str> {
    Rc::from(HOLE.to_string())
}

fn origins_of<'v>(values: impl Iterator<Item = &'v Value>) -> Vec<u32> {
    let mut all: Vec<u32> = Vec::new();
    for origin in values.flat_map(|value| value.origins.iter()) {
        if !all.contains(origin) && all.len() < ORIGINS {
            all.push(*origin);
        }
    }
    all
}

/// Returns the values that a loop over a value sees.
pub(crate) fn elements(of: &Value) -> Vec<Value> {
    let unknown = || vec![Value::unknown().with_origins(&[of])];
    match &of.kind {
        Kind::List(items) => items.as_ref().clone(),
        Kind::Any(items) => items.iter().flat_map(elements).collect(),
        Kind::Map(items) => items.iter().map(|(key, _)| Value::text(key)).collect(),
        Kind::Text(text) if !text.contains(HOLE) && text.len() <= SIGNS => {
            let signs = text.chars().map(|c| Value::text(c.encode_utf8(&mut [0; 4])));
            signs.map(|sign| sign.with_origins(&[of])).collect()
        }
        Kind::Made(class, items) if &**class == "[]" => items.as_ref().clone(),
        Kind::Made(..) => {
            vec![Value::member(of, "[]")]
        }
        _ => unknown(),
    }
}
