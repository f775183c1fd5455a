//! `portcullis upgrade`: says how this program is upgraded, and with `--check` whether there is a
//! newer version. It downloads no program and changes none: a guard that replaces itself would have
//! to be trusted by everything that it guards.

mod installation;
mod seen;
mod source;

use super::bundle::key::read_public_key;
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::{interactive, paint};
use installation::Installation;
use portcullis_bundle::PublicKey;
use portcullis_config::paths::{Paths, own_program};
use portcullis_config::{Config, UpgradeSource, at_home};
use portcullis_core::text::one_line;
use portcullis_store::Home;
use semver::Version;
use serde_json::{Value, json};
use source::{ReleaseSource, SignedRelease};
use std::cmp::Ordering;
use std::env;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// Look for a newer version; exit code 6 if there is one
    #[arg(long)]
    check: bool,
    /// Look in this folder or at this `https` address (default: `upgrade.source` of the
    /// configuration)
    #[arg(long, value_name = "PLACE", requires = "check")]
    from: Option<String>,
    /// The public key of whoever publishes, from a place that you trust; may be repeated (default:
    /// `upgrade.keys` of the configuration)
    #[arg(long, value_name = "FILE", requires = "check")]
    key: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The version of this program.
const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");
/// The longest path or commit that is shown.
const MOST_SHOWN: usize = 400;

pub fn run_upgrade(arguments: &Arguments) -> Result<CommandExit> {
    // A check asks a server that the caller names.
    interactive::refuse_agents()?;
    let program = own_program().context("cannot determine where this program is")?;
    let installed = Installation::detect(&program);
    if arguments.check {
        return check(arguments, &installed);
    }
    let command = installed.upgrade_command(None, None);
    if arguments.json {
        let document = json!({
            "version": OWN_VERSION, "installed": describe_json(&installed), "command": command,
        });
        paint::print_text(&format!("{document}\n"));
        return Ok(CommandExit::Success);
    }
    paint::print_text(&format!(
        "{}upgrade it: {command}\n`portcullis upgrade --check` finds out whether there is a newer version\n",
        describe_installation(&installed)
    ));
    Ok(CommandExit::Success)
}

fn check(arguments: &Arguments, installed: &Installation) -> Result<CommandExit> {
    let places = Paths::from_environment()?.without_project();
    let home = Home::open_root(&places.state)?;
    let terms = find_terms(arguments, &places, &home)?;
    let mut left_out = Vec::new();
    let newest = terms.source.find_newest(&terms.keys, &mut left_out)?;
    for line in &left_out {
        paint::report_wrapped(&format!("{}: {line}\n", paint::warn("left out")), 2);
    }
    let keys = terms.keys.iter().map(PublicKey::id).collect::<Result<Vec<_>, _>>()?;
    seen::remember_release(&home, &keys, &newest)?;
    let own = Version::parse(OWN_VERSION)?;
    let order = newest.version.cmp_precedence(&own);
    let report = CheckReport { installed, newest: &newest, order, source: terms.source.describe() };
    let text = if arguments.json { report.to_json() } else { report.to_text() };
    paint::print_text(&text);
    Ok(if report.is_newer() { CommandExit::NewerVersion } else { CommandExit::Success })
}

/// The place to look at, and the keys that count.
struct CheckTerms {
    source: ReleaseSource,
    keys: Vec<PublicKey>,
}

