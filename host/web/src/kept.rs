//! A checkpoint and the vault that holds it.

use anyhow::{Result, bail};
use portcullis_checkpoint::Vault;
use portcullis_config::Config;
use portcullis_config::clock::now_ms;
use portcullis_core::known_failure::KnownFailure;
use portcullis_core::text::one_line;
use portcullis_review::checkpoints::listing::open_kept_vault;
use portcullis_review::checkpoints::restoring::{RequestedRestore, Undone};
use portcullis_store::Home;

/// A checkpoint and the vault that holds it.
pub(crate) struct KeptState {
    pub(crate) vault: Vault,
    pub(crate) undone: Undone,
}

impl KeptState {
    /// Opens a checkpoint by its whole id.
    ///
    /// # Errors
    /// Fails if it does not exist or the vault cannot be read.
    pub(crate) fn open(home: &Home, config: &Config, id: &str) -> Result<Self> {
        let missing =
            || KnownFailure::NotFound(format!("there is no checkpoint `{}`", one_line(id, 64)));
        let Some(vault) = open_kept_vault(home, &config.checkpoints)? else { bail!(missing()) };
        let mut all = vault.list()?.checkpoints.into_iter();
        let Some(first) = all.find(|one| one.id.as_str() == id) else { bail!(missing()) };
        Ok(Self { vault, undone: Undone { first, also: Vec::new() } })
    }

    /// Prepares the restore of all that the action and later ones changed. What somebody changed
    /// since is not overwritten.
    ///
    /// # Errors
    /// Never fails in practice.
    pub(crate) fn restore(&self) -> Result<RequestedRestore<'_>> {
        Ok(RequestedRestore::new(&self.vault, &self.undone, Vec::new(), false, now_ms())?)
    }
}
