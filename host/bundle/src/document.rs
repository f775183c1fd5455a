//! Documents of others: read whole, within bounds.

use serde::de::DeserializeOwned;

/// Parses JSON of at most `most` bytes.
///
/// # Errors
/// Says what is wrong with it.
pub(crate) fn parse_document<T: DeserializeOwned>(bytes: &[u8], most: usize) -> Result<T, String> {
    if bytes.len() > most {
        return Err(format!("it has {} bytes, at most {most} are read", bytes.len()));
    }
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}
