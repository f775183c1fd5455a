//! The numbers that define a safe checkpoint; each a setting.

use portcullis_plugin::intervention::{Error, Settings, Spec};
use portcullis_plugin::template::Wording;

/// Every setting with its default.
pub(super) const SPECS: &[Spec] = &[
    Spec::score(
        "min_success_rate",
        800,
        "the least share of steps before a checkpoint that ended well",
    ),
    Spec::integer("quiet_seconds", 60, "how long before a checkpoint no step may have failed")
        .between(0, 3600),
    Spec::integer(
        "max_depth",
        3,
        "returns in a row without success, after which a checkpoint from \
         before them is not used again",
    )
    .between(1, 10),
    Spec::integer("kept_minutes", 30, "how old a checkpoint may be").between(1, 10_080),
    Wording::SETTING,
];

/// The settings, read once a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Config {
    pub(super) success: u16,
    pub(super) quiet_ms: u64,
    pub(super) depth: usize,
    pub(super) kept_ms: u64,
}

impl Config {
    /// Takes the numbers out of settings.
    ///
    /// # Errors
    /// Fails if the settings are not this plugin's.
    pub(super) fn read(settings: &Settings) -> Result<Self, Error> {
        let whole = |key| settings.integer(key).map(i64::unsigned_abs);
        Ok(Self {
            success: settings.score("min_success_rate")?,
            quiet_ms: whole("quiet_seconds")?.saturating_mul(1000),
            depth: usize::try_from(whole("max_depth")?).unwrap_or(usize::MAX),
            kept_ms: whole("kept_minutes")?.saturating_mul(60_000),
        })
    }
}
