//! Tests one plugin in many languages: every version of the example `tests-weakened` is built as
//! its author would build it, and its output for the shared cases is identical.

use crate::common::site::Site;
use crate::common::trial;
use crate::{done, made, sound, tools};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Build output and tools in a project, which are not part of the version itself.
const LEFT: &[&str] = &["build", "target", "node_modules", ".venv", "__pycache__"];

/// Returns the tests of this file: one for each folder that contains a project.
pub fn trials() -> Vec<Trial> {
    let versions = versions();
    let count = versions.len();
    let mut trials =
        vec![trial("plugins: the example has its versions and its cases", move || whole(count))];
    trials.extend(versions.into_iter().map(|language| {
        trial(format!("plugins: the example in {language}"), move || says_the_same(&language))
    }));
    trials
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/examples/tests-weakened")
}

/// Returns the languages that it is written in, by the names of its folders.
fn versions() -> Vec<String> {
    let folders = fs::read_dir(example())
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().join("plugin.toml").is_file());
    let mut names: Vec<String> =
        folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// None of them is missing, and the cases contain expected findings and expected silence.
fn whole(versions: usize) -> Result<()> {
    ensure!(versions >= 6, "{versions} versions");
    let cases = fs::read_to_string(example().join("cases.toml"))?;
    let (all, silent) = counts(&cases);
    ensure!(all >= 40 && silent >= 15, "{all} cases, {silent} of them silent");
    // Copies, not links: the tools that make components of these sources follow no link out of
    // their folder.
    for (language, helper) in [("js", "src/portcullis.js"), ("python", "src/portcullis.py")] {
        let template = example().join("../../templates").join(language).join("shared").join(helper);
        let copy = example().join(language).join(helper);
        ensure!(
            !copy.is_symlink() && fs::read(&copy)? == fs::read(&template)?,
            "`{}` is not the template's",
            copy.display()
        );
    }
    Ok(())
}

/// Returns the number of cases, and the number of those without expected findings.
pub fn counts(cases: &str) -> (usize, usize) {
    let each = || cases.split("[[case]]").skip(1);
    (each().count(), each().filter(|case| !case.contains("[[case.step.expect]]")).count())
}

#[allow(clippy::print_stderr, reason = "a skipped language is told")]
fn says_the_same(language: &str) -> Result<()> {
    if let Some(reason) = tools::missing(language)? {
        eprintln!("the example in {language}: skipped: {reason}");
        return Ok(());
    }
    let site = Site::new(&format!("example {language}"))?;
    let project = site.root().join("tests-weakened");
    copy(&example().join(language), &project)?;
    find_sdk(&project)?;
    if ["c", "go"].contains(&language) {
        // Generated, so no repository holds them: as `plugin new` writes them.
        let new = made(&site, "pattern", language)?;
        copy(&new.join("bindings"), &project.join("bindings"))?;
    }
    tools::lend(language, &project)?;
    let built: Value = serde_json::from_str(&done(
        &site,
        &["plugin", "build", &project.display().to_string(), "--json"],
    )?)?;
    sound(&built, language)?;
    ensure!(built["inspection"]["descriptor"]["name"] == "tests-weakened", "{built}");
    let component = project.join("build/tests-weakened.wasm").display().to_string();
    fs::write(project.join("long.toml"), long())?;
    for (cases, exact) in
        [(example().join("cases.toml"), Some("--exact")), (project.join("long.toml"), None)]
    {
        let path = cases.display().to_string();
        let arguments =
            ["plugin", "test", &component, "--cases", &path, "--json"].into_iter().chain(exact);
        let document: Value = serde_json::from_str(&done(&site, &arguments.collect::<Vec<_>>())?)?;
        let (all, _) = counts(&fs::read_to_string(cases)?);
        ensure!(document["ok"] == all && document["differ"] == 0, "{all} cases: {document}");
    }
    Ok(())
}

/// Returns a case with the longest edit that the host passes on, which removes a single assertion:
/// each version has enough fuel for it.
fn long() -> String {
    let text: String = (0..800)
        .map(|at| {
            format!(
                "def test_{at}():\n    size = measured({at})\n    assert size == {at}, 'größe'\n\n"
            )
        })
        .collect();
    let less = text.replace("    assert size == 700, 'größe'\n", "");
    format!(
        "[[case]]\nname = \"long\"\ngoals = [\"make the tests pass\"]\n[[case.step]]\ntool = \"Edit\"\n\
         input = {{ file_path = \"/project/tests/test_a.py\", old_string = {text:?}, new_string = {less:?} }}\n\
         [[case.step.expect]]\nsummary = \"assertions are taken out of tests/test_a.py while the goal is to make the tests pass\"\n"
    )
}

/// Copies a project with the targets of its links.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in
        fs::read_dir(from).with_context(|| format!("cannot read `{}`", from.display()))?.flatten()
    {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() {
            if !LEFT.contains(&name.to_string_lossy().as_ref()) {
                copy(&path, &to.join(name))?;
            }
        } else {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

/// Makes the SDK for Rust available to a copied project: its manifest names it by a way up.
pub fn find_sdk(project: &Path) -> Result<()> {
    let path = project.join("Cargo.toml");
    let Ok(manifest) = fs::read_to_string(&path) else { return Ok(()) };
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/sdk").canonicalize()?;
    let Some((before, after)) = manifest.split_once("/sdk\"") else { return Ok(()) };
    let before = before.trim_end_matches(['.', '/']);
    Ok(fs::write(path, format!("{before}{}\"{after}", sdk.display()))?)
}
