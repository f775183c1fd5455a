//! Assignments: to names, to parts of lists and maps, to members.

use crate::evaluate::Reader;
use crate::methods;
use crate::scope::{Inner, Scope};
use crate::tree::{Node, Target};
use crate::value::{HOLE, Kind, Value, elements};
use std::rc::Rc;

impl Reader<'_> {
    /// Assigns a value to a target.
    pub(crate) fn assign(&mut self, target: &Target, value: Value, scope: &Rc<Scope>) {
        if !self.step() {
            return;
        }
        match target {
            Target::Name(name) if !scope.is_global(name) => scope.set(name, value),
            Target::Name(name) | Target::Outer(name) => scope.set_outer(name, value),
            Target::Rest(inner) => self.assign(inner, value, scope),
            Target::Default(inner, default) => {
                let default = self.evaluate(default, scope);
                // The value may be missing, so the default is possible as well.
                self.assign(inner, Value::any(vec![value, default]), scope);
            }
            Target::List(targets) => self.assign_list(targets, &value, scope),
            Target::Map(targets) => {
                for (name, target) in targets {
                    let part = match (name, target) {
                        (_, Target::Rest(_)) => value.clone(),
                        (Some(name), _) => self.member(&value, name),
                        (None, _) => Value::unknown().with_origins(&[&value]),
                    };
                    self.assign(target, part, scope);
                }
            }
            Target::Member(of, name) => {
                let object = self.evaluate(of, scope);
                self.assign_member(of, &object, name, value, scope);
            }
            Target::Index(of, at) => {
                let object = self.evaluate(of, scope);
                let at = self.evaluate(at, scope);
                let name = at.as_text().map_or(HOLE.to_string(), |at| at.to_string());
                self.assign_member(of, &object, &name, value, scope);
            }
            Target::Ignored(parts) => {
                self.all(parts, scope);
            }
        }
    }

    fn assign_list(&mut self, targets: &[Target], value: &Value, scope: &Rc<Scope>) {
        let count = targets.len();
        for (at, target) in targets.iter().enumerate() {
            let parts = value.alternatives().into_iter().map(|value| match &value.kind {
                Kind::List(items) if matches!(target, Target::Rest(_)) => {
                    let end = items.len().saturating_sub(count - at - 1);
                    Value::list(items.get(at..end).unwrap_or_default().to_vec())
                }
                Kind::List(items) => {
                    let item = items.get(at).cloned().unwrap_or_else(Value::unknown);
                    item.with_origins(&[&value])
                }
                _ => Value::any(elements(&value)).with_origins(&[&value]),
            });
            let part = Value::any(parts.collect());
            self.assign(target, part, scope);
        }
    }

    /// Sets a member of an object, or of a variable's map or list.
    pub(crate) fn assign_member(
        &mut self,
        node: &Node,
        object: &Value,
        name: &str,
        value: Value,
        scope: &Rc<Scope>,
    ) {
        match (&object.kind, node) {
            (Kind::Local(local), _) => {
                if let Inner::Object(fields, _) | Inner::Class(fields) = &*local.0 {
                    // Methods run in any order: the earlier value stays possible.
                    let old = fields.own(name);
                    let all = old.into_iter().chain([value]).collect();
                    fields.put(name, Value::any(all));
                }
            }
            (Kind::Map(items), Node::Name(variable)) => {
                let mut items = items.as_ref().clone();
                // In a branch the earlier value may still hold afterwards.
                if scope.branches.get() == 0 {
                    items.retain(|(key, _)| key != name || name.contains(HOLE));
                }
                items.push((name.to_owned(), value));
                scope.set_outer(variable, Value::map(items));
            }
            (Kind::List(items), Node::Name(variable)) => {
                let mut items = items.as_ref().clone();
                let new = match name.parse::<usize>().ok().and_then(|at| items.get_mut(at)) {
                    Some(old) => {
                        *old = Value::any(vec![old.clone(), value]);
                        Value::list(items)
                    }
                    // From the end, or several at once.
                    None => {
                        let more = elements(&value).into_iter().chain([value]);
                        Value::made("[]", items.into_iter().chain(more).collect(), None)
                    }
                };
                scope.set_outer(variable, new);
            }
            (Kind::Name(module), _) => {
                self.emit(&format!("{module}.{name}="), None, vec![value], Vec::new());
            }
            (Kind::Made(..) | Kind::Member(..), _) => {
                let whole = format!("{}.{name}=", methods::class_of(object));
                self.emit(&whole, Some(object.clone()), vec![value], Vec::new());
            }
            _ => {}
        }
    }
}
