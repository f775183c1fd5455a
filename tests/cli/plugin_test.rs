//! Plugins as their authors try them: cases, cases from the journal, what they cost.
//!
//! Needs the target `wasm32-wasip2`; where it is missing the tests fail and say how to get it.

#![allow(unreachable_pub, clippy::unwrap_used, clippy::indexing_slicing, reason = "a program of tests")]

mod common;
#[path = "plugin_test/differences.rs"]
mod differences;
#[path = "plugin_test/journal.rs"]
mod journal;
#[path = "plugin_test/mistakes.rs"]
mod mistakes;

use anyhow::{Context, Result, anyhow, ensure};
use common::process::Ended;
use common::site::Site;
use common::{guests, trial};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;

fn main() -> ExitCode {
    common::run(vec![
        trial("plugin test: the example passes the cases that every language shares", example),
        trial("plugin test: what differs is shown, with log and trap", differences::shown),
        trial("plugin test: exit codes, filters and JSON", differences::told),
        trial("plugin test: an update keeps what it does not change", differences::updated),
        trial("plugin test: every mistake in a case file has its place and its mend", mistakes::mistakes),
        trial("plugin test: what is no plugin or has no cases", mistakes::subjects),
        trial("plugin record: a case of what an agent did, masked", journal::recorded),
        trial("plugin bench: every column of every plugin of the kind", bench),
    ])
}

fn example() -> Result<()> {
    let site = Site::new("plugin test example")?;
    let text = test(&site, "tests-weakened", &shared_cases(), &["--exact"])?;
    let cases = shared_cases();
    let count = cases.matches("[[case]]").count();
    let silent = cases.split("[[case]]").skip(1).filter(|case| !case.contains("[[case.step.expect]]")).count();
    ensure!(text.text().ends_with(&format!("{count} cases: all as expected\n")) && text.code == Some(0), "{}", text.all());
    ensure!(count >= 25 && silent >= 12, "{count} cases, {silent} of them silent");
    Ok(())
}

fn bench() -> Result<()> {
    let site = Site::new("plugin bench")?;
    let cases = site.project().join("cases.toml").display().to_string();
    fs::write(&cases, shared_cases())?;
    let file = component("tests-weakened")?;
    let shown = site.output(&["plugin", "bench", &file, "--cases", &cases])?;
    let head: Vec<&str> = shown.lines().next().unwrap_or_default().split_whitespace().collect();
    ensure!(head == ["plugin", "size", "compile", "load", "prepare", "instantiate", "call", "p99", "fuel", "memory"], "{shown}");
    let told: Value = serde_json::from_str(&site.output(&["plugin", "bench", &file, "--cases", &cases, "--json"])?)?;
    let rows = told["plugins"].as_array().ok_or_else(|| anyhow!("{told}"))?;
    ensure!(told["kind"] == "pattern" && rows[0]["name"] == "tests-weakened" && rows[0]["builtin"] == false, "{told}");
    ensure!(rows.iter().any(|row| row["name"] == "loop" && row["builtin"] == true && row["shares"].is_string()), "{told}");
    for row in rows {
        let own = row["shares"].is_null().then_some("compile_us");
        for key in own.into_iter().chain(["size", "fuel", "fuel_most", "memory_bytes", "calls", "call_us", "call_p99_us", "instantiate_us"])
        {
            ensure!(row[key].as_u64().is_some_and(|number| number > 0), "{key} of {row}");
        }
        ensure!(row["load_us"].is_u64() && row["prepare_us"].is_u64(), "{row}");
    }
    ensure!(
        fs::read_dir(site.state().join("cache"))?.flatten().all(|entry| !entry.file_name().to_string_lossy().contains("bench")),
        "left"
    );
    Ok(())
}

/// The cases of the example.
fn shared_cases() -> String {
    fs::read_to_string(examples().join("cases.toml")).unwrap_or_default()
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/examples/tests-weakened")
}

/// Plays cases.
pub fn test(site: &Site, plugin: &str, cases: &str, arguments: &[&str]) -> Result<Ended> {
    let path = site.project().join("cases.toml");
    fs::write(&path, cases)?;
    site.run(&[&["plugin", "test", &component(plugin)?, "--cases", "cases.toml"], arguments].concat())
}

