//! The place of a credential as a configuration names it, and the way to its value.

use crate::failure::CredentialFailure;
use crate::value::{MOST_BYTES, check_secret, read_variable};
use portcullis_fs::{FileAccess, read_named_file};
use secrecy::SecretString;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

/// The place of a credential. It never holds the value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CredentialSource {
    /// A variable of the environment, by name.
    Variable(String),
    /// A file, by its absolute path: not a link, accessible only to its owner (mode 0600 or less).
    /// One line break at its end is not part of the value.
    File(PathBuf),
    /// A name of the credential store; kept as written, since only the store knows if it is one.
    Stored(String),
}

/// The source as a configuration writes it: `env:NAME`, `file:PATH` or `credential:NAME`.
impl fmt::Display for CredentialSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Stored(name) => write!(f, "credential:{name}"),
        }
    }
}

/// Whoever can reach the places of credentials.
pub trait CredentialReader {
    /// Returns a variable of the environment.
    fn variable(&self, name: &str) -> Option<OsString>;

    /// Returns the value that the store has under a name.
    ///
    /// # Errors
    /// Fails if there is no store or no such name, or its keeper does not give the value.
    fn read_stored(&self, name: &str) -> Result<SecretString, CredentialFailure>;

    /// Is called with each source that was read, and whether that failed.
    fn note_read(&self, _source: &CredentialSource, _is_read: bool) {}
}

/// The environment alone.
impl<F: Fn(&str) -> Option<OsString>> CredentialReader for F {
    fn variable(&self, name: &str) -> Option<OsString> {
        self(name)
    }

    fn read_stored(&self, _: &str) -> Result<SecretString, CredentialFailure> {
        Err(CredentialFailure::new(
            "there is no credential store here",
            "name the credential as `env:NAME` or `file:PATH`",
        ))
    }
}

impl CredentialSource {
    /// Parses a source as a configuration writes it; `person` is the home folder for `~/`. Returns
    /// `None` for any other text.
    #[must_use]
    pub fn parse(text: &str, at_home: impl Fn(&str) -> PathBuf) -> Option<Self> {
        match text.split_once(':')? {
            ("env", name) => Some(Self::Variable(name.to_owned())),
            ("file", path) => Some(Self::File(at_home(path))),
            ("credential", name) => Some(Self::Stored(name.to_owned())),
            _ => None,
        }
    }

    /// Reads the value: one line of visible characters.
    ///
    /// # Errors
    /// Fails if there is no such variable, file or name, others can read the file, or it holds
    /// anything but one line.
    pub fn read_secret(
        &self,
        reader: &dyn CredentialReader,
    ) -> Result<SecretString, CredentialFailure> {
        let read = self.read_value(reader);
        reader.note_read(self, read.is_ok());
        read
    }

    fn read_value(&self, reader: &dyn CredentialReader) -> Result<SecretString, CredentialFailure> {
        match self {
            Self::Variable(name) => read_variable(name, &|name| reader.variable(name)),
            Self::File(path) => {
                let bytes = read_named_file(path, MOST_BYTES, FileAccess::OwnerOnly)?;
                check_secret(&format!("the file `{}`", path.display()), bytes)
            }
            Self::Stored(name) => reader.read_stored(name),
        }
    }
}
