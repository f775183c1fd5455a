//! Keys for questions that wait for a person, and for notifications: their channels and events.

use super::defaults::{number, text};
use super::{ConfigKey, ProjectScope, Value, ValueKind};

pub(super) const KEYS: &[ConfigKey] = &[
    ConfigKey {
        path: "approvals.wait_seconds",
        kind: ValueKind::Integer(0, 3600),
        default: || number(240),
        default_text: "",
        project: ProjectScope::Never,
        doc: "the longest time that an action waits for a person's answer, where the client does \
             not ask them and somebody is there; the timeout of the installed hooks bounds it; 0 \
             asks nobody",
    },
    ConfigKey {
        path: "approvals.two_people",
        kind: ValueKind::Choice(&["never", "high", "medium", "low"]),
        default: || text("never"),
        default_text: "",
        project: ProjectScope::Never,
        doc: "the level of risk from which two people have to allow an action, each on the page \
             with a proof of their own",
    },
    ConfigKey {
        path: "notifications.kept_days",
        kind: ValueKind::Integer(0, 36_500),
        default: || number(30),
        default_text: "",
        project: ProjectScope::Never,
        doc: "undeliverable messages are kept for this many days after their event; 0 keeps them forever",
    },
    ConfigKey {
        path: "notifications.channels.*.kind",
        kind: ValueKind::Choice(&["webhook", "smtp", "program"]),
        default: || None,
        default_text: "",
        project: ProjectScope::Never,
        doc: "the channel's type; a key below that names a type belongs to that type alone",
    },
    ConfigKey {
        path: "notifications.channels.*.events",
        kind: ValueKind::Choices(&[
            "approval",
            "block",
            "intervention",
            "emergency_stop",
            "quarantine",
            "delivery",
        ]),
        default: || {
            Some(Value::Texts(
                ["emergency_stop", "quarantine", "delivery"].map(str::to_owned).to_vec(),
            ))
        },
        default_text: "",
        project: ProjectScope::Never,
        doc: "the topics that are sent to it; with `approval` it gets the questions that wait for \
             a person; `delivery` reports that another channel's messages do not arrive",
    },
    ConfigKey {
        path: "notifications.channels.*.severity",
        kind: ValueKind::Choice(&["info", "warning", "critical"]),
        default: || text("info"),
        default_text: "",
        project: ProjectScope::Never,
        doc: "the lowest severity that is sent: an emergency stop is critical, guidance is info, \
             everything else is a warning",
    },
    ConfigKey {
        path: "notifications.channels.*.url",
        kind: ValueKind::Text,
        default: || None,
        default_text: "",
        project: ProjectScope::Never,
        doc: "webhook: `https://…`, or `http://` to this machine by its loopback address, or \
             `credential:NAME`, `env:NAME` or `file:PATH` where the address is a secret",
    },
    ConfigKey {
        path: "notifications.channels.*.proxy",
        kind: ValueKind::Text,
        default: || None,
        default_text: "",
        project: ProjectScope::Never,
        doc: "webhook: `http://host:port` of a proxy, or `credential:NAME`, `env:NAME` (as \
             `env:HTTPS_PROXY`) or `file:PATH`; without it no proxy is used, whatever the environment says",
    },
    ConfigKey {
        path: "notifications.channels.*.bearer",
        kind: ValueKind::Text,
        default: || None,
        default_text: "",
        project: ProjectScope::Never,
        doc: "webhook: a token, as `credential:NAME`, `env:NAME` or `file:PATH`",
    },
    ConfigKey {
        path: "notifications.channels.*.host",
        kind: ValueKind::Text,
        default: || None,
        default_text: "",
        project: ProjectScope::Never,
        doc: "smtp: the mail server",
    },
    ConfigKey {
        path: "notifications.channels.*.port",
        kind: ValueKind::Integer(1, 65_535),
        default: || None,
        default_text: "465, 587 or 25 by `encryption`",
        project: ProjectScope::Never,
        doc: "smtp: its port",
    },
    ConfigKey {
        path: "notifications.channels.*.encryption",
        kind: ValueKind::Choice(&["tls", "starttls", "none"]),
        default: || text("tls"),
        default_text: "",
        project: ProjectScope::Never,
        doc: "smtp: `\"none\"` is allowed only to a loopback address and without a password",
    },
    ConfigKey {
        path: "notifications.channels.*.user",
        kind: ValueKind::Text,
        default: || None,
        default_text: "",
        project: ProjectScope::Never,
        doc: "smtp: the user who logs in",
    },
    ConfigKey {
        path: "notifications.channels.*.password",
        kind: ValueKind::Text,
        default: || None,
        default_text: "",
        project: ProjectScope::Never,
        doc: "smtp: as `credential:NAME`, `env:NAME` or `file:PATH`",
    },
    ConfigKey {
        path: "notifications.channels.*.from",
        kind: ValueKind::Text,
        default: || None,
        default_text: "",
        project: ProjectScope::Never,
        doc: "smtp: the sender's address",
    },
    ConfigKey {
        path: "notifications.channels.*.to",
        kind: ValueKind::Names,
        default: || Some(Value::Texts(Vec::new())),
        default_text: "",
        project: ProjectScope::Never,
        doc: "smtp: the receivers' addresses",
    },
    ConfigKey {
        path: "notifications.channels.*.authorities",
        kind: ValueKind::Text,
        default: || None,
        default_text: "",
        project: ProjectScope::Never,
        doc: "webhook, smtp: a PEM file of certificate authorities that replace Mozilla's",
    },
    ConfigKey {
        path: "notifications.channels.*.program",
        kind: ValueKind::Text,
        default: || None,
        default_text: "",
        project: ProjectScope::Never,
        doc: "program: its absolute path; it gets the message as JSON on its standard input",
    },
    ConfigKey {
        path: "notifications.channels.*.arguments",
        kind: ValueKind::Names,
        default: || Some(Value::Texts(Vec::new())),
        default_text: "",
        project: ProjectScope::Never,
        doc: "program: its arguments; no shell reads them",
    },
];
