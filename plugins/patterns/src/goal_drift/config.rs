//! The pattern's numbers, each a setting.

use portcullis_builtin_shared::choice::{SENSITIVITIES, SEVERITIES, one_of};
use portcullis_plugin::descriptor::Spec;
use portcullis_plugin::settings::{FromSettings, Settings};
use portcullis_plugin::types::{Error, Severity};

/// The alignment from which a step serves the goal.
pub(super) const ALIGNED: u32 = 500;

/// The settings, read once a call. Means are in thousandths.
#[derive(Clone, Debug)]
pub(super) struct Config {
    /// Shrunk or stretched by the sensitivity, at most 1000.
    pub(super) threshold: u32,
    pub(super) severity: Severity,
    pub(super) window: usize,
    pub(super) least: usize,
    pub(super) falls_by: u32,
    pub(super) worse_by: u32,
    pub(super) again_after: usize,
}

impl FromSettings for Config {
    const SPECS: &'static [Spec] = &[
        Spec::score("threshold", 500, "the mean alignment below which the work drifts"),
        Spec::text("sensitivity", "medium", "low divides the threshold by 1.5, high by 0.67"),
        Spec::text("severity", "medium", "the worst severity that it reports"),
        Spec::integer("window", 20, "how many steps that ended are recent").between(5, 200),
        Spec::integer("least", 5, "how many of them have to have been held against the goal")
            .between(2, 200),
        Spec::score(
            "falls_by",
            0,
            "how far below the older half's mean the newer half's has to be",
        ),
        Spec::score("worse_by", 100, "how much the mean has to fall to be reported at once"),
        Spec::integer("again_after", 3, "how many steps end before it reports the same mean again")
            .between(1, 100),
    ];

    fn from_settings(settings: &Settings) -> Result<Self, Error> {
        let whole =
            |key| settings.integer(key).map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        let score = |key| settings.score(key).map(u32::from);
        let sensitivity = one_of(settings, "sensitivity", SENSITIVITIES)?.max(1);
        Ok(Self {
            threshold: (score("threshold")?.saturating_mul(1000).saturating_add(sensitivity / 2)
                / sensitivity)
                .min(1000),
            severity: one_of(settings, "severity", SEVERITIES)?,
            window: whole("window")?,
            least: whole("least")?.max(2),
            falls_by: score("falls_by")?,
            worse_by: score("worse_by")?,
            again_after: whole("again_after")?,
        })
    }
}
