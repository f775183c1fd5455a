//! `portcullis bundle vet`: evaluates a bundle's plugins alongside the builtin ones, and signs the
//! results.
//!
//! Only the plugins run, nothing of the material, and they are granted nothing. Objections to a
//! bundle are reported and prevent signing, unless a reviewer gives a reason, which is signed too.

mod evaluation;
mod material;
mod observer;
mod results;
mod subjects;
mod text;
mod verdicts;

use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
pub use material::MaterialPaths;
pub use verdicts::{Verdicts, compare_verdicts};

use super::sign;
use crate::bundles::archive;
use crate::bundles::secrets::{Passphrase, decrypt_key};
use crate::paint;
use evaluation::Evaluation;
use portcullis_bundle::{Bundle, SecretKey, Signature, Statement, Vetting};
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::text::one_line;
use portcullis_review::bundles::check_description;
use results::Results;
use serde_json::json;
use std::path::PathBuf;
use subjects::Subjects;

const DAY: u64 = 24 * 60 * 60 * 1000;
/// The longest reviewer name or reason, in bytes.
const MOST_WORDS: usize = 400;

#[derive(clap::Args)]
pub struct Arguments {
    /// The bundle's archive
    archive: PathBuf,
    #[command(flatten)]
    material: MaterialPaths,
    /// Sign with this key; it must not be the publisher's
    #[arg(long, value_name = "FILE", required_unless_present = "dry_run")]
    key: Option<PathBuf>,
    #[command(flatten)]
    passphrase: Passphrase,
    /// Name the reviewer, as recorded in the signed results
    #[arg(long, value_name = "NAME", required_unless_present = "dry_run", value_parser = words)]
    reviewer: Option<String>,
    /// Let the vetting expire after this many days
    #[arg(long, value_name = "DAYS", default_value_t = 180, value_parser = clap::value_parser!(u16).range(1..=3650))]
    days: u16,
    /// Set the highest percentage of benign actions that a plugin may object to
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percent)]
    most_flagged: f64,
    /// Sign despite objections, for this reason, which is signed too
    #[arg(long, value_name = "REASON", value_parser = words)]
    despite: Option<String>,
    /// Write the signature to this file instead of adding it to the archive
    #[arg(long, short, alias = "out", value_name = "FILE", conflicts_with = "dry_run")]
    output: Option<PathBuf>,
    /// Evaluate only and sign nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn words(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() || text.len() > MOST_WORDS || text.chars().any(char::is_control) {
        return Err(format!("it takes 1 to {MOST_WORDS} bytes in one line"));
    }
    Ok(text.to_owned())
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent: &f64| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| "it takes a number from 0 to 100".to_owned())
}

pub fn run_vet(arguments: &Arguments) -> Result<CommandExit> {
    let (bundle, signatures) = archive::read_archive_file(&arguments.archive)?;
    if arguments.archive.is_dir() && arguments.output.is_none() && !arguments.dry_run {
        return Err(Error::invalid(format!("`{}` is a folder", arguments.archive.display()))
            .with_hint("vet the archive, or name a file for the signature with `--output`"));
    }
    check_description(&bundle).context("it is not vetted")?;
    let places = Paths::from_environment()?.without_project();
    let subjects = Subjects::from_bundle(&bundle, &places)?;
    let material = arguments.material.read_material(&subjects)?;
    // Anything that would prevent signing is reported before minutes of work.
    let key = arguments.key()?;
    arguments.output.as_deref().map_or(Ok(()), sign::check_absent)?;
    let mut results =
        Results::for_material(&material.files, &bundle.about().components, arguments.most_flagged);
    Evaluation::new(&subjects, &material)?.run_material(&material, &mut results)?;
    results.judge_rows();
    if !results.problems.is_empty() {
        results.despite.clone_from(&arguments.despite);
    }
    let refused = !results.problems.is_empty() && results.despite.is_none();
    let signed = match key.filter(|_| !refused) {
        Some((key, reviewer)) => Some(arguments.signed(&bundle, &key, reviewer, &results)?),
        None => None,
    };
    if let Some(signed) = &signed {
        match &arguments.output {
            Some(out) => sign::write_signature(out, &signed.signature)?,
            None => drop(archive::add_signature(
                &arguments.archive,
                &bundle,
                signatures,
                signed.signature.clone(),
            )?),
        }
    }
    arguments.tell(&bundle, &results, signed.as_ref())?;
    if refused && !arguments.dry_run {
        let all = results.problems.join("; ");
        return Err(Error::refused(format!("not signed: {all}")).with_hint(
            "to sign it all the same, give a reason, which is signed too: `--despite REASON`",
        ));
    }
    Ok(CommandExit::of_check(!refused))
}

