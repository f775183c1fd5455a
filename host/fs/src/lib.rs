//! Files of Portcullis's own, and files that anybody may have put in their place.
//!
//! | module | |
//! |---|---|
//! | `replace` | a file is replaced whole or not at all, also in a crash |
//! | `read` | never more bytes than a limit, never from a pipe or a device, on request not through a link |
//! | `named` | a small file that a configuration names, of this user and closed to others |
//! | `sealed` | a JSON document that only the owner of a key can have written |
//! | `private` | folders and lock files that only their owner can open; waiting for a lock |
//!
//! This crate knows nothing of what the files hold.

mod named;
mod private;
mod read;
mod replace;
mod sealed;

pub use named::{FileAccess, NamedFileError, read_named_file};
pub use private::{create_private_folder, open_lock_file, wait_for_lock};
pub use read::{Links, OpenFile, ReadError, open_file, read_file};
pub use replace::{
    Flush, Replacement, destroy_file, remove_drafts, replace_bytes, replace_file, sync_folder,
};
pub use sealed::{SealError, SealedDocument};
