//! Keys for the limits that `portcullis run` sets for an agent.

use super::defaults::{MOST_COUNT, number};
use super::{ConfigKey, ProjectScope, Value, ValueKind};

pub(super) const KEYS: &[ConfigKey] = &[
    ConfigKey {
        path: "run.time_seconds",
        kind: ValueKind::Integer(1, MOST_COUNT),
        default: || None,
        default_text: "none",
        project: ProjectScope::Least,
        doc: "`portcullis run` stops the agent after this many seconds (`--time`)",
    },
    ConfigKey {
        path: "run.memory_mb",
        kind: ValueKind::Integer(1, MOST_COUNT),
        default: || None,
        default_text: "none",
        project: ProjectScope::Least,
        doc: "`portcullis run` stops the agent when its processes together have more memory (`--memory`)",
    },
    ConfigKey {
        path: "run.tokens",
        kind: ValueKind::Integer(1, MOST_COUNT),
        default: || None,
        default_text: "none",
        project: ProjectScope::Least,
        doc: "`portcullis run` stops the agent when it has spent more tokens, by its own account (`--tokens`)",
    },
    ConfigKey {
        path: "run.processes",
        kind: ValueKind::Integer(1, MOST_COUNT),
        default: || None,
        default_text: "none",
        project: ProjectScope::Least,
        doc: "`portcullis run` stops the agent when it has more processes at once (`--processes`)",
    },
    ConfigKey {
        path: "run.output_mb",
        kind: ValueKind::Integer(1, MOST_COUNT),
        default: || None,
        default_text: "none",
        project: ProjectScope::Least,
        doc: "`portcullis run` stops the agent when it has written more to its own output (`--output-bytes`)",
    },
    ConfigKey {
        path: "run.answer_seconds",
        kind: ValueKind::Integer(1, MOST_COUNT),
        default: || None,
        default_text: "none",
        project: ProjectScope::Least,
        doc: "`portcullis run` refuses a call if nobody at the terminal answers within this time (`--answer-time`)",
    },
    ConfigKey {
        path: "run.grace_ms",
        kind: ValueKind::Integer(1, 600_000),
        default: || number(300),
        default_text: "",
        project: ProjectScope::Least,
        doc: "how long processes may take to end by themselves when `portcullis run` stops them (`--grace`)",
    },
    ConfigKey {
        path: "run.confine",
        kind: ValueKind::Flag,
        default: || Some(Value::Flag(false)),
        default_text: "",
        project: ProjectScope::True,
        doc: "`portcullis run` restricts the agent's writes to its working folders, as far as the \
             kernel can (`--confine`)",
    },
    ConfigKey {
        path: "run.writable",
        kind: ValueKind::Paths,
        default: || Some(Value::Texts(Vec::new())),
        default_text: "",
        project: ProjectScope::Trust,
        doc: "further folders and files that a confined agent writes to; `--writable` adds to them",
    },
];
