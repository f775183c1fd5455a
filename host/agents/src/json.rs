//! Foreign JSON files: reading as their clients do, with the position of every value, and edits that
//! keep everything else. Order, indentation, line endings, a byte order mark, comments and unusual
//! spacing stay unchanged.
//!
//! Each edit takes a document and returns the next one. The meaning of the values is not known
//! here.
//!
//! **Rationale for edits of its own.** `jsonc-parser` has edits too (`cst`, last checked in 0.34),
//! and they change more than what is ours: an object that gets a member is first spread over
//! several lines, also one that a person wrote on one line, and blank lines at the ends of the
//! container go. Taking the member out again restores neither, so `uninstall` could not leave a
//! file that changed since `install` as its owner wrote it. The rows of
//! `added_text_looks_like_its_surroundings` with an object on one line show it. Of a repeated name,
//! `cst` finds the first, a client the last.

mod comments;
mod edit;

pub use comments::JsonSyntax;

use comments::{blank_comments, find_comments};
use jsonc_parser::ast::{ObjectPropName, Value as Ast};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

const MARK: &str = "\u{feff}";

/// A file's text with the positions of its values.
#[derive(Clone, Debug)]
pub struct JsonDocument {
    syntax: JsonSyntax,
    marked: bool,
    text: String,
    /// The comments in the text, in order.
    comments: Vec<Range<usize>>,
    root: Node,
    value: Value,
}

/// A value's position.
#[derive(Clone, Debug)]
struct Node {
    span: Range<usize>,
    children: Children,
}

#[derive(Clone, Debug)]
enum Children {
    None,
    Members(Vec<Member>),
    Elements(Vec<Node>),
}

#[derive(Clone, Debug)]
struct Member {
    name: String,
    span: Range<usize>,
    node: Node,
}

/// A line and a column, both from 1, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct JsonPosition {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl fmt::Display for JsonPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// The error for bytes that are not a JSON document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotJson {
    /// The position.
    pub place: JsonPosition,
    /// The problem, in one line.
    pub what: String,
    /// The syntax that the client accepts.
    pub expected: &'static str,
}

impl JsonDocument {
    /// Parses a file's bytes as strict JSON. An empty file or only white space is the empty object,
    /// as for clients.
    ///
    /// # Errors
    /// Fails if they are not UTF-8, or not strict JSON: comments and trailing commas are errors.
    pub fn parse_document(bytes: &[u8]) -> Result<Self, NotJson> {
        Self::parse_syntax(bytes, JsonSyntax::Strict)
    }

    /// Parses a file's bytes in the form that its client reads.
    ///
    /// # Errors
    /// Fails if they are not UTF-8, or not of that form.
    pub fn parse_syntax(bytes: &[u8], syntax: JsonSyntax) -> Result<Self, NotJson> {
        let text = std::str::from_utf8(bytes).map_err(|error| NotJson {
            place: place(
                &String::from_utf8_lossy(bytes.get(..error.valid_up_to()).unwrap_or_default()),
                usize::MAX,
            ),
            what: "it is not UTF-8".to_owned(),
            expected: syntax.description(),
        })?;
        let (marked, text) = text.strip_prefix(MARK).map_or((false, text), |text| (true, text));
        let text =
            if text.trim_matches([' ', '\t', '\r', '\n']).is_empty() { "{}\n" } else { text };
        Self::read(syntax, marked, text.to_owned())
    }

    fn read(syntax: JsonSyntax, marked: bool, text: String) -> Result<Self, NotJson> {
        let comments = match syntax {
            JsonSyntax::Strict => Vec::new(),
            JsonSyntax::WithComments => find_comments(&text),
        };
        let plain = blank_comments(&text, &comments);
        let expected = syntax.description();
        // serde_json decides what is valid JSON; the other parser only determines positions.
        let value: Value = serde_json::from_str(&plain).map_err(|error| {
            let place = JsonPosition { line: error.line().max(1), column: error.column().max(1) };
            let what = error.to_string();
            let what =
                what.rsplit_once(" at line ").map_or(what.clone(), |(what, _)| what.to_owned());
            NotJson { place, what, expected }
        })?;
        let elsewhere =
            |what: String| NotJson { place: JsonPosition { line: 1, column: 1 }, what, expected };
        let parsed = parse_to_ast(&plain, &CollectOptions::default(), &STRICT)
            .map_err(|error| elsewhere(error.to_string()))?;
        let root = parsed
            .value
            .as_ref()
            .map(node)
            .ok_or_else(|| elsewhere("it holds no value".to_owned()))?;
        Ok(Self { syntax, marked, root, value, text, comments })
    }

