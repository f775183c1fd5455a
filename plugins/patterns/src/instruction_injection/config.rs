//! The pattern's numbers, each a setting.

use portcullis_builtin_shared::choice::{SENSITIVITIES, SEVERITIES, one_of, stretched};
use portcullis_plugin::descriptor::Spec;
use portcullis_plugin::settings::{FromSettings, Settings};
use portcullis_plugin::types::{Error, Severity};

/// The settings, read once a call.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// Stretched by the sensitivity, at least 1.
    pub(crate) threshold: u32,
    pub(crate) severity: Severity,
    pub(crate) within: u64,
    pub(crate) seen: bool,
    /// In thousandths.
    pub(crate) confidence_seen: u16,
    pub(crate) confidence_followed: u16,
    pub(crate) impact: u16,
}

impl FromSettings for Config {
    const SPECS: &'static [Spec] = &[
        Spec::integer("threshold", 3, "how much the signs of a text have to weigh").between(1, 20),
        Spec::text(
            "sensitivity",
            "medium",
            "low stretches the threshold by a half, high shrinks it by a third",
        ),
        Spec::text("severity", "high", "the worst severity that it reports"),
        Spec::integer("within", 5, "how many steps after such a text are held against it")
            .between(1, 50),
        Spec::flag("seen", true, "a text is reported even when nothing follows it"),
        Spec::score("confidence_seen", 500, "how sure it is of a text at the threshold"),
        Spec::score(
            "confidence_followed",
            900,
            "how sure it is when the agent acts on an address or a command of the text",
        ),
        Spec::score("impact", 500, "how much of the session it is said to touch"),
    ];

    fn from_settings(settings: &Settings) -> Result<Self, Error> {
        let whole =
            |key| settings.integer(key).map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        let sensitivity = one_of(settings, "sensitivity", SENSITIVITIES)?;
        Ok(Self {
            threshold: stretched(whole("threshold")?, sensitivity).max(1),
            severity: one_of(settings, "severity", SEVERITIES)?,
            within: whole("within")?.into(),
            seen: settings.flag("seen")?,
            confidence_seen: settings.score("confidence_seen")?,
            confidence_followed: settings.score("confidence_followed")?,
            impact: settings.score("impact")?,
        })
    }
}
