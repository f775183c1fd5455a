//! Tests of plugins from their authors' perspective: from an empty folder to a component that
//! reviews, in every language that `plugin new` knows.
//!
//! They need the languages' tools. Those that are not part of the system are in `languages` among
//! cargo's own files, where `.ci/run languages` installs them. If one is missing its tests say so
//! and pass, except in CI, where they fail.

#![allow(
    unreachable_pub,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program of tests"
)]

#[path = "../../host/registry/tests/all/authority.rs"]
#[allow(dead_code, reason = "one registry is enough here")]
mod authority;
mod catalogue;
#[path = "../cli/common/mod.rs"]
mod common;
mod documents;
mod examples;
mod exporters;
mod keys;
mod mistakes;
#[path = "../../host/author/src/page.rs"]
#[allow(dead_code, reason = "what `plugin publish` wants of a page, and some of it here")]
mod page;
mod publish;
#[path = "../../host/registry/tests/all/real.rs"]
#[allow(dead_code, reason = "one registry is enough here")]
mod real;
#[path = "../locked/sample.rs"]
mod sample;
mod second_program;
mod tools;
mod traps;
mod workflow;

use anyhow::{Context, Result, anyhow, ensure};
use common::process::{self, Ended};
use common::site::Site;
use common::trial;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// The timeout of a language's own tool.
const LIMIT: Duration = Duration::from_secs(540);
/// Returns the plugin's name in every project of a kind: projects in Rust share cargo's folder
/// here, and their output has that name.
pub fn name(kind: &str) -> String {
    format!("my-{kind}")
}

/// A template.
struct Template {
    kind: &'static str,
    language: &'static str,
}

const fn template(kind: &'static str, language: &'static str) -> Template {
    Template { kind, language }
}

const TEMPLATES: &[Template] = &[
    template("risk-calculator", "rust"),
    template("pattern", "rust"),
    template("intervention", "rust"),
    template("audit-exporter", "rust"),
    template("risk-calculator", "c"),
    template("pattern", "c"),
    template("intervention", "c"),
    template("audit-exporter", "c"),
    template("risk-calculator", "js"),
    template("pattern", "js"),
    template("intervention", "js"),
    template("audit-exporter", "js"),
    template("risk-calculator", "ts"),
    template("pattern", "ts"),
    template("intervention", "ts"),
    template("audit-exporter", "ts"),
    template("risk-calculator", "go"),
    template("pattern", "go"),
    template("intervention", "go"),
    template("audit-exporter", "go"),
    template("risk-calculator", "python"),
    template("pattern", "python"),
    template("intervention", "python"),
    template("audit-exporter", "python"),
];

fn main() -> ExitCode {
    let mut tests = vec![
        trial("plugins: every template is tried here", all_are_tried),
        trial("plugins: a project of the author's own way is built by their command", own_way),
        trial("plugins: a change builds again", watched),
        trial("plugins: what a killed build leaves does not spoil the next", killed),
        trial("plugins: every file in Go is as gofmt writes it", formatted),
        trial("plugins: publishing says what is missing, and takes every step", publish::whole_way),
        trial("plugins: published, listed, found, installed, updated and revoked", publish::listed),
        trial("plugins: an exporter gets fewer records where it fails on many", exporters::halved),
        trial("plugins: the guide's commands do what it shows", documents::guide),
    ];
    tests.extend(mistakes::trials());
    tests.extend(second_program::trials());
    tests.extend(examples::trials());
    tests.extend(catalogue::trials());
    tests.extend(traps::trials());
    tests.extend(workflow::trials());
    tests.extend(TEMPLATES.iter().map(|template| {
        trial(
            format!(
                "plugins: from nothing to a {}, {} in {}",
                if is_played_elsewhere(template) { "component" } else { "review" },
                template.kind,
                template.language
            ),
            || whole_way(template),
        )
    }));
    common::run(tests)
}

