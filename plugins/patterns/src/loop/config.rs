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
    pub(super) longest: usize,
    pub(super) within_prompt: bool,
    pub(super) window: usize,
    /// In thousandths.
    pub(super) confidence: u16,
    pub(super) confidence_step: u16,
}

impl FromSettings for Config {
    const SPECS: &'static [Spec] = &[
        Spec::integer("threshold", 4, "how often the same cycle has to come with the same results")
            .between(2, 50),
        Spec::text(
            "sensitivity",
            "medium",
            "low stretches the threshold by a half, high shrinks it by a third",
        ),
        Spec::text("severity", "medium", "the worst severity that it reports"),
        Spec::integer("longest", 4, "how many steps a cycle may have").between(1, 16),
        Spec::flag(
            "within_prompt",
            true,
            "a cycle has to be within one prompt: what a person asks for again is not a loop",
        ),
        Spec::integer("window", 20, "how many steps that ended are recent").between(5, 200),
        Spec::score("confidence", 700, "how sure it is at the threshold"),
        Spec::score("confidence_step", 100, "how much surer with each further time"),
    ];

    fn from_settings(settings: &Settings) -> Result<Self, Error> {
        let whole =
            |key| settings.integer(key).map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        let size =
            |key| settings.integer(key).map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        let sensitivity = one_of(settings, "sensitivity", SENSITIVITIES)?;
        Ok(Self {
            threshold: stretched(whole("threshold")?, sensitivity).max(2),
            severity: one_of(settings, "severity", SEVERITIES)?,
            longest: size("longest")?,
            within_prompt: settings.flag("within_prompt")?,
            window: size("window")?,
            confidence: settings.score("confidence")?,
            confidence_step: settings.score("confidence_step")?,
        })
    }
}
