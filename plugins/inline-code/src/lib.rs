//! Reads a program's text and lists the calls in it: the full name of each, and its arguments as
//! far as the text determines them.
//!
//! It parses with real parsers (Python, JavaScript, TypeScript), turns each tree into one of its
//! own (`tree`), and walks that as the program would run, without running anything: names follow
//! imports, assignments, attributes and subscripts; texts follow concatenation, formats, joins and
//! paths; calls of local functions are followed with their arguments. Every branch is assumed to
//! run. It knows nothing of effects: `os.remove` and `len` are calls alike, and the caller picks
//! the names that matter.
//!
//! A name is the path from the module: `os.remove`, `fs.promises.rm`, `subprocess.run`. A method of
//! what a call returned is written with brackets, `open().write`, and one of an unknown object
//! begins with a dot, `.execute`. [`HOLE`] stands for each part of a text or a name that is known
//! only when the program runs.
//!
//! Bounds: 128 KiB of text, 64 levels of nesting, 200,000 steps, 2,048 calls, 16 alternatives of a
//! value, 8 KiB a text. Past each of them the answer says so in its gaps. The nesting is counted
//! before a parser runs, since parsers recurse.

mod assign;
mod calls;
mod decode;
mod environment;
mod evaluate;
mod guard;
mod javascript;
mod library;
mod members;
mod methods;
mod mutate;
mod names;
mod python;
mod scope;
mod tree;
mod value;

pub use value::{HOLE, Kind, Value};

/// The language of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Python 3.
    Python,
    /// JavaScript, or TypeScript if it is not JavaScript.
    JavaScript,
}

/// One call, in the order in which the program makes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The name of the callee, as far as it is known.
    pub name: String,
    /// The object whose method it is, if it is one.
    pub receiver: Option<Value>,
    /// The arguments by position. A list that is spread at a position not known is one unknown.
    pub arguments: Vec<Value>,
    /// The arguments by name.
    pub keywords: Vec<(String, Value)>,
    /// A loop without a bound contains it.
    pub looped: bool,
}

/// A reason for which the list of calls may be incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gap {
    /// The text is not a program of the language.
    Syntax,
    /// The text is too large, too deeply nested, or takes too many steps.
    Limit,
    /// A text is run as code that is known only when the program runs.
    Dynamic,
    /// A module is loaded whose name is known only when the program runs.
    Module,
}

/// The calls of a program.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// The calls.
    pub calls: Vec<Call>,
    /// The names that are used as values, not called: `os.environ` as an argument.
    pub used: Vec<String>,
    /// The text could be parsed: its calls are listed.
    pub parsed: bool,
    /// The reasons for which the list may be incomplete; each once.
    pub gaps: Vec<Gap>,
    /// The steps that it took, for the caller's budget.
    pub steps: usize,
}

/// Reads a program's text. `arguments` are the words after it on the command line, if they are
/// known.
#[must_use]
pub fn read_code(text: &str, language: Language, arguments: Option<&[String]>) -> Code {
    evaluate::read(text, language, arguments)
}
