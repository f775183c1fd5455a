//! Builtin and custom rules.

use super::defaults::{number, text};
use super::{Key, Kind, Project, Value};

pub(super) const KEYS: &[Key] = &[
    Key {
        path: "rules.files",
        kind: Kind::Files,
        default: || Some(Value::Texts(Vec::new())),
        default_told: "",
        project: Project::Union,
        doc: "files of custom rules, relative to the folder of the file that says it; what each file names adds up",
    },
    Key {
        path: "rules.builtin",
        kind: Kind::Choice(&["all", "essential", "none"]),
        default: || text("all"),
        default_told: "",
        project: Project::Word("all"),
        doc: "which builtin rules apply; `\"essential\"` are deletion, lost work and unseen code",
    },
    Key {
        path: "rules.disabled",
        kind: Kind::Names,
        default: || Some(Value::Texts(Vec::new())),
        default_told: "",
        project: Project::Trust,
        doc: "rules that do not apply, builtin and custom, by name",
    },
    Key {
        path: "rules.prevent_recursive_deletion.quarantine",
        kind: Kind::Text,
        default: || text(".portcullis/quarantine"),
        default_told: "",
        project: Project::Trust,
        doc: "where deleted folders are moved, below the project's; empty asks instead",
    },
    Key {
        path: "rules.limit_file_operations.maximum",
        kind: Kind::Integer(0, 1_000_000),
        default: || number(0),
        default_told: "",
        project: Project::Trust,
        doc: "writes and deletions for a prompt; 0 leaves it to `limits.file_operations`",
    },
    Key {
        path: "rules.limit_file_operations.warn_at",
        kind: Kind::Score,
        default: || Some(Value::Decimal(0.8)),
        default_told: "",
        project: Project::Least,
        doc: "the share of the limit from which on it warns",
    },
    Key {
        path: "rules.warn_external_network.fetching",
        kind: Kind::Flag,
        default: || Some(Value::Flag(false)),
        default_told: "",
        project: Project::True,
        doc: "fetching from another machine warns too, not only sending",
    },
    Key {
        path: "rules.warn_external_network.trusted_hosts",
        kind: Kind::Names,
        default: || Some(Value::Texts(Vec::new())),
        default_told: "",
        project: Project::Trust,
        doc: "hosts that need no warning, with everything below them",
    },
];
