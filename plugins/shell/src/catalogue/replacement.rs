//! A catalogue in place of the built-in one, for the command that checks a catalogue by running its
//! examples. The guest has the built-in one only.

use portcullis_programs::Table;
use std::sync::OnceLock;

static IN_USE: OnceLock<Table> = OnceLock::new();

/// Uses this catalogue for all readings of this process. Returns false if one was replaced already.
pub fn replace_catalogue(table: Table) -> bool {
    IN_USE.set(table).is_ok()
}

/// Returns the replacement, if there is one.
pub(super) fn in_use() -> Option<&'static Table> {
    IN_USE.get()
}
