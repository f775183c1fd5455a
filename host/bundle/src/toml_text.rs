//! TOML that names the line of what is wrong.

use crate::shown::shown;
use serde::de::DeserializeOwned;

/// What is wrong, and in which line, from 1.
pub(crate) struct Wrong {
    pub(crate) line: usize,
    pub(crate) what: String,
}

/// Reads a document.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Wrong> {
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = text.get(..start).unwrap_or_default().matches('\n').count() + 1;
        Wrong { line, what: shown(error.message()) }
    })
}
