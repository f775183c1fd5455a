//! Names and their values, by function.

use crate::tree::Function;
use crate::value::Value;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

/// A function or an object of the program itself.
#[derive(Clone)]
pub struct Local(pub(crate) Rc<Inner>);

pub(crate) enum Inner {
    /// A function, with the names around it, and the object that it is a method of.
    Function(Rc<Function>, Rc<Scope>, Option<Value>),
    /// A class's members.
    Class(Rc<Scope>),
    /// An object of a class, with the fields that it is given.
    Object(Rc<Scope>, Rc<Scope>),
    /// A function outside the program, with its first arguments.
    Partial(Value, Vec<Value>),
}

impl fmt::Debug for Local {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Local")
    }
}

impl PartialEq for Local {
    fn eq(&self, other: &Self) -> bool {
        match (&*self.0, &*other.0) {
            (Inner::Function(one, ..), Inner::Function(two, ..)) => Rc::ptr_eq(one, two),
            _ => Rc::ptr_eq(&self.0, &other.0),
        }
    }
}

/// The names of a function, a class or an object.
pub(crate) struct Scope {
    pub outer: Option<Rc<Scope>>,
    names: RefCell<BTreeMap<String, Value>>,
    /// The number of branches around the current statement of this function.
    pub branches: Cell<u32>,
    /// Assignments that may have changed what an earlier statement saw.
    pub changes: Cell<u32>,
    /// Names that belong to the program, not to this function.
    global: RefCell<Vec<String>>,
}

impl Scope {
    pub(crate) fn new(outer: Option<Rc<Self>>) -> Rc<Self> {
        Rc::new(Self {
            outer,
            names: RefCell::default(),
            branches: Cell::new(0),
            changes: Cell::new(0),
            global: RefCell::default(),
        })
    }

    pub(crate) fn own(&self, name: &str) -> Option<Value> {
        self.names.borrow().get(name).cloned()
    }

    /// Finds a name here or outside.
    pub(crate) fn find(&self, name: &str) -> Option<Value> {
        let mut scope = self;
        loop {
            if let Some(value) = scope.own(name) {
                return Some(value);
            }
            scope = scope.outer.as_deref()?;
        }
    }

    /// Sets a name for good, whatever it was.
    pub(crate) fn put(&self, name: &str, value: Value) {
        self.names.borrow_mut().insert(name.to_owned(), value);
    }

    /// Sets a name; in a branch it may keep its old value.
    pub(crate) fn set(&self, name: &str, value: Value) {
        let old = self.own(name);
        let new = match old.filter(|_| self.branches.get() > 0) {
            Some(old) if old != value => {
                self.changes.set(self.changes.get().wrapping_add(1));
                Value::any(vec![old, value])
            }
            _ => value,
        };
        self.put(name, new);
    }

    /// Sets a name that may belong to a function around this one.
    pub(crate) fn set_outer(&self, name: &str, value: Value) {
        let mut scope = self;
        loop {
            if let Some(old) = scope.own(name) {
                if std::ptr::eq(scope, self) {
                    self.set(name, value);
                } else {
                    scope.put(name, Value::any(vec![old, value]));
                }
                return;
            }
            match scope.outer.as_deref() {
                Some(outer) => scope = outer,
                None => return scope.put(name, value),
            }
        }
    }

    pub(crate) fn declare_global(&self, name: &str) {
        self.global.borrow_mut().push(name.to_owned());
    }

    pub(crate) fn is_global(&self, name: &str) -> bool {
        self.global.borrow().iter().any(|known| known == name)
    }

    /// Returns all values, for what may look at any of them.
    pub(crate) fn values(&self) -> Vec<(String, Value)> {
        self.names.borrow().iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}
