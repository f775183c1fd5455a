//! `portcullis plugin`: lists loaded plugins, inspects components without running them, and
//! supports plugin authors.

mod bench;
pub mod compare;
mod diff;
mod publish;
mod record;
mod release;
mod subject;
mod test;

use super::second_program::run_second_program;
use crate::error::{Context, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_config::Config;
use portcullis_config::paths::Paths;
use portcullis_core::breaker::ReleaseCondition;
use portcullis_core::text::one_line;
use portcullis_engine::{Description, Grants, Source, inspect_component, read_component};
use portcullis_review::breakers::{self, HeldPlugin};
use portcullis_review::installed;
use portcullis_store::Home;
use portcullis_terminal::component::{format_size, grantable_text, inspection_text, list_grants};
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(clap::Subcommand)]
pub enum Command {
    #[command(flatten)]
    InSecondProgram(portcullis_author::second_program::Command),
    /// List the plugins of this installation
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what plugins in shadow mode would have done
    Compare(compare::Arguments),
    /// Re-enable a plugin disabled after repeated failures (interactive)
    Release(release::Arguments),
    /// Run a plugin's cases and show unexpected results; exit code 1 if there are any
    Test(test::Arguments),
    /// Measure a plugin's cost, compared with the built-in ones of its kind
    Bench(bench::Arguments),
    /// Compare two versions of a plugin, and judge the new one's number; exit code 1 if it says
    /// less than what changed
    Diff(diff::Arguments),
    /// Build, test, measure, bundle, vet, sign and push a plugin; says first what is missing; exit
    /// code 1 if something is
    Publish(publish::Arguments),
    /// Record a test case from an action in the journal
    Record(record::Arguments),
    /// Show what a component is and what it requests, without running it
    Inspect {
        /// The component
        file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// The indent of what a list says of a plugin below its name.
const INDENT: usize = 4;

pub fn run_plugin(command: &Command) -> Result<CommandExit> {
    match command {
        Command::InSecondProgram(command) => run_second_program(&command.command_arguments()),
        Command::List { json } => list(*json),
        Command::Compare(arguments) => compare::run_compare(arguments),
        Command::Release(arguments) => release::run_release(arguments),
        Command::Test(arguments) => test::run_test(arguments),
        Command::Bench(arguments) => bench::run_bench(arguments),
        Command::Diff(arguments) => diff::run_diff(arguments),
        Command::Publish(arguments) => publish::run_publish(arguments),
        Command::Record(arguments) => record::run_record(arguments),
        Command::Inspect { file, json } => show(file, *json),
    }
}

fn list(as_json: bool) -> Result<CommandExit> {
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let config = Config::load(&places, Some(&home))?;
    let folder = config.plugins_dir.display().to_string();
    let mut reviewer =
        installed::load_reviewer(&places, &home, config, &[], portcullis_config::clock::now_ms())?;
    let descriptions = reviewer.plugins.describe_all();
    let held = breakers::held_plugins(
        &super::audit::open_store()?.breakers()?,
        portcullis_config::clock::now_ms(),
    );
    if as_json {
        let plugins: Vec<_> = descriptions
            .iter()
            .map(|description| description_json(description, of(description, &held)))
            .collect();
        paint::print_text(&format!("{}\n", json!({ "plugins_dir": folder, "plugins": plugins })));
        return Ok(CommandExit::Success);
    }
    for description in &descriptions {
        let lines = description_lines(description, of(description, &held));
        lines.iter().for_each(|line| paint::print_wrapped(&format!("{line}\n"), INDENT));
    }
    let line = format!("\n{}\n", paint::dim(format!("components in `{folder}` are loaded too")));
    paint::print_wrapped(&line, 2);
    Ok(CommandExit::Success)
}

/// Returns what disables the plugin, if its file is still the one that failed.
fn of<'a>(description: &Description, held: &'a [HeldPlugin]) -> Option<&'a HeldPlugin> {
    held.iter().find(|held| held.is_of(description))
}

fn description_lines(description: &Description, held: Option<&HeldPlugin>) -> Vec<String> {
    let origin = match &description.source {
        Source::Builtin { .. } => "builtin".to_owned(),
        Source::File(path) => path.display().to_string(),
        Source::Pinned { path, .. } => format!("of a bundle, {}", path.display()),
    };
    let name = paint::bold(one_line(&description.name, 40));
    let inspection = match &description.inspection {
        Ok(inspection) => inspection,
        Err(error) => {
            let why = paint::bad(format!("cannot be loaded: {error} ({origin})"));
            return vec![format!("{name}  {why}")];
        }
    };
    let descriptor = inspection.descriptor.as_ref();
    let version = descriptor.map(|descriptor| one_line(&descriptor.version, 16));
    let size = format_size(inspection.size);
    let fault = format!("{} on a fault", description.on_fault);
    let shadow = description.shadow.then(|| "in shadow mode: does not count".to_owned());
    let facts: Vec<String> = [Some(inspection.kind.to_string()), version, Some(size), Some(fault)]
        .into_iter()
        .chain([shadow, Some(origin)])
        .flatten()
        .collect();
    let about = descriptor.map(|descriptor| paint::dim(one_line(&descriptor.description, 120)));
    let below = about.into_iter().chain(held.map(held_line));
    let below = below.map(|line| format!("{:INDENT$}{line}", ""));
    [format!("{name}  {}", facts.join(", "))].into_iter().chain(below).collect()
}

fn held_line(held: &HeldPlugin) -> String {
    let state = match held.waits {
        ReleaseCondition::Until(time) => format!("held until {} UTC", paint::time(time)),
        ReleaseCondition::ForAPerson => "in quarantine".to_owned(),
    };
    let why = one_line(&held.breaker.explain_hold(&held.name, held.waits), 400);
    paint::bad(format!("{state}: {why}"))
}

fn description_json(description: &Description, held: Option<&HeldPlugin>) -> serde_json::Value {
    let source = match &description.source {
        Source::Builtin { .. } => json!("builtin"),
        Source::File(path) | Source::Pinned { path, .. } => json!(path),
    };
    let held = held.map(|held| json!({ "waits": held.waits, "breaker": held.breaker }));
    match &description.inspection {
        Ok(inspection) => {
            json!({
                "name": description.name,
                "source": source,
                "on_fault": description.on_fault,
                "shadow": description.shadow,
                "inspection": inspection,
                "held": held,
            })
        }
        Err(error) => {
            json!({
                "name": description.name,
                "source": source,
                "on_fault": description.on_fault,
                "shadow": description.shadow,
                "error": error.to_string(),
            })
        }
    }
}

fn show(file: &Path, as_json: bool) -> Result<CommandExit> {
    let shown = one_line(&file.to_string_lossy(), 400);
    let inspection = read_component(file)
        .and_then(|bytes| inspect_component(&bytes))
        .with_context(|| format!("`{shown}` is not a plugin"))?;
    if as_json {
        let refused =
            inspection.check_grants(&Grants::default()).err().map(|error| error.to_string());
        paint::print_text(&format!(
            "{}\n",
            json!({
                "inspection": inspection,
                "refused": refused,
                "grants": list_grants(&inspection),
            })
        ));
        return Ok(CommandExit::Success);
    }
    paint::print_text(&inspection_text(&inspection, inspection.check_grants(&Grants::default())));
    paint::print_text(&grantable_text(&inspection, file));
    Ok(CommandExit::Success)
}
