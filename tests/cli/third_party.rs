//! Tests of third-party plugins: built with the SDK outside the workspace, put into the plugins
//! folder, and restricted to what untrusted code may do.
//!
//! They need the target `wasm32-wasip2`; without it the tests fail and say how to install it.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program of tests"
)]

#[path = "third_party/answers.rs"]
mod answers;
#[path = "third_party/breaker.rs"]
mod breaker;
#[path = "third_party/changed.rs"]
mod changed;
mod common;
#[path = "third_party/quoting.rs"]
mod quoting;
#[allow(dead_code, reason = "the service has tests of its own")]
#[path = "service/running.rs"]
mod running;
#[path = "third_party/shadow.rs"]
mod shadow;
#[path = "third_party/web.rs"]
mod web;

use anyhow::{Context, Result, anyhow, ensure};
use common::reply::Answer;
use common::site::Site;
use common::{guests, trial};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;

/// The plugin in plugins/examples/rust.
const EXAMPLE: &str = "protect-migrations";

fn main() -> ExitCode {
    let mut tests = vec![
        trial("third party: the example changes a decision", example),
        trial("third party: settings reach the plugin, and wrong ones are its fault", settings),
        trial("third party: a plugin that only runs for nothing changes nothing", inert),
        trial("third party: only a person's grants apply, and each use is recorded", granted),
        trial(
            "third party: hosts that are named are asked, no others, and none in a replay",
            web::asks,
        ),
        trial("third party: its words are always quoted", quoting::quoted),
        trial("third party: an exporter's bytes do not drive a terminal", quoting::painted),
        trial(
            "third party: an intervention of somebody else's answers where it is named",
            answers::answers,
        ),
        trial(
            "third party: one that keeps failing is held, tried again, left to a person",
            breaker::breaker,
        ),
        trial("third party: no fault of hooks that run at once is lost", breaker::parallel),
        trial(
            "third party: a plugin that looks on is compared and does not count",
            shadow::looks_on,
        ),
        trial("third party: only what judges can look on", shadow::refused),
        trial("third party: a milder change of one is held back by the service", changed::milder),
        trial("third party: a change that is too slow to be tried is held back", changed::slow),
    ];
    tests.extend(
        HOSTILE
            .iter()
            .map(|guest| trial(format!("third party: one that {}", guest.does), || hostile(guest))),
    );
    common::run(tests)
}

/// A guest that misbehaves when it is called about an action.
struct Hostile {
    name: &'static str,
    does: &'static str,
    /// The body of its `assess`.
    body: &'static str,
    fault: &'static str,
    says: &'static [&'static str],
}

const HOSTILE: &[Hostile] = &[
    Hostile {
        name: "runs-for-ever",
        does: "loops",
        body: "let mut turns = 0_u64; loop { turns = std::hint::black_box(turns.wrapping_add(1)); }",
        fault: "out-of-fuel",
        says: &["used up its 50000000 units of fuel"],
    },
    Hostile {
        name: "eats-memory",
        does: "grows memory",
        body: "let mut held = Vec::new(); loop { held.push(Vec::<u8>::with_capacity(1 << 20)); std::hint::black_box(&held); }",
        fault: "out-of-memory",
        says: &["wanted more than 65536 KiB of memory"],
    },
    Hostile {
        name: "gives-up",
        does: "traps",
        body: "panic!(\"the sky fell on {}\", action.tool)",
        fault: "trap",
        says: &["it trapped", "the sky fell on Bash"],
    },
    Hostile {
        name: "opens-files",
        does: "opens a file",
        body: "let text = std::fs::read_to_string(\"/etc/passwd\").map_err(|error| Error::Failed(error.to_string()))?; \
               Ok(Ruling::warn(\"leak\", &text).into())",
        fault: "missing-grant",
        says: &["wasi:filesystem", "not granted"],
    },
    Hostile {
        name: "recurses",
        does: "recurses without end",
        body: "fn deep(n: u64) -> u64 { if std::hint::black_box(n) == 0 { 0 } else { deep(n + 1) + n } } \
               Ok(Ruling::warn(\"deep\", &deep(1).to_string()).into())",
        fault: "stack-overflow",
        says: &["recursed too deep"],
    },
    Hostile {
        name: "talks-on",
        does: "answers more than it may",
        body: "Ok(Ruling::warn(\"long\", &\"x\".repeat(4 << 20)).into())",
        fault: "output-too-large",
        says: &["more than 512 KiB"],
    },
    Hostile {
        name: "lies",
        does: "answers a score that cannot be",
        body: "Ok(Risk { score: 65_000, factors: vec![] }.into())",
        fault: "bad-value",
        says: &["65000"],
    },
];

