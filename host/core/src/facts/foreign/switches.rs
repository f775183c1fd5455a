//! Parameters that switch something on or off: force, protection, access of everybody, a count of
//! none.

use super::{DEPTH, Name};
use crate::event::Call;
use crate::facts::texts;
use serde_json::{Map, Value};

/// Returns the text of the first parameter with one of these names, in lower case and without
/// signs between words; none if it is empty.
pub(super) fn text_of<'v>(input: &'v Map<String, Value>, names: &[&str]) -> Option<&'v str> {
    let named = |name: &&str| {
        let has_name = |(key, _): &(&String, &Value)| texts::plain(key) == **name;
        input.iter().find(has_name).and_then(|(_, value)| value.as_str())
    };
    names.iter().find_map(named).filter(|text| !text.is_empty())
}

/// Returns true if a parameter with one of these names is set.
pub(super) fn is_set(input: &Map<String, Value>, names: &[&str]) -> bool {
    input.iter().any(|(key, value)| {
        value.as_bool() == Some(true) && names.contains(&texts::plain(key).as_str())
    })
}

/// Returns true if the call overwrites what others have: a parameter forces it, or a reference has
/// the sign for that.
pub(super) fn forces(input: &Map<String, Value>) -> bool {
    input.iter().any(|(key, value)| {
        let key = texts::plain(key);
        let forced = key.starts_with("force") && !key.contains("lease");
        let is_reference = matches!(key.as_str(), "refspec" | "refspecs" | "ref" | "refs");
        match value {
            Value::Bool(set) => *set && forced,
            Value::String(text) => is_reference && text.starts_with('+'),
            Value::Array(items) => {
                let texts = || items.iter().filter_map(Value::as_str);
                is_reference && texts().any(|text| text.starts_with('+'))
                    || texts::is_arguments(&key)
                        && texts().any(|text| matches!(text, "--force" | "-f"))
            }
            _ => false,
        }
    })
}

/// Returns true if a call weakens the protection of branches: it permits what protection forbids,
/// or leaves none of its demands.
pub(super) fn weakens_protection(name: &Name, input: &Map<String, Value>) -> bool {
    name.says(&["protection", "protections", "protected", "ruleset", "rulesets"]) && {
        let demands = Demands::of(input, 1);
        demands.permits || demands.none > 0 && demands.some == 0
    }
}

/// The demands of a protection.
#[derive(Default)]
struct Demands {
    permits: bool,
    /// The numbers of demands that are made, and of those that are taken back.
    some: usize,
    none: usize,
}

impl Demands {
    fn of(input: &Map<String, Value>, depth: usize) -> Self {
        let mut all = Self::default();
        for (key, value) in input {
            let key = texts::plain(key);
            let demands = key.starts_with("require") || key.starts_with("enforce");
            match value {
                Value::Bool(true) if key.starts_with("allow") => all.permits = true,
                Value::Bool(false) if matches!(key.as_str(), "enabled" | "protected") => {
                    all.permits = true;
                }
                Value::String(text) if key == "enforcement" => {
                    let text = text.as_str();
                    if matches!(text, "disabled" | "off" | "evaluate") {
                        all.permits = true;
                    } else {
                        all.some += 1;
                    }
                }
                Value::Null | Value::Bool(false) if demands => all.none += 1,
                Value::Number(count) if demands && count.as_u64() == Some(0) => all.none += 1,
                Value::Object(object) if depth < DEPTH => {
                    let inner = Self::of(object, depth + 1);
                    all.permits |= inner.permits;
                    all.some += inner.some + usize::from(demands && inner.none == 0);
                    all.none += inner.none;
                }
                Value::Null => {}
                _ => all.some += usize::from(demands),
            }
        }
        all
    }
}

/// Returns true for a tool that puts something where it runs.
pub(super) fn deploys(name: &Name) -> bool {
    name.says(&["deploy", "promote", "publish", "release", "rollout", "ship", "rollback", "apply"])
}

/// Returns true if one of the parts of a text says production.
pub(super) fn names_production(text: &str) -> bool {
    text.to_ascii_lowercase()
        .split(|c: char| !c.is_ascii_alphanumeric())
        .any(|part| matches!(part, "live" | "prd" | "prod" | "production"))
}

/// Returns true if a call leaves none of something that runs.
pub(super) fn empties(input: &Map<String, Value>, depth: usize) -> bool {
    const COUNTS: &[&str] =
        &["count", "desired", "desiredcount", "instances", "max", "replicas", "size", "to"];
    input.iter().any(|(key, value)| match value {
        Value::Object(object) => depth < DEPTH && empties(object, depth + 1),
        value => {
            let none = value.as_i64() == Some(0) || value.as_str() == Some("0");
            none && COUNTS.contains(&texts::plain(key).as_str())
        }
    })
}

/// Returns true if a parameter of the call opens its object to everybody.
pub(super) fn opens(call: &Call) -> bool {
    call.input.iter().any(|(key, value)| match (texts::plain(key).as_str(), value) {
        ("visibility" | "acl" | "access", Value::String(text)) => {
            matches!(text.as_str(), "public" | "public-read" | "public-read-write")
        }
        ("public" | "ispublic" | "makepublic", Value::Bool(set)) => *set,
        ("type" | "scope" | "audience" | "granteetype", Value::String(text)) => {
            matches!(
                text.to_ascii_lowercase().as_str(),
                "anyone" | "everyone" | "allusers" | "public"
            )
        }
        ("cidr" | "cidrip" | "cidripv6" | "source" | "sourcerange" | "sourceranges", value) => {
            let all = |value: &Value| {
                value.as_str().is_some_and(|text| matches!(text, "0.0.0.0/0" | "::/0"))
            };
            all(value) || value.as_array().is_some_and(|items| items.iter().any(all))
        }
        ("private" | "isprivate", Value::Bool(set)) => !*set,
        _ => false,
    })
}

/// Returns true if a call shows the values of secrets that a service keeps. A list of their names
/// shows none.
pub(super) fn shows_secrets(name: &Name, input: &Map<String, Value>) -> bool {
    const VALUES: &[&str] =
        &["credential", "credentials", "password", "passwords", "secret", "secrets"];
    const ABOUT: &[&str] = &[
        "alert", "alerts", "count", "engine", "engines", "metadata", "mount", "mounts", "name",
        "names", "policies", "policy", "rotation", "scan", "scanning", "version", "versions",
    ];
    let looks = name
        .says(&["dump", "export", "fetch", "get", "read", "retrieve", "reveal", "show", "view"]);
    let lists = name.says(&["describe", "list", "search"]);
    if name.says(VALUES) {
        return looks && !lists && !name.says(ABOUT);
    }
    // Kinds of things come as a parameter: the values stand only in the full form.
    let kind = text_of(input, &["resourcetype", "kind", "resource", "type"]).unwrap_or("");
    let kind = kind.split(['/', '.']).next().unwrap_or("").to_ascii_lowercase();
    let form = text_of(input, &["output", "outputformat", "format", "o"]).unwrap_or("");
    let full = ["yaml", "json", "jsonpath", "go-template"].iter().any(|it| form.starts_with(it));
    looks && full && matches!(kind.as_str(), "secret" | "secrets")
}
