//! `portcullis bundle key`: keys that sign bundles, as two files: the encrypted secret and the
//! public part.

use crate::bundles::secrets::{Passphrase, decrypt_key, random_bytes};
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_bundle::{PublicKey, SecretKey};
use portcullis_config::file;
use portcullis_core::text::one_line;
use serde_json::json;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

#[derive(clap::Subcommand)]
pub enum Command {
    /// Create a key: FILE, encrypted with a passphrase, and FILE.pub, the public part
    New {
        /// The secret key's file, which must not exist yet
        #[arg(long, short, alias = "out", value_name = "FILE")]
        output: PathBuf,
        /// The signature algorithm
        #[arg(long, value_enum, default_value = "ed25519")]
        algorithm: Algorithm,
        #[command(flatten)]
        passphrase: Passphrase,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the public part of a key, from either of its files
    Show {
        /// The secret key's file or the public one
        file: PathBuf,
        #[command(flatten)]
        passphrase: Passphrase,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Algorithm {
    /// Ed25519, the usual choice
    Ed25519,
    /// ECDSA on the curve P-256, for tools that support nothing else
    P256,
}

pub fn run_key(command: &Command) -> Result<CommandExit> {
    match command {
        Command::New { output, algorithm, passphrase, json } => {
            make(output, *algorithm, passphrase, *json)
        }
        Command::Show { file, passphrase, json } => show(file, passphrase, *json),
    }
}

fn make(
    out: &Path,
    algorithm: Algorithm,
    passphrase: &Passphrase,
    as_json: bool,
) -> Result<CommandExit> {
    let public = public_file(out);
    if let Some(there) = [out, &public].into_iter().find(|path| path.symlink_metadata().is_ok()) {
        return Err(Error::invalid(format!(
            "`{}` is there already, and no key is overwritten",
            there.display()
        ))
        .with_hint("name another file"));
    }
    let passphrase = passphrase.read_new_passphrase()?;
    let key = generated(algorithm)?;
    let pem = key.to_pem(&passphrase, &random_bytes()?, random_bytes()?)?;
    write(out, &pem, 0o600)?;
    // A secret key is not left behind without its public part.
    write(&public, &key.public().to_pem()?, 0o644).inspect_err(|_| drop(fs::remove_file(out)))?;
    let part = key.public();
    if as_json {
        paint::print_text(&format!(
            "{}\n",
            key_json(&part, json!({ "secret_file": out, "public_file": public }))?
        ));
        return Ok(CommandExit::Success);
    }
    paint::print_text(&format!(
        "{} `{}`, the secret key, encrypted, and `{}`, its public part\n{}",
        paint::good("made"),
        one_line(&out.to_string_lossy(), 400),
        one_line(&public.to_string_lossy(), 400),
        describe_key(&part, out)?
    ));
    Ok(CommandExit::Success)
}

fn show(file: &Path, passphrase: &Passphrase, as_json: bool) -> Result<CommandExit> {
    let part = public_part(file, passphrase)?;
    let text = if as_json {
        format!("{}\n", key_json(&part, json!({}))?)
    } else {
        describe_key(&part, file)?
    };
    paint::print_text(&text);
    Ok(CommandExit::Success)
}

/// Reads the public part of a key, from either of its files.
fn public_part(file: &Path, passphrase: &Passphrase) -> Result<PublicKey> {
    if read_key_file(file)?.contains("PRIVATE KEY") {
        return Ok(decrypt_key(file, passphrase)?.public());
    }
    read_public_key(file)
}

/// Reads a public key.
///
/// # Errors
/// Fails if there is no such file, or it holds something else.
pub fn read_public_key(file: &Path) -> Result<PublicKey> {
    let text = read_key_file(file)?;
    PublicKey::from_pem(text.trim())
        .with_context(|| format!("cannot use the key `{}`", file.display()))
}

fn read_key_file(file: &Path) -> Result<String> {
    file::read_file(file)?.ok_or_else(|| {
        Error::not_found(format!("there is no key `{}`", file.display()))
            .with_hint("make one: `portcullis bundle key new --output FILE`")
    })
}

fn generated(algorithm: Algorithm) -> Result<SecretKey> {
    match algorithm {
        Algorithm::Ed25519 => Ok(SecretKey::of_seed(&random_bytes()?)),
        // About one seed in 2^32 does not yield a valid key.
        Algorithm::P256 => SecretKey::p256_of_seed(&random_bytes()?).ok_or_else(|| {
            Error::io("no key could be made from the system's random bytes").with_hint("try again")
        }),
    }
}

fn public_file(secret: &Path) -> PathBuf {
    secret.with_added_extension("pub")
}

fn write(path: &Path, text: &str, mode: u32) -> Result<()> {
    let put = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .inspect_err(|_| drop(fs::remove_file(path)))
    };
    put().with_context(|| format!("cannot write `{}`", path.display()))
}

fn key_json(part: &PublicKey, files: serde_json::Value) -> Result<serde_json::Value> {
    let mut document =
        json!({ "id": part.id()?, "algorithm": part.algorithm(), "public": part.to_pem()? });
    if let (Some(document), serde_json::Value::Object(files)) = (document.as_object_mut(), files) {
        document.extend(files);
    }
    Ok(document)
}

/// Describes the key, with the lines that a trust policy needs for it.
fn describe_key(part: &PublicKey, file: &Path) -> Result<String> {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name =
        name.split('.').next().filter(|name| !name.is_empty()).unwrap_or("publisher").to_owned();
    let name = one_line(&name, 64).replace(['"', '\\'], "-");
    Ok(format!(
        "{} {}\n{}\n\n{}\n[[key]]\nname = \"{name}\"\npublic = \"\"\"\n{}\"\"\"\n\n[[rule]]\nnames \
         = [\"PREFIX/\"]\npublishers = [\"{name}\"]\n",
        paint::bold(part.algorithm()),
        part.id()?,
        paint::dim("the id is the SHA-256 of the public part in DER"),
        paint::dim(
            "# for `trust.toml` of those who trust it; PREFIX/ is what the names of its bundles begin with.\n\
             # A vetter's key stands under `vetters`, that of an index under `signers` of an `[[index]]`."
        ),
        part.to_pem()?
    ))
}
