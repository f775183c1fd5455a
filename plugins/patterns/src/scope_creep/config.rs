//! The pattern's numbers, each a setting.

use portcullis_builtin_shared::choice::{SENSITIVITIES, SEVERITIES, one_of, stretched};
use portcullis_plugin::descriptor::Spec;
use portcullis_plugin::settings::{FromSettings, Settings};
use portcullis_plugin::types::{Error, Severity};

/// The settings, read once a call. Shares are in thousandths.
#[derive(Clone, Debug)]
pub(super) struct Config {
    /// Stretched by the sensitivity.
    pub(super) threshold: u32,
    pub(super) severity: Severity,
    pub(super) window: usize,
    pub(super) least: usize,
    pub(super) sure_at: u32,
    pub(super) worse_by: u32,
    pub(super) again_after: usize,
}

impl FromSettings for Config {
    const SPECS: &'static [Spec] = &[
        Spec::score("threshold", 300, "the share of recent effects that may be outside"),
        Spec::text(
            "sensitivity",
            "medium",
            "low stretches the threshold by a half, high shrinks it by a third",
        ),
        Spec::text("severity", "high", "the worst severity that it reports"),
        Spec::integer("window", 20, "how many steps that ended are recent").between(5, 200),
        Spec::integer("least", 5, "how many steps have to have ended before it looks")
            .between(1, 200),
        Spec::integer("sure_at", 20, "how many recent effects make it fully sure")
            .between(1, 10_000),
        Spec::score("worse_by", 100, "how much the share has to grow to be reported at once"),
        Spec::integer(
            "again_after",
            3,
            "how many steps end before it reports the same share again",
        )
        .between(1, 100),
    ];

    fn from_settings(settings: &Settings) -> Result<Self, Error> {
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
            again_after: whole("again_after")?,
        })
    }
}
