//! Credentials: where each is kept, and how its value is read when it is used.
//!
//! ```text
//! configuration: token = "credential:siem" -> CredentialSource -> CredentialReader -> SecretString
//!                                                                  |
//!                    CredentialStore: the sealed index -> a keeper: file, keyring, variable, command
//! ```
//!
//! A configuration names a credential ([`CredentialSource`]) and never holds its value. The store
//! knows under each name where the value is kept ([`KeptIn`]), since when, and until when it is valid.
//! A value is read at the moment of its use, so a rotated one counts at once; it appears in no error
//! and in no record.
//!
//! [`UseLog`] remembers the last outcome of each use, so that a caller can record uses without
//! repeating itself a thousand times a day.

mod failure;
mod keepers;
mod name;
mod program;
mod source;
mod store;
mod uses;
mod value;

pub use failure::CredentialFailure;
pub use name::CredentialName;
pub use program::{ProgramAnswer, ask_program};
pub use source::{CredentialReader, CredentialSource};
pub use store::{CredentialEntry, CredentialStore, KeptIn};
pub use uses::{CredentialUse, LastUse, UseLog, UseOutcome};
pub use value::check_secret;