/// The result of signing.
struct SigningResult {
    signature: Signature,
    key: String,
    expires: u64,
}

impl Arguments {
    /// Reads the key and the reviewer's name; `None` if nothing is to be signed.
    fn key(&self) -> Result<Option<(SecretKey, &str)>> {
        match (&self.key, &self.reviewer) {
            (Some(key), Some(reviewer)) if !self.dry_run => {
                Ok(Some((decrypt_key(key, &self.passphrase)?, reviewer)))
            }
            _ => Ok(None),
        }
    }

    fn signed(
        &self,
        bundle: &Bundle,
        key: &SecretKey,
        reviewer: &str,
        results: &Results,
    ) -> Result<SigningResult> {
        let at = now_ms();
        let expires = at.saturating_add(u64::from(self.days).saturating_mul(DAY));
        let results = serde_json::to_value(results).context("cannot write the results")?;
        let vetting = Vetting { reviewer: reviewer.to_owned(), at, results };
        let statement = Statement::about_index(bundle.index(), Some(expires), Some(vetting));
        // Results that could not be read back are not signed.
        Statement::parse_statement(&statement.to_bytes()?)
            .context("the results cannot be signed")?;
        let signature = Signature::sign_statement(&statement, key)?;
        Ok(SigningResult { signature, key: key.public().id()?.to_string(), expires })
    }

    fn tell(
        &self,
        bundle: &Bundle,
        results: &Results,
        signed: Option<&SigningResult>,
    ) -> Result<()> {
        let about = bundle.about();
        if self.json {
            let signing_json = |signed: &SigningResult| {
                json!({
                    "key": signed.key,
                    "expires": signed.expires,
                    "file": self.output.as_ref().unwrap_or(&self.archive),
                })
            };
            let document = json!({
                "name": about.name,
                "version": about.version,
                "digest": bundle.index().digest(),
                "results": results,
                "signed": signed.map(signing_json),
            });
            paint::print_text(&format!("{document}\n"));
            return Ok(());
        }
        let mut text = format!(
            "{} {}  {}\n\n",
            paint::bold(&about.name),
            about.version,
            paint::dim(bundle.index().digest())
        );
        text.push_str(&results.text());
        if self.despite.is_some() && results.problems.is_empty() {
            text.push_str(&format!(
                "\n{}\n",
                paint::dim("no objections: the reason given with --despite is not signed")
            ));
        }
        if let Some(signed) = signed {
            let reviewer = self.reviewer.as_deref().unwrap_or_default();
            text.push_str(&format!(
                "\n{} that `{}` vetted this digest",
                paint::good("signed"),
                one_line(reviewer, MOST_WORDS)
            ));
            if let Some(despite) = &results.despite {
                text.push_str(&format!(
                    ", {} these objections: {}",
                    paint::warn("despite"),
                    one_line(despite, MOST_WORDS)
                ));
            }
            let day = paint::time(signed.expires);
            text.push_str(&format!("\n  until {day} UTC, with the key {}\n", signed.key));
            let place = self.output.as_ref().unwrap_or(&self.archive).to_string_lossy();
            text.push_str(&format!("  in {}\n", one_line(&place, 400)));
        } else if self.dry_run {
            text.push_str(&format!("\n{}\n", paint::dim("nothing was signed: --dry-run")));
        }
        paint::print_text(&text);
        Ok(())
    }
}
