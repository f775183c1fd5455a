//! TOML parsing with the line of an error.

use crate::display::display_line;
use serde::de::DeserializeOwned;

/// A problem and its line, from 1.
pub(crate) struct TomlError {
    pub(crate) line: usize,
    pub(crate) what: String,
}

/// Reads a document.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, TomlError> {
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = text.get(..start).unwrap_or_default().matches('\n').count() + 1;
        TomlError { line, what: display_line(error.message()) }
    })
}
