//! `portcullis plugin publish`: takes a plugin's project from its source to a registry, by the
//! commands that an author would run one by one, and says first what is missing.
//!
//! ```text
//! project -> what is missing -> build -> test -> diff -> bundle -> vet -> sign -> push
//!                                                            `--dry-run` ends here ^
//! ```
//!
//! Each step is this program with the arguments that are shown, so that it can be run alone and in
//! any order. The first one that fails ends the run.

use crate::bundles::manifest::BundleManifest;
use crate::bundles::source::RegistryOptions;
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_author::cases::{self, Case};
use portcullis_author::project::{MANIFEST as PROJECT, PluginProject};
use portcullis_config::file;
use portcullis_config::paths::own_program;
use portcullis_config::problem::Problems;
use portcullis_core::text::one_line;
use portcullis_registry::Reference;
use serde::Serialize;
use serde_json::json;
use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The manifest of the bundle that holds the plugin, in its project.
const BUNDLE: &str = "bundle.toml";
/// The archive, in the project's folder for build output.
const ARCHIVE: &str = "publish.tar";
const README: &str = "README.md";

#[derive(clap::Args)]
pub struct Arguments {
    /// The folder of the plugin's project
    #[arg(default_value = ".", value_name = "FOLDER")]
    folder: PathBuf,
    /// Push the bundle here: registry and repository
    #[arg(long, value_name = "REFERENCE", required_unless_present = "dry_run")]
    to: Option<Reference>,
    /// Sign with this secret key
    #[arg(long, value_name = "FILE", required_unless_present = "dry_run")]
    key: Option<PathBuf>,
    /// Read the key's passphrase from this file (mode 600) instead of asking at the terminal
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Compare with the component of the last published version
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

/// Something that a published plugin has and this one has not.
#[derive(Debug, Serialize)]
struct MissingPart {
    /// What is missing.
    what: String,
    /// How to add it.
    fix: String,
}

/// A command of this program.
#[derive(Debug)]
struct PublishStep {
    name: &'static str,
    words: Vec<OsString>,
}

pub fn run_publish(arguments: &Arguments) -> Result<CommandExit> {
    if !arguments.folder.join(PROJECT).is_file() {
        let shown = one_line(&arguments.folder.to_string_lossy(), 400);
        return Err(Error::not_found(format!("`{shown}` holds no plugin project"))
            .with_hint("name a project's folder, or make one: `portcullis plugin new NAME`"));
    }
    let project = PluginProject::find_project(&arguments.folder)?;
    let missing = list_missing(&project, arguments)?;
    if !missing.is_empty() {
        report_missing(&missing, arguments.json);
        return Ok(CommandExit::of_check(false));
    }
    let mut done = Vec::new();
    for step in list_steps(&project, arguments)? {
        let is_done = run_step(&step, arguments.json)?;
        done.push(json!({ "step": step.name, "command": step.text(), "ok": is_done }));
        if !is_done {
            report_end(&done, Some(&step), arguments);
            return Ok(CommandExit::of_check(false));
        }
    }
    report_end(&done, None, arguments);
    Ok(CommandExit::Success)
}

/// Lists what is missing, before minutes of work.
fn list_missing(project: &PluginProject, arguments: &Arguments) -> Result<Vec<MissingPart>> {
    let mut missing = Vec::new();
    let mut add = |what: &str, fix: String| {
        missing.push(MissingPart { what: what.to_owned(), fix });
    };
    let page = file::read_file(&project.folder.join(README))?.unwrap_or_default();
    if page.is_empty() {
        add(
            "a page for the people who install it",
            format!(
                "write `{README}`: what it objects to, what it lets pass, its false alarms and settings"
            ),
        );
    } else if let Some(setting) =
        project.manifest.settings.iter().find(|setting| !page.contains(&setting.key))
    {
        add(
            &format!("the setting `{}` on the plugin's page", setting.key),
            format!("say in `{README}` what it is for"),
        );
    }
    let (expecting, silent) = count_cases(project)?;
    if expecting == 0 {
        add(
            "a case with a finding",
            "add one to `cases.toml`: `portcullis plugin test --update`".to_owned(),
        );
    }
    if silent == 0 {
        add("a case that it lets pass", "add a harmless action to `cases.toml`".to_owned());
    }
    if project.folder.join(BUNDLE).is_file() {
        let manifest = BundleManifest::read_manifest(&project.folder)?;
        for (key, value) in [("licence", &manifest.licence), ("source", &manifest.source)] {
            if value.is_empty() {
                add(
                    &format!("`{key}` of the bundle"),
                    format!("add `{key} = \"...\"` to `{BUNDLE}`"),
                );
            }
        }
        if is_published(arguments, &manifest)? {
            add(
                "a new version of the bundle",
                format!("{} is published already: raise `version` in `{BUNDLE}`", manifest.version),
            );
        }
    } else {
        add("a bundle", describe_bundle(project));
    }
    for (what, file) in [("the key", &arguments.key), ("the previous version", &arguments.previous)]
    {
        if let Some(file) = file.as_deref().filter(|file| !file.is_file()) {
            let shown = one_line(&file.to_string_lossy(), 400);
            add(what, format!("there is no `{shown}`"));
        }
    }
    Ok(missing)
}

/// Returns true if the registry has that version, which a push would replace for all who have it. What cannot be asked for
/// is not there yet, or the push says why.
fn is_published(arguments: &Arguments, manifest: &BundleManifest) -> Result<bool> {
    let Some(to) = arguments.to.as_ref().filter(|_| !arguments.dry_run) else { return Ok(false) };
    let versions = arguments.reach.client()?.list_versions(to).unwrap_or_default();
    Ok(versions.iter().any(|(version, _)| *version == manifest.version))
}

/// Returns how many cases expect a finding, and how many expect none.
fn count_cases(project: &PluginProject) -> Result<(usize, usize)> {
    let path = project.cases();
    let Some(text) = file::read_file(&path)? else { return Ok((0, 0)) };
    let cases = cases::read_cases(&text, project.manifest.kind)
        .map_err(|(problems, more)| Problems { file: path, problems, more })?;
    let expects = |case: &&Case| {
        let expected = case.steps.iter().map(|step| &step.expected).chain([&case.expected]);
        expected.into_iter().any(|expected| !expected.findings.is_empty())
    };
    let expecting = cases.iter().filter(expects).count();
    Ok((expecting, cases.len() - expecting))
}

fn describe_bundle(project: &PluginProject) -> String {
    let (name, version) = (&project.manifest.name, project.manifest.version.as_deref());
    let version = version.unwrap_or("0.1.0");
    format!(
        "write `{BUNDLE}`:\n  name = \"your-name/{name}\"\n  version = \"{version}\"\n  description = \"...\"\n  \
         licence = \"Apache-2.0\"\n  source = \"https://...\"\n\n  [[plugin]]\n  file = \".\""
    )
}

/// Lists the commands, in order.
fn list_steps(project: &PluginProject, arguments: &Arguments) -> Result<Vec<PublishStep>> {
    let folder = project.folder.as_os_str().to_owned();
    let archive = project.folder.join(portcullis_author::project::BUILD).join(ARCHIVE);
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
    let [plugin, bundle, build, test, diff, vet, sign, push] =
        ["plugin", "bundle", "build", "test", "diff", "vet", "sign", "push"].map(OsString::from);
    let mut steps =
        vec![step("build", &[&plugin, &build, &folder]), step("test", &[&plugin, &test, &folder])];
    if let Some(previous) = &arguments.previous {
        let previous = previous.as_os_str().to_owned();
        let mut compared = step("diff", &[&plugin, &diff, &previous, &folder]);
        compared.words.extend(arguments.material());
        steps.push(compared);
    }
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

/// Runs a command of this program; returns true if it succeeded.
fn run_step(step: &PublishStep, quiet: bool) -> Result<bool> {
    let program = own_program().context("cannot determine where this program is")?;
    let mut command = Command::new(program);
    command.args(&step.words);
    if quiet {
        command.stdout(Stdio::null());
    } else {
        paint::print_text(&format!(
            "\n{} {}\n",
            paint::bold(format!("{}:", step.name)),
            step.text()
        ));
    }
    let ended = command.status().with_context(|| format!("cannot run `{}`", step.text()))?;
    Ok(ended.success())
}

fn report_missing(missing: &[MissingPart], as_json: bool) {
    if as_json {
        paint::print_text(&format!("{}\n", json!({ "missing": missing, "steps": [] })));
        return;
    }
    let mut text = String::new();
    for part in missing {
        let _ = writeln!(text, "{} {}", paint::bad("missing"), paint::bold(&part.what));
        part.fix.lines().for_each(|line| {
            let _ = writeln!(text, "    {line}");
        });
    }
    text.push_str("nothing was built or sent\n");
    paint::print_text(&text);
}

fn report_end(done: &[serde_json::Value], failed: Option<&PublishStep>, arguments: &Arguments) {
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
