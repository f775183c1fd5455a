//! The tree that a command line is read into.

use crate::types::Direction;
use std::rc::Rc;

/// Pipelines, one after the other; each may run, however they are joined.
pub(crate) type Script = Vec<Pipeline>;

/// Stages, each feeding the next.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    pub stages: Vec<Stage>,
    pub background: bool,
    /// It comes after `||`: it runs if the one before fails.
    pub otherwise: bool,
}

/// One command of a pipeline, simple or compound.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub body: Body,
    pub redirects: Vec<Redirect>,
    pub span: Span,
}

/// Bytes of the command line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    pub start: u32,
    pub end: u32,
}

/// The kind of a stage.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Simple {
        assignments: Vec<Assignment>,
        words: Vec<Word>,
    },
    /// `{ ...; }`
    Group(Script),
    /// `( ... )`
    Subshell(Script),
    /// `if` and `case`: the conditions and the branches in the order of the text.
    Branches {
        subject: Vec<Word>,
        arms: Vec<Script>,
    },
    /// `while`, `until` and `for ((...))`, whose condition is `None`: it may go round without end.
    Repeat {
        subject: Vec<Word>,
        condition: Option<Script>,
        /// It goes round until the condition holds.
        until: bool,
        body: Script,
    },
    /// `for` and `select`; without values it goes over the arguments.
    Loop {
        variable: String,
        values: Option<Vec<Word>>,
        body: Script,
    },
    Function {
        name: String,
        body: Rc<Stage>,
    },
    /// `[[ ]]` and `(( ))`: nothing runs but the substitutions in it.
    Test(Vec<Word>),
}

/// `NAME=value`
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub name: String,
    /// The text in `[...]` after the name.
    pub subscript: Option<String>,
    pub append: bool,
    pub value: Word,
}

/// The source of input or the target of output.
#[derive(Clone, Debug)]
pub(crate) struct Redirect {
    pub descriptor: u32,
    pub direction: Direction,
    pub target: Word,
    /// The heredoc whose text is the target.
    pub heredoc: Option<usize>,
}

/// One word, as a sequence of adjacent parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Word {
    pub parts: Vec<Part>,
    pub span: Span,
    /// A quote in it has no end, and runs to the end of the text: the missing part, in words.
    pub open: Option<&'static str>,
}

/// A part of a word.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Text {
        text: String,
        quoted: bool,
    },
    Variable {
        parameter: Box<Parameter>,
        quoted: bool,
    },
    /// `$(...)` and backquotes.
    Substitution {
        script: Script,
        quoted: bool,
    },
    /// `<(...)` and `>(...)`
    Process {
        script: Script,
        /// `>(...)`
        output: bool,
    },
    /// `$((...))`: its value is not worked out.
    Arithmetic(Word),
    /// `(...)` after `NAME=`.
    Array(Vec<Word>),
}

/// `$name` or `${...}`
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub name: String,
    /// The text in `[...]` after the name.
    pub subscript: Option<String>,
    pub operator: Operator,
    pub argument: Option<Word>,
}

/// The operation on a parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    None,
    /// `:-`
    Default,
    /// `:=`
    Assign,
    /// `:+`
    Alternative,
    /// `:start:length`
    Slice,
    /// `#`, or the longest with `##`
    TrimStart {
        longest: bool,
    },
    /// `%`, or the longest with `%%`
    TrimEnd {
        longest: bool,
    },
    /// `/` and `//`, with the pattern, `/` and what replaces it as the argument.
    Replace {
        every: bool,
    },
    /// `^^`
    Upper,
    /// `,,`
    Lower,
    /// `${#name}`
    Length,
    /// `${!name}`
    Indirect,
    /// All others.
    Other,
}

impl Word {
    /// Returns the same place without parts.
    pub(crate) fn clone_empty(&self) -> Self {
        Self { parts: Vec::new(), span: self.span, open: self.open }
    }

    /// Returns true if it is the list of an array.
    pub(crate) fn is_array(&self) -> bool {
        matches!(self.parts.as_slice(), [Part::Array(_)])
    }

    /// Returns the text of a word that is one unquoted literal.
    pub(crate) fn bare(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Text { text, quoted: false }] => Some(text),
            _ => None,
        }
    }
}
