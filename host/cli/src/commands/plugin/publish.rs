//! `portcullis plugin publish`: takes a plugin's project from its source to a registry, by the
//! commands that an author would run one by one, and says first what is missing.
//!
//! ```text
//! project -> what is missing -> build -> test -> diff -> bench -> bundle -> vet -> sign -> push
//!                                                                     `--dry-run` ends here ^
//! ```
//!
//! The settings that the page has to explain are those of the built component, so they are the last
//! that may be missing.
//!
//! Each step is this program with the arguments that are shown, so that it can be run alone and in
//! any order. The first one that fails ends the run.

mod missing;
mod previous;

use crate::bundles::source::RegistryOptions;
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use missing::{MissingPart, list_missing, list_unexplained_settings, missing_text};
use portcullis_author::project::{BUILD, MANIFEST as PROJECT, PluginProject};
use portcullis_config::paths::own_program;
use portcullis_core::text::one_line;
use portcullis_registry::Reference;
use previous::{find_previous, list_published};
use serde::Serialize;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The archive, in the project's folder for build output.
const ARCHIVE: &str = "publish.tar";
/// The step after which the component is there.
const BUILD_STEP: &str = "build";
/// The step whose numbers are reported.
const BENCH_STEP: &str = "bench";

#[derive(clap::Args)]
pub struct Arguments {
    /// The folder of the plugin's project
    #[arg(default_value = ".", value_name = "FOLDER")]
    folder: PathBuf,
    /// Push the bundle here: registry and repository; with `--dry-run`, only compare with what is
    /// there
    #[arg(long, value_name = "REFERENCE", required_unless_present = "dry_run")]
    to: Option<Reference>,
    /// Sign with this secret key
    #[arg(long, value_name = "FILE", required_unless_present = "dry_run")]
    key: Option<PathBuf>,
    /// Read the key's passphrase from this file (mode 600) instead of asking at the terminal
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Compare with this component of the version before (default: the newest older one that is in
    /// the registry of `--to`)
    #[arg(long, value_name = "FILE")]
    previous: Option<PathBuf>,
    /// Vet it on labelled actions too, in the format of `eval`: a file or a folder
    #[arg(long, value_name = "FILE|DIR")]
    corpus: Vec<PathBuf>,
    /// Vet it on recorded sessions too, in the formats of `replay`: a file or a folder
    #[arg(long, value_name = "FILE|DIR")]
    session: Vec<PathBuf>,
    /// Stop before anything is signed or sent
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reach: RegistryOptions,
}

/// A command of this program.
#[derive(Debug)]
struct PublishStep {
    name: &'static str,
    words: Vec<OsString>,
}

/// A command that was run.
#[derive(Debug, Serialize)]
struct EndedStep {
    step: &'static str,
    command: String,
    ok: bool,
    /// The cost of a call, from `plugin bench`.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Value>,
}

pub fn run_publish(arguments: &Arguments) -> Result<CommandExit> {
    if !arguments.folder.join(PROJECT).is_file() {
        let shown = one_line(&arguments.folder.to_string_lossy(), 400);
        return Err(Error::not_found(format!("`{shown}` holds no plugin project"))
            .with_hint("name a project's folder, or make one: `portcullis plugin new NAME`"));
    }
    let project = PluginProject::find_project(&arguments.folder)?;
    let published = list_published(&project, arguments)?;
    let missing = list_missing(&project, arguments, &published.versions)?;
    if !missing.is_empty() {
        return Ok(report_missing(&missing, &[], arguments.json));
    }
    let previous = find_previous(&project, arguments, &published)?;
    if !arguments.json && !previous.note.is_empty() {
        paint::print_text(&format!("{}\n", previous.note));
    }
    let mut done = Vec::new();
    for step in list_steps(&project, arguments, previous.file)? {
        let ended = run_step(&step, arguments.json)?;
        let is_done = ended.ok;
        done.push(ended);
        if !is_done {
            report_end(&done, Some(&step), arguments);
            return Ok(CommandExit::of_check(false));
        }
        if step.name == BUILD_STEP {
            let missing = list_unexplained_settings(&project)?;
            if !missing.is_empty() {
                return Ok(report_missing(&missing, &done, arguments.json));
            }
        }
    }
    report_end(&done, None, arguments);
    Ok(CommandExit::Success)
}

/// Lists the commands, in order.
fn list_steps(
    project: &PluginProject,
    arguments: &Arguments,
    previous: Option<PathBuf>,
) -> Result<Vec<PublishStep>> {
    let folder = project.folder.as_os_str().to_owned();
    let archive = project.folder.join(BUILD).join(ARCHIVE);
    // `bundle build` overwrites no other bundle, and the last run may have left one.
    match fs::remove_file(&archive) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Error::io(format!("cannot remove `{}`: {error}", archive.display())));
        }
        _ => {}
    }
    let archive = archive.into_os_string();
    let step = |name, words: &[&OsString]| PublishStep {
        name,
        words: words.iter().map(|word| (*word).clone()).collect(),
    };
    let [plugin, bundle, build, test, diff, bench, vet, sign, push] =
        ["plugin", "bundle", "build", "test", "diff", "bench", "vet", "sign", "push"]
            .map(OsString::from);
    let mut steps = vec![
        step(BUILD_STEP, &[&plugin, &build, &folder]),
        step("test", &[&plugin, &test, &folder]),
    ];
    if let Some(previous) = previous {
        let previous = previous.into_os_string();
        let mut compared = step("diff", &[&plugin, &diff, &previous, &folder]);
        compared.words.extend(arguments.material());
        steps.push(compared);
    }
    steps.push(step(BENCH_STEP, &[&plugin, &bench, &folder]));
    steps.push(step("bundle", &[&bundle, &build, &folder, &"--output".into(), &archive]));
    let mut cases = OsString::from(format!("{}=", project.manifest.name));
    cases.push(project.cases());
    let mut vetted =
        step("vet", &[&bundle, &vet, &archive, &"--dry-run".into(), &"--cases".into(), &cases]);
    vetted.words.extend(arguments.material());
    steps.push(vetted);
    if let (false, Some(key), Some(to)) = (arguments.dry_run, &arguments.key, &arguments.to) {
        let key = key.as_os_str().to_owned();
        let mut signed = step("sign", &[&bundle, &sign, &archive, &"--key".into(), &key]);
        if let Some(file) = &arguments.passphrase_file {
            signed.words.extend(["--passphrase-file".into(), file.as_os_str().to_owned()]);
        }
        steps.push(signed);
        let mut pushed = step("push", &[&bundle, &push, &archive, &to.to_string().into()]);
        pushed.words.extend(arguments.reach.words());
        steps.push(pushed);
    }
    Ok(steps)
}