/// The component of that name; all are built together, once.
pub fn component(name: &str) -> Result<String> {
    static BUILT: OnceLock<std::result::Result<PathBuf, String>> = OnceLock::new();
    let folder = BUILT.get_or_init(|| build().map_err(|error| format!("{error:#}"))).as_ref().map_err(|error| anyhow!("{error}"))?;
    let path = folder.join(format!("{}.wasm", name.replace('-', "_")));
    ensure!(path.is_file(), "the build made no `{}`", path.display());
    // The host knows a plugin by its file's name.
    let named = folder.join("named").join(format!("{name}.wasm"));
    fs::create_dir_all(folder.join("named"))?;
    if fs::read(&named).ok() != fs::read(&path).ok() {
        fs::copy(&path, &named)?;
    }
    Ok(named.display().to_string())
}

/// One workspace outside ours, in a temporary folder.
fn build() -> Result<PathBuf> {
    let scratch = tempfile::Builder::new().prefix("portcullis-tried-").tempdir()?;
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/sdk").canonicalize()?.display().to_string();
    let sources = examples().join("rust/src");
    let mut example = Vec::new();
    for entry in fs::read_dir(&sources)? {
        let entry = entry?;
        example.push((entry.file_name().to_string_lossy().into_owned(), fs::read_to_string(entry.path())?));
    }
    lay(&scratch.path().join("tests-weakened"), "tests-weakened", &example, &sdk)?;
    lay(&scratch.path().join("talker"), "talker", &[("lib.rs".to_owned(), TALKER.to_owned())], &sdk)?;
    let profile =
        "[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n[profile.release]\nopt-level = 1\npanic = \"abort\"\nstrip = \"debuginfo\"\n";
    fs::write(scratch.path().join("Cargo.toml"), profile)?;
    fs::copy(examples().join("rust/Cargo.lock"), scratch.path().join("Cargo.lock")).context("the example has no Cargo.lock")?;
    guests::built(scratch.path(), "tried")
}

fn lay(folder: &Path, name: &str, sources: &[(String, String)], sdk: &str) -> Result<()> {
    fs::create_dir_all(folder.join("src"))?;
    let manifest = format!(
        "[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n[lib]\ncrate-type = [\"cdylib\"]\n\
         [dependencies]\nportcullis-plugin = {{ path = {sdk:?} }}\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    sources.iter().try_for_each(|(file, text)| Ok(fs::write(folder.join("src").join(file), text)?))
}

/// A risk-calculator that does what the command says.
const TALKER: &str = r#"
use portcullis_plugin::host;
use portcullis_plugin::risk_calculator::*;
use portcullis_plugin::types::Entry;

struct Talker;

impl RiskCalculator for Talker {
    const DESCRIPTOR: Descriptor = Descriptor::new("talker", "0.1.0", "A guest of the tests.")
        .settings(&[Spec::text("word", "frob", "the word that it objects to")]);

    fn assess(prepared: &[u8], action: &Action, _: &Context) -> Result<Assessment, Error> {
        let settings = Settings::read(prepared)?;
        let said = |word: &str| action.parameters.contains(word);
        if said("panic") {
            give_up(action.parameters.len());
        }
        if said("log") {
            host::info("it said log");
        }
        if said(settings.text("word")?) {
            return Ok(Ruling::ask("no_frobbing", "frobbing is for people")
                .severity(Severity::High)
                .because(Evidence::path("/project/frob"))
                .instead("ask somebody")
                .into());
        }
        if action.facts.paths.iter().any(|path| path.entry == Entry::Absent) {
            return Ok(Ruling::warn("not_there", "there is nothing").into());
        }
        if said("stop") {
            return Ok(Ruling::block("no_stopping", "it goes on").into());
        }
        Ok(Assessment::nothing())
    }
}

#[inline(never)]
fn give_up(length: usize) {
    assert!(length == 0, "the sky fell");
}

portcullis_plugin::export!(risk-calculator: Talker);
"#;