/// Runs a command as the site's user, with the languages' tools of this process.
pub fn run(site: &Site, arguments: &[&str]) -> Result<Ended> {
    let mut command = site.command(arguments);
    command.envs(tools::environment());
    process::run(command, b"", LIMIT)
}

/// Runs a command that must succeed.
pub fn done(site: &Site, arguments: &[&str]) -> Result<String> {
    let ended = run(site, arguments)?;
    ensure!(
        ended.code == Some(0),
        "`{}` ended with {:?}: {}",
        arguments.join(" "),
        ended.code,
        ended.all()
    );
    Ok(ended.text())
}

/// Creates a new project in the site's folder.
pub fn made(site: &Site, kind: &str, language: &str) -> Result<PathBuf> {
    let into = site.root().display().to_string();
    let name = name(kind);
    done(site, &["plugin", "new", &name, "--kind", kind, "--lang", language, "--output", &into])?;
    Ok(site.root().join(name))
}

#[allow(
    clippy::print_stderr,
    reason = "how long each step takes is what this test is run for, too"
)]
fn whole_way(template: &Template) -> Result<()> {
    let what = format!("{} in {}", template.kind, template.language);
    if let Some(reason) = tools::missing(template.language)? {
        eprintln!("{what}: skipped: {reason}");
        return Ok(());
    }
    let site = Site::new(&format!("template {what}"))?;
    let mut times = Vec::new();
    let mut timed = |step: &str, begun: Instant| {
        times.push(format!("{step} {:.1} s", begun.elapsed().as_secs_f64()))
    };
    let begun = Instant::now();
    let project = made(&site, template.kind, template.language)?;
    timed("new", begun);
    tools::lend(template.language, &project)?;
    let folder = project.display().to_string();
    let begun = Instant::now();
    let built: Value =
        serde_json::from_str(&done(&site, &["plugin", "build", &folder, "--json"])?)?;
    timed("build", begun);
    said(template, &built)?;
    if is_played_elsewhere(template) {
        return Ok(());
    }
    let begun = Instant::now();
    done(&site, &["plugin", "test", &folder])?;
    timed("test", begun);
    let begun = Instant::now();
    reviews(
        &site,
        template,
        &project.join("build").join(name(template.kind)).with_extension("wasm"),
    )?;
    timed("review", begun);
    eprintln!(
        "{what}: {}; {} KiB",
        times.join(", "),
        built["inspection"]["size"].as_u64().unwrap_or_default() / 1024
    );
    Ok(())
}

/// Returns true for a template whose kind another plugin plays in this language: compiling Python takes half a minute of a
/// slow processor. The example is a pattern, and the catalogue has an intervention and an exporter.
fn is_played_elsewhere(template: &Template) -> bool {
    template.language == "python" && template.kind != "risk-calculator"
}

/// Checks the build's description of the component.
fn said(template: &Template, built: &Value) -> Result<()> {
    let inspection = &built["inspection"];
    ensure!(inspection["kind"] == template.kind, "{built}");
    ensure!(
        inspection["descriptor"]["name"] == name(template.kind)
            && inspection["descriptor"]["kind"] == template.kind,
        "{built}"
    );
    sound(built, template.language)
}

/// Checks that it can be loaded unchanged, and requests no grant.
pub fn sound(built: &Value, language: &str) -> Result<()> {
    ensure!(built["refused"].is_null(), "it would not be loaded: {built}");
    ensure!(built["warnings"].as_array().is_some_and(Vec::is_empty), "it warns: {built}");
    let imports = built["inspection"]["imports"].as_array().context("no imports")?;
    // Go includes WASI, none of which has an effect.
    let inert = language == "go";
    let own = imports
        .iter()
        .all(|import| import["tier"] == "own" || (inert && import["tier"] == "inert"));
    ensure!(own, "it asks for more than it needs: {built}");
    Ok(())
}