impl Arguments {
    fn material(&self) -> impl Iterator<Item = OsString> {
        let named = |option: &'static str, paths: &[PathBuf]| -> Vec<OsString> {
            paths.iter().flat_map(|path| [option.into(), path.as_os_str().to_owned()]).collect()
        };
        named("--corpus", &self.corpus).into_iter().chain(named("--session", &self.session))
    }
}

impl PublishStep {
    /// Returns the command as a person would write it.
    fn text(&self) -> String {
        let words = self.words.iter().map(|word| one_line(&word.to_string_lossy(), 400));
        ["portcullis".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
    }
}

/// Runs a command of this program. What it measures is part of the report as JSON.
fn run_step(step: &PublishStep, as_json: bool) -> Result<EndedStep> {
    let program = own_program().context("cannot determine where this program is")?;
    let mut command = Command::new(program);
    command.args(&step.words);
    let measures = as_json && step.name == BENCH_STEP;
    if measures {
        command.arg("--json").stdout(Stdio::piped());
    } else if as_json {
        command.stdout(Stdio::null());
    } else {
        paint::print_text(&format!(
            "\n{} {}\n",
            paint::bold(format!("{}:", step.name)),
            step.text()
        ));
    }
    let child = command.spawn().and_then(|child| child.wait_with_output());
    let ended = child.with_context(|| format!("cannot run `{}`", step.text()))?;
    let ok = ended.status.success();
    let cost = (measures && ok).then(|| read_cost(&ended.stdout)).transpose()?;
    Ok(EndedStep { step: step.name, command: step.text(), ok, cost })
}

/// Returns the plugin's own row, the first, of what `plugin bench` prints.
fn read_cost(output: &[u8]) -> Result<Value> {
    let report: Value = serde_json::from_slice(output).context("the costs are not JSON")?;
    let row = report.pointer("/plugins/0").cloned();
    row.ok_or_else(|| Error::internal("the costs lack the plugin"))
}

/// Reports what is missing after these steps.
fn report_missing(missing: &[MissingPart], done: &[EndedStep], as_json: bool) -> CommandExit {
    let end = if done.is_empty() { "nothing was built or sent" } else { "nothing was sent" };
    let text = if as_json {
        json!({ "missing": missing, "steps": done }).to_string()
    } else {
        format!("{}{end}", missing_text(missing))
    };
    paint::print_text(&format!("{text}\n"));
    CommandExit::of_check(false)
}

fn report_end(done: &[EndedStep], failed: Option<&PublishStep>, arguments: &Arguments) {
    if arguments.json {
        paint::print_text(&format!("{}\n", json!({ "missing": [], "steps": done })));
        return;
    }
    let text = match failed {
        Some(step) => paint::bad(format!("stopped at `{}`; nothing was sent", step.name)),
        None if arguments.dry_run => paint::good("it can be published; nothing was signed or sent"),
        None => paint::good("published"),
    };
    paint::print_text(&format!("\n{text}\n"));
}
