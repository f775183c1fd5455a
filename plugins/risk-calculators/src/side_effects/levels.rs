//! The severity of each kind of side effect by itself, each a setting.

use portcullis_builtin_shared::choice::{SEVERITIES, one_of};
use portcullis_plugin::descriptor::Spec;
use portcullis_plugin::settings::{FromSettings, Settings};
use portcullis_plugin::types::{Error, Severity};

/// The settings, read once a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Levels {
    pub(super) file_write: Severity,
    pub(super) file_deletion: Severity,
    pub(super) system_change: Severity,
    pub(super) process: Severity,
    pub(super) network: Severity,
    pub(super) publish: Severity,
    pub(super) remote_change: Severity,
    pub(super) resource_use: Severity,
    pub(super) secret_read: Severity,
    /// In thousandths.
    pub(super) damaging_form: u16,
}

impl FromSettings for Levels {
    const SPECS: &'static [Spec] = &[
        Spec::text("severity.file_write", "medium", "a file is created or changed"),
        Spec::text("severity.file_deletion", "high", "a file is deleted"),
        Spec::text(
            "severity.system_change",
            "high",
            "the machine, its start-up or its permissions change",
        ),
        Spec::text("severity.process", "medium", "a program is started or ended"),
        Spec::text("severity.network", "medium", "another machine is reached"),
        Spec::text(
            "severity.publish",
            "high",
            "others get what was published, or remote data is destroyed",
        ),
        Spec::text(
            "severity.remote_change",
            "medium",
            "something is made or changed on a remote service",
        ),
        Spec::text(
            "severity.resource_use",
            "medium",
            "disk, memory, processors or money are used up",
        ),
        Spec::text("severity.secret_read", "medium", "a secret enters the agent's context"),
        Spec::score(
            "damaging_form",
            200,
            "a dangerous form of this weight makes a change of the machine or of a remote service critical",
        ),
    ];

    fn from_settings(settings: &Settings) -> Result<Self, Error> {
        let severity = |key| one_of(settings, key, SEVERITIES);
        Ok(Self {
            file_write: severity("severity.file_write")?,
            file_deletion: severity("severity.file_deletion")?,
            system_change: severity("severity.system_change")?,
            process: severity("severity.process")?,
            network: severity("severity.network")?,
            publish: severity("severity.publish")?,
            remote_change: severity("severity.remote_change")?,
            resource_use: severity("severity.resource_use")?,
            secret_read: severity("severity.secret_read")?,
            damaging_form: settings.score("damaging_form")?,
        })
    }
}
