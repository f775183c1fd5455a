//! Encryption at rest: a key for each day and kind of data, wrapped by the home's master key.
//!
//! ```text
//! master key (in a file, the kernel's keyring, or behind a command)
//!   wraps -> a day's key: keys/journal-2026-11-29-5d1f09aa
//!              encrypts -> records, states of sessions, waiting rows of that day
//!            keys/checkpoints-..., keys/incidents-...
//! ```
//!
//! An encrypted text names its key. Once the key of a day is destroyed ([`DataKeys::destroy_keys`]),
//! nobody can read any copy of that day's texts: not in the log of a database, not in a freed block of
//! a disk, not in a backup, and not with the master key. A copy of the key file itself undoes that, so
//! backups of `keys` should not outlive the data.
//!
//! The cipher is XChaCha20-Poly1305 with random nonces. A text is bound to its place: one that was
//! moved to another row or file does not decrypt. Whether it is the newest text of its place is for
//! its owner to check.
//!
//! New texts are encrypted with the newest master key. There can be older ones, which keep the days
//! readable that they wrapped: while keys are wrapped again, and after somebody replaced a master key
//! that was lost.

mod data_keys;
mod day_key;
mod error;
mod key_id;
mod key_upkeep;
mod locked_key;
mod master_id;
mod master_key;
mod master_store;
mod part_cipher;
mod text;

pub use data_keys::{DataKeys, KeyStatus};
pub use error::EncryptionError;
pub use key_id::{DataKind, Day, KeyId};
pub use key_upkeep::{DestroyedKeys, MOST_DESTROYED, RewrapResult};
pub use locked_key::LockedKey;
pub use master_id::MasterId;
pub use master_key::MasterKey;
pub use master_store::{MasterEntry, MasterStore};
pub use part_cipher::{PartCipher, PartStream};
pub use portcullis_credentials::KeptIn;
pub use text::{decode_text, encode_text};
