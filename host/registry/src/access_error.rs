//! The reasons why registries cannot be reached as requested.

use std::path::PathBuf;

/// The reasons why registries cannot be reached as requested.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// The file of certificate authorities cannot be used.
    #[error("the file of authorities `{}`: {what}", path.display())]
    Authorities {
        /// The file's path.
        path: PathBuf,
        /// The problem and its fix.
        what: String,
    },
    /// A variable has an invalid value.
    #[error("the variable `{name}` {what}")]
    Variable {
        /// Its name.
        name: String,
        /// The problem and its fix.
        what: String,
    },
}
