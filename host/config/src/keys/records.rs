//! Keys for records, masking and memory.

use super::defaults::{DEFAULT, MOST_COUNT, number, score, text};
use super::{ConfigKey, ProjectScope, Value, ValueKind};

pub(super) const KEYS: &[ConfigKey] = &[
    ConfigKey {
        path: "mask.personal",
        kind: ValueKind::Choices(&["email", "payment-card"]),
        default: || {
            Some(Value::Texts(DEFAULT.personal_data.iter().map(ToString::to_string).collect()))
        },
        default_text: "",
        project: ProjectScope::Union,
        doc: "personal data that is masked in addition to secrets",
    },
    ConfigKey {
        path: "mask.results",
        kind: ValueKind::Flag,
        default: || Some(Value::Flag(DEFAULT.mask_results)),
        default_text: "",
        project: ProjectScope::True,
        doc: "the agent too sees placeholders in place of what is masked in a tool's result; it can then not edit text that holds a secret",
    },
    ConfigKey {
        path: "audit.level",
        kind: ValueKind::Choice(&["debug", "info", "warn", "error"]),
        default: || text(DEFAULT.detail.as_str()),
        default_text: "",
        project: ProjectScope::Never,
        doc: "how much a record holds, never whether there is one: `\"warn\"` leaves out the findings on what was allowed, `\"error\"` also on what was warned about, `\"debug\"` keeps plugins' debug lines",
    },
    ConfigKey {
        path: "audit.retention_days",
        kind: ValueKind::Integer(0, 36_500),
        default: || number(30),
        default_text: "",
        project: ProjectScope::Never,
        doc: "records that are older are removed from the journal; 0 keeps all",
    },
    ConfigKey {
        path: "audit.anchors",
        kind: ValueKind::Paths,
        default: || Some(Value::Texts(Vec::new())),
        default_text: "",
        project: ProjectScope::Never,
        doc: "files, best where the agent cannot write, that get the journal's head",
    },
    ConfigKey {
        path: "audit.export_format",
        kind: ValueKind::Text,
        default: || text("jsonl"),
        default_text: "",
        project: ProjectScope::Never,
        doc: "the exporter plugin that `audit export` takes where no option names one",
    },
    ConfigKey {
        path: "performance.max_review_time_ms",
        kind: ValueKind::Integer(1, MOST_COUNT),
        default: || number(100),
        default_text: "",
        project: ProjectScope::Never,
        doc: "the target that `metrics` holds review times against; the limit is fuel",
    },
    ConfigKey {
        path: "performance.async_threshold",
        kind: ValueKind::Score,
        default: || score(DEFAULT.async_threshold),
        default_text: "",
        project: ProjectScope::Least,
        doc: "with `mode = \"async\"`: below this risk the answer comes first",
    },
    ConfigKey {
        path: "cache.enabled",
        kind: ValueKind::Flag,
        default: || Some(Value::Flag(true)),
        default_text: "",
        project: ProjectScope::Never,
        doc: "long-lived commands remember how a command line was read",
    },
    ConfigKey {
        path: "cache.ttl_minutes",
        kind: ValueKind::Integer(1, 525_600),
        default: || number(5),
        default_text: "",
        project: ProjectScope::Never,
        doc: "how long they remember it",
    },
    ConfigKey {
        path: "cache.max_size",
        kind: ValueKind::Integer(1, 1_000_000),
        default: || number(1000),
        default_text: "",
        project: ProjectScope::Never,
        doc: "how many they remember; what was used least recently goes first",
    },
];
