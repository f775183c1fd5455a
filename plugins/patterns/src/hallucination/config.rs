//! The pattern's numbers, each a setting.

use portcullis_builtin_shared::choice::{SENSITIVITIES, SEVERITIES, one_of, stretched};
use portcullis_plugin::descriptor::Spec;
use portcullis_plugin::settings::{FromSettings, Settings};
use portcullis_plugin::types::{Error, Severity};

/// The settings, read once a call.
#[derive(Clone, Debug)]
pub(super) struct Config {
    /// Stretched by the sensitivity, at least 1.
    pub(super) threshold: u32,
    pub(super) after_told: u32,
    pub(super) severity: Severity,
    pub(super) within: u64,
    pub(super) window: usize,
    /// In thousandths.
    pub(super) confidence: u16,
    pub(super) confidence_step: u16,
}

impl FromSettings for Config {
    const SPECS: &'static [Spec] = &[
        Spec::integer("threshold", 3, "how many acts on what is not there").between(1, 32),
        Spec::integer(
            "after_told",
            2,
            "how many of them have to come after the session was warned",
        )
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

    fn from_settings(settings: &Settings) -> Result<Self, Error> {
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
