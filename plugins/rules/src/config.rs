//! Which rules apply, and their thresholds.

use portcullis_builtin_judging::choice::{one_of, some_of};
use portcullis_plugin::descriptor::Spec;
use portcullis_plugin::risk_calculator::Ruling;
use portcullis_plugin::settings::Settings;
use portcullis_plugin::types::{Action, Context, Error};

pub(crate) const DELETION: &str = "prevent_recursive_deletion";
pub(crate) const OPERATIONS: &str = "limit_file_operations";
pub(crate) const NETWORK: &str = "warn_external_network";
pub(crate) const UNSEEN: &str = "refuse_unseen_code";

const ALL: &[&str] = &[DELETION, OPERATIONS, NETWORK, UNSEEN];
const ESSENTIAL: &[&str] = &[DELETION, UNSEEN];
const SETS: &[(&str, &[&str])] = &[("all", ALL), ("essential", ESSENTIAL), ("none", &[])];

const QUARANTINE: &str = "prevent_recursive_deletion.quarantine";

/// Every setting with its default.
pub(crate) const SPECS: &[Spec] = &[
    Spec::text("builtin", "all", "which rules apply: all, essential (deletion and unseen code) or none"),
    Spec::texts("disabled", &[], "rules that do not apply, by name"),
    Spec::text(QUARANTINE, ".portcullis/quarantine", "where deleted folders are moved, below the project's; empty asks instead"),
    Spec::integer("limit_file_operations.maximum", 0, "writes and deletions for a prompt; 0 leaves it to the session's limit")
        .between(0, 1_000_000),
    Spec::score("limit_file_operations.warn_at", 800, "the share of the limit from which on it warns"),
    Spec::texts("warn_external_network.trusted_hosts", &[], "hosts that need no warning, with everything below them"),
];

/// A rule: at most one ruling.
pub(crate) type Rule = fn(&Action, &Context, &Config<'_>) -> Option<Ruling>;

/// The settings, read once a call.
#[derive(Clone, Debug)]
pub(crate) struct Config<'a> {
    set: &'static [&'static str],
    disabled: &'a [String],
    /// Relative to the project's folder; none asks instead.
    pub(crate) quarantine: Option<&'a str>,
    /// None leaves it to the session's limit.
    pub(crate) maximum: Option<u64>,
    /// In thousandths.
    pub(crate) warn_at: u16,
    pub(crate) trusted_hosts: &'a [String],
}

impl<'a> Config<'a> {
    /// Takes the configuration out of settings.
    ///
    /// # Errors
    /// A word that is none of the known ones, a folder outside the project, or settings that are not
    /// this plugin's.
    pub(crate) fn read(settings: &'a Settings) -> Result<Self, Error> {
        let maximum = settings.integer("limit_file_operations.maximum")?.unsigned_abs();
        Ok(Self {
            set: one_of(settings, "builtin", SETS)?,
            disabled: some_of(settings, "disabled", ALL)?,
            quarantine: folder(settings)?,
            maximum: (maximum > 0).then_some(maximum),
            warn_at: settings.score("limit_file_operations.warn_at")?,
            trusted_hosts: settings.texts("warn_external_network.trusted_hosts")?,
        })
    }

    /// The rule is in the set and not disabled.
    pub(crate) fn applies(&self, rule: &str) -> bool {
        self.set.contains(&rule) && !self.disabled.iter().any(|name| name == rule)
    }
}

fn folder(settings: &Settings) -> Result<Option<&str>, Error> {
    let folder = settings.text(QUARANTINE)?;
    let below = !folder.starts_with('/') && folder.split('/').all(|part| !matches!(part, "" | "." | ".."));
    match folder {
        "" => Ok(None),
        _ if below => Ok(Some(folder)),
        _ => Err(Error::setting(QUARANTINE, &["is `", folder, "`, should be a folder below the project's, without `.` and `..`"].concat())),
    }
}
