//! Methods that change the list or the map that they are called on: `words.append(x)`,
//! `words.reverse()`, `options.update(x)`. What they leave is followed as far as it is certain, and
//! loose otherwise.

use crate::evaluate::Reader;
use crate::scope::Scope;
use crate::tree::Node;
use crate::value::{Kind, Value, elements};
use std::rc::Rc;

/// The methods.
const MUTATORS: &[&str] = &[
    "add",
    "append",
    "appendleft",
    "clear",
    "copyWithin",
    "delete",
    "discard",
    "extend",
    "extendleft",
    "fill",
    "insert",
    "pop",
    "popitem",
    "popleft",
    "push",
    "remove",
    "reverse",
    "rotate",
    "set",
    "setdefault",
    "shift",
    "sort",
    "splice",
    "unshift",
    "update",
];

impl Reader<'_> {
    /// Applies a method to the place that holds its list or map.
    pub(crate) fn mutate(
        &mut self,
        of: &Node,
        name: &str,
        arguments: &[Value],
        keywords: &[(String, Value)],
        scope: &Rc<Scope>,
    ) {
        if !MUTATORS.contains(&name) {
            return;
        }
        match of {
            Node::Name(variable) => {
                let Some(old) = scope.find(variable) else { return };
                let Some(new) = changed(&old, name, arguments, keywords) else { return };
                let new = new.with_origins(&[&old]);
                if scope.own(variable).is_none() {
                    scope.set_outer(variable, new);
                } else if scope.branches.get() == 0 {
                    scope.put(variable, new);
                } else {
                    // In a branch, or in a function that may be called again, it may be as before.
                    let loose = Value::made("[]", elements(&new), None);
                    let loose = if matches!(new.kind, Kind::List(_)) { loose } else { old };
                    scope.put(variable, Value::any(vec![new, loose]));
                }
            }
            Node::Member(inner, field) => {
                let object = self.evaluate(inner, scope);
                let old = self.member(&object, field);
                if let Some(new) = changed(&old, name, arguments, keywords) {
                    self.assign_member(inner, &object, field, new, scope);
                }
            }
            _ => {}
        }
    }

    /// Forgets what stands where in a list of which an item is deleted: `del words[0]`.
    pub(crate) fn forget_item(&mut self, of: &Node, scope: &Rc<Scope>) {
        let Node::Index(of, _) = of else { return };
        let Node::Name(variable) = &**of else { return };
        if let Some(old) = scope.find(variable)
            && matches!(old.kind, Kind::List(_))
        {
            scope.set_outer(variable, Value::made("[]", elements(&old), None));
        }
    }
}

/// Returns what a method leaves of a value; none for a value that it does not change.
fn changed(
    old: &Value,
    name: &str,
    arguments: &[Value],
    keywords: &[(String, Value)],
) -> Option<Value> {
    match &old.kind {
        Kind::List(items) => Some(changed_list(items, name, arguments)),
        Kind::Made(class, items) if &**class == "[]" => {
            let more = added(name, arguments);
            let all = Value::any(items.iter().cloned().chain(more).collect());
            Some(Value::made("[]", vec![all], None))
        }
        Kind::Map(items) => {
            let mut all = items.as_ref().clone();
            match (name, arguments) {
                ("update", _) => {
                    for other in arguments {
                        match &other.kind {
                            Kind::Map(more) => all.extend(more.iter().cloned()),
                            _ => all.push(("**".to_owned(), other.clone())),
                        }
                    }
                    all.extend(keywords.iter().cloned());
                }
                ("setdefault" | "set", [key, value, ..]) => {
                    let key = key.as_text().unwrap_or_else(|| Rc::from("**"));
                    // An earlier value may stay.
                    let old = items.iter().rev().find(|(known, _)| *known == *key);
                    let values = old.map(|(_, old)| old.clone()).into_iter();
                    all.push((
                        key.to_string(),
                        Value::any(values.chain([value.clone()]).collect()),
                    ));
                }
                _ => return None,
            }
            Some(Value::map(all))
        }
        Kind::Any(values) => {
            let all: Vec<Value> = values
                .iter()
                .map(|value| {
                    changed(value, name, arguments, keywords).unwrap_or_else(|| value.clone())
                })
                .collect();
            Some(Value::any(all))
        }
        _ => None,
    }
}

/// Returns the items that a method adds.
fn added(name: &str, arguments: &[Value]) -> Vec<Value> {
    match name {
        "extend" | "update" | "extendleft" => arguments.iter().flat_map(elements).collect(),
        "insert" | "splice" | "fill" => arguments.to_vec(),
        "append" | "push" | "add" | "unshift" | "appendleft" | "set" => arguments.to_vec(),
        _ => Vec::new(),
    }
}

fn changed_list(items: &[Value], name: &str, arguments: &[Value]) -> Value {
    let loose = || {
        let more = added(name, arguments);
        Value::made("[]", items.iter().cloned().chain(more).collect(), None)
    };
    let mut all = items.to_vec();
    let number = |at: usize| match arguments.get(at).map(|value| &value.kind) {
        Some(Kind::Number(number)) => Some(*number),
        _ => None,
    };
    let place = |number: i64, length: usize| {
        let at = crate::methods::at(length, number).unwrap_or(0);
        at.min(length)
    };
    match (name, arguments.len()) {
        ("append", 1) | ("push" | "add", _) => all.extend(arguments.iter().cloned()),
        ("extend", 1) => match arguments.first().map(|list| &list.kind) {
            Some(Kind::List(more)) => all.extend(more.iter().cloned()),
            _ => return loose(),
        },
        ("unshift", _) | ("appendleft", 1) => {
            all.splice(0..0, arguments.iter().cloned());
        }
        ("insert", 2) => {
            let (Some(number), Some(item)) = (number(0), arguments.get(1)) else { return loose() };
            let at = place(number, all.len());
            all.insert(at, item.clone());
        }
        ("reverse", 0) => all.reverse(),
        ("pop", 0) => {
            all.pop();
        }
        ("pop", 1) => match number(0).and_then(|at| crate::methods::at(all.len(), at)) {
            Some(at) if at < all.len() => {
                all.remove(at);
            }
            _ => return loose(),
        },
        ("shift" | "popleft", 0) => {
            if !all.is_empty() {
                all.remove(0);
            }
        }
        ("clear", 0) => all.clear(),
        ("remove", 1) => {
            let wanted = arguments.first().and_then(Value::as_text);
            let at = wanted.and_then(|wanted| {
                all.iter().position(|item| item.as_text().as_deref() == Some(&*wanted))
            });
            match at {
                Some(at) => {
                    all.remove(at);
                }
                None => return loose(),
            }
        }
        ("splice", 1..) => {
            let (Some(from), Some(count)) =
                (number(0), number(1).or((arguments.len() == 1).then_some(i64::MAX)))
            else {
                return loose();
            };
            let from = place(from, all.len());
            let count = usize::try_from(count).unwrap_or(0).min(all.len() - from);
            let more = arguments.get(2..).unwrap_or_default().to_vec();
            all.splice(from..from + count, more);
        }
        _ => return loose(),
    }
    Value::list(all)
}
