//! The pattern's numbers, each a setting.

use portcullis_builtin_shared::choice::{SENSITIVITIES, SEVERITIES, one_of};
use portcullis_plugin::descriptor::Spec;
use portcullis_plugin::settings::{FromSettings, Settings};
use portcullis_plugin::types::{Error, Severity};

/// The settings, read once a call.
#[derive(Clone, Debug)]
pub(super) struct Config {
    /// Widened or narrowed by the sensitivity, at least 1.
    pub(super) within: u64,
    pub(super) severity: Severity,
    pub(super) until_prompt: bool,
    /// In thousandths.
    pub(super) confidence: u16,
    pub(super) impact: u16,
}

impl FromSettings for Config {
    const SPECS: &'static [Spec] = &[
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

    fn from_settings(settings: &Settings) -> Result<Self, Error> {
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
