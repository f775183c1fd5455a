//! `portcullis config`: shows the values in effect and their sources, reports mistakes, and prints
//! the schema for editors.

use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_config::clock::now_ms;
use portcullis_config::keys::{self, toml_text};
use portcullis_config::layers::{IgnoreReason, IgnoredKey, MergedSettings};
use portcullis_config::listing::{ListedKey, describe_place, file_of, list_keys, list_notes};
use portcullis_config::paths::Paths;
use portcullis_config::problem::{BadConfiguration, KeyProblem, Problems};
use portcullis_config::{Config, profiles, schema};
use portcullis_core::text::one_line;
use portcullis_engine::SettingValue as Value;
use portcullis_review::credentials::HomeCredentials;
use portcullis_review::installed;
use portcullis_review::{config_check, plugin_mistakes};
use portcullis_store::Home;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[derive(clap::Subcommand)]
pub enum Command {
    /// Show every key with its value and its source
    Show {
        /// Show the values for the projects of this pipeline instead of the current folder's
        /// project
        #[arg(long, value_name = "NAME", conflicts_with = "profile")]
        pipeline: Option<String>,
        /// Show the values that this profile sets, beside those in effect
        #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(profiles::PROFILE_NAMES))]
        profile: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Report every mistake; exit code 1 if there is one
    Check {
        /// Check this file as if it were yours; without it, the files in effect here
        file: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON schema of the file, for editors
    Schema,
}

/// The most bytes of a value that a line shows.
const MOST_SHOWN: usize = 200;

pub fn run_config(command: &Command) -> Result<CommandExit> {
    match command {
        Command::Show { profile: Some(profile), json, .. } => show_profile(profile, *json),
        Command::Show { pipeline, json, .. } => show(pipeline.as_deref(), *json),
        Command::Check { file, json } => check(file.as_deref(), *json),
        Command::Schema => {
            paint::print_text(&format!(
                "{}\n",
                serde_json::to_string_pretty(&schema::json_schema())?
            ));
            Ok(CommandExit::Success)
        }
    }
}

fn show(pipeline: Option<&str>, as_json: bool) -> Result<CommandExit> {
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let files = portcullis_config::read_files(&places)?;
    if let Some(name) = pipeline
        && !files
            .iter()
            .any(|file| file.document.pipelines.iter().any(|pipeline| pipeline.name == name))
    {
        return Err(Error::not_found(format!("there is no pipeline `{}`", one_line(name, 64)))
            .with_hint("`portcullis config show` lists the pipelines"));
    }
    let settled = portcullis_config::settle_layers(&places, Some(&home), pipeline)?;
    if as_json {
        let keys: Vec<Json> =
            list_keys(&settled).iter().map(|row| key_json(row, &settled)).collect();
        let ignored: Vec<Json> =
            settled.ignored.iter().map(|ignored| ignored_json(ignored, &settled)).collect();
        let files: Vec<Json> = settled
            .files
            .iter()
            .map(|(layer, path)| json!({ "layer": layer.as_str(), "path": path }))
            .collect();
        paint::print_text(&format!(
            "{}\n",
            json!({ "files": files, "keys": keys, "ignored": ignored, "notes": list_notes(&settled) })
        ));
        return Ok(CommandExit::Success);
    }
    for row in list_keys(&settled) {
        let value = one_line(&row.value.as_ref().map(toml_text).unwrap_or_default(), MOST_SHOWN);
        let path = one_line(
            &row.entry.map_or_else(|| row.path.clone(), |entry| entry.said.written()),
            MOST_SHOWN,
        );
        let line = format!(
            "{path:<40} {}  {}\n",
            paint::bold(format!("{value:<16}")),
            paint::dim(row.describe_origin(&settled))
        );
        paint::print_wrapped(&line, 4);
    }
    for note in list_notes(&settled) {
        paint::print_wrapped(&format!("\n{}: {note}\n", paint::warn("note")), 2);
    }
    if !settled.ignored.is_empty() {
        paint::print_text(&format!("\n{}\n", paint::warn("does not count")));
    }
    for ignored in &settled.ignored {
        let file = describe_place(&settled, ignored.layer, ignored.line);
        let said = format!(
            "{} = {}",
            one_line(&ignored.path, MOST_SHOWN),
            one_line(&ignored.value, MOST_SHOWN)
        );
        let why = paint::dim(format!("{file}: {}", ignored.why.in_words()));
        paint::print_wrapped(&format!("  {said}  {why}\n"), 4);
    }
    Ok(CommandExit::Success)
}

/// Shows the values of a profile beside those in effect.
fn show_profile(name: &str, as_json: bool) -> Result<CommandExit> {
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let settled = portcullis_config::settle_layers(&places, Some(&home), None)?;
    let now = |path: &str| keys::find_by_name(path).and_then(|key| settled.value_of(key));
    let chosen = now(profiles::PROFILE) == Some(Value::Text(name.to_owned()));
    let values = profiles::profile_values(name);
    if as_json {
        let keys: Vec<Json> = values
            .iter()
            .map(|said| {
                json!({
                    "key": said.path,
                    "value": schema::to_json(&said.value),
                    "now": now(&said.path).as_ref().map(schema::to_json),
                })
            })
            .collect();
        let shown = json!({ "profile": name, "in_effect": chosen, "keys": keys });
        paint::print_text(&format!("{shown}\n"));
        return Ok(CommandExit::Success);
    }
    for said in &values {
        let value = toml_text(&said.value);
        let now = now(&said.path).as_ref().map(toml_text).unwrap_or_default();
        let line = format!(
            "{:<40} {}  {}\n",
            said.path,
            paint::bold(format!("{value:<24}")),
            paint::dim(format!("now {now}"))
        );
        paint::print_wrapped(&line, 4);
    }
    let said = match (values.is_empty(), chosen) {
        (true, true) => format!("`{name}` sets nothing; it is in effect"),
        (true, false) => format!("`{name}` sets nothing: every key has its default"),
        (false, true) => format!("`{name}` is in effect"),
        (false, false) => format!("`profile = \"{name}\"` in `config.toml` puts it into effect"),
    };
    paint::print_wrapped(&format!("{said}\n"), 0);
    Ok(CommandExit::Success)
}

fn key_json(listed: &ListedKey<'_>, settled: &MergedSettings) -> Json {
    let origin = match listed.entry {
        None => json!("default"),
        Some(entry) => json!({
            "layer": entry.origin.layer.as_str(),
            "file": file_of(settled, entry.origin.layer),
            "line": entry.said.place.0,
            "pipeline": entry.origin.pipeline,
            "tightened": entry.origin.tightened,
        }),
    };
    json!({
        "key": listed.path,
        "value": listed.value.as_ref().map(schema::to_json),
        "origin": origin,
    })
}

fn ignored_json(ignored: &IgnoredKey, settled: &MergedSettings) -> Json {
    json!({
        "key": ignored.path,
        "value": ignored.value,
        "layer": ignored.layer.as_str(),
        "file": file_of(settled, ignored.layer),
        "line": ignored.line,
        "why": ignored.why.in_words(),
        "needs_trust": ignored.why == IgnoreReason::Untrusted,
    })
}

fn check(file: Option<&Path>, as_json: bool) -> Result<CommandExit> {
    let places = Paths::from_environment()?;
    let checked = match file {
        Some(path) => check_file(path, &places),
        None => check_in_effect(&places),
    };
    let files = match checked {
        Ok(files) => files,
        Err(lines) if as_json => {
            let document = json!({ "ok": false, "files": [], "mistakes": lines });
            paint::print_text(&format!("{document}\n"));
            return Ok(CommandExit::Failure);
        }
        Err(lines) => {
            lines.iter().for_each(|line| paint::print_text(&format!("{line}\n")));
            return Ok(CommandExit::Failure);
        }
    };
    if as_json {
        let document = json!({ "ok": true, "files": files, "mistakes": [] });
        paint::print_text(&format!("{document}\n"));
        return Ok(CommandExit::Success);
    }
    if files.is_empty() {
        paint::print_text("there is no configuration: everything has its default\n");
    }
    for path in &files {
        let shown = one_line(&path.display().to_string(), 1024);
        paint::print_text(&format!("{shown}: {}\n", paint::good("ok")));
    }
    Ok(CommandExit::Success)
}

/// Checks one file alone. The set of existing plugins is known only for the files in effect here.
///
/// # Errors
/// Fails with one line for each mistake.
fn check_file(path: &Path, places: &Paths) -> Result<Vec<PathBuf>, Vec<String>> {
    let settled = portcullis_config::settle_file(path, places).map_err(|bad| lines_of(&bad.0))?;
    let config =
        Config::read_file(path, places).map_err(|error| lines_of_error(&error, &settled))?;
    let home = Home::open_existing(&places.state).ok().flatten();
    let credentials = HomeCredentials::of_home(home.as_ref());
    let mistakes = config_check::find_mistakes(&settled, &config, &places.person, &credentials);
    if mistakes.is_empty() { Ok(vec![path.to_owned()]) } else { Err(lines_of(&mistakes)) }
}

/// Checks the files in effect here, as a hook would load them.
///
/// # Errors
/// Fails with one line for each mistake.
fn check_in_effect(places: &Paths) -> Result<Vec<PathBuf>, Vec<String>> {
    let home = Home::open_root(&places.state).ok();
    let settled = portcullis_config::settle_layers(places, home.as_ref(), None)
        .map_err(|bad| lines_of(&bad.0))?;
    let mut lines = Vec::new();
    let config = Config::load(places, home.as_ref())
        .map_err(|error| lines.extend(lines_of_error(&error, &settled)))
        .ok();
    if let Some(config) = config {
        let credentials = HomeCredentials::of_home(home.as_ref());
        let mistakes = config_check::find_mistakes(&settled, &config, &places.person, &credentials);
        lines.extend(lines_of(&mistakes));
        if let Some(home) = home {
            let mut load = |config| installed::load_reviewer(places, &home, config, &[], now_ms());
            match plugin_mistakes::find_plugin_mistakes(&config, &mut load) {
                Ok(mistakes) => lines.extend(
                    mistakes
                        .iter()
                        .map(|mistake| {
                            config_check::place_problem(&settled, Some(&config), mistake)
                        })
                        .flat_map(|problem| problem.lines()),
                ),
                Err(error) => lines.extend(lines_of_error(&error, &settled)),
            }
        }
    }
    // A custom strategy without its decider is found alone, and again when everything is loaded.
    let mut seen = BTreeSet::new();
    lines.retain(|line| seen.insert(line.clone()));
    if lines.is_empty() {
        Ok(settled.files.into_iter().map(|(_, path)| path).collect())
    } else {
        Err(lines)
    }
}

fn lines_of(problems: &[Problems]) -> Vec<String> {
    problems.iter().flat_map(Problems::lines).collect()
}

/// Formats an error of loading, with its file and position if they are known.
fn lines_of_error(error: &anyhow::Error, settled: &MergedSettings) -> Vec<String> {
    if let Some(BadConfiguration(bad)) = error.downcast_ref() {
        return lines_of(bad);
    }
    match error.downcast_ref::<KeyProblem>() {
        Some(problem) => config_check::place_problem(settled, None, problem).lines(),
        None => vec![format!("{error:#}")],
    }
}
