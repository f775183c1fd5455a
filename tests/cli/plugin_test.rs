//! Tests of plugins as their authors test them: cases, cases from the journal, benchmarks.
//!
//! They need the target `wasm32-wasip2`; without it the tests fail and say how to install it.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program of tests"
)]

#[path = "plugin_test/answers.rs"]
mod answers;
mod common;
#[path = "plugin_test/differences.rs"]
mod differences;
#[path = "plugin_test/documents.rs"]
mod documents;
#[path = "plugin_test/exports.rs"]
mod exports;
#[path = "plugin_test/journal.rs"]
mod journal;
#[path = "plugin_test/mistakes.rs"]
mod mistakes;
#[path = "plugin_test/guests.rs"]
mod sources;
#[path = "plugin_test/versions.rs"]
mod versions;

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
        trial("plugin test: differences are shown, with log and trap", differences::shown),
        trial("plugin test: exit codes, filters and JSON", differences::reported),
        trial("plugin test: an update keeps what it does not change", differences::updated),
        trial(
            "plugin test: every mistake in a case file has its place and its fix",
            mistakes::mistakes,
        ),
        trial("plugin test: subjects without plugin or cases", mistakes::subjects),
        trial("plugin test: an intervention answers the issue of a step", answers::answered),
        trial("plugin test: an intervention's answers are written", answers::updated),
        trial("plugin test: an audit-exporter writes the records of a case", exports::written),
        trial("plugin test: an audit-exporter's output is updated", exports::updated),
        trial("plugin test: the cases that documents show are as they say", documents::shown),
        trial("plugin test: the templates pass their cases", documents::templates),
        trial("plugin record: an intervention's record is an issue", journal::answered),
        trial("plugin record: a case of what an agent did, masked", journal::recorded),
        trial("plugin bench: every column of every plugin of the kind", bench),
        trial("plugin diff: a new version's number is judged by what changed", versions::judged),
        trial(
            "plugin diff: labelled actions and sessions show what no case shows",
            versions::tried,
        ),
        trial(
            "plugin diff: a component that is older than its source is reported",
            versions::older,
        ),
        trial("plugin diff: two plugins, and material that is not there", versions::refused),
    ])
}

/// A plugin of a kind, its cases, and builtin plugins that must be listed with it.
struct Benched {
    name: &'static str,
    kind: &'static str,
    cases: fn() -> String,
    others: &'static [&'static str],
}

const BENCHED: &[Benched] = &[
    Benched {
        name: "tests-weakened",
        kind: "pattern",
        cases: shared_cases,
        others: &["loop", "repetitive-errors"],
    },
    Benched {
        name: "answerer",
        kind: "intervention",
        cases: || answers::case("loop", ""),
        others: &["soft-correction", "emergency-stop"],
    },
    Benched {
        name: "writer",
        kind: "audit-exporter",
        cases: || exports::case("lines", ""),
        others: &["csv", "jsonl"],
    },
];

fn bench() -> Result<()> {
    BENCHED
        .iter()
        .try_for_each(|benched| measured(benched).with_context(|| benched.name.to_owned()))?;
    let site = Site::new("plugin bench without calls")?;
    fs::write(
        site.project().join("cases.toml"),
        "[[case]]\nname = \"one\"\n[[case.step]]\nsays = \"hello\"\n",
    )?;
    for (name, says) in [
        ("answerer", "it takes a step with an `issue`"),
        ("talker", "it takes a step with a `tool`"),
    ] {
        let ended = site.run(&["plugin", "bench", &component(name)?, "--cases", "cases.toml"])?;
        ensure!(ended.code == Some(1) && ended.stderr.contains(says), "{}", ended.all());
    }
    Ok(())
}