/// A guest that reports nothing, but may use the standard library.
const INERT: &str = "let files = std::fs::read_dir(\"/\").is_ok(); let time = std::time::SystemTime::now(); \
    let variables = std::env::vars().count(); println!(\"{files} {time:?} {variables} {}\", action.tool); Ok(Assessment::nothing())";

/// A guest that reports what it can read of the project and of the environment.
const CURIOUS: &str = "let file = std::fs::read_to_string(\"/project/a.txt\").unwrap_or_else(|error| error.kind().to_string()); \
    let out = std::fs::read_to_string(\"/project/../../../../../../etc/passwd\").is_ok(); \
    let variable = std::env::var(\"PORTCULLIS_TEST_GRANT\").unwrap_or_default(); \
    Ok(Ruling::warn(\"curious\", &format!(\"read {file:?} {out} {variable:?}\")).into())";

fn granted() -> Result<()> {
    const NAME: &str = "curious";
    let site = Site::new(NAME)?;
    install(&site, &built(NAME)?, NAME)?;
    fs::write(site.project().join("a.txt"), "of the project")?;
    let grants = format!(
        "[plugins.{NAME}.grants]\nproject = true\nenvironment = [\"PORTCULLIS_TEST_GRANT\", \"NOT_THERE\"]\n"
    );
    let ask = |id: &str| site.hook(&site.calls(NAME).bash(id, "ls"));
    let record = || site.records()?.pop().ok_or_else(|| anyhow!("there is no record"));
    let uses = |record: &Value| {
        let plugin = record["plugins"]
            .as_array()
            .and_then(|plugins| plugins.iter().find(|plugin| plugin["name"] == NAME).cloned());
        plugin.map(|plugin| plugin["uses"].clone()).unwrap_or_default()
    };
    ask("1")?.says(&["read 'entity not found' false"])?;
    ensure!(uses(&record()?).is_null(), "without a grant: {}", record()?);
    // A project grants nothing, even a trusted one.
    fs::create_dir_all(site.project().join(".portcullis"))?;
    fs::write(site.project().join(".portcullis/config.toml"), &grants)?;
    ask("2")?.says(&["read 'entity not found' false"])?;
    fs::remove_dir_all(site.project().join(".portcullis"))?;
    site.write("config.toml", &grants)?;
    ask("3")?.says(&["read 'of the project' false ''"])?;
    let newest = record()?;
    let used = uses(&newest);
    let read = json!({ "grant": "directories", "what": "/project/a.txt", "count": 2, "bytes": 14 });
    let out = used.as_array().is_some_and(|uses| {
        uses.iter().any(|one| one["refused"].as_str().is_some_and(|why| why.contains("leads out")))
    });
    ensure!(
        used.to_string().contains("/project/a.txt") && out,
        "expected {read} and a refusal: {used}"
    );
    let explained = site.output(&["explain", newest["id"].as_str().unwrap_or_default()])?;
    ensure!(
        explained.contains("directories: `/project/a.txt`")
            && explained.contains("refused, it leads out"),
        "{explained}"
    );
    site.verify()
}

