//! Keys for `portcullis upgrade --check`: where new versions are announced, and who signs them.

use super::{ConfigKey, ProjectScope, Value, ValueKind};

pub(super) const KEYS: &[ConfigKey] = &[
    ConfigKey {
        path: "upgrade.source",
        kind: ValueKind::Text,
        default: || None,
        default_text: "none",
        project: ProjectScope::Never,
        doc: "where `portcullis upgrade --check` looks for new versions: a folder from `/` or `~/` \
             on, `https://…`, or `http://` to this machine by its loopback address",
    },
    ConfigKey {
        path: "upgrade.keys",
        kind: ValueKind::Paths,
        default: || Some(Value::Texts(Vec::new())),
        default_text: "",
        project: ProjectScope::Never,
        doc: "files with the public keys of whoever signs versions; a version counts only if one of \
             these keys signed it",
    },
];
