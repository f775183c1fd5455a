//! Our credentials, and their storage.

use crate::failure::DeliveryFailure;
use crate::file::{self, FileAccess};
use secrecy::SecretString;
use std::ffi::OsString;
use std::path::PathBuf;

/// The location of a credential. It never holds the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CredentialSource {
    /// A variable of the environment, by name.
    Variable(String),
    /// A file, by its absolute path: not a link, accessible only to its owner (mode 0600 or less).
    /// One line break at its end is not part of the value.
    File(PathBuf),
}

/// The longest credential, in bytes; tokens are far shorter.
const MOST_BYTES: usize = 4096;

impl CredentialSource {
    /// Reads the value: one line of visible characters. `variable` reads the environment.
    ///
    /// # Errors
    /// Fails if there is no such variable or file, others can read the file, or it holds anything
    /// but one line.
    pub fn read_secret(
        &self,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<SecretString, DeliveryFailure> {
        let (name, value) = match self {
            Self::Variable(name) => {
                let unset = || {
                    DeliveryFailure::give_up(
                        format!("the variable `{name}` is not set"),
                        format!("set `{name}` where the agent is started"),
                    )
                };
                (
                    format!("the variable `{name}`"),
                    variable(name).ok_or_else(unset)?.into_encoded_bytes(),
                )
            }
            Self::File(path) => (
                format!("the file `{}`", path.display()),
                file::read_named_file(path, MOST_BYTES, FileAccess::OwnerOnly)?,
            ),
        };
        let secret = SecretString::from(String::from_utf8(value).unwrap_or_default());
        checked(&name, secret)
    }
}

fn checked(name: &str, secret: SecretString) -> Result<SecretString, DeliveryFailure> {
    use secrecy::ExposeSecret;
    let text = secret.expose_secret();
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(DeliveryFailure::give_up(
            format!("{name} is empty or not valid UTF-8"),
            "put the credential into it, as one line",
        ));
    }
    if text.len() > MOST_BYTES || text.chars().any(char::is_control) {
        return Err(DeliveryFailure::give_up(
            format!("{name} is more than one line"),
            "put the credential alone into it, as one line",
        ));
    }
    Ok(SecretString::from(text))
}

/// Removes credentials from a third party's text that may repeat them.
#[must_use]
pub fn redact_secrets(text: &str, secrets: &[&str]) -> String {
    let hidden = |text: String, secret: &&str| {
        if secret.is_empty() { text } else { text.replace(secret, "[secret]") }
    };
    secrets.iter().fold(text.to_owned(), hidden)
}