fn example() -> Result<()> {
    let site = Site::new("example")?;
    let plugin = built(EXAMPLE)?;
    let migration = site.project().join("migrations/0001.sql");
    fs::create_dir_all(site.project().join("migrations"))?;
    fs::write(&migration, "create table tree (id int);\n")?;
    let edit = |id: &str| {
        let input = json!({ "file_path": migration, "old_string": "int", "new_string": "bigint" });
        site.calls("example").before(id, "Edit", input)
    };
    let before = site.hook(&edit("1"))?;
    ensure!(before.answer == Answer::Quiet, "without the plugin: {before:?}");
    install(&site, &plugin, EXAMPLE)?;
    let after = site.hook(&edit("2"))?;
    ensure!(after.answer == Answer::Asked, "with the plugin: {after:?}");
    after.says(&["an applied migration must stay as it was run", "write a new migration"])?;
    let record = site.records()?.pop().ok_or_else(|| anyhow!("there is no record"))?;
    let asked = record["plugins"].as_array().is_some_and(|plugins| {
        plugins.iter().any(|plugin| plugin["name"] == EXAMPLE && plugin["version"] == "0.1.0")
    });
    ensure!(record["verdict"] == "ask" && asked && record["faults"].is_null(), "{record}");
    site.ordinary("beside")?;
    shown(&site, &plugin)?;
    fs::remove_dir_all(site.state().join("plugins"))?;
    let without = site.hook(&edit("3"))?;
    ensure!(without.answer == Answer::Quiet, "after its removal: {without:?}");
    site.verify()
}

/// Checks the information about it for people and scripts; none of its code runs for that.
fn shown(site: &Site, plugin: &Path) -> Result<()> {
    let path = plugin.to_string_lossy();
    let list = site.output(&["plugin", "list"])?;
    let line = list
        .lines()
        .find(|line| line.starts_with(EXAMPLE))
        .ok_or_else(|| anyhow!("it is not listed: {list}"))?;
    ensure!(
        line.contains("risk-calculator")
            && line.contains("ask on a fault")
            && line.contains("plugins/protect-migrations.wasm"),
        "{line}"
    );
    let inspected = site.output(&["plugin", "inspect", &path])?;
    for part in [
        "[plugins.protect_migrations.grants]\n",
        "  environment = [\"VARIABLE\"]\n",
        "risk-calculator",
        "built for portcullis:plugin@0.1.0",
        "protect-migrations 0.1.0: Asks before",
        "blake3",
        "it can be loaded",
    ] {
        ensure!(inspected.contains(part), "`plugin inspect` does not say {part:?}: {inspected}");
    }
    let inspection: Value =
        serde_json::from_str(&site.output(&["plugin", "inspect", "--json", &path])?)?;
    ensure!(
        inspection["refused"].is_null() && inspection["inspection"]["kind"] == "risk-calculator",
        "{inspection}"
    );
    ensure!(
        inspection["inspection"]["descriptor"]["settings"].to_string().contains("folders"),
        "its settings are not shown: {inspection}"
    );
    Ok(())
}

fn settings() -> Result<()> {
    let site = Site::new("settings")?;
    install(&site, &built(EXAMPLE)?, EXAMPLE)?;
    fs::create_dir_all(site.project().join("schema"))?;
    fs::write(site.project().join("schema/1.sql"), "")?;
    let write = |id: &str| {
        site.calls("settings").before(
            id,
            "Write",
            json!({ "file_path": site.project().join("schema/1.sql"), "content": "x" }),
        )
    };
    for (id, settings, answer, says) in [
        ("1", "", Answer::Quiet, ""),
        ("2", "folders = [\"schema\"]", Answer::Asked, "an applied migration"),
        ("3", "folder = \"schema\"", Answer::Asked, "did you mean 'folders'?"),
        ("4", "folders = 3", Answer::Asked, "folders"),
    ] {
        site.write("config.toml", format!("[plugins.{EXAMPLE}.settings]\n{settings}\n"))?;
        let reply = site.hook(&write(id))?;
        ensure!(reply.answer == answer, "`{settings}`: {reply:?}");
        reply.says(&[says])?;
        let faults: Vec<String> = newest_faults(&site, EXAMPLE)?;
        let expected: &[&str] = if id < "3" { &[] } else { &["bad-settings"] };
        ensure!(faults == expected, "`{settings}`: the faults {faults:?}");
    }
    Ok(())
}

