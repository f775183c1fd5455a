//! Trust of a client's own kind: it runs a hook only after a person has trusted its definition.

use crate::hook_handler::HookHandler;
use crate::settings::Folders;
use anyhow::Result;
use std::path::{Path, PathBuf};

/// A client's record of the hooks that a person trusts.
pub trait HookTrust: Sync {
    /// Returns the file of the record.
    fn file(&self, folders: &Folders) -> PathBuf;

    /// Returns the file's text in which these hooks are trusted: key and hash of each, as the
    /// client lists them
    /// ([`HookListing::trust_entries`](crate::listing::HookListing::trust_entries)).
    ///
    /// # Errors
    /// Fails if the text is not in the client's form, or leaves no place for the record.
    fn add_trust(&self, text: &str, entries: &[(String, String)]) -> Result<String>;

    /// Returns the key of a handler in a settings file.
    fn key(&self, file: &Path, handler: &HookHandler) -> String;

    /// Returns the file's text without the record of the hooks with these keys.
    ///
    /// # Errors
    /// Fails if the text is not in the client's form.
    fn remove_trust(&self, text: &str, keys: &[String]) -> Result<String>;
}
