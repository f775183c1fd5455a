//! What proves who we are, and where it is kept.

use crate::failure::Failure;
use crate::file::{self, Owner};
use secrecy::SecretString;
use std::ffi::OsString;
use std::path::PathBuf;

/// Where a credential is kept. It never holds the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// A variable of the environment, by name.
    Variable(String),
    /// A file, by its absolute path: no link, its owner's alone (mode 0600 or less). One line break at its end is
    /// not part of the value.
    File(PathBuf),
}

/// Tokens are far shorter.
const MOST_BYTES: usize = 4096;

impl Credential {
    /// The value: one line of visible characters.
    pub(crate) fn read(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> Result<SecretString, Failure> {
        let (name, value) = match self {
            Self::Variable(name) => {
                let unset =
                    || Failure::give_up(format!("the variable `{name}` is not set"), format!("set `{name}` where the agent is started"));
                (format!("the variable `{name}`"), variable(name).ok_or_else(unset)?.into_encoded_bytes())
            }
            Self::File(path) => (format!("the file `{}`", path.display()), file::read(path, MOST_BYTES, Owner::Alone)?),
        };
        let secret = SecretString::from(String::from_utf8(value).unwrap_or_default());
        checked(&name, secret)
    }
}

fn checked(name: &str, secret: SecretString) -> Result<SecretString, Failure> {
    use secrecy::ExposeSecret;
    let text = secret.expose_secret();
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(Failure::give_up(format!("{name} is empty or no text"), "put the credential into it, as one line"));
    }
    if text.len() > MOST_BYTES || text.chars().any(char::is_control) {
        return Err(Failure::give_up(format!("{name} is more than one line"), "put the credential alone into it, as one line"));
    }
    Ok(SecretString::from(text))
}

/// A text of somebody else's without the credentials that it may repeat.
pub(crate) fn redact(text: &str, secrets: &[&str]) -> String {
    let hidden = |text: String, secret: &&str| if secret.is_empty() { text } else { text.replace(secret, "[secret]") };
    secrets.iter().fold(text.to_owned(), hidden)
}
