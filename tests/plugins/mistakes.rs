//! Tests of authors' mistakes on their way to a component: each has a message that names the cause
//! and the fix. `tests/snapshots/plugins` has the whole messages.

use crate::common::site::Site;
use crate::common::{snapshot, trial};
use crate::{done, made, name, run, tools};
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use std::fs;
use std::path::Path;

/// The manifest of a project with a custom build.
pub const OWN: &str = "name = \"mine\"\nkind = \"audit-exporter\"\nlanguage = \"other\"\nversion = \"1\"\ndescription = \"says nothing\"\n\
    [build]\ncommand = [\"/bin/true\"]\noutput = \"module.wasm\"\n";

/// A core module with the exports of an exporter, as a language without components of its own
/// writes it.
pub const EXPORTER: &str = r#"(module
    (memory (export "memory") 1)
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
    (func (export "portcullis:plugin/exporter@0.1.0#prepare") (param i32 i32) (result i32) i32.const 16)
    (func (export "portcullis:plugin/exporter@0.1.0#render") (param i32 i32 i32 i32 i32) (result i32) i32.const 16))"#;

/// A mistake in a project with a custom build.
struct Mistake {
    does: &'static str,
    /// The manifest, if it is not `OWN`.
    manifest: fn() -> String,
    /// The content of `build.output`: text of a module, or any bytes.
    output: fn() -> String,
}

const MISTAKES: &[Mistake] = &[
    Mistake {
        does: "has a key that nobody knows",
        manifest: || format!("nme = 1\n{OWN}"),
        output: || EXPORTER.into(),
    },
    Mistake {
        does: "names a program that is not there",
        manifest: || OWN.replace("/bin/true", "no-such-program"),
        output: || EXPORTER.into(),
    },
    Mistake {
        does: "has a build that fails",
        manifest: || OWN.replace("/bin/true", "/bin/false"),
        output: || EXPORTER.into(),
    },
    Mistake {
        does: "names another output than the build's",
        manifest: || OWN.replace("module.wasm", "plugin.wasm"),
        output: || EXPORTER.into(),
    },
    Mistake {
        does: "builds something else than WebAssembly",
        manifest: || OWN.into(),
        output: || "text".into(),
    },
    Mistake {
        does: "exports for another kind",
        manifest: || OWN.replace("audit-exporter", "pattern"),
        output: || EXPORTER.into(),
    },
    Mistake {
        does: "leaves an export out",
        manifest: || OWN.into(),
        output: || EXPORTER.replace("#render", "#renders"),
    },
    Mistake {
        does: "imports what no host offers",
        manifest: || OWN.into(),
        output: || EXPORTER.replace("(module", "(module (import \"env\" \"secret\" (func))"),
    },
];

/// A command that fails before anything is built.
struct Refused {
    does: &'static str,
    arguments: &'static [&'static str],
    code: i32,
}

const REFUSED: &[Refused] = &[
    refused(
        "has a name with spaces",
        &["plugin", "new", "No Force", "--kind", "pattern", "--lang", "rust"],
        1,
    ),
    refused(
        "has the name of a builtin plugin",
        &["plugin", "new", "loop", "--kind", "pattern", "--lang", "rust"],
        1,
    ),
    refused(
        "wants a kind that is not there",
        &["plugin", "new", "mine", "--kind", "patern", "--lang", "c"],
        2,
    ),
    refused("says no language", &["plugin", "new", "mine", "--kind", "pattern"], 2),
    refused("builds where there is no project", &["plugin", "build", "/"], 1),
    refused("builds in a folder that is not there", &["plugin", "build", "/no/such/folder"], 1),
];

