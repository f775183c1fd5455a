//! `portcullis trust`: makes everything in one project's file count, once a person has seen it.
//!
//! The trust covers exactly these bytes in exactly this folder; a file that changes loses it.

use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::{interactive, paint};
use portcullis_config::clock::now_ms;
use portcullis_config::keys::{all_keys, toml_text};
use portcullis_config::layers::{IgnoreReason, IgnoredKey, Layer, MergedSettings};
use portcullis_config::paths::Paths;
use portcullis_config::{Config, trust};
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::text::one_line;
use portcullis_review::stored_records::write_record;
use portcullis_store::Home;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// A folder of the project (default: the current one)
    folder: Option<PathBuf>,
    /// List the projects whose files are trusted
    #[arg(long, conflicts_with_all = ["folder", "remove"])]
    list: bool,
    /// Stop trusting the project's file
    #[arg(long)]
    remove: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The most bytes of a value that can be trusted, since all of it has to be shown.
const MOST_SHOWN: usize = 4096;

pub fn run_trust(arguments: &Arguments) -> Result<CommandExit> {
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    if arguments.list {
        return list(&home, arguments.json);
    }
    let folder = arguments.folder.as_deref().map(|folder| {
        folder.canonicalize().with_context(|| format!("cannot find `{}`", folder.display()))
    });
    let places = match folder.transpose()? {
        Some(folder) => places.in_project_of(&folder),
        None => places,
    };
    let project = places.project.clone().ok_or_else(|| {
        Error::not_found("this folder belongs to no project")
            .with_hint("name one, `portcullis trust DIR`")
    })?;
    let answer = if arguments.remove {
        remove(&places, &home, &project)?
    } else {
        add(&places, &home, &project)?
    };
    paint::print_text(&if arguments.json {
        answer.json(&project)
    } else {
        format!("{}\n", answer.text)
    });
    Ok(CommandExit::Success)
}

/// The outcome of a command, for the output.
struct TrustAnswer {
    outcome: &'static str,
    /// The values that count only with trust, with those without.
    changes: Vec<String>,
    text: String,
}

impl TrustAnswer {
    fn json(&self, project: &Path) -> String {
        let document =
            json!({ "outcome": self.outcome, "folder": project, "changes": self.changes });
        format!("{document}\n")
    }
}

fn list(home: &Home, as_json: bool) -> Result<CommandExit> {
    let trusted = trust::list_trusted(home)?;
    if as_json {
        let projects: Vec<Value> = trusted
            .iter()
            .map(|trusted| {
                json!({
                    "folder": trusted.folder,
                    "blake3": trusted.digest,
                    "at": trusted.at,
                })
            })
            .collect();
        paint::print_text(&format!("{}\n", json!({ "trusted": projects })));
        return Ok(CommandExit::Success);
    }
    if trusted.is_empty() {
        paint::print_text("no project's file is trusted\n");
    }
    for trusted in trusted {
        let folder = one_line(&trusted.folder, 1024);
        let digest = trusted.digest.get(..16).unwrap_or_default();
        let since = format!("blake3 {digest}, since {} UTC", paint::time(trusted.at));
        paint::print_wrapped(&format!("{folder}  {}\n", paint::dim(since)), 2);
    }
    Ok(CommandExit::Success)
}

fn remove(places: &Paths, home: &Home, project: &Path) -> Result<TrustAnswer> {
    let shown = one_line(&project.display().to_string(), 1024);
    if !trust::remove_trusted(home, project)? {
        return Err(Error::not_found(format!("no file of `{shown}` is trusted"))
            .with_hint("`portcullis trust --list` shows which are"));
    }
    record(places, home, &format!("the configuration of `{shown}` is no longer trusted"), &[])?;
    Ok(TrustAnswer {
        outcome: "removed",
        changes: Vec::new(),
        text: format!("the configuration of `{shown}` is no longer trusted: it only tightens"),
    })
}

