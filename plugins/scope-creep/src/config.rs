//! The pattern's numbers, each a setting.

use portcullis_builtin_judging::choice::{SENSITIVITIES, SEVERITIES, one_of, stretched};
use portcullis_plugin::descriptor::Spec;
use portcullis_plugin::settings::Settings;
use portcullis_plugin::types::{Error, Severity};

/// Every setting with its default.
pub(crate) const SPECS: &[Spec] = &[
    Spec::score("threshold", 300, "the share of recent effects that may be outside"),
    Spec::text(
        "sensitivity",
        "medium",
        "low stretches the threshold by a half, high shrinks it by a third",
    ),
    Spec::text("severity", "high", "the worst severity that it reports"),
    Spec::integer("window", 20, "how many steps that ended are recent").between(5, 200),
    Spec::integer("least", 5, "how many steps have to have ended before it looks").between(1, 200),
    Spec::integer("sure_at", 20, "how many recent effects make it fully sure").between(1, 10_000),
    Spec::score("worse_by", 100, "how much the share has to grow before it reports again"),
];

/// The settings, read once a call. Shares are in thousandths.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// Stretched by the sensitivity.
    pub(crate) threshold: u32,
    pub(crate) severity: Severity,
    pub(crate) window: usize,
    pub(crate) least: usize,
    pub(crate) sure_at: u32,
    pub(crate) worse_by: u32,
}

impl Config {
    /// Takes the numbers out of settings.
    ///
    /// # Errors
    /// Fails for an unknown word, or settings that are not this plugin's.
    pub(crate) fn read(settings: &Settings) -> Result<Self, Error> {
        let whole =
            |key| settings.integer(key).map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        let sensitivity = one_of(settings, "sensitivity", SENSITIVITIES)?;
        Ok(Self {
            threshold: stretched(u32::from(settings.score("threshold")?), sensitivity),
            severity: one_of(settings, "severity", SEVERITIES)?,
            window: whole("window")?,
            least: whole("least")?,
            sure_at: u32::try_from(whole("sure_at")?).unwrap_or(u32::MAX).max(1),
            worse_by: u32::from(settings.score("worse_by")?),
        })
    }
}
