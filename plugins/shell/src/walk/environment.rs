//! What the text makes known: variables, the folder, functions.

use super::Setting;
use super::expand::Field;
use super::feed::Source;
use crate::syntax::Stage;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Stands for what only the run can tell.
pub(crate) const UNKNOWN: char = '\u{fffd}';

/// A variable's value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Value {
    /// Unknown parts stand as U+FFFD.
    pub text: String,
    /// The other values that it takes in turn (a loop's variable).
    pub others: Vec<String>,
    pub known: bool,
    pub source: Source,
}

impl Value {
    pub(crate) fn known(text: &str) -> Self {
        Self { text: text.to_owned(), known: true, ..Self::default() }
    }

    pub(crate) fn unknown() -> Self {
        Self { text: UNKNOWN.to_string(), ..Self::default() }
    }
}

/// The state of the shell. A subshell's changes are taken back when it ends.
pub(crate) struct Environment {
    variables: BTreeMap<String, Value>,
    before: Vec<(String, Option<Value>)>,
    pub folder: String,
    pub(super) routines: BTreeMap<String, Routine>,
}

/// What a name of the command line's own making stands for.
#[derive(Clone)]
pub(super) struct Routine {
    pub body: Body,
    /// How the text around its definition came to be run.
    pub setting: Setting,
    pub called: bool,
}

#[derive(Clone)]
pub(super) enum Body {
    Function(Rc<Stage>),
    Alias(Field),
}

/// A point to return to.
pub(crate) struct Mark {
    length: usize,
    folder: String,
}

impl Environment {
    pub(crate) fn new(cwd: &str, home: &str) -> Self {
        let mut variables = BTreeMap::new();
        variables.insert("IFS".to_owned(), Value::known(" \t\n"));
        variables.insert("TMPDIR".to_owned(), Value { text: "/tmp".to_owned(), ..Value::default() });
        for (name, shell) in [("SHELL", "/bin/bash"), ("BASH", "/bin/bash"), ("0", "bash")] {
            variables.insert(name.to_owned(), Value { text: shell.to_owned(), ..Value::default() });
        }
        if !home.is_empty() {
            variables.insert("HOME".to_owned(), Value::known(home));
        }
        Self { variables, before: Vec::new(), folder: cwd.to_owned(), routines: BTreeMap::new() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        match name {
            "PWD" => Some(Value { known: !self.folder.contains(UNKNOWN), text: self.folder.clone(), ..Value::default() }),
            _ => self.variables.get(name).cloned(),
        }
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
        Mark { length: self.before.len(), folder: self.folder.clone() }
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
    }
}