/// Returns the terms of the command line, and of the configuration what it leaves open.
fn find_terms(arguments: &Arguments, places: &Paths, home: &Home) -> Result<CheckTerms> {
    let configured = if arguments.from.is_some() && !arguments.key.is_empty() {
        UpgradeSource { source: None, keys: Vec::new() }
    } else {
        Config::load(places, Some(home))?.upgrade
    };
    let source = match (&arguments.from, configured.source) {
        (Some(from), _) => ReleaseSource::parse_source(from)?,
        (None, Some(source)) if source.contains("://") => ReleaseSource::parse_source(&source)?,
        (None, Some(source)) if source.starts_with(['/', '~']) => {
            ReleaseSource::Folder(at_home(&source, &places.person))
        }
        (None, Some(source)) => {
            let shown = one_line(&source, MOST_SHOWN);
            return Err(Error::invalid(format!(
                "`upgrade.source` is `{shown}`, which is no whole path"
            ))
            .with_hint("begin it with `/`, `~/` or `https://`"));
        }
        (None, None) => {
            return Err(Error::not_found("nobody has said where new versions are announced")
                .with_hint(
                    "name the place with `--from`, or with `upgrade.source` in `config.toml`",
                ));
        }
    };
    let files = if arguments.key.is_empty() { configured.keys } else { arguments.key.clone() };
    if files.is_empty() {
        return Err(Error::not_found("nobody has said whose signature counts").with_hint(
            "name the public key with `--key`, or with `upgrade.keys` in `config.toml`",
        ));
    }
    let keys = files.iter().map(|file| read_public_key(file)).collect::<Result<_>>()?;
    Ok(CheckTerms { source, keys })
}

/// The result of a check.
struct CheckReport<'a> {
    installed: &'a Installation,
    newest: &'a SignedRelease,
    /// The newest version compared with this program's.
    order: Ordering,
    source: String,
}

impl CheckReport<'_> {
    const fn is_newer(&self) -> bool {
        self.order.is_gt()
    }

    fn to_json(&self) -> String {
        let newest = self.newest;
        let file = self.installed.fitting_file(&newest.release);
        let document = json!({
            "newer": self.is_newer(),
            "version": OWN_VERSION,
            "newest": newest.version.to_string(),
            "commit": newest.release.commit,
            "key": newest.key,
            "source": self.source,
            "statement": newest.file,
            "installed": describe_json(self.installed),
            "command": self.command(),
            "file": file.map(|(name, digest)| json!({ "name": name, "sha256": digest.hex() })),
        });
        format!("{document}\n")
    }

    fn to_text(&self) -> String {
        let newest = self.newest;
        let mut text = describe_installation(self.installed);
        text.push_str(&format!(
            "newest version: {}, commit {}, signed by the key {}\n",
            newest.version,
            one_line(&newest.release.commit, 64),
            newest.key
        ));
        match self.order {
            Ordering::Equal => {
                text.push_str(&format!("{}\n", paint::good("this is the newest version")))
            }
            Ordering::Less => {
                text.push_str(
                    "this program is newer than every version that was announced there\n",
                );
            }
            Ordering::Greater => text.push_str(&self.describe_upgrade()),
        }
        text
    }

    fn describe_upgrade(&self) -> String {
        let mut text = format!("{}\n", paint::warn("there is a newer version"));
        match self.installed.fitting_file(&self.newest.release) {
            Some((name, digest)) => text.push_str(&format!(
                "file: {}\nsha256: {}\ncheck it: portcullis release verify {} --key FILE {}\n",
                one_line(name, MOST_SHOWN),
                digest.hex(),
                self.newest.file,
                one_line(name, MOST_SHOWN)
            )),
            None => text.push_str("no file of it fits this machine and this way\n"),
        }
        if let Some(command) = self.command() {
            text.push_str(&format!("upgrade it: {command}\n"));
        }
        if self.installed.takes_from_registry() {
            text.push_str(
                "that command takes what the registry has under this version, which nobody has compared with \
                 the signed digest; to install what was signed, give it the file above\n",
            );
        }
        text.push_str("then: portcullis doctor\n");
        text
    }

    fn command(&self) -> Option<String> {
        let commit = Some(self.newest.release.commit.as_str());
        self.is_newer().then(|| self.installed.upgrade_command(Some(&self.newest.version), commit))
    }
}

fn describe_installation(installed: &Installation) -> String {
    format!(
        "Portcullis {OWN_VERSION}, installed {}: `{}`\n",
        installed.way.in_words(),
        one_line(&installed.program.to_string_lossy(), MOST_SHOWN)
    )
}

fn describe_json(installed: &Installation) -> Value {
    json!({ "way": installed.way.as_str(), "program": installed.program })
}
