//! `portcullis plugin`: lists loaded plugins, inspects components without running them, and
//! supports plugin authors.

mod bench;
mod build;
pub mod compare;
mod new;
mod record;
mod release;
mod subject;
mod test;

use crate::paint;
use anyhow::{Context, Result};
use portcullis_config::Config;
use portcullis_config::paths::Paths;
use portcullis_core::breaker::ReleaseCondition;
use portcullis_core::text::one_line;
use portcullis_engine::{
    Description, Grants, Import, Inspection, LoadError, Source, Tier, inspect, read_component,
};
use portcullis_review::breakers::{self, HeldPlugin};
use portcullis_review::reviewer::Reviewer;
use portcullis_store::Home;
use serde_json::json;
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Subcommand)]
pub enum Command {
    /// Create a small starter project for a plugin
    New(new::Arguments),
    /// Build a plugin's project into a small, checked component
    Build(build::Arguments),
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
const INDENT: usize = 21;

pub fn run(command: &Command) -> Result<u8> {
    match command {
        Command::New(arguments) => new::run(arguments),
        Command::Build(arguments) => build::run(arguments),
        Command::List { json } => list(*json),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Release(arguments) => release::run(arguments),
        Command::Test(arguments) => test::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
        Command::Record(arguments) => record::run(arguments),
        Command::Inspect { file, json } => show(file, *json),
    }
}

fn list(as_json: bool) -> Result<u8> {
    let places = Paths::from_environment()?;
    let home = Home::open(&places.state)?;
    let config = Config::load(&places, Some(&home))?;
    let folder = config.plugins_dir.display().to_string();
    let mut reviewer =
        Reviewer::installed(&places, &home, config, &[], portcullis_config::clock::now())?;
    let descriptions = reviewer.plugins.describe();
    let held =
        breakers::held_plugins(&super::audit::open()?.breakers()?, portcullis_config::clock::now());
    if as_json {
        let plugins: Vec<_> = descriptions
            .iter()
            .map(|description| description_json(description, of(description, &held)))
            .collect();
        paint::print(&format!("{}\n", json!({ "plugins_dir": folder, "plugins": plugins })));
        return Ok(0);
    }
    for description in &descriptions {
        paint::print_wrapped(&description_line(description, of(description, &held)), INDENT);
    }
    let line = format!("\n{}\n", paint::dim(format!("components in `{folder}` are loaded too")));
    paint::print_wrapped(&line, 2);
    Ok(0)
}

/// Returns what disables the plugin, if its file is still the one that failed.
fn of<'a>(description: &Description, held: &'a [HeldPlugin]) -> Option<&'a HeldPlugin> {
    held.iter().find(|held| held.is_of(description))
}

fn description_line(description: &Description, held: Option<&HeldPlugin>) -> String {
    let origin = match &description.source {
        Source::Builtin { .. } => "builtin".to_owned(),
        Source::File(path) => path.display().to_string(),
        Source::Pinned { path, .. } => format!("of a bundle, {}", path.display()),
    };
    let origin = if description.shadow {
        format!("{origin}, in shadow mode and does not count")
    } else {
        origin
    };
    match &description.inspection {
        Ok(inspection) => {
            let version = inspection
                .descriptor
                .as_ref()
                .map(|descriptor| one_line(&descriptor.version, 16))
                .unwrap_or_default();
            let about = inspection
                .descriptor
                .as_ref()
                .map(|descriptor| one_line(&descriptor.description, 120))
                .unwrap_or_default();
            let about = match about.as_str() {
                "" => about,
                about => format!("{:20} {}\n", "", paint::dim(about)),
            };
            format!(
                "{:<20} {:<16} {:<7} {:>7}  on fault {:<5}  {}\n{about}{}",
                paint::bold(format!("{:<20}", one_line(&description.name, 40))),
                inspection.kind,
                version,
                size(inspection.size),
                description.on_fault,
                paint::dim(origin),
                held.map(held_line).unwrap_or_default()
            )
        }
        Err(error) => format!(
            "{:<20} {}\n",
            paint::bold(one_line(&description.name, 40)),
            paint::bad(format!("cannot be loaded: {error} ({origin})"))
        ),
    }
}