fn inert() -> Result<()> {
    let site = Site::new("inert")?;
    install(&site, &built("does-nothing")?, "does-nothing")?;
    site.ordinary("inert")?;
    let record = site.records()?.pop().ok_or_else(|| anyhow!("there is no record"))?;
    let plugin = record["plugins"]
        .as_array()
        .and_then(|plugins| plugins.iter().find(|plugin| plugin["name"] == "does-nothing"));
    let log = plugin.ok_or_else(|| anyhow!("it was not asked: {record}"))?["log"].to_string();
    ensure!(log.contains("false") && log.contains(" 0 Bash"), "it saw files or variables: {log}");
    Ok(())
}

/// By default a person is asked; the configured policy applies unless a breaker holds the plugin;
/// other plugins and later actions are not affected.
fn hostile(guest: &Hostile) -> Result<()> {
    let site = Site::new(guest.name)?;
    install(&site, &built(guest.name)?, guest.name)?;
    for (policy, answer, verdict) in [
        (None, Answer::Asked, "ask"),
        (Some("ask"), Answer::Asked, "ask"),
        (Some("block"), Answer::Refused, "block"),
        (Some("warn"), Answer::Informed, "warn"),
    ] {
        if let Some(policy) = policy {
            site.write(
                "config.toml",
                format!(
                    "[breaker]\nfaults = 0\n[plugins.{}]\non_fault = \"{policy}\"\n",
                    guest.name
                ),
            )?;
        }
        let reply = site.hook(&site.calls("hostile").bash(verdict, "ls"))?;
        ensure!(reply.answer == answer, "on_fault {policy:?}: {reply:?}");
        reply.says(&[guest.name, guest.fault])?;
        reply.says(guest.says)?;
        let faults = newest_faults(&site, guest.name)?;
        ensure!(faults == [guest.fault], "the record has the faults {faults:?}");
        let record = site.records()?.pop().ok_or_else(|| anyhow!("there is no record"))?;
        ensure!(record["verdict"] == verdict, "the record has the verdict {}", record["verdict"]);
    }
    fs::remove_file(site.state().join("config.toml"))?;
    fs::remove_dir_all(site.state().join("plugins"))?;
    site.ordinary("hostile")?;
    site.verify()
}

/// Returns the names of the newest record's faults, all of which must be that plugin's.
fn newest_faults(site: &Site, plugin: &str) -> Result<Vec<String>> {
    let record = site.records()?.pop().ok_or_else(|| anyhow!("there is no record"))?;
    let faults: Vec<Value> = record["faults"].as_array().cloned().unwrap_or_default();
    ensure!(
        faults.iter().all(|fault| fault["source"] == plugin),
        "somebody else has a fault: {faults:?}"
    );
    Ok(faults.iter().filter_map(|fault| Some(fault["kind"].as_str()?.to_owned())).collect())
}

fn install(site: &Site, plugin: &Path, name: &str) -> Result<()> {
    site.write(&format!("plugins/{name}.wasm"), fs::read(plugin)?)
}

/// Returns the component of that name; all are built together, once.
fn built(name: &str) -> Result<PathBuf> {
    static BUILT: OnceLock<std::result::Result<PathBuf, String>> = OnceLock::new();
    let folder = BUILT
        .get_or_init(|| build().map_err(|error| format!("{error:#}")))
        .as_ref()
        .map_err(|error| anyhow!("{error}"))?;
    let path = folder.join(format!("{}.wasm", name.replace('-', "_")));
    ensure!(path.is_file(), "the build made no `{}`", path.display());
    Ok(path)
}

