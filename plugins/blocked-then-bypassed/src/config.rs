//! The pattern's numbers, each a setting.

use portcullis_builtin_judging::choice::{SENSITIVITIES, SEVERITIES, one_of};
use portcullis_plugin::descriptor::Spec;
use portcullis_plugin::settings::Settings;
use portcullis_plugin::types::{Error, Severity};

/// Every setting with its default.
pub(crate) const SPECS: &[Spec] = &[
    Spec::integer("within", 10, "for how many steps a refusal is held against later actions")
        .between(1, 50),
    Spec::text(
        "sensitivity",
        "medium",
        "low shrinks that number of steps by a third, high stretches it by a half",
    ),
    Spec::text("severity", "high", "the worst severity that it reports"),
    Spec::flag("until_prompt", false, "a refusal counts only until the person's next prompt"),
    Spec::score("confidence", 800, "how sure it is"),
    Spec::score("impact", 500, "how much of the session it is said to touch"),
];

/// The settings, read once a call.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// Widened or narrowed by the sensitivity, at least 1.
    pub(crate) within: u64,
    pub(crate) severity: Severity,
    pub(crate) until_prompt: bool,
    /// In thousandths.
    pub(crate) confidence: u16,
    pub(crate) impact: u16,
}

impl Config {
    /// Takes the numbers out of settings.
    ///
    /// # Errors
    /// Fails for an unknown word, or settings that are not this plugin's.
    pub(crate) fn read(settings: &Settings) -> Result<Self, Error> {
        let within = u64::try_from(settings.integer("within")?).unwrap_or(1);
        let sensitivity = u64::from(one_of(settings, "sensitivity", SENSITIVITIES)?.max(1));
        Ok(Self {
            within: (within.saturating_mul(1000).saturating_add(sensitivity / 2) / sensitivity)
                .max(1),
            severity: one_of(settings, "severity", SEVERITIES)?,
            until_prompt: settings.flag("until_prompt")?,
            confidence: settings.score("confidence")?,
            impact: settings.score("impact")?,
        })
    }
}
