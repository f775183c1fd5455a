//! `portcullis bundle sign`: signs the digest of a bundle's index, as the publisher's statement
//! that the bundle is theirs.

use super::build::render_contents;
use crate::bundles::archive;
use crate::bundles::secrets::{Passphrase, decrypt_key};
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::given_file::display_path;
use crate::paint;
use portcullis_bundle::{Bundle, Signature, Statement};
use portcullis_config::clock::now_ms;
use portcullis_config::file;
use portcullis_core::text::one_line;
use portcullis_review::bundles::check_description;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The most bytes of a signature file.
const MOST_BYTES: u64 = 2 << 20;
const DAY: u64 = 24 * 60 * 60 * 1000;

#[derive(clap::Args)]
pub struct Arguments {
    /// The bundle's archive
    archive: PathBuf,
    /// Sign with this secret key
    #[arg(long, value_name = "FILE", required_unless_present = "attach")]
    key: Option<PathBuf>,
    /// Let the signature expire after this many days (default: never)
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=3650))]
    expires: Option<u32>,
    /// Write the signature to a separate file and leave the archive unchanged
    #[arg(long, short, alias = "out", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Attach this signature, made elsewhere, to the archive
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key", "expires", "output", "passphrase_file"])]
    attach: Option<PathBuf>,
    #[command(flatten)]
    passphrase: Passphrase,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run_sign(arguments: &Arguments) -> Result<CommandExit> {
    let (bundle, signatures) = archive::read_archive_file(&arguments.archive)?;
    if arguments.archive.is_dir() && arguments.output.is_none() {
        return Err(Error::invalid(format!("`{}` is a folder", display_path(&arguments.archive)))
            .with_hint("sign the archive, or name a file for the signature with `--output`"));
    }
    let (signature, statement, by) = match (&arguments.attach, &arguments.key) {
        (Some(file), _) => {
            attached(file, &bundle).map(|(signature, statement)| (signature, statement, None))?
        }
        (None, Some(key)) => {
            check_description(&bundle).context("it is not signed")?;
            let key = decrypt_key(key, &arguments.passphrase)?;
            let expires =
                arguments.expires.map(|days| now_ms().saturating_add(u64::from(days) * DAY));
            let statement = Statement::about_index(bundle.index(), expires, None);
            (Signature::sign_statement(&statement, &key)?, statement, Some(key.public()))
        }
        (None, None) => {
            return Err(Error::invalid("no key signs it").with_hint("name the key: `--key FILE`"));
        }
    };
    let others = signatures.len();
    let (place, new) = match &arguments.output {
        Some(out) => (out, write_signature(out, &signature).map(|()| true)?),
        None => (
            &arguments.archive,
            archive::add_signature(&arguments.archive, &bundle, signatures, signature)?,
        ),
    };
    let (about, digest) = (bundle.about(), bundle.index().digest());
    let by = by.map(|key| key.id()).transpose()?;
    if arguments.json {
        let document = json!({
            "name": about.name, "version": about.version.to_string(), "digest": digest, "key": by, "expires": statement.expires,
            "written": place, "new": new, "attached": arguments.attach,
        });
        paint::print_text(&format!("{}\n", serde_json::to_string(&document)?));
        return Ok(CommandExit::Success);
    }
    let until = statement
        .expires
        .map_or_else(|| "without end".to_owned(), |end| format!("until {} UTC", paint::time(end)));
    let done = match (&by, new) {
        (_, false) => format!("{} unchanged", paint::dim("there already")),
        (Some(id), true) => format!("{} with the key {id}, {until}", paint::good("signed")),
        (None, true) => format!(
            "{}, {until}; `portcullis bundle verify` checks who made it",
            paint::good("attached")
        ),
    };
    let beside = match others {
        _ if arguments.output.is_some() => "into a file of its own".to_owned(),
        0 => "as its first signature".to_owned(),
        others => format!("next to {others} other{}", if others == 1 { "" } else { "s" }),
    };
    paint::print_text(&format!(
        "{done}\n{}  {digest}\n{}written into `{}`, {beside}\n",
        head(&bundle),
        render_contents(about),
        display_path(place)
    ));
    Ok(CommandExit::Success)
}

/// Formats name and version.
fn head(bundle: &Bundle) -> String {
    paint::bold(format!("{} {}", bundle.about().name, bundle.about().version))
}

/// Reads a signature from a file. Its signer cannot be verified without a policy, but a signature
/// of another bundle is refused.
fn attached(path: &Path, bundle: &Bundle) -> Result<(Signature, Statement)> {
    let context = || format!("cannot attach `{}`", display_path(path));
    let text = file::read_at_most(path, MOST_BYTES)?;
    let text =
        text.ok_or_else(|| Error::not_found("there is no such file")).with_context(context)?;
    let fix = "`portcullis bundle sign --output FILE` writes one";
    let signature = Signature::parse_envelope(text.trim().as_bytes())
        .map_err(|error| Error::from(error).with_hint(fix))
        .with_context(context)?;
    let statement = signature.unverified_statement().with_context(context)?;
    let (about, digest) = (bundle.about(), bundle.index().digest());
    if statement.digest != digest || statement.name != about.name.as_str() {
        let other = one_line(&statement.name, 128);
        return Err(Error::integrity(format!(
            "it is about `{other}` ({}), and this is `{}` ({digest})",
            statement.digest, about.name
        )))
        .with_context(context);
    }
    Ok((signature, statement))
}

/// Checks that the file does not exist.
///
/// # Errors
/// Fails if the file exists.
pub fn check_absent(path: &Path) -> Result<()> {
    if path.symlink_metadata().is_ok() {
        return Err(Error::invalid(format!(
            "cannot write `{}`: it is there already, and is not overwritten",
            display_path(path)
        ))
        .with_hint("name another file"));
    }
    Ok(())
}

/// Writes a signature to a new file of its own.
///
/// # Errors
/// Fails if the file exists or cannot be written.
pub fn write_signature(path: &Path, signature: &Signature) -> Result<()> {
    check_absent(path)?;
    let context = || format!("cannot write `{}`", display_path(path));
    portcullis_fs::replace_bytes(path, 0o644, signature.file()).with_context(context)
}
