//! The reasons why a machine could not talk to its fleet.

use portcullis_fleet::{HubError, OrdersFileError};
use portcullis_store::StoreError;

/// The reasons why orders could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The exchange failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The files in the home cannot be used.
    #[error(transparent)]
    Files(#[from] OrdersFileError),
    /// The journal cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}