/// Checks that it is called in a review, and answers. The kinds that a review does not call are
/// loaded by it all the same.
fn reviews(site: &Site, template: &Template, component: &Path) -> Result<()> {
    let component = component.display().to_string();
    let mut command = site.command(&[
        "review",
        "--json",
        "--plugin",
        &component,
        "--command",
        "rm db/migrations/0001.sql",
    ]);
    command.current_dir(site.project());
    let ended = process::run(command, b"", LIMIT)?;
    let record: Value = serde_json::from_str(&ended.text())
        .with_context(|| format!("no record: {}", ended.all()))?;
    let plugins = record["plugins"].as_array().ok_or_else(|| anyhow!("no plugins: {record}"))?;
    let ours = plugins.iter().find(|plugin| plugin["name"] == name(template.kind));
    ensure!(
        record["faults"].as_array().is_none_or(Vec::is_empty),
        "it failed: {}",
        record["faults"]
    );
    if ours.is_none() && template.language == "c" {
        let ended = run(
            site,
            &["review", "--plugin", &component, "--command", "rm db/migrations/0001.sql"],
        )?;
        let said = format!("`{}` was not asked: ", name(template.kind));
        ensure!(ended.text().contains(&said), "it does not say so: {}", ended.all());
    }
    if template.kind == "risk-calculator" {
        let ours = ours.ok_or_else(|| anyhow!("it was not asked: {record}"))?;
        ensure!(
            record.to_string().contains("an applied migration must stay as it was run"),
            "it has nothing to say: {ours}"
        );
    }
    Ok(())
}

/// Every entry of `--list` is tested by the table above.
fn all_are_tried() -> Result<()> {
    let site = Site::new("templates listed")?;
    let listed: Value =
        serde_json::from_str(&done(&site, &["plugin", "new", "--list", "--json"])?)?;
    let mut shown = Vec::new();
    for template in listed["templates"].as_array().context("no templates")? {
        for language in template["languages"].as_array().context("no languages")? {
            shown.push(format!(
                "{} in {}",
                template["kind"].as_str().unwrap_or_default(),
                language.as_str().unwrap_or_default()
            ));
        }
    }
    let mut tried: Vec<String> = TEMPLATES
        .iter()
        .map(|template| format!("{} in {}", template.kind, template.language))
        .collect();
    shown.sort();
    tried.sort();
    ensure!(shown == tried, "listed: {shown:?}\ntried: {tried:?}");
    let text = done(&site, &["plugin", "new", "--list"])?;
    for wanted in ["risk-calculator", "audit-exporter", "rust", "python"] {
        ensure!(text.contains(wanted), "`{wanted}` is not shown: {text}");
    }
    Ok(())
}

/// The generated bindings too, which are formatted without Go.
#[allow(clippy::print_stderr, reason = "a test that cannot run says so")]
fn formatted() -> Result<()> {
    if let Some(reason) = tools::missing("go")? {
        eprintln!("skipped: {reason}");
        return Ok(());
    }
    let gofmt = tools::gofmt()?;
    for kind in TEMPLATES.iter().filter(|template| template.language == "go").map(|it| it.kind) {
        let site = Site::new(&format!("formatted {kind}"))?;
        let project = made(&site, kind, "go")?;
        let mut command = Command::new(&gofmt);
        command.arg("-d").arg(&project);
        let ended = process::run(command, b"", LIMIT)?;
        ensure!(ended.code == Some(0) && ended.text().is_empty(), "{kind}: {}", ended.all());
    }
    Ok(())
}

