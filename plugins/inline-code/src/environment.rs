//! The whole environment as a value: copies of it, and the calls that hand it on.

use crate::value::{Kind, Value};

/// Beginnings of the names of calls that start a program.
const STARTERS: &[&str] = &[
    "Bun.spawn",
    "asyncio.create_subprocess",
    "child_process.",
    "execa",
    "node-pty.",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "pexpect.",
    "subprocess.",
];

/// Returns true for the name of all variables together.
pub(crate) fn is_environment(name: &str) -> bool {
    matches!(name, "process.env" | "os.environ" | "os.environb")
}

/// Returns true for the whole environment.
pub(crate) fn is_whole(value: &Value) -> bool {
    matches!(&value.kind, Kind::Name(name) if is_environment(name))
}

/// Returns the values that a call may disclose. The variables that a program gets, which the
/// code starts, stay on this machine.
pub(crate) fn list_disclosed(
    name: &str,
    arguments: &[Value],
    keywords: &[(String, Value)],
) -> Vec<Value> {
    let starts = STARTERS.iter().any(|starter| name.starts_with(starter));
    let disclosed =
        |(key, value): &(String, Value)| (!starts || key != "env").then(|| value.clone());
    let mut used = Vec::new();
    for value in arguments {
        match &value.kind {
            Kind::Map(options) if starts => used.extend(options.iter().filter_map(disclosed)),
            _ => used.push(value.clone()),
        }
    }
    used.extend(keywords.iter().filter_map(disclosed));
    used
}

/// Returns an object with the members of all of these, as an object that spreads them has.
pub(crate) fn merge_objects(objects: &[Value]) -> Value {
    let Some((Value { kind: Kind::Map(first), .. }, others)) = objects.split_first() else {
        return objects.first().cloned().unwrap_or_else(Value::unknown);
    };
    let mut all = first.as_ref().clone();
    for other in others {
        match &other.kind {
            Kind::Map(items) => all.extend(items.iter().cloned()),
            _ => all.push(("**".to_owned(), other.clone())),
        }
    }
    Value::map(all)
}
