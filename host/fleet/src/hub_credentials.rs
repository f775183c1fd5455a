//! The credentials of a hub: a store in its folder, whose list is sealed with a key that comes from
//! the receipt key. Values are files, mode 0600.
//!
//! `portcullis credential --hub DIR` changes it, the hub reads it. All replicas have the same folder,
//! so a value in a file or behind a command reaches each of them.

use data_encoding::HEXLOWER;
use portcullis_credentials::{
    CredentialFailure, CredentialReader, CredentialSource, CredentialStore, CredentialUse,
    UseOutcome,
};
use portcullis_fs::{Links, ReadError, open_file};
use secrecy::SecretString;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The file with the seed of the key that signs receipts, in a hub's folder.
pub const RECEIPT_KEY: &str = "receipt.key";

/// The folder of the store in that of a hub.
const STORE: &str = "credentials";
/// The purpose of the store's key.
const CONTEXT: &str = "portcullis hub credentials v1";
/// The most bytes of the receipt key's file.
const MOST_BYTES: u64 = 256;

/// Returns the credential store of a hub.
///
/// # Errors
/// Fails if the folder has no receipt key, or others may read it.
pub fn open_hub_credentials(folder: &Path) -> Result<CredentialStore, CredentialFailure> {
    let folder = std::path::absolute(folder).map_err(|error| {
        CredentialFailure::new(format!("`{}`: {error}", folder.display()), "name another folder")
    })?;
    let path = folder.join(RECEIPT_KEY);
    let text = read_key(&path)?;
    let seed = HEXLOWER.decode(text.trim_ascii()).ok().filter(|seed| seed.len() == 32);
    let seed = seed.ok_or_else(|| {
        CredentialFailure::new(
            format!("`{}` does not hold 64 hex digits", path.display()),
            "restore it from a backup",
        )
    })?;
    Ok(CredentialStore::new(folder.join(STORE), blake3::derive_key(CONTEXT, &seed)))
}

/// Reads the receipt key's file. Root reads that of the hub's user.
fn read_key(path: &Path) -> Result<Vec<u8>, CredentialFailure> {
    let shown = path.display();
    let unreadable = |error: ReadError| {
        CredentialFailure::new(
            format!("`{shown}` cannot be read: {error}"),
            "run it as the hub's user",
        )
    };
    let Some(file) = open_file(path, Links::Follow).map_err(unreadable)? else {
        return Err(CredentialFailure::new(
            format!("there is no `{shown}`"),
            "`portcullis hub init` makes a hub's folder",
        ));
    };
    if file.metadata.mode() & 0o077 != 0 {
        let fix = format!("run `chmod 600 {shown}`, and make a new hub if others have read it");
        return Err(CredentialFailure::new(format!("others may read `{shown}`"), fix));
    }
    file.read_rest(MOST_BYTES).map_err(unreadable)
}

/// Reads the credentials of a hub for one of its settings, and notes each use.
#[derive(Debug)]
pub struct HubCredentials<'a> {
    folder: &'a Path,
    setting: &'a str,
}

impl<'a> HubCredentials<'a> {
    /// Names the hub's folder, and the setting that is read, such as `password`.
    #[must_use]
    pub const fn new(folder: &'a Path, setting: &'a str) -> Self {
        Self { folder, setting }
    }
}

impl CredentialReader for HubCredentials<'_> {
    fn variable(&self, name: &str) -> Option<OsString> {
        std::env::var_os(name)
    }

    fn read_stored(&self, name: &str) -> Result<SecretString, CredentialFailure> {
        let store = open_hub_credentials(self.folder)?;
        let name = name.parse()?;
        if !store.list_entries()?.contains_key(&name) {
            let hub = self.folder.display();
            return Err(CredentialFailure::new(
                format!("there is no credential `{name}` in the store of the hub"),
                format!("`portcullis credential set {name} --hub {hub}` adds it"),
            ));
        }
        store.read_secret(&name, &|name| self.variable(name))
    }

    fn note_read(&self, source: &CredentialSource, is_read: bool) {
        let CredentialSource::Stored(_) = source else { return };
        let Ok(store) = open_hub_credentials(self.folder) else { return };
        let outcome = if is_read { UseOutcome::Used } else { UseOutcome::Unreadable };
        let purpose = self.setting.to_owned();
        let noted = CredentialUse { credential: source.to_string(), purpose, outcome };
        // A replica may not be allowed to write there. The list of credentials then says less.
        let _written = store.use_log().note_use(&noted, now_ms());
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