fn measured(Benched { name, kind, cases, others }: &Benched) -> Result<()> {
    let site = Site::new(&format!("plugin bench {name}"))?;
    fs::write(site.project().join("cases.toml"), cases())?;
    let cases = "cases.toml";
    let file = component(name)?;
    let shown = site.output(&["plugin", "bench", &file, "--cases", cases])?;
    let head: Vec<&str> = shown.lines().next().unwrap_or_default().split_whitespace().collect();
    ensure!(
        head == [
            "plugin",
            "size",
            "compile",
            "load",
            "prepare",
            "instantiate",
            "call",
            "p99",
            "fuel",
            "memory"
        ],
        "{shown}"
    );
    let document: Value = serde_json::from_str(
        &site.output(&["plugin", "bench", &file, "--cases", cases, "--json"])?,
    )?;
    let rows = document["plugins"].as_array().ok_or_else(|| anyhow!("{document}"))?;
    ensure!(
        document["kind"] == *kind && rows[0]["name"] == *name && rows[0]["builtin"] == false,
        "{document}"
    );
    for other in *others {
        ensure!(
            rows.iter().any(|row| row["name"] == *other && row["builtin"] == true),
            "{other}: {document}"
        );
    }
    ensure!(*kind != "pattern" || rows.iter().any(|row| row["shares"].is_string()), "{document}");
    for row in rows {
        let own = row["shares"].is_null().then_some("compile_us");
        for key in own.into_iter().chain([
            "size",
            "fuel",
            "fuel_most",
            "memory_bytes",
            "calls",
            "call_us",
            "call_p99_us",
            "instantiate_us",
        ]) {
            ensure!(row[key].as_u64().is_some_and(|number| number > 0), "{key} of {row}");
        }
        ensure!(row["load_us"].is_u64() && row["prepare_us"].is_u64(), "{row}");
    }
    ensure!(
        fs::read_dir(site.state().join("cache"))?
            .flatten()
            .all(|entry| !entry.file_name().to_string_lossy().contains("bench")),
        "left"
    );
    Ok(())
}

/// Returns the cases of the example.
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
    site.run(
        &[&["plugin", "test", &component(plugin)?, "--cases", "cases.toml"], arguments].concat(),
    )
}

/// Returns the component of that name; all are built together, once.
pub fn component(name: &str) -> Result<String> {
    static BUILT: OnceLock<std::result::Result<PathBuf, String>> = OnceLock::new();
    let folder = BUILT
        .get_or_init(|| build().map_err(|error| format!("{error:#}")))
        .as_ref()
        .map_err(|error| anyhow!("{error}"))?;
    let path = folder.join(format!("{}.wasm", name.replace('-', "_")));
    ensure!(path.is_file(), "the build made no `{}`", path.display());
    // The host names a plugin by its file.
    let named = folder.join("named").join(format!("{name}.wasm"));
    fs::create_dir_all(folder.join("named"))?;
    if fs::read(&named).ok() != fs::read(&path).ok() {
        fs::copy(&path, &named)?;
    }
    Ok(named.display().to_string())
}

/// Builds one workspace outside ours, in a temporary folder.
fn build() -> Result<PathBuf> {
    let scratch = tempfile::Builder::new().prefix("portcullis-tried-").tempdir()?;
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../plugins/sdk")
        .canonicalize()?
        .display()
        .to_string();
    let mut example = Vec::new();
    for entry in fs::read_dir(examples().join("rust/src"))? {
        let entry = entry?;
        example.push((
            entry.file_name().to_string_lossy().into_owned(),
            fs::read_to_string(entry.path())?,
        ));
    }
    lay(&scratch.path().join("tests-weakened"), "tests-weakened", &example, &sdk)?;
    for (name, source) in sources::ALL {
        lay(
            &scratch.path().join(name),
            name,
            &[("lib.rs".to_owned(), (*source).to_owned())],
            &sdk,
        )?;
    }
    for kind in documents::TEMPLATES {
        let source = fs::read_to_string(documents::place(&format!(
            "plugins/templates/rust/{kind}/src/lib.rs"
        )))?;
        let name = documents::template(kind);
        let source = source.replace("sample-check", &name);
        lay(&scratch.path().join(&name), &name, &[("lib.rs".to_owned(), source)], &sdk)?;
    }
    let profile = "[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n[profile.release]\nopt-level = 1\npanic = \"abort\"\nstrip = \"debuginfo\"\n";
    fs::write(scratch.path().join("Cargo.toml"), profile)?;
    fs::copy(examples().join("rust/Cargo.lock"), scratch.path().join("Cargo.lock"))
        .context("the example has no Cargo.lock")?;
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
