//! The settings, with the thresholds that follow from them.

use portcullis_plugin::pattern::{Error, FromSettings, Settings, Severity, Spec};

/// The settings.
#[derive(Debug)]
pub struct Config {
    /// How often a file may come back to states that it had.
    pub returns: u32,
    /// How many runs may fail in the same test for the same reason.
    pub failures: u32,
    /// How many steps in a row may tell nothing new.
    pub idle: u32,
    /// How many minutes may be waited without a change of a file.
    pub minutes: u32,
    /// The worst severity that it reports.
    pub worst: Severity,
}

impl FromSettings for Config {
    const SPECS: &'static [Spec] = &[
        Spec::integer("returns", 2, "how often a file may come back to states that it had")
            .between(1, 20),
        Spec::integer("failures", 5, "how many runs may fail in the same test for the same reason")
            .between(2, 50),
        Spec::integer("idle", 6, "how many steps in a row may tell nothing new").between(3, 32),
        Spec::integer("wait_minutes", 30, "how many minutes may be waited without changing a file")
            .between(1, 1440),
        Spec::text(
            "sensitivity",
            "medium",
            "low stretches the thresholds by a half, high shrinks them by a third",
        ),
        Spec::text(
            "severity",
            "high",
            "the worst severity that it reports: low, medium, high or critical",
        ),
    ];

    fn from_settings(settings: &Settings) -> Result<Self, Error> {
        let scale: fn(u32) -> u32 = match settings.text("sensitivity")? {
            "low" => |number| (3 * number).div_ceil(2),
            "medium" => |number| number,
            "high" => |number| (4 * number + 3) / 6,
            _ => {
                return Err(Error::setting(
                    "sensitivity",
                    "should be one of `low`, `medium`, `high`",
                ));
            }
        };
        let worst = match settings.text("severity")? {
            "low" => Severity::Low,
            "medium" => Severity::Medium,
            "high" => Severity::High,
            "critical" => Severity::Critical,
            _ => {
                return Err(Error::setting(
                    "severity",
                    "should be one of `low`, `medium`, `high`, `critical`",
                ));
            }
        };
        let threshold = |key, least| {
            let number = settings.integer(key)?;
            Ok(scale(u32::try_from(number).unwrap_or_default()).max(least))
        };
        Ok(Self {
            returns: threshold("returns", 1)?,
            failures: threshold("failures", 2)?,
            idle: threshold("idle", 3)?,
            minutes: threshold("wait_minutes", 1)?,
            worst,
        })
    }
}
