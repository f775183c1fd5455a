//! Members and items of values, by name, key, position and slice.

use crate::evaluate::Reader;
use crate::methods;
use crate::scope::{Inner, Local, Scope};
use crate::tree::Node;
use crate::value::{HOLE, Kind, Value, elements};
use std::rc::Rc;

impl Reader<'_> {
    pub(crate) fn lookup(&mut self, name: &str, scope: &Rc<Scope>) -> Value {
        match scope.find(name) {
            Some(value) => value,
            None => self.namespace_member(None, name),
        }
    }

    /// Returns a member of a value.
    pub(crate) fn member(&mut self, of: &Value, name: &str) -> Value {
        match &of.kind {
            Kind::Any(values) => {
                let all = values.iter().map(|value| self.member(value, name)).collect();
                Value::any(all).with_origins(&[of])
            }
            Kind::Name(module) => self.namespace_member(Some(module), name),
            Kind::Map(items) => match items.iter().rev().find(|(key, _)| key == name) {
                Some((_, value)) => value.clone(),
                None => Value::member(of, name),
            },
            Kind::Local(local) => self.local_member(of, local, name),
            Kind::Made(class, parts) if &**class == "pathlib.Path" => {
                methods::path_property(parts, name)
                    .map_or_else(|| Value::member(of, name), |value| value.with_origins(&[of]))
            }
            _ => Value::member(of, name),
        }
    }

    fn local_member(&mut self, of: &Value, local: &Local, name: &str) -> Value {
        let found = match &*local.0 {
            Inner::Object(fields, class) => fields.own(name).or_else(|| class.own(name)),
            Inner::Class(members) => members.own(name),
            Inner::Function(..) | Inner::Partial(..) => None,
        };
        match found {
            Some(Value { kind: Kind::Local(found), .. }) => match (&*found.0, &*local.0) {
                (Inner::Function(function, scope, _), Inner::Object(..)) if function.is_method => {
                    let bound =
                        Inner::Function(Rc::clone(function), Rc::clone(scope), Some(of.clone()));
                    Value::local(Local(Rc::new(bound)))
                }
                _ => Value::local(found),
            },
            Some(value) => value,
            None => Value::member(of, name),
        }
    }

    pub(crate) fn index(&mut self, of: &Node, at: &Node, scope: &Rc<Scope>) -> Value {
        let of = self.evaluate(of, scope);
        if let Node::Slice(parts) = at {
            let bounds: Vec<Option<i64>> = parts
                .iter()
                .map(|part| {
                    let value = self.evaluate(part.as_ref()?, scope);
                    Some(match value.kind {
                        Kind::Number(number) => number,
                        _ => i64::MIN,
                    })
                })
                .collect();
            return of.each(|of| methods::slice(of, &bounds));
        }
        let at = self.evaluate(at, scope);
        let mut all = Vec::new();
        for of in of.alternatives() {
            for at in at.alternatives() {
                all.push(self.item(&of, &at));
            }
        }
        Value::any(all).with_origins(&[&of])
    }

    /// Returns one item of a value.
    fn item(&mut self, of: &Value, at: &Value) -> Value {
        match (&of.kind, &at.kind) {
            (Kind::List(items), Kind::Number(number)) => {
                { methods::at(items.len(), *number).and_then(|at| items.get(at)).cloned() }
                    .unwrap_or_else(Value::unknown)
            }
            (Kind::List(items), _) => Value::any(items.as_ref().clone()),
            (Kind::Map(_) | Kind::Local(_) | Kind::Name(_), Kind::Text(name)) => {
                self.member(of, name)
            }
            (Kind::Map(items), _) => {
                Value::any(items.iter().map(|(_, value)| value.clone()).collect())
            }
            // A computed member of the environment is a single variable, one of a module may be
            // any.
            (Kind::Name(name), _) if crate::environment::is_environment(name) => {
                Value::made("environment", vec![at.clone()], None)
            }
            (Kind::Name(name), _) => Value::name(&format!("{name}.{HOLE}")),
            (Kind::Text(_), Kind::Number(number)) => {
                methods::slice(of, &[Some(*number), number.checked_add(1).filter(|n| *n != 0)])
            }
            (Kind::Made(..), _) => Value::any(elements(of)).with_origins(&[of]),
            (_, Kind::Text(name)) => Value::member(of, name),
            _ => Value::unknown(),
        }
    }
}