    /// Returns true if a comment stands in the value at `pointer`, or anywhere for the whole text.
    #[must_use]
    pub fn has_comment(&self, pointer: &str) -> bool {
        match pointer {
            "" => !self.comments.is_empty(),
            _ => self.find(pointer).is_some_and(|node| self.is_commented(&node.span)),
        }
    }

    /// Returns true if a comment begins in a part of the text.
    fn is_commented(&self, part: &Range<usize>) -> bool {
        self.comments.iter().any(|comment| part.contains(&comment.start))
    }

    /// Returns the whole value. For a repeated name in an object it contains the last value, like
    /// clients do.
    #[must_use]
    pub const fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the file's bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mark = if self.marked { MARK } else { "" };
        [mark.as_bytes(), self.text.as_bytes()].concat()
    }

    /// Returns the start of a JSON pointer's value; for a pointer that leads nowhere, that of the
    /// nearest value above.
    #[must_use]
    pub fn find_position(&self, pointer: &str) -> JsonPosition {
        let mut pointer = pointer;
        loop {
            if let Some(node) = self.find(pointer) {
                return place(&self.text, node.span.start);
            }
            pointer = pointer.rsplit_once('/').map_or("", |(above, _)| above);
        }
    }

    /// Returns repeated names in objects, as pointers.
    #[must_use]
    pub fn repeated(&self) -> Vec<String> {
        let mut found = Vec::new();
        repeated(&self.root, "", &mut found);
        found
    }

    fn find(&self, pointer: &str) -> Option<&Node> {
        steps(pointer).try_fold(&self.root, |node, step| node.child(&step))
    }
}

impl Node {
    fn child(&self, step: &str) -> Option<&Self> {
        match &self.children {
            Children::None => None,
            Children::Members(members) => {
                members.iter().rev().find(|member| member.name == step).map(|member| &member.node)
            }
            Children::Elements(elements) => elements.get(step.parse::<usize>().ok()?),
        }
    }

    /// Returns the spans between the brackets, in order.
    fn spans(&self) -> Vec<Range<usize>> {
        match &self.children {
            Children::None => Vec::new(),
            Children::Members(members) => {
                members.iter().map(|member| member.span.clone()).collect()
            }
            Children::Elements(elements) => {
                elements.iter().map(|element| element.span.clone()).collect()
            }
        }
    }
}

/// Escapes a name for a JSON pointer.
#[must_use]
pub fn escape_name(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn steps(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~"))
}

const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

fn node(ast: &Ast<'_>) -> Node {
    let range = ast.range();
    let children = match ast {
        Ast::Object(object) => Children::Members(object.properties.iter().map(member).collect()),
        Ast::Array(array) => Children::Elements(array.elements.iter().map(node).collect()),
        _ => Children::None,
    };
    Node { span: range.start..range.end, children }
}

fn member(property: &jsonc_parser::ast::ObjectProp<'_>) -> Member {
    let name = match &property.name {
        ObjectPropName::String(name) => name.value.clone().into_owned(),
        ObjectPropName::Word(name) => name.value.to_owned(),
    };
    Member { name, span: property.range.start..property.range.end, node: node(&property.value) }
}

fn repeated(node: &Node, pointer: &str, found: &mut Vec<String>) {
    match &node.children {
        Children::None => {}
        Children::Elements(elements) => {
            elements.iter().enumerate().for_each(|(index, element)| {
                repeated(element, &format!("{pointer}/{index}"), found)
            });
        }
        Children::Members(members) => {
            let mut names = HashSet::new();
            for member in members {
                let below = format!("{pointer}/{}", escape_name(&member.name));
                // A name that is there three times is reported once.
                if !names.insert(member.name.as_str()) && found.last() != Some(&below) {
                    found.push(below.clone());
                }
                repeated(&member.node, &below, found);
            }
        }
    }
}

fn place(text: &str, offset: usize) -> JsonPosition {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    JsonPosition {
        line,
        column: before.rsplit('\n').next().unwrap_or_default().chars().count() + 1,
    }
}
