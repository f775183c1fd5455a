//! The resources that are measured, and the pattern's numbers, each a setting.

use portcullis_builtin_shared::choice::{SENSITIVITIES, SEVERITIES, one_of, stretched};
use portcullis_plugin::descriptor::Spec;
use portcullis_plugin::settings::{FromSettings, Settings};
use portcullis_plugin::types::{Error, Severity, Step};

/// The resources that may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resource {
    Files,
    Bytes,
    Tokens,
    Time,
}

impl Resource {
    pub(super) const ALL: [Self; 4] = [Self::Files, Self::Bytes, Self::Tokens, Self::Time];

    /// Returns a step's use of it.
    pub(super) fn of(self, step: &Step) -> u64 {
        match self {
            Self::Files => step.files.into(),
            Self::Bytes => step.bytes,
            Self::Tokens => step.tokens.into(),
            Self::Time => step.duration_ms.into(),
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Bytes => "bytes",
            Self::Tokens => "tokens",
            Self::Time => "milliseconds",
        }
    }
}

/// The settings, read once a call. Growth is in thousandths.
#[derive(Clone, Debug)]
pub(super) struct Config {
    /// Stretched by the sensitivity.
    pub(super) threshold: u32,
    pub(super) severity: Severity,
    pub(super) window_ms: u64,
    pub(super) window_steps: usize,
    /// By `Resource`.
    least: [u128; Resource::ALL.len()],
    pub(super) worse_by: u32,
}

impl FromSettings for Config {
    const SPECS: &'static [Spec] = &[
        Spec::decimal(
            "threshold",
            0.8,
            "how much more, on average, a window may use than the one before; 1 is double",
        )
        .between(0, 100),
        Spec::text(
            "sensitivity",
            "medium",
            "low stretches the threshold by a half, high shrinks it by a third",
        ),
        Spec::text("severity", "critical", "the worst severity that it reports"),
        Spec::integer("window_seconds", 60, "how long each of the four windows is")
            .between(1, 3600),
        Spec::integer("window_steps", 40, "how many steps each has where times are of no use")
            .between(1, 50),
        Spec::integer("least_files", 3, "files that every window has to write or delete")
            .between(1, 1_000_000),
        Spec::integer("least_bytes", 65_536, "bytes that every window has to produce")
            .between(1, i64::MAX),
        Spec::integer("least_tokens", 5_000, "tokens that every window has to cost")
            .between(1, i64::MAX),
        Spec::integer("least_ms", 5_000, "milliseconds that the steps of every window have to run")
            .between(1, i64::MAX),
        Spec::decimal("worse_by", 0.4, "how much the growth has to rise before it reports again")
            .between(0, 100),
    ];

    fn from_settings(settings: &Settings) -> Result<Self, Error> {
        let whole = |key| settings.integer(key).map(|number| u64::try_from(number).unwrap_or(1));
        let sensitivity = one_of(settings, "sensitivity", SENSITIVITIES)?;
        let [files, bytes, tokens, time] =
            ["least_files", "least_bytes", "least_tokens", "least_ms"].map(whole);
        Ok(Self {
            threshold: stretched(thousandths(settings.decimal("threshold")?), sensitivity),
            severity: one_of(settings, "severity", SEVERITIES)?,
            window_ms: whole("window_seconds")?.saturating_mul(1000),
            window_steps: usize::try_from(whole("window_steps")?).unwrap_or(usize::MAX),
            least: [files?.into(), bytes?.into(), tokens?.into(), time?.into()],
            worse_by: thousandths(settings.decimal("worse_by")?),
        })
    }
}

impl Config {
    /// Returns the amount of a resource that every window has to use.
    pub(super) fn least(&self, resource: Resource) -> u128 {
        self.least.get(resource as usize).copied().unwrap_or(1)
    }
}

/// Returns a setting from 0 to 100 in whole thousandths.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is clamped to what fits"
)]
fn thousandths(value: f64) -> u32 {
    (value * 1000.0).round().clamp(0.0, 100_000.0) as u32
}
