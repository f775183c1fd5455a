//! `portcullis bundle sign`: a publisher's word that a bundle is theirs, for the digest of its index.

use super::build::contents;
use crate::bundles::secrets::{Passphrase, unlocked};
use crate::bundles::{archive, told_truly};
use crate::commands::hook::now;
use crate::config::file;
use crate::paint;
use anyhow::{Context, Result, anyhow, bail};
use portcullis_bundle::{Bundle, Signature, Statement};
use portcullis_core::text::one_line;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Bytes of a signature's file.
const MOST_BYTES: u64 = 2 << 20;
const DAY: u64 = 24 * 60 * 60 * 1000;

const EXAMPLES: &str = "Examples:
  portcullis bundle sign acme-checks-1.0.0.tar --key release.key --expires 365
  portcullis bundle sign acme-checks-1.0.0.tar --key release.key --out checks.sigstore.json
  portcullis bundle sign acme-checks-1.0.0.tar --attach checks.sigstore.json";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The bundle's archive
    archive: PathBuf,
    /// The secret key that signs
    #[arg(long, value_name = "FILE", required_unless_present = "attach")]
    key: Option<PathBuf>,
    /// The signature counts for so many days; without end, when absent
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=3650))]
    expires: Option<u32>,
    /// Write the signature into a file of its own and leave the archive as it is
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Put this signature, which was made elsewhere, into the archive
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key", "expires", "out", "passphrase_file"])]
    attach: Option<PathBuf>,
    #[command(flatten)]
    passphrase: Passphrase,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<u8> {
    let (bundle, signatures) = archive::read(&arguments.archive)?;
    if arguments.archive.is_dir() && arguments.out.is_none() {
        bail!("`{}` is a folder: sign the archive, or name a file for the signature with `--out`", shown(&arguments.archive));
    }
    let (signature, statement, by) = match (&arguments.attach, &arguments.key) {
        (Some(file), _) => attached(file, &bundle).map(|(signature, statement)| (signature, statement, None))?,
        (None, Some(key)) => {
            told_truly(&bundle).context("it is not signed")?;
            let key = unlocked(key, &arguments.passphrase)?;
            let expires = arguments.expires.map(|days| now().saturating_add(u64::from(days) * DAY));
            let statement = Statement::about(bundle.index(), expires, None);
            (Signature::of(&statement, &key)?, statement, Some(key.public()))
        }
        (None, None) => bail!("name the key that signs, `--key FILE`"),
    };
    let others = signatures.len();
    let (place, new) = match &arguments.out {
        Some(out) => (out, put(out, &signature).map(|()| true)?),
        None => (&arguments.archive, archive::add(&arguments.archive, &bundle, signatures, signature)?),
    };
    let (about, digest) = (bundle.about(), bundle.index().digest());
    let by = by.map(|key| key.id()).transpose()?;
    if arguments.json {
        let document = json!({
            "name": about.name, "version": about.version.to_string(), "digest": digest, "key": by, "expires": statement.expires,
            "written": place, "new": new, "attached": arguments.attach,
        });
        paint::print(&format!("{}\n", serde_json::to_string(&document)?));
        return Ok(0);
    }
    let until = statement.expires.map_or_else(|| "without end".to_owned(), |end| format!("until {} UTC", paint::time(end)));
    let done = match (&by, new) {
        (_, false) => format!("{} as it is", paint::dim("there already")),
        (Some(id), true) => format!("{} with the key {id}, {until}", paint::good("signed")),
        (None, true) => format!("{}, {until}; who made it is for `portcullis bundle verify` to say", paint::good("attached")),
    };
    let beside = match others {
        _ if arguments.out.is_some() => "into a file of its own".to_owned(),
        0 => "as its first signature".to_owned(),
        others => format!("beside {others} other{}", if others == 1 { "" } else { "s" }),
    };
    paint::print(&format!("{done}\n{}  {digest}\n{}written into `{}`, {beside}\n", head(&bundle), contents(about), shown(place)));
    Ok(0)
}

/// Name and version.
fn head(bundle: &Bundle) -> String {
    paint::bold(format!("{} {}", bundle.about().name, bundle.about().version))
}

/// A signature from a file. Who made it is not known without a policy; that it is about another bundle is.
fn attached(path: &Path, bundle: &Bundle) -> Result<(Signature, Statement)> {
    let told = || format!("cannot attach `{}`", shown(path));
    let text = file::read_at_most(path, MOST_BYTES).map_err(|problems| anyhow!("{}", problems.lines().join("; ")))?;
    let text = text.ok_or_else(|| anyhow!("there is no such file")).with_context(told)?;
    let mend = "; `portcullis bundle sign --out FILE` writes one";
    let signature = Signature::read(text.trim().as_bytes()).map_err(|error| anyhow!("{error}{mend}")).with_context(told)?;
    let statement = signature.unproven().with_context(told)?;
    let (about, digest) = (bundle.about(), bundle.index().digest());
    if statement.digest != digest || statement.name != about.name.as_str() {
        let other = one_line(&statement.name, 128);
        return Err(anyhow!("it is about `{other}` ({}), and this is `{}` ({digest})", statement.digest, about.name)).with_context(told);
    }
    Ok((signature, statement))
}

/// Fails where a file is there already.
///
/// # Errors
/// It is.
pub fn is_free(path: &Path) -> Result<()> {
    if path.symlink_metadata().is_ok() {
        bail!("cannot write `{}`: it is there already, and is not overwritten: name another file", shown(path));
    }
    Ok(())
}

/// Writes a signature into a file of its own, which must not exist.
///
/// # Errors
/// It does, or cannot be written.
pub fn put(path: &Path, signature: &Signature) -> Result<()> {
    is_free(path)?;
    let told = || format!("cannot write `{}`", shown(path));
    archive::durable(path, 0o644, |file| Ok(file.write_all(signature.file())?)).with_context(told)
}

fn shown(path: &Path) -> String {
    one_line(&path.to_string_lossy(), 400)
}
