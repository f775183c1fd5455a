//! The shell state that the text determines: variables, the folder, functions.

use super::Setting;
use super::expand::Field;
use super::feed::{Feed, Piece, Source};
use crate::places;
use crate::syntax::Stage;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A placeholder for text that is only known at run time.
pub(crate) const UNKNOWN: char = '\u{fffd}';

/// One word of an array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Element {
    pub text: String,
    /// No glob character in it counts as one.
    pub literal: bool,
}

/// A variable's value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Value {
    /// Unknown parts appear as U+FFFD.
    pub text: String,
    /// The other values that it takes in turn (a loop's variable).
    pub others: Vec<String>,
    /// The words of an array or of the arguments, which `"${name[@]}"` expands to one by one.
    pub elements: Vec<Element>,
    /// The content that can be read from the file that it names: a process substitution.
    pub feed: Option<Feed>,
    /// It is the text of files on the disk.
    pub pieces: Option<Rc<[Piece]>>,
    pub known: bool,
    pub source: Source,
    /// The text from when it was a literal name despite any glob characters in it. A list of files
    /// that a shell has made of a glob is kept here as that glob, and is not such a name.
    pub literal: Option<String>,
}

impl Value {
    /// Returns true if the text, in quotes, is a literal name.
    pub(crate) fn is_literal(&self) -> bool {
        !places::is_glob(&self.text) || self.literal.as_ref() == Some(&self.text)
    }

    pub(crate) fn known(text: &str) -> Self {
        Self { text: text.to_owned(), known: true, ..Self::default() }
    }

    pub(crate) fn unknown() -> Self {
        Self { text: UNKNOWN.to_string(), ..Self::default() }
    }
}

/// The state of the shell. A subshell's changes are undone when it ends.
pub(crate) struct Environment {
    variables: BTreeMap<String, Value>,
    before: Vec<(String, Option<Value>)>,
    /// The folder by the name that the shell knows it by.
    pub folder: String,
    spot: Spot,
    /// `cd` follows links permanently.
    pub physical: bool,
    pub(super) routines: BTreeMap<String, Routine>,
    /// Names that refer to others: `declare -n NAME=OTHER`.
    references: BTreeMap<String, String>,
}

/// The definition of a function or alias of the command line.
#[derive(Clone)]
pub(super) struct Routine {
    pub body: Body,
    /// The setting in which the text around its definition ran.
    pub setting: Setting,
    pub called: bool,
}

#[derive(Clone)]
pub(super) enum Body {
    Function(Rc<Stage>),
    Alias(Field),
}

/// The current folder and the way it was reached.
#[derive(Clone)]
struct Spot {
    /// Its name, which keeps each `..` that goes up from a possible link.
    path: String,
    /// It was reached physically, so that the next `..` goes up from a link's target.
    physical: bool,
    /// It is a literal name, despite any glob characters in it.
    literal: bool,
}

/// A point to return to.
pub(crate) struct Mark {
    length: usize,
    folder: String,
    spot: Spot,
}

impl Environment {
    pub(crate) fn new(cwd: &str, home: &str) -> Self {
        let mut variables = BTreeMap::new();
        variables.insert("IFS".to_owned(), Value::known(" \t\n"));
        // Likely values, not known ones: the process may have been started with others.
        variables
            .insert("TMPDIR".to_owned(), Value { text: "/tmp".to_owned(), ..Value::default() });
        for (name, shell) in [("SHELL", "/bin/bash"), ("BASH", "/bin/bash"), ("0", "bash")] {
            variables.insert(name.to_owned(), Value { text: shell.to_owned(), ..Value::default() });
        }
        if !home.is_empty() {
            variables.insert("HOME".to_owned(), Value::known(home));
        }
        let spot = Spot { path: places::normalise(cwd), physical: false, literal: true };
        Self {
            variables,
            before: Vec::new(),
            folder: cwd.to_owned(),
            spot,
            physical: false,
            routines: BTreeMap::new(),
            references: BTreeMap::new(),
        }
    }

    /// Returns the folder as the system reaches it: with each `..` that goes up from a possible
    /// link.
    pub(crate) fn reached(&self) -> &str {
        // `popd` and the like set the folder alone; then the way to it is not known.
        if places::normalise(&self.spot.path) == self.folder {
            &self.spot.path
        } else {
            &self.folder
        }
    }

    /// Returns true if no part of the folder's name is a pattern.
    pub(crate) fn is_literal(&self) -> bool {
        !places::is_glob(&self.folder)
            || self.spot.literal && places::normalise(&self.spot.path) == self.folder
    }

    /// Goes to the folder with this name, relative to the current one. A shell goes by names, a
    /// program as the system does.
    pub(crate) fn enter(&mut self, text: &str, literal: bool, physical: bool) {
        let absolute = text.starts_with('/');
        let physical = physical || self.physical || self.spot.physical && !absolute;
        let literal = literal && (absolute || self.is_literal());
        let (reached, _) = places::reach(text, self.reached());
        let (folder, certain) = places::resolve(text, &self.folder);
        let path = if physical { reached } else { folder.clone() };
        self.spot = Spot { path, physical, literal };
        self.folder = match (folder.as_str(), certain) {
            (_, true) => folder,
            ("", false) => UNKNOWN.to_string(),
            ("/", false) => format!("/{UNKNOWN}"),
            (known, false) => format!("{known}/{UNKNOWN}"),
        };
    }

    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        match name {
            "PWD" => Some(Value {
                known: !self.folder.contains(UNKNOWN),
                text: self.folder.clone(),
                ..Value::default()
            }),
            _ => {
                self.variables.get(self.references.get(name).map_or(name, String::as_str)).cloned()
            }
        }
    }

    /// Returns the name that a name refers to.
    pub(super) fn named(&self, name: &str) -> String {
        self.references.get(name).map_or(name, String::as_str).to_owned()
    }

    pub(super) fn refer(&mut self, name: &str, other: &str) {
        // A reference to a reference leads to the last name at once, so that no circle can arise.
        let other = self.named(other);
        self.references.insert(name.to_owned(), other);
    }

    pub(crate) fn set(&mut self, name: &str, value: Value) {
        let before = self.variables.insert(name.to_owned(), value);
        self.before.push((name.to_owned(), before));
    }

    pub(crate) fn forget(&mut self, name: &str) {
        let before = self.variables.remove(name);
        self.before.push((name.to_owned(), before));
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { length: self.before.len(), folder: self.folder.clone(), spot: self.spot.clone() }
    }

    pub(crate) fn restore(&mut self, mark: Mark) {
        while self.before.len() > mark.length {
            match self.before.pop() {
                Some((name, Some(value))) => self.variables.insert(name, value),
                Some((name, None)) => self.variables.remove(&name),
                None => None,
            };
        }
        self.folder = mark.folder;
        self.spot = mark.spot;
    }
}
