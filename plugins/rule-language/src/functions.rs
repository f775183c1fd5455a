//! The functions of conditions, as data.

use crate::code::{Function, Macro, Pattern};

/// The type of a function's parameter or result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Flag,
    Number,
    Text,
    Texts,
    /// A text, a list or a map.
    Sized,
    /// A text, a whole number or a flag.
    Plain,
    /// A simple command.
    Command,
    /// A constant text that is a flag: `-f` or `--force`.
    FlagName,
}

/// A function; the value before the dot is its first parameter.
pub(crate) struct Known {
    pub(crate) name: &'static str,
    pub(crate) method: bool,
    pub(crate) takes: &'static [Shape],
    pub(crate) gives: Shape,
    pub(crate) function: Function,
}

const fn known(
    name: &'static str,
    method: bool,
    takes: &'static [Shape],
    gives: Shape,
    function: Function,
) -> Known {
    Known { name, method, takes, gives, function }
}

use Shape::{Command, Flag, FlagName, Number, Plain, Sized, Text, Texts};

/// All but patterns and macros.
pub(crate) const FUNCTIONS: &[Known] = &[
    known("size", false, &[Sized], Number, Function::Size),
    known("size", true, &[Sized], Number, Function::Size),
    known("contains", true, &[Text, Text], Flag, Function::Contains),
    known("startsWith", true, &[Text, Text], Flag, Function::StartsWith),
    known("endsWith", true, &[Text, Text], Flag, Function::EndsWith),
    known("lowerAscii", true, &[Text], Text, Function::LowerAscii),
    known("upperAscii", true, &[Text], Text, Function::UpperAscii),
    known("trim", true, &[Text], Text, Function::Trim),
    known("split", true, &[Text, Text], Texts, Function::Split),
    known("join", true, &[Texts, Text], Text, Function::JoinList),
    known("below", true, &[Text, Text], Flag, Function::Below),
    known("has_flag", true, &[Command, FlagName], Flag, Function::Flag),
    known("string", false, &[Plain], Text, Function::Text),
    known("int", false, &[Text], Number, Function::Number),
];

/// Methods of a text that take a constant pattern.
pub(crate) const PATTERNS: &[(&str, Pattern)] =
    &[("matches", Pattern::Regex), ("glob", Pattern::Glob)];

/// Methods of a list that name a variable.
pub(crate) const MACROS: &[(&str, Macro)] = &[
    ("exists", Macro::Exists),
    ("all", Macro::All),
    ("exists_one", Macro::ExistsOne),
    ("filter", Macro::Filter),
    ("map", Macro::Map),
];

/// The macro that checks if a map has a key.
pub(crate) const HAS: &str = "has";

/// Returns every name that may precede a bracket.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let functions = FUNCTIONS.iter().map(|known| known.name);
    let patterns = PATTERNS.iter().map(|(name, _)| *name);
    functions.chain(patterns).chain(MACROS.iter().map(|(name, _)| *name)).chain([HAS])
}
