//! The pattern's numbers, each a setting.

use portcullis_builtin_judging::choice::{SENSITIVITIES, SEVERITIES, one_of, stretched};
use portcullis_plugin::descriptor::Spec;
use portcullis_plugin::settings::Settings;
use portcullis_plugin::types::{Error, Severity};

/// Every setting with its default.
pub(crate) const SPECS: &[Spec] = &[
    Spec::integer("threshold", 3, "how many acts on what is not there").between(1, 32),
    Spec::integer("after_told", 2, "how many of them have to come after the session was warned")
        .between(1, 32),
    Spec::text(
        "sensitivity",
        "medium",
        "low stretches both numbers by a half, high shrinks them by a third",
    ),
    Spec::text("severity", "high", "the worst severity that it reports"),
    Spec::integer("within", 40, "for how many steps an act counts").between(1, 200),
    Spec::integer("window", 20, "how many steps that ended are recent").between(5, 200),
    Spec::score("confidence", 500, "how sure it is at the threshold"),
    Spec::score("confidence_step", 100, "how much surer with each further act"),
];

/// The settings, read once a call.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// Stretched by the sensitivity, at least 1.
    pub(crate) threshold: u32,
    pub(crate) after_told: u32,
    pub(crate) severity: Severity,
    pub(crate) within: u64,
    pub(crate) window: usize,
    /// In thousandths.
    pub(crate) confidence: u16,
    pub(crate) confidence_step: u16,
}

impl Config {
    /// Takes the numbers out of settings.
    ///
    /// # Errors
    /// Fails for an unknown word, or settings that are not this plugin's.
    pub(crate) fn read(settings: &Settings) -> Result<Self, Error> {
        let whole =
            |key| settings.integer(key).map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        let sensitivity = one_of(settings, "sensitivity", SENSITIVITIES)?;
        let count = |key| whole(key).map(|number| stretched(number, sensitivity).max(1));
        Ok(Self {
            threshold: count("threshold")?,
            after_told: count("after_told")?,
            severity: one_of(settings, "severity", SEVERITIES)?,
            within: whole("within")?.into(),
            window: usize::try_from(whole("window")?).unwrap_or(usize::MAX),
            confidence: settings.score("confidence")?,
            confidence_step: settings.score("confidence_step")?,
        })
    }
}
