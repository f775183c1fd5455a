//! The rules that apply, and their thresholds.

use portcullis_builtin_shared::choice::{one_of, some_of};
use portcullis_plugin::descriptor::Spec;
use portcullis_plugin::risk_calculator::Ruling;
use portcullis_plugin::settings::{FromSettings, Settings};
use portcullis_plugin::types::{Action, Context, Error};

pub(super) const DELETION: &str = "prevent_recursive_deletion";
pub(super) const OPERATIONS: &str = "limit_file_operations";
pub(super) const NETWORK: &str = "warn_external_network";
pub(super) const UNSEEN: &str = "refuse_unseen_code";
pub(super) const WORK: &str = "prevent_work_loss";
pub(super) const PUSH: &str = "prevent_force_push";
pub(super) const DIRECT: &str = "warn_direct_push";
pub(super) const CREDENTIALS: &str = "warn_credential_read";
pub(super) const WRITTEN: &str = "warn_credential_written";
pub(super) const PLANTED: &str = "warn_planted_instructions";
pub(super) const SYSTEM: &str = "protect_the_system";

const ALL: &[&str] = &[
    DELETION,
    WORK,
    PUSH,
    DIRECT,
    OPERATIONS,
    NETWORK,
    CREDENTIALS,
    WRITTEN,
    PLANTED,
    SYSTEM,
    UNSEEN,
];
const ESSENTIAL: &[&str] = &[DELETION, WORK, UNSEEN];
const SETS: &[(&str, &[&str])] = &[("all", ALL), ("essential", ESSENTIAL), ("none", &[])];

const QUARANTINE: &str = "prevent_recursive_deletion.quarantine";

/// A rule: at most one ruling.
pub(super) type Rule = fn(&Action, &Context, &Config) -> Option<Ruling>;

/// The settings, read once a call.
#[derive(Clone, Debug)]
pub(super) struct Config {
    set: &'static [&'static str],
    disabled: Vec<String>,
    /// Relative to the project's folder; without it a person is asked instead.
    pub(super) quarantine: Option<String>,
    /// None leaves it to the session's limit.
    pub(super) maximum: Option<u64>,
    /// In thousandths.
    pub(super) warn_at: u16,
    /// Fetching warns too.
    pub(super) fetching: bool,
    pub(super) trusted_hosts: Vec<String>,
}

impl FromSettings for Config {
    const SPECS: &'static [Spec] = &[
        Spec::text(
            "builtin",
            "all",
            "which rules apply: all, essential (deletion, lost work and unseen code) or none",
        ),
        Spec::texts("disabled", &[], "rules that do not apply, by name"),
        Spec::text(
            QUARANTINE,
            ".portcullis/quarantine",
            "where deleted folders are moved, below the project's; empty asks instead",
        ),
        Spec::integer(
            "limit_file_operations.maximum",
            0,
            "writes and deletions for a prompt; 0 leaves it to the session's limit",
        )
        .between(0, 1_000_000),
        Spec::score(
            "limit_file_operations.warn_at",
            800,
            "the share of the limit at which it warns first; then at 0.9 and 1",
        ),
        Spec::flag(
            "warn_external_network.fetching",
            false,
            "fetching from another machine warns too, not only sending",
        ),
        Spec::texts(
            "warn_external_network.trusted_hosts",
            &[],
            "hosts that need no warning, with everything below them",
        ),
    ];

    fn from_settings(settings: &Settings) -> Result<Self, Error> {
        let maximum = settings.integer("limit_file_operations.maximum")?.unsigned_abs();
        Ok(Self {
            set: one_of(settings, "builtin", SETS)?,
            disabled: some_of(settings, "disabled", ALL)?.to_vec(),
            quarantine: folder(settings)?,
            maximum: (maximum > 0).then_some(maximum),
            warn_at: settings.score("limit_file_operations.warn_at")?,
            fetching: settings.flag("warn_external_network.fetching")?,
            trusted_hosts: settings.texts("warn_external_network.trusted_hosts")?.to_vec(),
        })
    }
}

impl Config {
    /// Returns true if the rule is in the set and not disabled.
    pub(super) fn applies(&self, rule: &str) -> bool {
        self.set.contains(&rule) && !self.disabled.iter().any(|name| name == rule)
    }
}

fn folder(settings: &Settings) -> Result<Option<String>, Error> {
    let folder = settings.text(QUARANTINE)?;
    let below =
        !folder.starts_with('/') && folder.split('/').all(|part| !matches!(part, "" | "." | ".."));
    match folder {
        "" => Ok(None),
        _ if below => Ok(Some(folder.to_owned())),
        _ => Err(Error::setting(
            QUARANTINE,
            &["is `", folder, "`, should be a folder below the project's, without `.` and `..`"]
                .concat(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::{ALL, ESSENTIAL};
    use portcullis_rule_language::builtin::BUILTIN;

    #[test]
    fn every_rule_is_listed() {
        let names: Vec<&str> = BUILTIN.iter().map(|rule| rule.name).collect();
        assert_eq!(names, ALL);
        let essential: Vec<&str> =
            BUILTIN.iter().filter(|rule| rule.essential).map(|rule| rule.name).collect();
        assert_eq!(essential, ESSENTIAL);
    }
}
