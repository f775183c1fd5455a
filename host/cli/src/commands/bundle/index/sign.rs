//! `portcullis bundle index sign`: signs the digest of an index. The statement has a type of its
//! own: a signature of a bundle never counts for an index, and vice versa.

use crate::bundles::index_archive::{put_index, read_index_file};
use crate::bundles::secrets::{Passphrase, decrypt_key};
use crate::error::Result;
use crate::exit::CommandExit;
use crate::given_file::display_path;
use crate::paint;
use portcullis_bundle::Signature;
use portcullis_core::text::count_noun;
use serde_json::json;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// The index's archive
    archive: PathBuf,
    /// Sign with this secret key
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    #[command(flatten)]
    passphrase: Passphrase,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run_index_sign(arguments: &Arguments) -> Result<CommandExit> {
    let (artifact, mut signatures) = read_index_file(&arguments.archive)?;
    let key = decrypt_key(&arguments.key, &arguments.passphrase)?;
    let signature = Signature::sign_index(&artifact.statement(), &key)?;
    let is_new = !signatures.contains(&signature);
    if is_new {
        signatures.push(signature);
        put_index(&arguments.archive, &artifact, &signatures)?;
    }
    let (document, digest, id) = (artifact.document(), artifact.digest(), key.public().id()?);
    if arguments.json {
        let signed = json!({
            "archive": arguments.archive,
            "name": document.name,
            "serial": document.serial,
            "digest": digest,
            "key": id,
            "new": is_new,
            "signatures": signatures.len(),
        });
        paint::print_text(&format!("{signed}\n"));
        return Ok(CommandExit::Success);
    }
    let done = if is_new { paint::good("signed") } else { paint::dim("signed already") };
    paint::print_text(&format!(
        "{done} with the key {id}\n{} serial {}, {}, until {} UTC  {digest}\n\
         written into `{}`, which has {}\n",
        paint::bold(&document.name),
        document.serial,
        count_noun(document.bundles.len() as u64, "bundle"),
        paint::time(document.expires),
        display_path(&arguments.archive),
        count_noun(signatures.len() as u64, "signature")
    ));
    Ok(CommandExit::Success)
}