fn held_line(held: &HeldPlugin) -> String {
    let state = match held.waits {
        ReleaseCondition::Until(time) => format!("held until {} UTC", paint::time(time)),
        ReleaseCondition::ForAPerson => "in quarantine".to_owned(),
    };
    format!(
        "{:20} {}\n",
        "",
        paint::bad(format!(
            "{state}: {}",
            one_line(&held.breaker.why(&held.name, held.waits), 400)
        ))
    )
}

fn description_json(description: &Description, held: Option<&HeldPlugin>) -> serde_json::Value {
    let source = match &description.source {
        Source::Builtin { .. } => json!("builtin"),
        Source::File(path) | Source::Pinned { path, .. } => json!(path),
    };
    let held = held.map(|held| json!({ "waits": held.waits, "breaker": held.breaker }));
    match &description.inspection {
        Ok(inspection) => {
            json!({ "name": description.name, "source": source, "on_fault": description.on_fault, "shadow": description.shadow, "inspection": inspection, "held": held })
        }
        Err(error) => {
            json!({ "name": description.name, "source": source, "on_fault": description.on_fault, "shadow": description.shadow, "error": error.to_string() })
        }
    }
}

fn show(file: &Path, as_json: bool) -> Result<u8> {
    let shown = one_line(&file.to_string_lossy(), 400);
    let inspection = read_component(file)
        .and_then(|bytes| inspect(&bytes))
        .with_context(|| format!("`{shown}` is not a plugin"))?;
    if as_json {
        let refused = inspection.granted(&Grants::default()).err().map(|error| error.to_string());
        paint::print(&format!(
            "{}\n",
            json!({ "inspection": inspection, "refused": refused, "grants": grants(&inspection) })
        ));
        return Ok(0);
    }
    paint::print(&inspected(&inspection, inspection.granted(&Grants::default())));
    paint::print(&grantable(&inspection, file));
    Ok(0)
}

/// Returns the lines that would grant what a component requests, without repetitions.
fn grants(inspection: &Inspection) -> Vec<&'static str> {
    let mut lines: Vec<&str> = inspection.imports.iter().filter_map(Import::grant).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// Formats what its owner would write to grant it more than answers without effect.
fn grantable(inspection: &Inspection, file: &Path) -> String {
    let lines = grants(inspection);
    if lines.is_empty() {
        return String::new();
    }
    let stem =
        file.file_stem().map(|stem| one_line(&stem.to_string_lossy(), 64)).unwrap_or_default();
    let mut text = "what it imports may be all that its language brings along; if it needs more than answers without effect, write the\n\
                    lines that it needs into config.toml:\n"
        .to_owned();
    let _ = writeln!(text, "  [plugins.{stem}.grants]");
    for line in lines {
        let _ = writeln!(text, "  {line}");
    }
    text
}

fn inspected(inspection: &Inspection, granted: Result<(), LoadError>) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{}  built for portcullis:plugin@{}",
        paint::bold(inspection.kind),
        inspection.wit_version
    );
    if let Some(descriptor) = &inspection.descriptor {
        let _ = writeln!(
            text,
            "{} {}: {}",
            one_line(&descriptor.name, 64),
            one_line(&descriptor.version, 32),
            one_line(&descriptor.description, 400)
        );
    }
    let _ = writeln!(text, "{}, blake3 {}", size(inspection.size), inspection.digest);
    if inspection.imports.is_empty() {
        let _ = writeln!(text, "asks for nothing");
    }
    for import in &inspection.imports {
        let tier = match import.tier {
            Tier::Own => paint::good("given  "),
            Tier::Inert => paint::dim("inert  "),
            Tier::Hosts | Tier::Refused => paint::bad("refused"),
        };
        let _ = writeln!(
            text,
            "  {tier} {}  {}",
            import.name,
            paint::dim(format!("wants to {}", import.wants()))
        );
    }
    match granted {
        Ok(()) => {
            text.push_str("it can be loaded: everything it asks for is given or without effect\n")
        }
        Err(error) => {
            let _ = writeln!(text, "{}: {error}", paint::bad("it would be refused"));
        }
    }
    text
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes / 1024),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}
