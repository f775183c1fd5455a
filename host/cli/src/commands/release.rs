//! `portcullis release`: signs the files of a version, and verifies them before somebody installs
//! them. The signature has the form of a bundle's, and the keys are the same (`portcullis bundle key`).

use super::bundle::key::read_public_key;
use super::bundle::sign::write_signature;
use crate::bundles::secrets::{Passphrase, decrypt_key};
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::given_file::{display_path, read_given_file};
use crate::paint;
use portcullis_bundle::{Digest, Release, Signature};
use portcullis_core::text::{count_noun, one_line};
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(clap::Subcommand)]
pub enum Command {
    /// Sign the statement about a version that `release/build` wrote
    Sign {
        /// The statement, `portcullis-VERSION.provenance.json`
        statement: PathBuf,
        /// Sign with this secret key
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// The file for the signature (default: beside the statement, `.sigstore.json`)
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        passphrase: Passphrase,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check that downloaded files are those that were signed; exit code 1 if one is not
    Verify {
        /// The signature, `portcullis-VERSION.sigstore.json`
        signature: PathBuf,
        /// The public key of whoever publishes, from a place that you trust
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// The downloaded files (default: those that are beside the signature)
        files: Vec<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// The most bytes of a statement or a signature, and of a file of a version.
const MOST_STATEMENT: u64 = 2 << 20;
const MOST_FILE: u64 = 512 << 20;
/// The end of a statement's name, and of a signature's.
const STATEMENT: &str = ".provenance.json";
const SIGNATURE: &str = ".sigstore.json";

pub fn run_release(command: &Command) -> Result<CommandExit> {
    match command {
        Command::Sign { statement, key, output, passphrase, json } => {
            sign(statement, key, output.as_deref(), passphrase, *json)
        }
        Command::Verify { signature, key, files, json } => verify(signature, key, files, *json),
    }
}

fn sign(
    statement: &Path,
    key: &Path,
    output: Option<&Path>,
    passphrase: &Passphrase,
    as_json: bool,
) -> Result<CommandExit> {
    let text = read_given_file(statement, MOST_STATEMENT, false)?;
    let context = || format!("cannot sign `{}`", display_path(statement));
    let release = Release::parse_statement(&text)
        .map_err(|error| Error::invalid(error.to_string()))
        .with_context(context)?;
    let output = match output {
        Some(output) => output.to_owned(),
        None => beside(statement)?,
    };
    let key = decrypt_key(key, passphrase)?;
    let signature = Signature::sign_release(&text, &key).with_context(context)?;
    write_signature(&output, &signature)?;
    let id = key.public().id()?;
    if as_json {
        let document = json!({
            "version": release.version, "commit": release.commit,
            "files": release.files.len(), "key": id, "written": output,
        });
        paint::print_text(&format!("{document}\n"));
        return Ok(CommandExit::Success);
    }
    let signed = paint::good("signed");
    paint::print_text(&format!(
        "{signed} with the key {id}\n{}written into `{}`\n",
        describe_release(&release),
        display_path(&output)
    ));
    Ok(CommandExit::Success)
}

/// Returns the place of a signature for a statement.
fn beside(statement: &Path) -> Result<PathBuf> {
    let name = statement.file_name().and_then(|name| name.to_str());
    let stem = name.and_then(|name| name.strip_suffix(STATEMENT)).ok_or_else(|| {
        Error::invalid(format!("`{}` does not end in `{STATEMENT}`", display_path(statement)))
            .with_hint("name a file for the signature: `--output FILE`")
    })?;
    Ok(statement.with_file_name(format!("{stem}{SIGNATURE}")))
}

/// A file of a version, compared with the statement.
struct CheckedFile {
    path: PathBuf,
    /// The problem, if there is one.
    problem: Option<&'static str>,
}

fn verify(path: &Path, key: &Path, files: &[PathBuf], as_json: bool) -> Result<CommandExit> {
    let context = || format!("cannot verify by `{}`", display_path(path));
    let text = read_given_file(path, MOST_STATEMENT, false)?;
    let signature = Signature::parse_envelope(text.trim_ascii()).with_context(context)?;
    let key = read_public_key(key)?;
    let release = signature.verify_release(&key).with_context(context)?;
    let files = match files {
        [] => find_files(path, &release),
        named => named.to_vec(),
    };
    if files.is_empty() {
        return Err(Error::not_found(format!(
            "no file of version {} is beside `{}`",
            one_line(&release.version, 64),
            display_path(path)
        ))
        .with_hint("name the downloaded files"));
    }
    let checked =
        files.into_iter().map(|file| check_file(file, &release)).collect::<Result<Vec<_>>>()?;
    let is_good = checked.iter().all(|file| file.problem.is_none());
    let id = key.id()?;
    if as_json {
        let files: Vec<_> = checked
            .iter()
            .map(|file| json!({ "path": file.path, "ok": file.problem.is_none(), "problem": file.problem }))
            .collect();
        let document = json!({
            "ok": is_good, "version": release.version, "commit": release.commit, "key": id,
            "files": files,
        });
        paint::print_text(&format!("{document}\n"));
        return Ok(CommandExit::of_check(is_good));
    }
    paint::print_text(&format!("signed by the key {id}\n{}", describe_release(&release)));
    for file in &checked {
        let state = match file.problem {
            None => paint::good("ok"),
            Some(problem) => paint::bad(problem),
        };
        paint::print_text(&format!("{}: {state}\n", display_path(&file.path)));
    }
    Ok(CommandExit::of_check(is_good))
}

/// Returns the files of a version that are in the folder of its signature.
fn find_files(signature: &Path, release: &Release) -> Vec<PathBuf> {
    let beside = release.files.keys().map(|name| signature.with_file_name(name));
    beside.filter(|path| path.is_file()).collect()
}

fn check_file(path: PathBuf, release: &Release) -> Result<CheckedFile> {
    let bytes = read_given_file(&path, MOST_FILE, false)?;
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let problem = match release.files.get(name) {
        None => Some("not a file of this version"),
        Some(digest) if *digest == Digest::of_bytes(&bytes) => None,
        Some(_) => Some("changed: it is not what was signed"),
    };
    Ok(CheckedFile { path, problem })
}

fn describe_release(release: &Release) -> String {
    let files = count_noun(u64::try_from(release.files.len()).unwrap_or(u64::MAX), "file");
    format!(
        "version {}, commit {}, {files}\n",
        one_line(&release.version, 64),
        one_line(&release.commit, 64)
    )
}