/// Builds one workspace outside ours, in a temporary folder: a copy of the example, and a crate for
/// each other guest. Compiled files are kept among cargo's own files, so that the next run is
/// quick.
fn build() -> Result<PathBuf> {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins").canonicalize()?;
    let scratch = tempfile::Builder::new().prefix("portcullis-plugins-").tempdir()?;
    let sdk = plugins.join("sdk").to_string_lossy().into_owned();
    lay_example(&plugins.join("examples/rust"), &scratch.path().join("example"), &sdk)?;
    let (stranger, complainer) = (quoting::stranger(), quoting::complainer());
    let spoken = [
        ("does-nothing", INERT),
        ("stranger", stranger.as_str()),
        ("complainer", complainer.as_str()),
        ("curious", CURIOUS),
        (breaker::NAME, breaker::BODY),
    ];
    let forms = changed::FORMS.iter().copied();
    let hostile = HOSTILE.iter().map(|guest| (guest.name, guest.body));
    for (name, body) in hostile.chain(spoken).chain(forms) {
        lay_guest(&scratch.path().join(name), name, &assessor(name, body), &sdk)?;
    }
    lay_guest(&scratch.path().join(answers::NAME), answers::NAME, answers::SOURCE, &sdk)?;
    let patient = scratch.path().join(changed::PATIENT);
    lay_guest(&patient, changed::PATIENT, changed::PATIENT_SOURCE, &sdk)?;
    lay_guest(&scratch.path().join("painter"), "painter", &quoting::painter(), &sdk)?;
    let profile = "[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n[profile.release]\nopt-level = 1\npanic = \"abort\"\nstrip = \"debuginfo\"\n";
    fs::write(scratch.path().join("Cargo.toml"), profile)?;
    fs::copy(plugins.join("examples/rust/Cargo.lock"), scratch.path().join("Cargo.lock"))?;
    guests::built(scratch.path(), "third-party")
}

fn lay_example(from: &Path, to: &Path, sdk: &str) -> Result<()> {
    fs::create_dir_all(to.join("src"))?;
    for entry in fs::read_dir(from.join("src"))? {
        let entry = entry?;
        fs::copy(entry.path(), to.join("src").join(entry.file_name()))?;
    }
    let mut manifest: toml::Table = fs::read_to_string(from.join("Cargo.toml"))?
        .parse()
        .context("the example's manifest is not TOML")?;
    manifest.remove("workspace");
    manifest.remove("profile");
    let dependency =
        manifest.get_mut("dependencies").and_then(|all| all.get_mut("portcullis-plugin"));
    *dependency.ok_or_else(|| anyhow!("the example does not use the SDK"))? =
        toml::toml! { path = sdk }.into();
    Ok(fs::write(to.join("Cargo.toml"), manifest.to_string())?)
}

fn lay_guest(folder: &Path, name: &str, source: &str, sdk: &str) -> Result<()> {
    fs::create_dir_all(folder.join("src"))?;
    let manifest = format!(
        "[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n[lib]\ncrate-type = [\"cdylib\"]\n\
         [dependencies]\nportcullis-plugin = {{ path = {sdk:?} }}\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    let source = format!("#![allow(unused, unconditional_recursion)]\n{source}");
    Ok(fs::write(folder.join("src/lib.rs"), source)?)
}

/// Returns the source of a risk-calculator with that `assess`.
fn assessor(name: &str, body: &str) -> String {
    format!(
        "use portcullis_plugin::risk_calculator::*;\nstruct Guest;\n\
         impl RiskCalculator for Guest {{\n    const DESCRIPTOR: Descriptor = Descriptor::new({name:?}, \"0.1.0\", \"A guest of the tests.\");\n    \
         fn assess(_: &[u8], action: &Action, _: &Context) -> Result<Assessment, Error> {{ {body} }}\n}}\n\
         portcullis_plugin::export!(risk-calculator: Guest);\n"
    )
}
