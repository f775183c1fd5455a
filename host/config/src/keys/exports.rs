//! Keys for exports: what of the journal goes where, in which format, and how a failure is retried.

use super::defaults::{number, text};
use super::{ConfigKey, ProjectScope, Value, ValueKind};

/// One key of an export. An export sends text of actions to another place, so no project sets one.
const fn key(
    path: &'static str,
    kind: ValueKind,
    default: fn() -> Option<Value>,
    doc: &'static str,
) -> ConfigKey {
    ConfigKey { path, kind, default, default_text: "", project: ProjectScope::Never, doc }
}

const fn no_text() -> Option<Value> {
    None
}

fn no_texts() -> Option<Value> {
    Some(Value::Texts(Vec::new()))
}

pub(super) const KEYS: &[ConfigKey] = &[
    key(
        "exports.*.format",
        ValueKind::Text,
        no_text,
        "the exporter plugin that writes the records, a builtin one or your own",
    ),
    key(
        "exports.*.sink",
        ValueKind::Choice(&["file", "webhook", "otlp", "splunk", "syslog"]),
        no_text,
        "where they go; a key below that names a sink belongs to that sink alone",
    ),
    key(
        "exports.*.start",
        ValueKind::Choice(&["beginning", "now"]),
        || text("beginning"),
        "where a new export begins: with the oldest record of the journal, or with the next one",
    ),
    key(
        "exports.*.filter.kinds",
        ValueKind::Choices(&[
            "review",
            "outcome",
            "unreviewed",
            "intervention",
            "session",
            "configuration",
            "fault",
            "exception",
            "feedback",
            "authentication",
        ]),
        no_texts,
        "only records of these kinds; none named: all kinds",
    ),
    key(
        "exports.*.filter.verdicts",
        ValueKind::Choices(&["allow", "warn", "modify", "ask", "block"]),
        no_texts,
        "only records with these verdicts; none named: all, and those without a verdict",
    ),
    key(
        "exports.*.filter.canary",
        ValueKind::Flag,
        || Some(Value::Flag(false)),
        "whether the records of `doctor`'s own trials are sent, too",
    ),
    key(
        "exports.*.batch.records",
        ValueKind::Integer(1, 500),
        || number(100),
        "the most records in one delivery",
    ),
    key(
        "exports.*.batch.max_kb",
        ValueKind::Integer(1, 4096),
        || number(1024),
        "the size at which a delivery takes no more records, in KiB of their documents",
    ),
    key(
        "exports.*.batch.wait_seconds",
        ValueKind::Integer(0, 3600),
        || number(1),
        "how long the service waits for more records before it sends a delivery that is not full",
    ),
    key(
        "exports.*.retry.first_seconds",
        ValueKind::Integer(1, 3600),
        || number(5),
        "the wait after the first failure; each further one doubles it",
    ),
    key(
        "exports.*.retry.longest_seconds",
        ValueKind::Integer(1, 86_400),
        || number(300),
        "the longest wait between two attempts",
    ),
    key(
        "exports.*.retry.on_refusal",
        ValueKind::Choice(&["stop", "skip"]),
        || text("stop"),
        "what happens to a single record that the sink or the plugin refuses for good: `\"stop\"` \
         keeps the export at it, so that nothing is lost; `\"skip\"` passes over it and counts it",
    ),
    key(
        "exports.*.timeout_seconds",
        ValueKind::Integer(1, 600),
        || number(30),
        "the time for one delivery, with the sink's answer",
    ),
    key("exports.*.path", ValueKind::Text, no_text, "file: its path, from `/` or `~/` on"),
    key(
        "exports.*.rotate_mb",
        ValueKind::Integer(1, 1_000_000),
        || number(100),
        "file: the size at which another file is begun, in MiB",
    ),
    key(
        "exports.*.rotate_hours",
        ValueKind::Integer(0, 8760),
        || number(0),
        "file: the age at which another file is begun; 0 for none",
    ),
    key(
        "exports.*.keep_files",
        ValueKind::Integer(1, 1000),
        || number(10),
        "file: how many files that were full are kept, as `PATH.1` (the newest), `PATH.2` and so on",
    ),
    key(
        "exports.*.url",
        ValueKind::Text,
        no_text,
        "webhook, otlp, splunk: the whole address, `https://…`, or `http://` to this machine by its \
         loopback address, or `credential:NAME`, `env:NAME` or `file:PATH` where the address is a secret",
    ),
    key(
        "exports.*.token",
        ValueKind::Text,
        no_text,
        "webhook, otlp: a token for `Authorization: Bearer`; splunk: the token of the collector; as \
         `env:NAME` or `file:PATH`",
    ),
    key(
        "exports.*.header_file",
        ValueKind::Text,
        no_text,
        "webhook, otlp: a file with more headers, one `Name: value` a line, for its owner alone",
    ),
    key(
        "exports.*.proxy",
        ValueKind::Text,
        no_text,
        "webhook, otlp, splunk: `http://host:port` of a proxy, or `credential:NAME`, `env:NAME` or `file:PATH`; without \
         it no proxy is used, whatever the environment says",
    ),
    key(
        "exports.*.compression",
        ValueKind::Choice(&["none", "gzip"]),
        || text("none"),
        "webhook, otlp, splunk: how deliveries are compressed; the receiver has to accept the \
         `content-encoding`",
    ),
    key(
        "exports.*.acknowledge",
        ValueKind::Flag,
        || Some(Value::Flag(true)),
        "splunk: wait until the indexer has acknowledged a delivery; `false` for a token without \
         indexer acknowledgement, where an answer says only that the events were received",
    ),
    key("exports.*.host", ValueKind::Text, no_text, "syslog: the server"),
    key("exports.*.port", ValueKind::Integer(1, 65_535), || number(6514), "syslog: its port"),
    key(
        "exports.*.encryption",
        ValueKind::Choice(&["tls", "none"]),
        || text("tls"),
        "syslog: `\"none\"` is allowed only to a loopback address",
    ),
    key(
        "exports.*.facility",
        ValueKind::Choice(&[
            "user", "daemon", "auth", "authpriv", "audit", "local0", "local1", "local2", "local3",
            "local4", "local5", "local6", "local7",
        ]),
        || text("audit"),
        "syslog: the facility of the messages",
    ),
    key(
        "exports.*.demand_close_notify",
        ValueKind::Flag,
        || Some(Value::Flag(false)),
        "syslog: a delivery counts only if the server ends TLS with `close_notify`, so that nobody on \
         the way can cut one unseen; rsyslog does not send it",
    ),
    key(
        "exports.*.authorities",
        ValueKind::Text,
        no_text,
        "webhook, otlp, splunk, syslog: a PEM file of certificate authorities that replace Mozilla's",
    ),
    key(
        "exports.*.certificate",
        ValueKind::Text,
        no_text,
        "webhook, otlp, splunk, syslog: a PEM file with this machine's own certificate, for a sink \
         that asks for one",
    ),
    key(
        "exports.*.key",
        ValueKind::Text,
        no_text,
        "webhook, otlp, splunk, syslog: the PEM file with its key, for its owner alone",
    ),
];
