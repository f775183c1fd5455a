//! The numbers of the judgement, each a setting.

use portcullis_plugin::descriptor::Spec;
use portcullis_plugin::settings::{FromSettings, Settings};
use portcullis_plugin::types::Error;

/// The settings, read once a call. All in thousandths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Weights {
    pub(super) message: u16,
    pub(super) read: u16,
    pub(super) create: u16,
    pub(super) modify: u16,
    pub(super) stop_process: u16,
    pub(super) read_secret: u16,
    pub(super) network: u16,
    pub(super) publish: u16,
    pub(super) unknown: u16,
    pub(super) privilege: u16,
    pub(super) delete: u16,
    pub(super) persistence: u16,
    pub(super) remote_change: u16,
    pub(super) remote_delete: u16,
    pub(super) scope: u16,
    pub(super) failures: [u16; 3],
    pub(super) elevated: u16,
    pub(super) system: u16,
    pub(super) forms: u16,
    pub(super) ceiling: u16,
}

impl FromSettings for Weights {
    const SPECS: &'static [Spec] = &[
        Spec::score("base.message", 50, "a message to a person or another agent"),
        Spec::score("base.read", 100, "reads a file, or runs a program that is known to be harmless"),
        Spec::score("base.create", 300, "creates a file"),
        Spec::score("base.modify", 400, "changes a file, or deletes what can be restored"),
        Spec::score("base.stop_process", 500, "ends a process"),
        Spec::score("base.read_secret", 500, "reads a key, token or password"),
        Spec::score("base.network", 600, "reaches another machine"),
        Spec::score("base.publish", 600, "puts something where others get it"),
        Spec::score(
            "base.unknown",
            700,
            "a system command of unknown effect, a change of the machine, or hiding traces",
        ),
        Spec::score("base.privilege", 700, "acts with elevated privileges, or loosens permissions"),
        Spec::score("base.delete", 800, "deletes a file, or throws away work that nothing else holds"),
        Spec::score("base.persistence", 800, "schedules something to run later"),
        Spec::score(
            "base.remote_change",
            600,
            "makes or changes something on a remote service or in a database",
        ),
        Spec::score("base.remote_delete", 800, "destroys data on a remote service or in a database"),
        Spec::score("scope", 300, "added when a path is outside the expected scope"),
        Spec::score("repetition.once", 100, "added after one failure of the same shape"),
        Spec::score("repetition.twice", 200, "added after two failures of the same shape; `once` \
             for what stays in the project"),
        Spec::score("repetition.more", 400, "added after three failures of the same shape or more; \
             `once` for what stays in the project"),
        Spec::score("privilege.elevated", 100, "added when it runs with elevated privileges"),
        Spec::score("privilege.system", 200, "added when it touches the system or credentials"),
        Spec::score("forms", 300, "the most that dangerous forms add together"),
        Spec::score(
            "ceiling",
            940,
            "the most without an effect that is irreversible, system-wide, on credentials or remote",
        )
        .between(0, 949),
    ];

    fn from_settings(settings: &Settings) -> Result<Self, Error> {
        Ok(Self {
            message: settings.score("base.message")?,
            read: settings.score("base.read")?,
            create: settings.score("base.create")?,
            modify: settings.score("base.modify")?,
            stop_process: settings.score("base.stop_process")?,
            read_secret: settings.score("base.read_secret")?,
            network: settings.score("base.network")?,
            publish: settings.score("base.publish")?,
            unknown: settings.score("base.unknown")?,
            privilege: settings.score("base.privilege")?,
            delete: settings.score("base.delete")?,
            persistence: settings.score("base.persistence")?,
            remote_change: settings.score("base.remote_change")?,
            remote_delete: settings.score("base.remote_delete")?,
            scope: settings.score("scope")?,
            failures: [
                settings.score("repetition.once")?,
                settings.score("repetition.twice")?,
                settings.score("repetition.more")?,
            ],
            elevated: settings.score("privilege.elevated")?,
            system: settings.score("privilege.system")?,
            forms: settings.score("forms")?,
            ceiling: settings.score("ceiling")?,
        })
    }
}
