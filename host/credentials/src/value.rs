//! Values as they are read.

use crate::failure::CredentialFailure;
use secrecy::{ExposeSecret, SecretString};
use std::ffi::OsString;

/// The longest credential, in bytes; tokens are far shorter.
pub(crate) const MOST_BYTES: usize = 4096;

/// Reads a variable of the environment.
pub(crate) fn read_variable(
    name: &str,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<SecretString, CredentialFailure> {
    let value = variable(name).ok_or_else(|| {
        CredentialFailure::new(
            format!("the variable `{name}` is not set"),
            format!("set `{name}` where the agent is started"),
        )
    })?;
    check_secret(&format!("the variable `{name}`"), value.into_encoded_bytes())
}

/// Returns a value as a secret; `place` names where it is from, as the subject of a sentence. One line
/// break at its end is not part of it.
///
/// # Errors
/// Fails if it is not one line of visible characters of UTF-8, or longer than 4096 bytes.
pub fn check_secret(place: &str, value: Vec<u8>) -> Result<SecretString, CredentialFailure> {
    let secret = SecretString::from(String::from_utf8(value).unwrap_or_default());
    let text = secret.expose_secret();
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(CredentialFailure::new(
            format!("{place} is empty or not valid UTF-8"),
            "put the credential into it, as one line",
        ));
    }
    if text.len() > MOST_BYTES || text.chars().any(char::is_control) {
        return Err(CredentialFailure::new(
            format!("{place} is more than one line"),
            "put the credential alone into it, as one line",
        ));
    }
    Ok(SecretString::from(text))
}
