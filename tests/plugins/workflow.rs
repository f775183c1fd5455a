//! Tests of the workflow and the action for a plugin's own repository: they fit together, and the
//! action's scripts do what they are for. A registry and the program are real, a runner is not.

use crate::LIMIT;
use crate::common::process;
use crate::common::site::Site;
use crate::common::trial;
use crate::keys::passphrase;
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use yaml_rust2::{Yaml, YamlLoader};

/// A language, what installs its tools, and what is run for it.
const TOOLS: &[(&str, &str)] = &[
    ("rust", "rustup target add wasm32-unknown-unknown\n"),
    ("c", "python3 -m venv .venv\npip install ziglang==0.17.1\n"),
    ("python", "python3 -m venv .venv\npip install -r requirements.txt\n"),
    ("js", "npm install\n"),
    ("ts", "npm install\n"),
    ("go", "go mod tidy\n"),
    ("other", ""),
];

/// Returns the tests of this file.
pub fn trials() -> Vec<Trial> {
    vec![
        trial("publishing: the workflow gives the action what it takes", fits),
        trial("publishing: the action installs the program and each language's tools", installs),
    ]
}

fn document(name: &str) -> Result<Yaml> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/publishing").join(name);
    let documents = YamlLoader::load_from_str(&fs::read_to_string(path)?)?;
    documents.into_iter().next().with_context(|| format!("{name} is empty"))
}

/// Returns the keys of a mapping.
fn keys(mapping: &Yaml) -> BTreeSet<&str> {
    mapping.as_hash().into_iter().flatten().filter_map(|(key, _)| key.as_str()).collect()
}

/// Returns the inputs that an expression names.
fn inputs_of(text: &str) -> impl Iterator<Item = &str> {
    let named = text.split("inputs.").skip(1);
    named.filter_map(|rest| rest.split(|letter: char| !letter.is_alphanumeric()).next())
}

/// Each input is used, and nothing else; scripts hold no expression, so that no input is run; the workflow tries each change
/// and pushes only tags, with all that a push needs.
fn fits() -> Result<()> {
    let action = document("action.yml")?;
    let inputs = keys(&action["inputs"]);
    let mut used = BTreeSet::new();
    for step in action["runs"]["steps"].as_vec().context("no steps")? {
        let script = step["run"].as_str().context("a step without a script")?;
        ensure!(!script.contains("${{"), "an expression in a script: {script}");
        for (name, value) in step["env"].as_hash().context("no variables")? {
            let name = name.as_str().unwrap_or_default();
            ensure!(
                script.contains(&format!("${name}")) || script.contains(&format!("${{{name}")),
                "`{name}` is not used"
            );
            used.extend(inputs_of(value.as_str().unwrap_or_default()));
        }
    }
    ensure!(used == inputs, "used: {used:?}, taken: {inputs:?}");

    let workflow = document("workflow.yml")?;
    let mut pushes = Vec::new();
    for (name, job) in workflow["jobs"].as_hash().context("no jobs")? {
        let steps = job["steps"].as_vec().context("no steps")?;
        let publish = steps
            .iter()
            .find(|step| step["uses"].as_str() == Some("./.github/actions/publish-plugin"));
        let with = &publish.context("a job without the action")?["with"];
        let given = keys(with);
        ensure!(given.is_subset(&inputs), "{given:?}");
        for (input, about) in action["inputs"].as_hash().into_iter().flatten() {
            let is_given = given.contains(input.as_str().unwrap_or_default());
            ensure!(
                is_given || about["required"].as_bool() != Some(true),
                "{name:?} lacks {input:?}"
            );
        }
        if with["push"].as_bool() == Some(true) {
            ensure!(given.contains("key") && given.contains("passphrase"), "{given:?}");
            ensure!(job["if"].as_str() == Some("startsWith(github.ref, 'refs/tags/v')"), "{job:?}");
            ensure!(job["permissions"]["packages"].as_str() == Some("write"), "{job:?}");
            pushes.push(name.as_str().unwrap_or_default());
        }
    }
    ensure!(pushes == ["publish"] && workflow["jobs"]["try"].as_hash().is_some(), "{pushes:?}");
    // The action of a project's own workflows has the same version.
    let ci = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../.github/workflows/ci.yml"),
    )?;
    let text = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/publishing/workflow.yml"),
    )?;
    let checkout = |text: &str| -> BTreeSet<String> {
        let lines = text.lines().filter_map(|line| line.split_once("uses: actions/checkout@"));
        lines.map(|(_, version)| version.trim().to_owned()).collect()
    };
    ensure!(checkout(&ci) == checkout(&text) && checkout(&ci).len() == 1, "{:?}", checkout(&text));
    Ok(())
}

/// Returns the script of a step of the action.
fn script(named: &str) -> Result<String> {
    let action = document("action.yml")?;
    let steps = action["runs"]["steps"].as_vec().context("no steps")?;
    let step = steps.iter().find(|step| step["name"].as_str() == Some(named));
    let script = step.and_then(|step| step["run"].as_str());
    Ok(script.with_context(|| format!("the action has no step `{named}`"))?.to_owned())
}

