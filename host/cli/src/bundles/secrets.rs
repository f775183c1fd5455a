//! Keys that sign, as files, and the passphrases that unlock them.
//!
//! Neither ever comes from an argument or a variable, which other processes of the machine can see.

use crate::hidden;
use anyhow::{Context, Result, anyhow, bail};
use portcullis_bundle::SecretKey;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Bytes of a file that holds a key or a passphrase.
const MOST_BYTES: u64 = 16 << 10;

/// Where a passphrase comes from.
#[derive(Clone, Debug, clap::Args)]
pub struct Passphrase {
    /// Read the key's passphrase from this file, which only you may read (mode 600), in place of asking at the terminal
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

impl Passphrase {
    /// The passphrase of a key that is there.
    ///
    /// # Errors
    /// There is none to be had.
    fn of(&self, key: &Path) -> Result<String> {
        match &self.passphrase_file {
            Some(file) => of_file(file),
            None => hidden::ask(&format!("Passphrase of `{}`", key.display())),
        }
    }

    /// A passphrase for a new key; at a terminal it is asked for twice.
    ///
    /// # Errors
    /// There is none to be had, or the two differ.
    pub fn chosen(&self) -> Result<String> {
        if let Some(file) = &self.passphrase_file {
            return of_file(file);
        }
        let passphrase = hidden::ask("Passphrase for the new key")?;
        if hidden::ask("The same again")? != passphrase {
            bail!("the two differ: nothing was made");
        }
        Ok(passphrase)
    }
}

/// A key from its encrypted file.
///
/// # Errors
/// The file or the passphrase is not right, or others may read one of them.
pub fn unlocked(key: &Path, passphrase: &Passphrase) -> Result<SecretKey> {
    let shown = key.display();
    let pem = private(key).with_context(|| format!("cannot use the key `{shown}`"))?;
    if pem.contains("PUBLIC KEY") {
        bail!("cannot sign with `{shown}`: it is the public part of a key; name the file of the secret one");
    }
    // What is no key is told before anybody is asked for its passphrase.
    SecretKey::check_pem(&pem).with_context(|| format!("cannot use the key `{shown}`"))?;
    SecretKey::from_pem(&pem, &passphrase.of(key)?).with_context(|| format!("cannot use the key `{shown}`"))
}

/// Random bytes of the system.
///
/// # Errors
/// It gives none.
pub fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| anyhow!("the system gives no random bytes: {error}"))?;
    Ok(bytes)
}

/// The first line of a file: what an editor put after it does not count.
fn of_file(file: &Path) -> Result<String> {
    let told = || format!("cannot use the passphrase in `{}`", file.display());
    let text = private(file).with_context(told)?;
    let passphrase = text.strip_suffix('\n').unwrap_or(&text);
    let passphrase = passphrase.strip_suffix('\r').unwrap_or(passphrase);
    if passphrase.contains('\n') {
        return Err(anyhow!("it has more than one line; write the passphrase alone into it")).with_context(told);
    }
    Ok(passphrase.to_owned())
}

/// The text of a file that nobody else may read.
fn private(path: &Path) -> Result<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).map_err(std::io::Error::from)?);
    let found = file.metadata()?;
    if !found.is_file() {
        bail!("it is not a file");
    }
    let mode = found.mode() & 0o777;
    if mode & 0o077 != 0 {
        bail!(
            "others may read or change it (mode {mode:o}); a secret is for its owner alone: `chmod 600` it, and take another if somebody may have read it"
        );
    }
    let mut text = String::new();
    file.take(MOST_BYTES + 1).read_to_string(&mut text).context("it is no text")?;
    if text.len() as u64 > MOST_BYTES {
        bail!("it has more than {MOST_BYTES} bytes");
    }
    Ok(text)
}
