//! Builtin and custom rules.

use super::defaults::{number, text};
use super::{ConfigKey, ProjectScope, Value, ValueKind};

pub(super) const KEYS: &[ConfigKey] = &[
    ConfigKey {
        path: "rules.files",
        kind: ValueKind::Files,
        default: || Some(Value::Texts(Vec::new())),
        default_text: "",
        project: ProjectScope::Union,
        doc: "files of custom rules, relative to the folder of the file that sets it; the lists of \
             all files are combined",
    },
    ConfigKey {
        path: "rules.builtin",
        kind: ValueKind::Choice(&["all", "essential", "none"]),
        default: || text("all"),
        default_text: "",
        project: ProjectScope::Word("all"),
        doc: "which builtin rules apply; `\"essential\"` are deletion, lost work and unseen code",
    },
    ConfigKey {
        path: "rules.disabled",
        kind: ValueKind::Names,
        default: || Some(Value::Texts(Vec::new())),
        default_text: "",
        project: ProjectScope::Trust,
        doc: "rules that do not apply, builtin and custom, by name",
    },
    ConfigKey {
        path: "rules.prevent_recursive_deletion.quarantine",
        kind: ValueKind::Text,
        default: || text(".portcullis/quarantine"),
        default_text: "",
        project: ProjectScope::Trust,
        doc: "where deleted folders are moved, below the project's; empty asks instead",
    },
    ConfigKey {
        path: "rules.limit_file_operations.maximum",
        kind: ValueKind::Integer(0, 1_000_000),
        default: || number(0),
        default_text: "",
        project: ProjectScope::Trust,
        doc: "writes and deletions for a prompt; 0 leaves it to `limits.file_operations`",
    },
    ConfigKey {
        path: "rules.limit_file_operations.warn_at",
        kind: ValueKind::Score,
        default: || Some(Value::Decimal(0.8)),
        default_text: "",
        project: ProjectScope::Least,
        doc: "it warns from this share of the limit on",
    },
    ConfigKey {
        path: "rules.warn_external_network.fetching",
        kind: ValueKind::Flag,
        default: || Some(Value::Flag(false)),
        default_text: "",
        project: ProjectScope::True,
        doc: "fetching from another machine warns too, not only sending",
    },
    ConfigKey {
        path: "rules.warn_external_network.trusted_hosts",
        kind: ValueKind::Names,
        default: || Some(Value::Texts(Vec::new())),
        default_text: "",
        project: ProjectScope::Trust,
        doc: "hosts that need no warning, with everything below them",
    },
    ConfigKey {
        path: "mcp.hide",
        kind: ValueKind::Tools,
        default: || Some(Value::Texts(Vec::new())),
        default_text: "",
        project: ProjectScope::Union,
        doc: "tools of MCP servers that the gateway hides and refuses: `SERVER/TOOL`, in which `*` \
             stands for any letters",
    },
];
