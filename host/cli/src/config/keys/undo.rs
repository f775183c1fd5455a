//! What is kept of files and of stopped sessions.

use super::defaults::{DEFAULT, number, text};
use super::{Key, Kind, Project, Value};

pub(super) const KEYS: &[Key] = &[
    Key {
        path: "checkpoints.enabled",
        kind: Kind::Flag,
        default: || Some(Value::Flag(false)),
        default_told: "",
        project: Project::True,
        doc: "before an action that can change files, what they hold is kept, so that `portcullis checkpoint restore` can undo it",
    },
    Key {
        path: "checkpoints.on_failure",
        kind: Kind::Choice(&["ignore", "warn", "ask"]),
        default: || text(DEFAULT.on_failure.as_str()),
        default_told: "",
        project: Project::Later,
        doc: "what follows where an action deletes or overwrites what could not be kept: `\"warn\"` lets it run and says so, `\"ask\"` asks a person, `\"ignore\"` leaves it to the record",
    },
    Key {
        path: "checkpoints.ignored",
        kind: Kind::Choice(&["leave", "keep"]),
        default: || text("leave"),
        default_told: "",
        project: Project::Never,
        doc: "folders that git ignores and build output, where the whole project is kept: `\"leave\"` keeps them only before an action that deletes folders without naming them; what does not fit is named",
    },
    Key {
        path: "checkpoints.budget_ms",
        kind: Kind::Integer(1, 60_000),
        default: || number(2000),
        default_told: "",
        project: Project::Never,
        doc: "how long an action waits for that at most; what was not reached in time is named",
    },
    Key {
        path: "checkpoints.max_file_mb",
        kind: Kind::Integer(1, 1_000_000),
        default: || number(64),
        default_told: "",
        project: Project::Never,
        doc: "megabytes of the largest file that is kept",
    },
    Key {
        path: "checkpoints.max_total_mb",
        kind: Kind::Integer(1, 1_000_000),
        default: || number(2048),
        default_told: "",
        project: Project::Never,
        doc: "megabytes of all that is kept; past it the oldest goes",
    },
    Key {
        path: "checkpoints.kept_minutes",
        kind: Kind::Integer(1, 5_256_000),
        default: || number(10_080),
        default_told: "",
        project: Project::Never,
        doc: "how long it is kept",
    },
    Key {
        path: "incidents.kept_days",
        kind: Kind::Integer(0, 36_500),
        default: || number(30),
        default_told: "",
        project: Project::Never,
        doc: "what is known of a stopped session is kept for so many days; 0 keeps it for ever",
    },
    Key {
        path: "incidents.auto_cleanup",
        kind: Kind::Flag,
        default: || Some(Value::Flag(false)),
        default_told: "",
        project: Project::Never,
        doc: "`portcullis incident abort` moves the files that the agent made into a quarantine without `--clean-up`",
    },
    Key {
        path: "quarantine.kept_days",
        kind: Kind::Integer(0, 36_500),
        default: || number(30),
        default_told: "",
        project: Project::Never,
        doc: "what was moved into a quarantine is deleted after so many days; 0 keeps it for ever",
    },
];
