//! Levels begin where the ones below them end: thresholds that one file puts out of order are a mistake.
//!
//! Files together are not looked at: there a lower threshold of a higher level only makes it stricter.

use super::keys::named;
use super::parse::{Document, Said};
use super::problem::Problem;
use portcullis_engine::SettingValue as Value;

/// Thresholds from the lowest up.
const CHAINS: &[&[&str]] =
    &[&["risk.negligible", "risk.medium", "risk.high", "risk.critical"], &["rationality.low", "rationality.medium", "rationality.high"]];

/// What is out of order in a file, outside of its pipelines and in each.
pub fn out_of_order(document: &Document) -> Vec<Problem> {
    let mut problems = misplaced(&document.said, &[]);
    for pipeline in &document.pipelines {
        problems.extend(misplaced(&pipeline.said, &document.said));
    }
    problems
}

/// `said` goes before `around`, which goes before the defaults.
fn misplaced(said: &[Said], around: &[Said]) -> Vec<Problem> {
    let own = |path: &str| said.iter().find(|said| said.path == path);
    let value = |path: &str| {
        let found = own(path).or_else(|| around.iter().find(|said| said.path == path)).map(|said| said.value.clone());
        number(&found.or_else(|| (named(path)?.default)())?)
    };
    let mut problems = Vec::new();
    for pair in CHAINS.iter().flat_map(|chain| chain.windows(2)) {
        let [lower, higher] = pair else { continue };
        let (Some(low), Some(high)) = (value(lower), value(higher)) else { continue };
        let (Some(place), true) = (own(lower).or_else(|| own(higher)).map(|said| said.place), low > high) else { continue };
        let what = format!("`{lower}` is {low} and `{higher}` is {high}; the higher level cannot begin before the lower one");
        problems.push(Problem { place: Some(place), what });
    }
    problems
}

fn number(value: &Value) -> Option<f64> {
    if let Value::Decimal(number) = value { Some(*number) } else { None }
}
