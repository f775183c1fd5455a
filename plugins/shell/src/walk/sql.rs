//! Database statements on the command line: does one change or destroy data?

/// The gravest thing that a text of statements does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Change {
    None,
    /// Some rows.
    Rows,
    /// All rows of a table.
    Table,
    /// A table, a database, everything.
    Drop,
}

impl Change {
    pub(super) fn form(self) -> Option<&'static str> {
        match self {
            Self::None | Self::Rows => None,
            Self::Table => Some("delete-all-rows"),
            Self::Drop => Some("drop-data"),
        }
    }
}

/// Longest text that is looked at, in bytes.
const LENGTH: usize = 32 * 1024;

/// Looks at every statement of a text, by its first words.
pub(super) fn change(text: &str) -> Change {
    let end = (0..=LENGTH.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(..end).unwrap_or("").split(';').map(statement).max().unwrap_or(Change::None)
}

fn statement(text: &str) -> Change {
    let lower = text.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).filter(|word| !word.is_empty());
    let (first, second) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let narrowed = lower.contains(" where ") || lower.contains("\nwhere ");
    if ["dropdatabase(", ".drop(", "flushall", "flushdb"].iter().any(|call| lower.contains(call)) {
        return Change::Drop;
    }
    if lower.contains(".deletemany({})") || lower.contains(".remove({})") {
        return Change::Table;
    }
    match (first, second) {
        (
            "drop",
            "table" | "database" | "schema" | "view" | "index" | "user" | "role" | "column" | "keyspace" | "collection" | "owned"
            | "extension",
        ) => Change::Drop,
        ("truncate", _) => Change::Drop,
        ("alter", "table") if lower.contains(" drop ") => Change::Drop,
        ("delete", "from") if narrowed => Change::Rows,
        ("delete", "from") => Change::Table,
        ("update", _) if lower.contains(" set ") => {
            if narrowed {
                Change::Rows
            } else {
                Change::Table
            }
        }
        ("insert", "into")
        | ("replace", "into")
        | ("create", "table" | "database" | "index" | "user")
        | ("alter", "table" | "user" | "role" | "database")
        | ("grant" | "revoke", _) => Change::Rows,
        _ => Change::None,
    }
}