/// A core module that a command writes becomes a component of the manifest's kind, with the
/// manifest's description.
fn own_way() -> Result<()> {
    let site = Site::new("an own way")?;
    let project = site.root().join("mine");
    std::fs::create_dir_all(&project)?;
    std::fs::write(project.join("module.wasm"), wat::parse_str(mistakes::EXPORTER)?)?;
    std::fs::write(project.join("plugin.toml"), mistakes::OWN)?;
    let folder = project.display().to_string();
    let text = done(&site, &["plugin", "build", &folder])?;
    for wanted in [
        "built `",
        "mine.wasm",
        "audit-exporter",
        "mine 1: says nothing",
        "blake3",
        "it can be loaded",
    ] {
        ensure!(text.contains(wanted), "`{wanted}` is not said: {text}");
    }
    let refused = run(&site, &["plugin", "test", &folder])?;
    ensure!(
        refused.code == Some(1) && refused.stderr.contains("cases.toml`\nhint: write one"),
        "{}",
        refused.all()
    );
    // A memory larger than any call is given is reported at build time, before each call fails.
    std::fs::write(
        project.join("module.wasm"),
        wat::parse_str(
            mistakes::EXPORTER
                .replace("(memory (export \"memory\") 1)", "(memory (export \"memory\") 2000)"),
        )?,
    )?;
    let text = done(&site, &["plugin", "build", &folder])?;
    ensure!(text.contains("it begins with 125 MiB of memory, and the host gives 64 MiB"), "{text}");
    Ok(())
}

/// A build that is killed while it writes the bindings leaves none, so the next one writes them all.
#[allow(clippy::print_stderr, reason = "a test that cannot run says so")]
fn killed() -> Result<()> {
    if let Some(reason) = tools::missing("c")? {
        eprintln!("skipped: {reason}");
        return Ok(());
    }
    let site = Site::new("killed")?;
    let project = made(&site, "pattern", "c")?;
    tools::lend("c", &project)?;
    let bindings = project.join("bindings");
    let whole = count_files(&bindings)?;
    std::fs::remove_dir_all(&bindings)?;
    let folder = project.display().to_string();
    let build = site.command(&["plugin", "build", &folder]);
    // The kernel kills who writes a file of more than 8 KiB.
    let mut command = Command::new("bash");
    command.args(["-c", "ulimit -c 0 -f 8; exec \"$@\"", "-"]).arg(build.get_program());
    command.args(build.get_args()).env_clear();
    command.envs(build.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.envs(tools::environment());
    let ended = process::run(command, b"", LIMIT)?;
    ensure!(
        ended.code != Some(0) && !project.join("build/my-pattern.wasm").exists(),
        "{}",
        ended.all()
    );
    done(&site, &["plugin", "build", &folder])?;
    ensure!(count_files(&bindings)? == whole, "the bindings are not whole");
    Ok(())
}

fn count_files(folder: &Path) -> Result<usize> {
    Ok(std::fs::read_dir(folder)?.count())
}

/// `--watch` builds at once and after each change, and a failed build does not end it.
fn watched() -> Result<()> {
    use std::io::{BufRead, BufReader};
    let site = Site::new("watched")?;
    let project = site.root().join("mine");
    std::fs::create_dir_all(&project)?;
    std::fs::write(project.join("module.wasm"), wat::parse_str(mistakes::EXPORTER)?)?;
    std::fs::write(project.join("plugin.toml"), mistakes::OWN)?;
    let mut command = site.command(&["plugin", "build", &project.display().to_string(), "--watch"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn()?;
    let lines = BufReader::new(child.stdout.take().context("no output")?).lines();
    let mut seen = String::new();
    let ended = (|| {
        for line in lines {
            let line = line?;
            seen.push_str(&line);
            seen.push('\n');
            match (line.contains("ctrl-c ends it"), seen.matches("ctrl-c ends it").count()) {
                (true, 1) => std::fs::write(project.join("module.wasm"), "no module")?,
                (true, 2) => std::fs::write(
                    project.join("module.wasm"),
                    wat::parse_str(mistakes::EXPORTER)?,
                )?,
                (true, _) => break,
                _ => {}
            }
        }
        Ok(())
    })();
    child.kill()?;
    child.wait()?;
    ended.and_then(|()| {
        ensure!(seen.matches("built `").count() == 2, "{seen}");
        ensure!(seen.matches("module.wasm changed").count() == 2, "{seen}");
        ensure!(seen.contains("is not WebAssembly"), "{seen}");
        Ok(())
    })
}
