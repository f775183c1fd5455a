//! Whether what was found is what an `expect` says.

use super::Expected;
use super::finding::{Finding, LOG};
use serde_json::{Map, Value};

/// What was expected and what came, each as text of the file, where they differ. Unless `exact`, what was expected
/// tells what is looked at: its keys, and log lines only where it names one.
pub fn compare(expected: &[Expected], found: &[Finding], exact: bool) -> Option<Difference> {
    let looks_at_log = exact || expected.iter().any(|one| one.says.contains_key(LOG));
    let found: Vec<&Finding> = found.iter().filter(|finding| looks_at_log || !finding.is_log()).collect();
    let pairs = pair(expected, &found);
    let same = |(expected, found): &(Option<&Expected>, Option<&Finding>)| match (expected, found) {
        (Some(expected), Some(found)) => {
            if exact {
                expected.says == found.0
            } else {
                fits(expected, found)
            }
        }
        _ => false,
    };
    if pairs.iter().all(same) {
        return None;
    }
    let mut difference = Difference::default();
    for (expected, found) in pairs {
        if let Some(expected) = expected {
            difference.expected.push(expected.says.clone());
        }
        if let Some(found) = found {
            difference.found.push(match expected.filter(|_| !exact) {
                Some(expected) => like(&expected.says, &found.0),
                None => found.0.clone(),
            });
        }
    }
    Some(difference)
}

/// What differs.
#[derive(Clone, Debug, Default)]
pub struct Difference {
    /// As the file has it.
    pub expected: Vec<Map<String, Value>>,
    /// What came in its place: of a finding that was expected the keys that are looked at.
    pub found: Vec<Map<String, Value>>,
}

/// Puts side by side what belongs together. Where one came too many or is missing, those that fit are beside each
/// other.
fn pair<'e, 'f>(expected: &'e [Expected], found: &[&'f Finding]) -> Vec<(Option<&'e Expected>, Option<&'f Finding>)> {
    if expected.len() == found.len() {
        return expected.iter().map(Some).zip(found.iter().copied().map(Some)).collect();
    }
    let mut pairs = Vec::new();
    let mut rest = found.iter().copied();
    for one in expected {
        match rest.clone().position(|finding| fits(one, finding)) {
            Some(at) => {
                pairs.extend(rest.by_ref().take(at).map(|extra| (None, Some(extra))));
                pairs.push((Some(one), rest.next()));
            }
            None => pairs.push((Some(one), None)),
        }
    }
    pairs.extend(rest.map(|extra| (None, Some(extra))));
    pairs
}

fn fits(expected: &Expected, found: &Finding) -> bool {
    covers(&Value::Object(expected.says.clone()), &Value::Object(found.0.clone()))
}

/// Tables say at least what is expected of them, lists have as many items, all else is the same.
fn covers(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            expected.iter().all(|(key, value)| found.get(key).is_some_and(|found| covers(value, found)))
        }
        (Value::Array(expected), Value::Array(found)) => {
            expected.len() == found.len() && expected.iter().zip(found).all(|(expected, found)| covers(expected, found))
        }
        _ => expected == found,
    }
}

/// The found value cut down to what is looked at, in the same order.
fn like(expected: &Map<String, Value>, found: &Map<String, Value>) -> Map<String, Value> {
    let seen = expected.iter().filter_map(|(key, value)| Some((key.clone(), alike(value, found.get(key)?))));
    let mut seen: Map<String, Value> = seen.collect();
    if seen.is_empty() {
        seen.clone_from(found);
    }
    seen
}

fn alike(expected: &Value, found: &Value) -> Value {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => Value::Object(like(expected, found)),
        (Value::Array(expected), Value::Array(items)) if expected.len() == items.len() => {
            expected.iter().zip(items).map(|(expected, found)| alike(expected, found)).collect()
        }
        _ => found.clone(),
    }
}
