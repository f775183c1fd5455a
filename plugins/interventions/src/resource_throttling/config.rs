//! The intervention's numbers, each a setting.

use portcullis_plugin::intervention::{Error, Quantity, Settings, Severity, Spec};
use portcullis_plugin::template::Wording;

/// Every setting with its default.
pub(super) const SPECS: &[Spec] = &[
    Spec::decimal(
        "extreme",
        2.0,
        "growth from one window to the next above which a limit is multiplied by `extreme_factor`",
    )
    .between(1, 100),
    Spec::decimal("high", 1.5, "growth above which it is multiplied by `high_factor`")
        .between(1, 100),
    Spec::decimal("moderate", 1.2, "growth above which it is multiplied by `moderate_factor`")
        .between(1, 100),
    Spec::score("extreme_factor", 500, "for extreme growth, and for high and critical severity")
        .between(10, 1000),
    Spec::score("high_factor", 700, "for high growth, and for medium severity").between(10, 1000),
    Spec::score("moderate_factor", 850, "for moderate growth, and for low severity")
        .between(10, 1000),
    Spec::integer(
        "file_operations",
        100,
        "writes and deletes that are taken for the limit where none is in force",
    )
    .between(1, 1_000_000_000),
    Spec::integer(
        "memory_mb",
        512,
        "megabytes that are taken for the limit where none is in force",
    )
    .between(1, 1_000_000_000),
    Spec::integer("tokens", 100_000, "tokens that are taken for the limit where none is in force")
        .between(1, 1_000_000_000_000),
    Spec::integer(
        "time_seconds",
        300,
        "seconds that are taken for the limit where none is in force",
    )
    .between(1, 1_000_000_000),
    Spec::integer(
        "batch_size",
        20,
        "items of one action that are taken for the limit where none is in force",
    )
    .between(1, 1_000_000_000),
    Wording::SETTING,
];

/// The settings, read once a call.
#[derive(Clone, Debug)]
pub(super) struct Config {
    /// Growth and factor in thousandths, the strictest first.
    steps: [(u64, u64); 3],
    /// Limits to begin with.
    first: [(Quantity, u64); 5],
}

impl Config {
    /// Takes the numbers out of settings.
    ///
    /// # Errors
    /// Fails for thresholds or factors that are out of order, or settings that are not this
    /// plugin's.
    pub(super) fn read(settings: &Settings) -> Result<Self, Error> {
        let growth = |key| settings.decimal(key).map(thousandths);
        let factor = |key| settings.score(key).map(u64::from);
        let whole = |key| settings.integer(key).map(i64::unsigned_abs);
        let steps = [
            (growth("extreme")?, factor("extreme_factor")?),
            (growth("high")?, factor("high_factor")?),
            (growth("moderate")?, factor("moderate_factor")?),
        ];
        let [(extreme, least), (high, middle), (moderate, most)] = steps;
        ordered("high", moderate <= high, "`moderate`")?;
        ordered("extreme", high <= extreme, "`high`")?;
        ordered("high_factor", least <= middle, "`extreme_factor`")?;
        ordered("moderate_factor", middle <= most, "`high_factor`")?;
        let first = [
            (Quantity::FileOperations, whole("file_operations")?),
            (Quantity::Memory, whole("memory_mb")?.saturating_mul(1 << 20)),
            (Quantity::Tokens, whole("tokens")?),
            (Quantity::Time, whole("time_seconds")?.saturating_mul(1000)),
            (Quantity::BatchSize, whole("batch_size")?),
        ];
        Ok(Self { steps, first })
    }

    /// Returns the factor for a growth, in thousandths; 1000 if it is too small to matter.
    pub(super) fn factor(&self, growth: u64) -> u64 {
        self.steps.iter().find(|(above, _)| growth > *above).map_or(1000, |(_, factor)| *factor)
    }

    /// Returns the factor if no growth is known.
    pub(super) fn by_severity(&self, severity: Severity) -> u64 {
        let [extreme, high, moderate] = self.steps.map(|(_, factor)| factor);
        match severity {
            Severity::Low => moderate,
            Severity::Medium => high,
            Severity::High | Severity::Critical => extreme,
        }
    }

    /// Returns the assumed limit if none is in force.
    pub(super) fn first(&self, quantity: &Quantity) -> u64 {
        self.first.iter().find(|(known, _)| known == quantity).map_or(1, |(_, maximum)| *maximum)
    }
}

fn ordered(key: &str, holds: bool, other: &str) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::setting(key, &["should not be below ", other].concat())) }
}

/// Returns a setting from 1 to 100 in whole thousandths.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is clamped to what fits"
)]
fn thousandths(value: f64) -> u64 {
    (value * 1000.0).round().clamp(0.0, 100_000.0) as u64
}
