//! Signing keys in files, and the passphrases that unlock them.
//!
//! Neither is ever read from an argument or a variable, which other processes of the machine can
//! see.

use crate::error::{Context, Error, Result};
use crate::password_prompt;
use portcullis_bundle::SecretKey;
use portcullis_fs::{Links, open_file};
use rustix::io::Errno;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The most bytes of a file with a key or a passphrase.
const MOST_BYTES: u64 = 16 << 10;

/// The source of a passphrase.
#[derive(Clone, Debug, clap::Args)]
pub struct Passphrase {
    /// Read the key's passphrase from this file (mode 600) instead of asking at the terminal
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

impl Passphrase {
    /// Reads the passphrase of an existing key.
    ///
    /// # Errors
    /// Fails if no passphrase can be obtained.
    pub fn of(&self, key: &Path) -> Result<String> {
        match &self.passphrase_file {
            Some(file) => of_file(file),
            None => password_prompt::read_password(&format!("Passphrase of `{}`", key.display())),
        }
    }

    /// Reads the passphrase of a new key; at a terminal it is asked for twice.
    ///
    /// # Errors
    /// Fails if no passphrase can be obtained, or if the two entries differ.
    pub fn read_new_passphrase(&self) -> Result<String> {
        if let Some(file) = &self.passphrase_file {
            return of_file(file);
        }
        let passphrase = password_prompt::read_password("Passphrase for the new key")?;
        if password_prompt::read_password("The same again")? != passphrase {
            return Err(Error::invalid("the passphrases differ: no key was made"));
        }
        Ok(passphrase)
    }
}

/// Reads and decrypts a key file.
///
/// # Errors
/// Fails if the file or the passphrase is wrong, or if others may read one of them.
pub fn decrypt_key(key: &Path, passphrase: &Passphrase) -> Result<SecretKey> {
    let shown = key.display();
    let pem = private(key).with_context(|| format!("cannot use the key `{shown}`"))?;
    if pem.contains("PUBLIC KEY") {
        return Err(Error::invalid(format!(
            "cannot sign with `{shown}`: it is the public part of a key"
        ))
        .with_hint("name the file of the secret one"));
    }
    // An invalid key is reported before anybody is asked for its passphrase.
    SecretKey::check_pem(&pem).with_context(|| format!("cannot use the key `{shown}`"))?;
    SecretKey::from_pem(&pem, &passphrase.of(key)?)
        .with_context(|| format!("cannot use the key `{shown}`"))
}

/// Returns random bytes from the system.
///
/// # Errors
/// Fails if the system provides none.
pub fn random_bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::io(format!("the system gives no random bytes: {error}")))?;
    Ok(bytes)
}

/// Returns the first line of a file; anything an editor added after it is ignored.
fn of_file(file: &Path) -> Result<String> {
    let context = || format!("cannot use the passphrase in `{}`", file.display());
    let text = private(file).with_context(context)?;
    let passphrase = text.strip_suffix('\n').unwrap_or(&text);
    let passphrase = passphrase.strip_suffix('\r').unwrap_or(passphrase);
    if passphrase.contains('\n') {
        return Err(Error::invalid("it has more than one line")
            .with_hint("write the passphrase alone into it"))
        .with_context(context);
    }
    Ok(passphrase.to_owned())
}

/// Reads a text file that nobody else may read.
fn private(path: &Path) -> Result<String> {
    let opened = open_file(path, Links::Follow)?;
    let open = opened.ok_or_else(|| io::Error::from(Errno::NOENT))?;
    let mode = open.metadata.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(Error::invalid(format!(
            "others may read or change it (mode {mode:o}), and a secret is for its owner alone"
        ))
        .with_hint("run `chmod 600` on it, and make a new one if somebody may have read it"));
    }
    let bytes = open.read_rest(MOST_BYTES)?;
    String::from_utf8(bytes).context("it is not valid UTF-8")
}