const fn refused(does: &'static str, arguments: &'static [&'static str], code: i32) -> Refused {
    Refused { does, arguments, code }
}

/// Languages whose tools can be missing.
const LANGUAGES: &[&str] = &["rust", "c", "python", "js", "ts", "go"];

/// The folder of the messages.
const MESSAGES: &str = "mistakes";

/// Returns the tests of this file.
pub fn trials() -> Vec<Trial> {
    let mut trials = vec![trial(
        "plugins: nothing is overwritten, and nothing is left of what failed",
        overwrites,
    )];
    trials.extend(
        MISTAKES
            .iter()
            .map(|mistake| trial(format!("plugins: one that {}", mistake.does), || built(mistake))),
    );
    trials.extend(
        REFUSED
            .iter()
            .map(|refused| trial(format!("plugins: one who {}", refused.does), || refuse(refused))),
    );
    trials.extend(PACKAGES.iter().map(|language| {
        trial(format!("plugins: {}", no_packages(language)), || without_packages(language))
    }));
    trials.extend(LANGUAGES.iter().map(|language| {
        trial(format!("plugins: without the tools of {language}"), || without_tools(language))
    }));
    trials
}

fn without(language: &str) -> String {
    format!("without the tools of {language}")
}

fn built(mistake: &Mistake) -> Result<()> {
    let site = Site::new(&format!("mistake {}", mistake.does))?;
    let project = site.root().join("mine");
    fs::create_dir_all(&project)?;
    fs::write(project.join("plugin.toml"), (mistake.manifest)())?;
    let output = (mistake.output)();
    let bytes =
        if output.starts_with('(') { wat::parse_str(&output)? } else { output.into_bytes() };
    fs::write(project.join("module.wasm"), bytes)?;
    let folder = project.display().to_string();
    let arguments = ["plugin", "build", &folder];
    let ended = run(&site, &arguments)?;
    ensure!(ended.code == Some(1), "{}", ended.all());
    ensure!(!project.join("build/mine.wasm").exists(), "a component was written all the same");
    snapshot::compare_command(MESSAGES, mistake.does, &site, &arguments, &ended)
}

fn refuse(refused: &Refused) -> Result<()> {
    let site = Site::new(&format!("refused {}", refused.does))?;
    let ended = run(&site, refused.arguments)?;
    ensure!(ended.code == Some(refused.code), "{}", ended.all());
    ensure!(entries(&site.project())?.is_empty(), "something was written all the same");
    snapshot::compare_command(MESSAGES, refused.does, &site, refused.arguments, &ended)
}

fn without_tools(language: &str) -> Result<()> {
    let site = Site::new(&without(language))?;
    let project = made(&site, "pattern", language)?.display().to_string();
    let arguments = ["plugin", "build", &project];
    // The site's own environment has no path.
    let ended = site.run(&arguments)?;
    ensure!(ended.code == Some(1), "{}", ended.all());
    snapshot::compare_command(MESSAGES, &without(language), &site, &arguments, &ended)
}

fn overwrites() -> Result<()> {
    let site = Site::new("overwrites")?;
    let project = made(&site, "pattern", "python")?;
    fs::write(project.join("mine.txt"), "mine")?;
    let before = entries(site.root())?;
    let into = site.root().display().to_string();
    let name = name("pattern");
    let again = ["plugin", "new", &name, "--kind", "pattern", "--lang", "rust", "--output", &into];
    let ended = run(&site, &again)?;
    ensure!(
        ended.code == Some(1)
            && ended.stderr.contains("is there already, and nothing is overwritten"),
        "{}",
        ended.all()
    );
    ensure!(
        project.join("mine.txt").exists() && !project.join("Cargo.toml").exists(),
        "it was overwritten"
    );
    ensure!(entries(site.root())? == before, "something is left beside it");
    // A file with the name of the folder to be created.
    let ended = run(
        &site,
        &[
            "plugin",
            "new",
            &name,
            "--kind",
            "pattern",
            "--lang",
            "c",
            "--output",
            &format!("{into}/{name}/mine.txt"),
        ],
    )?;
    ensure!(ended.code == Some(1) && ended.stderr.contains("cannot make"), "{}", ended.all());
    done(
        &site,
        &[
            "plugin",
            "new",
            "another",
            "--kind",
            "pattern",
            "--lang",
            "c",
            "--output",
            &format!("{into}/deep/er"),
        ],
    )?;
    ensure!(site.root().join("deep/er/another/src/check.c").exists(), "the folder was not made");
    Ok(())
}

/// Languages whose projects name packages that are installed for each.
const PACKAGES: &[&str] = &["js", "ts", "go"];

fn no_packages(language: &str) -> String {
    format!("without the packages of {language}")
}

#[allow(clippy::print_stderr, reason = "a skipped language is told")]
fn without_packages(language: &str) -> Result<()> {
    if let Some(reason) = tools::missing(language)? {
        eprintln!("{}: skipped: {reason}", no_packages(language));
        snapshot::skip(MESSAGES, &no_packages(language));
        return Ok(());
    }
    let site = Site::new(&no_packages(language))?;
    let project = made(&site, "pattern", language)?;
    if language == "go" {
        // With the language's own tool, and without its build package.
        tools::lend(language, &project)?;
        let manifest = fs::read_to_string(project.join("go.mod"))?;
        let without = manifest
            .lines()
            .filter(|line| !line.starts_with("replace"))
            .collect::<Vec<_>>()
            .join("\n");
        fs::write(project.join("go.mod"), without)?;
    }
    let project = project.display().to_string();
    let arguments = ["plugin", "build", &project];
    let ended = run(&site, &arguments)?;
    ensure!(ended.code == Some(1), "{}", ended.all());
    snapshot::compare_command(MESSAGES, &no_packages(language), &site, &arguments, &ended)
}

fn entries(folder: &Path) -> Result<Vec<String>> {
    let mut names: Vec<String> = fs::read_dir(folder)?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}
