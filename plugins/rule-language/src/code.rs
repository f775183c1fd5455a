//! Rules as code: checked, small, and kept as bytes between calls.
//!
//! The bytes borrow nothing from the file. A trailing version identifies those of another build,
//! which are refused and compiled again.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Bytes of another version are not read.
const VERSION: u8 = 1;

/// A rule that is ready to be evaluated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule<'a> {
    /// Its name, unique among all files.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// The condition under which it objects.
    pub when: Code<'a>,
    /// The verdict if it objects.
    pub verdict: Verdict,
    /// The severity; critical stops the session.
    pub severity: Severity,
    /// The reason, piece by piece.
    pub reason: Vec<Piece<'a>>,
    /// The alternatives to the action.
    pub alternatives: Vec<Vec<Piece<'a>>>,
}

/// A piece of a text with values in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Piece<'a> {
    /// As it is.
    Text(#[serde(borrow)] Cow<'a, str>),
    /// A value.
    Value(Code<'a>),
}

/// The verdicts of a custom rule. A rewrite cannot be expressed in a rule, so there is no `modify`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Verdict {
    /// Agent and person are informed.
    Warn,
    /// A person decides.
    Ask,
    /// It does not run.
    Block,
}

/// The severity of an objection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Severity {
    /// Worth a note.
    Low,
    /// The default.
    Medium,
    /// Worth stopping for.
    High,
    /// The session stops.
    Critical,
}

impl Verdict {
    /// All, from the mildest.
    pub const ALL: &'static [Self] = &[Self::Warn, Self::Ask, Self::Block];

    /// Returns the word in files and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Ask => "ask",
            Self::Block => "block",
        }
    }

    /// Returns the severity of a rule that names none.
    #[must_use]
    pub const fn severity(self) -> Severity {
        match self {
            Self::Warn => Severity::Low,
            Self::Ask => Severity::Medium,
            Self::Block => Severity::High,
        }
    }
}

impl Severity {
    /// All, from the mildest.
    pub const ALL: &'static [Self] = &[Self::Low, Self::Medium, Self::High, Self::Critical];

    /// Returns the word in files and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// A checked condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Code<'a> {
    /// A constant.
    Flag(bool),
    /// A constant.
    Number(i64),
    /// A constant.
    Text(#[serde(borrow)] Cow<'a, str>),
    /// A list of values.
    List(Vec<Self>),
    /// The variable of a macro, counted from the outermost.
    Variable(u8),
    /// A name of the action, by its position in the table.
    Name(u8),
    /// A name of a group: the group's number, the position.
    Select(Box<Self>, u8, u8),
    /// An item of a list, counted from 0.
    Item(Box<Self>, Box<Self>),
    /// A value of a map.
    Entry(Box<Self>, Box<Self>),
    /// Not.
    Not(Box<Self>),
    /// Minus.
    Minus(Box<Self>),
    /// All of them.
    And(Vec<Self>),
    /// Any of them.
    Or(Vec<Self>),
    /// If, then, else.
    Choice(Box<[Self; 3]>),
    /// Two sides.
    Pair(Operator, Box<Self>, Box<Self>),
    /// A function of these values.
    Call(Function, Vec<Self>),
    /// A match of a text against a pattern: the text, the pattern, and a text that every match
    /// contains.
    Pattern(Pattern, Box<Self>, #[serde(borrow)] Cow<'a, str>, #[serde(borrow)] Cow<'a, str>),
    /// A macro: the list, the condition for each item, and for `map` the value kept of those that
    /// pass.
    Each(Macro, Box<Self>, Box<Self>, Option<Box<Self>>),
}

/// Operators with two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "they are CEL's, by their names")]
pub enum Operator {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
    Add,
    Join,
    Append,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    InList,
    InMap,
}

/// Functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the table of functions says what each does")]
pub enum Function {
    Size,
    Contains,
    StartsWith,
    EndsWith,
    LowerAscii,
    UpperAscii,
    Trim,
    Split,
    JoinList,
    Below,
    Flag,
    Text,
    Number,
}

/// The ways to match a text against a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pattern {
    /// A regular expression that matches anywhere in it.
    Regex,
    /// A glob that matches all of it.
    Glob,
}

/// Macros over lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "they are CEL's, by their names")]
pub enum Macro {
    Exists,
    All,
    ExistsOne,
    Filter,
    Map,
}

/// Encodes rules.
#[must_use]
pub fn to_bytes(rules: &[Rule<'_>]) -> Vec<u8> {
    let mut bytes = postcard::to_allocvec(rules).unwrap_or_default();
    bytes.push(VERSION);
    bytes
}

/// Decodes the output of [`to_bytes`]; none for any other bytes.
#[must_use]
pub fn from_bytes(bytes: &[u8]) -> Option<Vec<Rule<'_>>> {
    match bytes.split_last() {
        Some((&VERSION, rules)) => postcard::from_bytes(rules).ok(),
        _ => None,
    }
}
