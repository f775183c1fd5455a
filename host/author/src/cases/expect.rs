//! Compares findings with an `expect`.

use super::ExpectedFinding;
use super::finding::{CaseFinding, LOG};
use serde_json::{Map, Value};

/// Returns the expected and the actual findings, each as text of the file, if they differ. Unless
/// `exact`, only the keys in the expectation are compared, and log lines only if it names one.
pub fn compare_findings(
    expected: &[ExpectedFinding],
    found: &[CaseFinding],
    exact: bool,
) -> Option<CaseDifference> {
    let looks_at_log = exact || expected.iter().any(|one| one.says.contains_key(LOG));
    let found: Vec<&CaseFinding> =
        found.iter().filter(|finding| looks_at_log || !finding.is_log()).collect();
    let pairs = pair(expected, &found);
    let same = |(expected, found): &(Option<&ExpectedFinding>, Option<&CaseFinding>)| match (
        expected, found,
    ) {
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
    let mut difference = CaseDifference::default();
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

/// The difference between expected and actual findings.
#[derive(Clone, Debug, Default)]
pub struct CaseDifference {
    /// The expected findings, as in the file.
    pub expected: Vec<Map<String, Value>>,
    /// The actual findings; for those that were expected, only the compared keys.
    pub found: Vec<Map<String, Value>>,
}

/// Pairs expected and actual findings. If there is one too many or too few, matching ones are still
/// paired.
fn pair<'e, 'f>(
    expected: &'e [ExpectedFinding],
    found: &[&'f CaseFinding],
) -> Vec<(Option<&'e ExpectedFinding>, Option<&'f CaseFinding>)> {
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

fn fits(expected: &ExpectedFinding, found: &CaseFinding) -> bool {
    covers(&Value::Object(expected.says.clone()), &Value::Object(found.0.clone()))
}

/// Returns true if the found value covers the expected one: tables contain at least the expected
/// keys, lists have as many items, all else is equal.
fn covers(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => expected
            .iter()
            .all(|(key, value)| found.get(key).is_some_and(|found| covers(value, found))),
        (Value::Array(expected), Value::Array(found)) => {
            expected.len() == found.len()
                && expected.iter().zip(found).all(|(expected, found)| covers(expected, found))
        }
        _ => expected == found,
    }
}

/// Reduces the found value to the compared keys, in the same order.
fn like(expected: &Map<String, Value>, found: &Map<String, Value>) -> Map<String, Value> {
    let seen = expected
        .iter()
        .filter_map(|(key, value)| Some((key.clone(), alike(value, found.get(key)?))));
    let mut seen: Map<String, Value> = seen.collect();
    // Without any compared key, all of it tells more than an empty table.
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
