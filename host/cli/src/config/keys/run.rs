//! What `portcullis run` holds an agent to.

use super::defaults::{MOST_COUNT, number};
use super::{Key, Kind, Project, Value};

pub(super) const KEYS: &[Key] = &[
    Key {
        path: "run.time_seconds",
        kind: Kind::Integer(1, MOST_COUNT),
        default: || None,
        default_told: "none",
        project: Project::Least,
        doc: "`portcullis run` stops the agent after so many seconds (`--time`)",
    },
    Key {
        path: "run.memory_mb",
        kind: Kind::Integer(1, MOST_COUNT),
        default: || None,
        default_told: "none",
        project: Project::Least,
        doc: "`portcullis run` stops the agent when its processes together have more memory (`--memory`)",
    },
    Key {
        path: "run.tokens",
        kind: Kind::Integer(1, MOST_COUNT),
        default: || None,
        default_told: "none",
        project: Project::Least,
        doc: "`portcullis run` stops the agent when it has spent more tokens, by its own account (`--tokens`)",
    },
    Key {
        path: "run.processes",
        kind: Kind::Integer(1, MOST_COUNT),
        default: || None,
        default_told: "none",
        project: Project::Least,
        doc: "`portcullis run` stops the agent when more of its processes live at once (`--processes`)",
    },
    Key {
        path: "run.output_mb",
        kind: Kind::Integer(1, MOST_COUNT),
        default: || None,
        default_told: "none",
        project: Project::Least,
        doc: "`portcullis run` stops the agent when it has written more to its own output (`--output-bytes`)",
    },
    Key {
        path: "run.answer_seconds",
        kind: Kind::Integer(1, MOST_COUNT),
        default: || None,
        default_told: "none",
        project: Project::Least,
        doc: "`portcullis run` refuses what nobody at the terminal has answered for so long (`--answer-time`)",
    },
    Key {
        path: "run.grace_ms",
        kind: Kind::Integer(1, 600_000),
        default: || number(300),
        default_told: "",
        project: Project::Least,
        doc: "how long processes may take to end by themselves when `portcullis run` stops them (`--grace`)",
    },
    Key {
        path: "run.confine",
        kind: Kind::Flag,
        default: || Some(Value::Flag(false)),
        default_told: "",
        project: Project::True,
        doc: "`portcullis run` lets the agent write only where it works, as far as the kernel can (`--confine`)",
    },
    Key {
        path: "run.writable",
        kind: Kind::Paths,
        default: || Some(Value::Texts(Vec::new())),
        default_told: "",
        project: Project::Trust,
        doc: "further folders and files that a confined agent writes to; `--writable` adds to them",
    },
];
