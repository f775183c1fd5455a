//! Checks the order of thresholds: each level begins where the one below it ends, so thresholds in
//! the wrong order in a file are a mistake.
//!
//! The merged files are not checked: there, a lower threshold of a higher level only makes it
//! stricter.

use super::keys::find_by_name;
use super::parse::{ConfigDocument, KeyValue};
use super::problem::ConfigProblem;
use portcullis_engine::SettingValue as Value;

/// Thresholds in ascending order.
const CHAINS: &[&[&str]] = &[
    &["risk.negligible", "risk.medium", "risk.high", "risk.critical"],
    &["rationality.low", "rationality.medium", "rationality.high"],
    &[
        "interventions.score_thresholds.context_reinforcement",
        "interventions.score_thresholds.resource_throttling",
        "interventions.score_thresholds.checkpoint_rollback",
        "interventions.score_thresholds.emergency_stop",
    ],
];

/// Returns the misplaced thresholds of a file, outside its pipelines and in each of them.
pub(crate) fn out_of_order(document: &ConfigDocument) -> Vec<ConfigProblem> {
    let mut problems = misplaced(&document.said, &[]);
    for pipeline in &document.pipelines {
        problems.extend(misplaced(&pipeline.said, &document.said));
    }
    problems
}

/// Checks one set of keys: `said` takes precedence over `around`, and that over the defaults.
fn misplaced(said: &[KeyValue], around: &[KeyValue]) -> Vec<ConfigProblem> {
    let own = |path: &str| said.iter().find(|said| said.path == path);
    let value = |path: &str| {
        let found = own(path)
            .or_else(|| around.iter().find(|said| said.path == path))
            .map(|said| said.value.clone());
        number(&found.or_else(|| (find_by_name(path)?.default)())?)
    };
    let mut problems = Vec::new();
    for pair in CHAINS.iter().flat_map(|chain| chain.windows(2)) {
        let [lower, higher] = pair else { continue };
        let (Some(low), Some(high)) = (value(lower), value(higher)) else { continue };
        let (Some(place), true) =
            (own(lower).or_else(|| own(higher)).map(|said| said.place), low > high)
        else {
            continue;
        };
        let what = format!(
            "`{lower}` is {low} and `{higher}` is {high}; the higher level cannot begin before the lower one"
        );
        problems.push(ConfigProblem { place: Some(place), what });
    }
    problems
}

/// Returns true if a value is not a threshold, or fits between the thresholds that are set.
pub(crate) fn fits(said: &KeyValue, set: &[&KeyValue]) -> bool {
    let Some(chain) = CHAINS.iter().find(|chain| chain.contains(&said.path.as_str())) else {
        return true;
    };
    let place = |path: &str| chain.iter().position(|known| *known == path);
    let own = (place(&said.path), number(&said.value));
    set.iter().all(|other| match (own, place(&other.path), number(&other.value)) {
        ((Some(at), Some(value)), Some(there), Some(set)) => {
            (there <= at || value <= set) && (there >= at || set <= value)
        }
        _ => true,
    })
}

fn number(value: &Value) -> Option<f64> {
    if let Value::Decimal(number) = value { Some(*number) } else { None }
}
