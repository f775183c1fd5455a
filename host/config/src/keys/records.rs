//! Keys for records, masking and memory.

use super::defaults::{DEFAULT, MOST_COUNT, number, score, text};
use super::{ConfigKey, ProjectScope, Value, ValueKind};

/// The kinds of personal data.
const PERSONAL: &[&str] = &[
    "email",
    "payment-card",
    "phone",
    "iban",
    "national-id",
    "ip-address",
    "mac-address",
    "person-name",
    "postal-address",
];

pub(super) const KEYS: &[ConfigKey] = &[
    ConfigKey {
        path: "mask.personal",
        kind: ValueKind::Choices(PERSONAL),
        default: || {
            Some(Value::Texts(DEFAULT.mask.kinds.iter().map(ToString::to_string).collect()))
        },
        default_text: "",
        project: ProjectScope::Union,
        doc: "personal data that is masked in addition to secrets; its placeholders are keyed hashes, \
              so that records about one value can be joined",
    },
    ConfigKey {
        path: "mask.unlinked",
        kind: ValueKind::Choices(PERSONAL),
        default: || Some(Value::Texts(Vec::new())),
        default_text: "",
        project: ProjectScope::Never,
        doc: "kinds of `mask.personal` whose placeholders are the same for every value, so that \
              nobody can join records by them",
    },
    ConfigKey {
        path: "mask.patterns",
        kind: ValueKind::Patterns,
        default: || Some(Value::Texts(Vec::new())),
        default_text: "",
        project: ProjectScope::Never,
        doc: "values of your own that are masked, such as `\\bEMP-[0-9]{6}\\b`: at most 32, of 256 \
              bytes each",
    },
    ConfigKey {
        path: "mask.results",
        kind: ValueKind::Flag,
        default: || Some(Value::Flag(DEFAULT.mask_results)),
        default_text: "",
        project: ProjectScope::True,
        doc: "the agent also sees placeholders for the masked parts of a tool's result; it then \
             cannot edit text that contains a secret",
    },
    ConfigKey {
        path: "audit.level",
        kind: ValueKind::Choice(&["debug", "info", "warn", "error"]),
        default: || text(DEFAULT.detail.as_str()),
        default_text: "",
        project: ProjectScope::Never,
        doc: "how much a record contains (a record is always written): `\"warn\"` leaves out the \
             findings on what was allowed, `\"error\"` also on what was warned about, `\"debug\"` \
             keeps plugins' debug lines",
    },
    ConfigKey {
        path: "audit.retention",
        kind: ValueKind::Choice(&["default", "regulated"]),
        default: || text("default"),
        default_text: "",
        project: ProjectScope::Never,
        doc: "`\"regulated\"` keeps records and incidents for 365 days; keys that you set take \
             precedence",
    },
    ConfigKey {
        path: "audit.retention_days",
        kind: ValueKind::Integer(0, 36_500),
        default: || number(30),
        default_text: "",
        project: ProjectScope::Never,
        doc: "records are removed from the journal after this many days; 0 keeps all",
    },
    ConfigKey {
        path: "audit.anchors",
        kind: ValueKind::Paths,
        default: || Some(Value::Texts(Vec::new())),
        default_text: "",
        project: ProjectScope::Never,
        doc: "files that get the journal's head; choose places where the agent cannot write",
    },
    ConfigKey {
        path: "audit.export_format",
        kind: ValueKind::Text,
        default: || text("jsonl"),
        default_text: "",
        project: ProjectScope::Never,
        doc: "the exporter plugin that `audit export` uses if no option names one",
    },
    ConfigKey {
        path: "fleet.detail",
        kind: ValueKind::Choice(&["full", "summary", "outline"]),
        default: || text("full"),
        default_text: "",
        project: ProjectScope::Never,
        doc: "how much of a record a machine in a fleet sends to its hub: `\"full\"` is the masked \
             record, `\"summary\"` leaves out the action and its findings, `\"outline\"` keeps no \
             text of an action; only with `\"full\"` the hub can recompute the hashes",
    },
    ConfigKey {
        path: "fleet.approvals",
        kind: ValueKind::Flag,
        default: || Some(Value::Flag(false)),
        default_text: "",
        project: ProjectScope::Never,
        doc: "whether the approvers that the fleet's orders name are asked, too, about actions that \
             wait for a person",
    },
    ConfigKey {
        path: "performance.max_review_time_ms",
        kind: ValueKind::Integer(1, MOST_COUNT),
        default: || number(100),
        default_text: "",
        project: ProjectScope::Never,
        doc: "the target that `metrics` compares review times with; the enforced limit is fuel",
    },
    ConfigKey {
        path: "performance.async_threshold",
        kind: ValueKind::Score,
        default: || score(DEFAULT.async_threshold),
        default_text: "",
        project: ProjectScope::Least,
        doc: "with `mode = \"async\"`: below this risk the answer comes before the review",
    },
    ConfigKey {
        path: "cache.enabled",
        kind: ValueKind::Flag,
        default: || Some(Value::Flag(true)),
        default_text: "",
        project: ProjectScope::Never,
        doc: "long-running commands and the service cache how a command line was parsed",
    },
    ConfigKey {
        path: "cache.ttl_minutes",
        kind: ValueKind::Integer(1, 525_600),
        default: || number(5),
        default_text: "",
        project: ProjectScope::Never,
        doc: "how long an entry stays in the cache",
    },
    ConfigKey {
        path: "cache.max_size",
        kind: ValueKind::Integer(1, 1_000_000),
        default: || number(1000),
        default_text: "",
        project: ProjectScope::Never,
        doc: "the most entries in the cache; the least recently used go first",
    },
];
