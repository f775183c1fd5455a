//! Keys for the retention of files and of stopped sessions.

use super::defaults::{DEFAULT, number, text};
use super::{ConfigKey, ProjectScope, Value, ValueKind};

pub(super) const KEYS: &[ConfigKey] = &[
    ConfigKey {
        path: "checkpoints.enabled",
        kind: ValueKind::Flag,
        default: || Some(Value::Flag(true)),
        default_text: "",
        project: ProjectScope::True,
        doc: "the content of files is saved before an action that can change them, so that \
             `portcullis undo` can undo it",
    },
    ConfigKey {
        path: "checkpoints.on_failure",
        kind: ValueKind::Choice(&["ignore", "warn", "ask"]),
        default: || text(DEFAULT.on_failure.as_str()),
        default_text: "",
        project: ProjectScope::Later,
        doc: "what happens when an action deletes or overwrites something that could not be saved: \
             `\"warn\"` lets it run and says so, `\"ask\"` asks a person, `\"ignore\"` leaves it \
             to the record",
    },
    ConfigKey {
        path: "checkpoints.ignored",
        kind: ValueKind::Choice(&["leave", "keep"]),
        default: || text("leave"),
        default_text: "",
        project: ProjectScope::Never,
        doc: "folders that git ignores and build output, where the whole project is kept: \
             `\"leave\"` keeps them only before an action that deletes folders without naming \
             them; what does not fit is named",
    },
    ConfigKey {
        path: "checkpoints.budget_ms",
        kind: ValueKind::Integer(1, 60_000),
        default: || number(500),
        default_text: "",
        project: ProjectScope::Never,
        doc: "the longest time an action waits for that; the record names what was not reached in time",
    },
    ConfigKey {
        path: "checkpoints.max_file_mb",
        kind: ValueKind::Integer(1, 1_000_000),
        default: || number(64),
        default_text: "",
        project: ProjectScope::Never,
        doc: "megabytes of the largest file that is kept",
    },
    ConfigKey {
        path: "checkpoints.max_total_mb",
        kind: ValueKind::Integer(1, 1_000_000),
        default: || number(2048),
        default_text: "",
        project: ProjectScope::Never,
        doc: "megabytes of all checkpoints together; beyond that, the oldest are removed",
    },
    ConfigKey {
        path: "checkpoints.kept_minutes",
        kind: ValueKind::Integer(1, 5_256_000),
        default: || number(10_080),
        default_text: "",
        project: ProjectScope::Never,
        doc: "how long it is kept",
    },
    ConfigKey {
        path: "incidents.kept_days",
        kind: ValueKind::Integer(0, 36_500),
        default: || number(30),
        default_text: "",
        project: ProjectScope::Never,
        doc: "incidents of stopped sessions are kept for this many days; 0 keeps them forever",
    },
    ConfigKey {
        path: "incidents.auto_cleanup",
        kind: ValueKind::Flag,
        default: || Some(Value::Flag(false)),
        default_text: "",
        project: ProjectScope::Never,
        doc: "`portcullis incident abort` moves the files that the agent made into a quarantine without `--clean-up`",
    },
    ConfigKey {
        path: "quarantine.kept_days",
        kind: ValueKind::Integer(0, 36_500),
        default: || number(30),
        default_text: "",
        project: ProjectScope::Never,
        doc: "quarantined files are deleted after this many days; 0 keeps them forever",
    },
];
