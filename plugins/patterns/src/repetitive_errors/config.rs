//! The pattern's numbers, each a setting.

use portcullis_builtin_shared::choice::{SENSITIVITIES, SEVERITIES, one_of, stretched};
use portcullis_plugin::descriptor::Spec;
use portcullis_plugin::settings::{FromSettings, Settings};
use portcullis_plugin::types::{Error, Severity};

/// The settings, read once a call.
#[derive(Clone, Debug)]
pub(super) struct Config {
    /// Stretched by the sensitivity, at least 2.
    pub(super) threshold: u32,
    pub(super) severity: Severity,
    pub(super) window: usize,
    /// In thousandths.
    pub(super) confidence: u16,
    pub(super) confidence_step: u16,
}

impl FromSettings for Config {
    const SPECS: &'static [Spec] = &[
        Spec::integer("threshold", 3, "how often the same error has to come up").between(2, 200),
        Spec::text(
            "sensitivity",
            "medium",
            "low stretches the threshold by a half, high shrinks it by a third",
        ),
        Spec::text("severity", "medium", "the worst severity that it reports"),
        Spec::integer("window", 20, "how many steps that ended are recent").between(5, 200),
        Spec::score("confidence", 600, "how sure it is at the threshold"),
        Spec::score("confidence_step", 100, "how much surer with each further time"),
    ];

    fn from_settings(settings: &Settings) -> Result<Self, Error> {
        let whole =
            |key| settings.integer(key).map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        let sensitivity = one_of(settings, "sensitivity", SENSITIVITIES)?;
        Ok(Self {
            threshold: stretched(whole("threshold")?, sensitivity).max(2),
            severity: one_of(settings, "severity", SEVERITIES)?,
            window: usize::try_from(whole("window")?).unwrap_or(usize::MAX),
            confidence: settings.score("confidence")?,
            confidence_step: settings.score("confidence_step")?,
        })
    }
}
