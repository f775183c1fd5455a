//! The templates of the words to the agent: one that cannot be used is replaced by a fixed line,
//! and nobody would notice before the first answer.

use super::finding::{Check, HealthFinding};
use crate::installed;
use crate::plugin_mistakes::find_template_mistakes;
use crate::reviewer::Reviewer;
use portcullis_config::paths::Paths;
use portcullis_store::Home;

/// Reports the templates that are never read or cannot be filled. A configuration that cannot be
/// loaded is reported by other checks.
pub(super) fn check(
    places: &Paths,
    home: &Home,
    reviewer: &mut Reviewer,
    now: u64,
) -> Vec<HealthFinding> {
    let config = reviewer.config().clone();
    let mut load = |config| installed::load_reviewer(places, home, config, &[], now);
    let mistakes = find_template_mistakes(&config, reviewer, &mut load).unwrap_or_default();
    let warn = |mistake: portcullis_config::problem::KeyProblem| {
        let what = format!(
            "`{}` is not used, and a fixed line replaces it: {}",
            mistake.key, mistake.what
        );
        HealthFinding::warning(
            Check::Configuration,
            what,
            "fix the template; `portcullis config check` names its line",
        )
    };
    mistakes.into_iter().map(warn).collect()
}
