//! The pattern's numbers, each a setting.

use portcullis_builtin_shared::choice::{SENSITIVITIES, SEVERITIES, one_of};
use portcullis_plugin::descriptor::Spec;
use portcullis_plugin::settings::{FromSettings, Settings};
use portcullis_plugin::types::{Error, Severity};

/// The settings, read once a call.
#[derive(Clone, Debug)]
pub(super) struct Config {
    /// Widened or narrowed by the sensitivity.
    pub(super) within: u64,
    pub(super) severity: Severity,
    pub(super) publishing: bool,
    pub(super) trusted_hosts: Vec<String>,
    /// In thousandths.
    pub(super) confidence_flow: u16,
    pub(super) confidence_near: u16,
}

impl FromSettings for Config {
    const SPECS: &'static [Spec] = &[
        Spec::integer(
            "within",
            10,
            "for how many steps a secret that was read is held against what is sent",
        )
        .between(0, 100),
        Spec::text(
            "sensitivity",
            "medium",
            "low shrinks that number of steps by a third, high stretches it by a half",
        ),
        Spec::text("severity", "critical", "the worst severity that it reports"),
        Spec::flag(
            "publishing",
            true,
            "publishing and changing something remote soon after a secret was read counts, too",
        ),
        Spec::texts("trusted_hosts", &[], "hosts that may get secrets, with everything below them"),
        Spec::score("confidence_flow", 900, "how sure it is where the secret itself is sent"),
        Spec::score(
            "confidence_near",
            600,
            "how sure it is where a secret was read shortly before",
        ),
    ];

    fn from_settings(settings: &Settings) -> Result<Self, Error> {
        let within = u64::try_from(settings.integer("within")?).unwrap_or(0);
        let sensitivity = u64::from(one_of(settings, "sensitivity", SENSITIVITIES)?.max(1));
        Ok(Self {
            within: within.saturating_mul(1000).saturating_add(sensitivity / 2) / sensitivity,
            severity: one_of(settings, "severity", SEVERITIES)?,
            publishing: settings.flag("publishing")?,
            trusted_hosts: settings.texts("trusted_hosts")?.to_vec(),
            confidence_flow: settings.score("confidence_flow")?,
            confidence_near: settings.score("confidence_near")?,
        })
    }
}