/// Makes a command that runs a script as a runner does, with those programs before the system's.
fn bash(script: &str, folder: &Path, programs: &Path) -> Command {
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]);
    command.current_dir(folder).env_clear();
    command.env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
    command
}

fn write_program(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text)?;
    Ok(fs::set_permissions(path, Permissions::from_mode(0o755))?)
}

/// The programs that install something are stand-ins here, which note how they are called; `python3 -m venv` makes a `pip`.
fn installs() -> Result<()> {
    let site = Site::new("publishing installs")?;
    let (programs, project) = (site.root().join("programs"), site.root().join("plugin"));
    fs::create_dir_all(&programs)?;
    fs::create_dir_all(&project)?;
    let log = site.root().join("log");
    let notes = format!("#!/bin/sh\necho \"${{0##*/}} $*\" >>'{}'\n", log.display());
    for name in ["rustup", "npm", "go", "pip"] {
        write_program(&programs.join(name), &notes)?;
    }
    let pip = programs.join("pip").display().to_string();
    let venv = format!("{notes}mkdir -p \"$3/bin\" && cp '{pip}' \"$3/bin/pip\"\n");
    write_program(&programs.join("python3"), &venv)?;

    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/docs/first-plugin.md");
    let guide = fs::read_to_string(guide)?;
    let install = script("Install the tools of the plugin's language")?;
    for (language, expected) in TOOLS {
        fs::write(
            project.join("plugin.toml"),
            format!("name = \"a\"\nlanguage = \"{language}\"\n"),
        )?;
        fs::write(&log, "")?;
        let mut command = bash(&install, site.root(), &programs);
        command.env("FOLDER", "plugin");
        let ended = process::run(command, b"", LIMIT)?;
        ensure!(ended.code == Some(0), "{language}: {}", ended.all());
        let found = fs::read_to_string(&log)?;
        ensure!(found == *expected, "{language}: {found}");
        // As the guide says; in Python the project names the package.
        let pinned =
            found.lines().find_map(|line| line.strip_prefix("pip install ")).unwrap_or(&found);
        ensure!(
            *language == "python" || guide.contains(pinned.trim()),
            "the guide lacks `{pinned}`"
        );
    }

    fs::write(&log, "")?;
    let path = site.root().join("path");
    let mut command = bash(&script("Install Portcullis")?, site.root(), &programs);
    command.env("RUNNER_TEMP", site.root()).env("GITHUB_PATH", &path).env("VERSION", "1.2.3");
    let ended = process::run(command, b"", LIMIT)?;
    let folder = site.root().join("portcullis");
    let expected = format!("python3 -m venv {}\npip install portcullis==1.2.3\n", folder.display());
    ensure!(ended.code == Some(0) && fs::read_to_string(&log)? == expected, "{}", ended.all());
    ensure!(
        fs::read_to_string(path)?.trim() == folder.join("bin").display().to_string(),
        "another place"
    );
    Ok(())
}

/// Runs the action's script that publishes, against a registry without TLS: tries the project in that folder or, with a key,
/// pushes it. Returns whether it succeeded, and its output.
pub fn run_publish_script(
    site: &Site,
    host: &str,
    folder: &str,
    to: &str,
    key: Option<&str>,
) -> Result<(bool, String)> {
    let programs = site.root().join("programs");
    fs::create_dir_all(&programs)?;
    // The action has no option for a registry without TLS.
    let binary = site.binary().display().to_string();
    let program = format!("#!/bin/sh\nexec '{binary}' \"$@\" --plain-http '{host}'\n");
    write_program(&programs.join("portcullis"), &program)?;
    let temporary: PathBuf = site.root().join("temporary");
    fs::create_dir_all(&temporary)?;
    let mut command = bash(&script("Publish")?, site.root(), &programs);
    let usual = site.command(&[]);
    let usual = usual.get_envs().filter_map(|(name, value)| Some((name, value?)));
    command.envs(
        usual
            .filter(|(name, _)| *name != "PATH")
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    command.env("TMPDIR", &temporary).env("FOLDER", folder).env("TO", to).env("PREVIOUS", "");
    let text = |path: &str| fs::read_to_string(path).with_context(|| path.to_owned());
    let (secret, words) = match key {
        Some(key) => (text(key)?, text(&passphrase(site))?),
        None => (String::new(), String::new()),
    };
    command.env("PUSH", if key.is_some() { "true" } else { "false" });
    command.env("KEY", secret).env("PASSPHRASE", words.trim_end());
    let ended = process::run(command, b"", LIMIT)?;
    let left = fs::read_dir(&temporary)?.count();
    ensure!(left == 0, "the action leaves {left} files: {}", ended.all());
    Ok((ended.code == Some(0), format!("{}{}", ended.text(), ended.stderr)))
}