fn add(places: &Paths, home: &Home, project: &Path) -> Result<TrustAnswer> {
    interactive::refuse_agents()?;
    let shown = one_line(&project.display().to_string(), 1024);
    let files = portcullis_config::read_files(places)?;
    let Some(file) = files.iter().find(|file| file.layer == Layer::Project) else {
        return Err(Error::not_found(format!(
            "there is no `{}` in `{shown}`: there is nothing to trust",
            portcullis_config::paths::PROJECT_FILE
        )));
    };
    if trust::is_trusted(home, project, &file.digest) {
        return Ok(TrustAnswer {
            outcome: "unchanged",
            changes: Vec::new(),
            text: format!("the configuration of `{shown}` is trusted already"),
        });
    }
    let [before, after] =
        [false, true].map(|trusted| portcullis_config::settle_files(places, &files, trusted, None));
    let changes = changes(&before, &after);
    if let Some(long) = file
        .document
        .all()
        .find(|said| said.path.len().max(toml_text(&said.value).len()) > MOST_SHOWN)
    {
        return Err(Error::refused(format!(
            "line {} is too long to be shown, and nobody can trust what they do not see",
            long.place.0
        ))
        .with_hint("shorten it"));
    }
    if changes.is_empty() {
        return Ok(TrustAnswer {
            outcome: "not_needed",
            changes,
            text: format!(
                "the configuration of `{shown}` only tightens: all of it counts without trust"
            ),
        });
    }
    let what = question(&shown, &changes, &after);
    interactive::confirm_action(&what)?;
    let digest = file.digest.to_hex();
    let summary = format!(
        "a person trusts the configuration of `{shown}`, blake3 {}",
        digest.get(..16).unwrap_or_default()
    );
    // The record comes first, so that no trust is without one.
    record(places, home, &summary, &changes)?;
    trust::add_trusted(home, project, &file.digest, now_ms())?;
    Ok(TrustAnswer {
        outcome: "trusted",
        changes,
        text: format!("the configuration of `{shown}` is trusted, until it changes"),
    })
}

/// Returns one line for each value that applies only with trust, with its value without trust.
fn changes(before: &MergedSettings, after: &MergedSettings) -> Vec<String> {
    let default =
        |path: &str| all_keys().find(|key| key.path == path).and_then(|key| (key.default)());
    let value = |settled: &MergedSettings, path: &str| {
        settled.entries.get(path).map(|entry| entry.said.value.clone()).or_else(|| default(path))
    };
    let line = |path: &String| {
        let (old, new) = (value(before, path), value(after, path));
        let describe_value = |value: Option<_>| {
            value.map_or_else(
                || "nothing".to_owned(),
                |value| one_line(&toml_text(&value), 2 * MOST_SHOWN),
            )
        };
        (old != new).then(|| {
            format!(
                "{} = {}  (without trust {})",
                one_line(path, MOST_SHOWN),
                describe_value(new),
                describe_value(old)
            )
        })
    };
    after.entries.keys().filter_map(line).collect()
}

fn question(project: &str, changes: &[String], after: &MergedSettings) -> String {
    let mut text = format!("The configuration of `{project}` does more than tighten:\n");
    for change in changes {
        let _ = writeln!(text, "  {change}");
    }
    let vain: Vec<&IgnoredKey> = after
        .ignored
        .iter()
        .filter(|ignored| {
            ignored.layer == Layer::Project
                && matches!(
                    ignored.why,
                    IgnoreReason::Overridden(_) | IgnoreReason::Global | IgnoreReason::Owner
                )
        })
        .collect();
    if !vain.is_empty() {
        text.push_str("It also says this, which does not count even with trust:\n");
    }
    for ignored in vain {
        let said = format!(
            "{} = {}",
            one_line(&ignored.path, MOST_SHOWN),
            one_line(&ignored.value, MOST_SHOWN)
        );
        let _ = writeln!(text, "  {said}  ({})", ignored.why.in_words());
    }
    text.push_str("Until the file changes, this will hold for every agent that works there.");
    text
}

fn record(places: &Paths, home: &Home, what: &str, changes: &[String]) -> Result<()> {
    let durability =
        Config::load(places, Some(home)).map(|config| config.durability).unwrap_or_default();
    let mut record = Record::outside_session(
        RecordKind::Configuration,
        "trust",
        what,
        now_ms(),
        &std::process::id().to_string(),
    );
    if !changes.is_empty() {
        record.details.insert("changes".into(), changes.into());
    }
    Ok(write_record(home, durability, &record)?)
}
