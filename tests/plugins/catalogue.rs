//! Tests of the catalogue: each plugin is built as its author would build it, passes its cases, and
//! has a page that says what a reader wants to know; each is in one bundle, which a vetter can vet.

use crate::common::site::Site;
use crate::common::trial;
use crate::examples::{copy, counts, find_sdk};
use crate::keys::{make_key, passphrase, policy_key};
use crate::page::{PAGE, list_gaps, list_sections, names_setting};
use crate::{done, sound, tools};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use portcullis_tests::pages::check_page;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use toml::Table;

/// The section that a page of the catalogue has beside those that everybody's has: corpora are not everybody's.
const MEASURED: &str = "Measured";

/// Languages, each with how many plugins are in them at least.
const LANGUAGES: &[(&[&str], usize)] =
    &[(&["rust"], 2), (&["python"], 2), (&["js", "ts"], 2), (&["c"], 1), (&["go"], 1)];
const KINDS: &[&str] = &["risk-calculator", "pattern", "intervention", "audit-exporter"];

/// Returns the tests of this file: one for the whole, and one for each bundle.
pub fn trials() -> Vec<Trial> {
    let mut trials = vec![
        trial("catalogue: it is whole", whole),
        trial("catalogue: the book has it", || {
            check_page("plugin-catalogue.md", "the plugins' own files", &page()?)
        }),
    ];
    trials.extend(folders(&catalogue().join("bundles"), "bundle.toml").into_iter().map(|name| {
        trial(format!("catalogue: the bundle {name} is built and vetted"), move || vetted(&name))
    }));
    trials
}

fn catalogue() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/catalogue")
}

/// Returns the names of the folders that hold such a file.
fn folders(folder: &Path, file: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().join(file).is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn read_table(path: &Path) -> Result<Table> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    text.parse().with_context(|| format!("`{}` is not TOML", path.display()))
}

fn text_of<'t>(table: &'t Table, key: &str) -> Result<&'t str> {
    table.get(key).and_then(toml::Value::as_str).with_context(|| format!("no `{key}`"))
}

/// Returns the plugins of a bundle, by the names of their folders.
fn plugins_of(bundle: &str) -> Result<Vec<String>> {
    let manifest = read_table(&catalogue().join("bundles").join(bundle).join("bundle.toml"))?;
    let plugins = manifest.get("plugin").and_then(toml::Value::as_array).context("no plugins")?;
    plugins
        .iter()
        .map(|plugin| {
            let file = plugin.as_table().map(|table| text_of(table, "file")).transpose()?;
            let name = file.and_then(|file| file.strip_prefix("../../"));
            Ok(name
                .with_context(|| format!("{bundle}: {plugin} is no folder of the catalogue"))?
                .to_owned())
        })
        .collect()
}

/// Every language and kind is there, every plugin is in one bundle, and every page has its sections.
fn whole() -> Result<()> {
    let mut bundled: BTreeMap<String, usize> = BTreeMap::new();
    for bundle in folders(&catalogue().join("bundles"), "bundle.toml") {
        for plugin in plugins_of(&bundle)? {
            *bundled.entry(plugin).or_default() += 1;
        }
    }
    let names = folders(&catalogue(), "plugin.toml");
    ensure!(names.len() >= 12, "{} plugins", names.len());
    let once: BTreeMap<String, usize> = names.iter().map(|name| (name.clone(), 1)).collect();
    ensure!(bundled == once, "in bundles: {bundled:?}, in the catalogue: {names:?}");
    let mut found: Vec<(String, String)> = Vec::new();
    for name in &names {
        let project = catalogue().join(name);
        let manifest = read_table(&project.join("plugin.toml"))?;
        ensure!(text_of(&manifest, "name")? == name, "{name}: another name in its plugin.toml");
        found.push((
            text_of(&manifest, "language")?.to_owned(),
            text_of(&manifest, "kind")?.to_owned(),
        ));
        check_helper(&project, text_of(&manifest, "language")?)?;
        check_sections(
            name,
            text_of(&manifest, "kind")?,
            &fs::read_to_string(project.join("README.md"))?,
        )?;
        let (all, silent) = counts(&fs::read_to_string(project.join("cases.toml"))?);
        ensure!(all >= 20, "{name}: {all} cases");
        let objects = ["risk-calculator", "pattern"].contains(&text_of(&manifest, "kind")?);
        ensure!(!objects || silent * 6 >= all, "{name}: {silent} of {all} cases are harmless");
    }
    for (languages, least) in LANGUAGES {
        let count = found.iter().filter(|(own, _)| languages.contains(&own.as_str())).count();
        ensure!(count >= *least, "{count} in {languages:?}");
    }
    for kind in KINDS {
        ensure!(found.iter().any(|(_, own)| own == kind), "no {kind}");
    }
    Ok(())
}

/// Checks that a plugin has its language's helper as `plugin new` writes it. Where it is a link, it is
/// the same file.
fn check_helper(project: &Path, language: &str) -> Result<()> {
    let helper = match language {
        "c" => "src/portcullis.h",
        "go" => "portcullis/portcullis.go",
        "js" => "src/portcullis.js",
        "python" => "src/portcullis.py",
        "ts" => "src/portcullis.ts",
        _ => return Ok(()),
    };
    let shared = catalogue().join("../templates").join(language).join("shared").join(helper);
    let own = project.join(helper);
    let same = fs::read(&own).with_context(|| own.display().to_string())? == fs::read(&shared)?;
    ensure!(same, "`{}` differs from the template's", own.display());
    Ok(())
}

/// What the page of the book says before the plugins.
const HEAD: &str = "# Plugins to install

These plugins are written with the public interface, as anybody's are. Each is a project in `plugins/catalogue`, with its source, the cases
that it passes, and a page: what it is for, its settings, what it costs, what recorded work showed, and what it does not see. They come in
bundles, which a team vets and installs as a whole ([Bundles](bundles.md)).

Ten of them object (risk calculators) or report (patterns), and so make an answer stricter or bring an intervention; one is an intervention;
four are exporters, which judge nothing and write the journal in another format. None can allow anything.

## Install

Where your [trust policy](bundles.md#whom-to-trust) names an index that lists them ([Indexes](indexes.md)), a bundle is found and installed by
its name:

```console
$ portcullis bundle index update
$ portcullis bundle search infrastructure
$ portcullis bundle info portcullis/infra
$ portcullis bundle install portcullis/infra
```

[What others check](releasing.md#what-others-check) has the lines of the policy for these bundles.

To try a plugin, build it in its folder, and install nothing:

```sh
cd plugins/catalogue/infrastructure-guard
portcullis plugin build
portcullis review --plugin build/infrastructure-guard.wasm --command 'terraform -chdir=envs/prod destroy'
```

To install one alone, copy its component into the folder that `portcullis plugin list` names, and run `portcullis doctor`, which compiles it.
";

/// The table of what each plugin costs, up to its first row.
const COSTS: &str = "
## What each costs

`portcullis plugin bench` over each plugin's cases, medians, on two cores without other work. Each page says more.

| plugin | size | compile, once | call | fuel a call | memory |
|---|---|---|---|---|---|
";

/// The end of the page.
const TAIL: &str = "
## All of them together

| | without | with all fifteen |
|---|---|---|
| a hook before a shell command, before an edit | 5.5 ms, 5.4 ms | 8.0 ms, 7.9 ms (1.46 and 1.48 times) |
| a hook after a shell command, after an edit | 5.2 ms, 4.3 ms | 6.4 ms, 5.8 ms (1.23 and 1.34 times) |
| objections to 5,707 commands and calls that are labelled benign | 130 (2.28 %) | 147 (2.58 %, .30 percentage points more) |
| objections to 5,542 actions of 75 sessions of real work and of agents that repair bugs | 256 (4.62 %) | 269 (4.85 %, .23 percentage points more) |

Whole processes in pairs, medians of 60 rounds, 30 November 2026, on two cores without other work: `PORTCULLIS_BENCH_PLUGINS=FOLDER cargo bench
--workspace --bench installed`. What no hook calls costs it .02 ms: exporters and interventions, in whatever language. A plugin in QuickJS that each
hook calls cost 2 ms in the same bench.

The objections are those of `portcullis bundle vet` and `portcullis replay` with all fifteen and default settings, 1 December 2026. In the sessions, no
answer became milder, and ten warnings became questions, all in one session that posts to one host. The page of each plugin that objects or
reports says to how many of these actions it does so alone, and what a reader made of them.

## Not among them

A pattern that notices tests that are weakened or skipped is in `plugins/examples/tests-weakened`. It is an example, the same plugin in six
languages by one specification, and in no bundle. To install it, build one of its folders (`portcullis plugin build`) and copy the component as
above.
";

/// Writes the page of the book: each bundle with its plugins.
fn page() -> Result<String> {
    let mut text = HEAD.to_owned();
    for bundle in folders(&catalogue().join("bundles"), "bundle.toml") {
        let manifest = read_table(&catalogue().join("bundles").join(&bundle).join("bundle.toml"))?;
        text.push_str(&format!(
            "\n## {}\n\n{}\n\n| plugin | what it does | kind | written in | try |\n|---|---|---|---|---|\n",
            text_of(&manifest, "name")?,
            text_of(&manifest, "description")?
        ));
        for name in plugins_of(&bundle)? {
            let project = catalogue().join(&name);
            let plugin = read_table(&project.join("plugin.toml"))?;
            let readme = fs::read_to_string(project.join("README.md"))?;
            text.push_str(&format!(
                "| `{name}` | {} | {} | {} | `{}` |\n",
                description(&project, &plugin)?,
                text_of(&plugin, "kind")?,
                language_name(text_of(&plugin, "language")?),
                trial_command(&readme).with_context(|| format!("{name}/README.md"))?
            ));
        }
    }
    text.push_str(COSTS);
    for name in folders(&catalogue(), "plugin.toml") {
        let readme = fs::read_to_string(catalogue().join(&name).join("README.md"))?;
        let cost = cost(&readme).with_context(|| format!("{name}/README.md"))?;
        text.push_str(&format!("| `{name}` | {} |\n", cost.join(" | ")));
    }
    text.push_str(TAIL);
    Ok(text)
}

/// Returns what a plugin's page says of the columns of [`COSTS`].
fn cost(readme: &str) -> Result<Vec<String>> {
    let (_, section) = readme.split_once("\n## Cost\n").context("no section `Cost`")?;
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let mut lines = section.lines().skip_while(|line| !line.starts_with("| size |"));
    let head = cells(lines.next().context("no table that begins with `size`")?);
    let row = cells(lines.nth(1).context("a table without a row")?);
    ensure!(head.len() == row.len(), "a row of {} cells below {}", row.len(), head.len());
    ["size", "compile", "call", "fuel a call", "memory"]
        .iter()
        .map(|wanted| {
            let at = head.iter().position(|title| title.split(',').next() == Some(wanted));
            at.and_then(|at| row.get(at).cloned()).with_context(|| format!("no column `{wanted}`"))
        })
        .collect()
}

/// Returns what a plugin does, in a sentence: in Rust the package says it.
fn description(project: &Path, plugin: &Table) -> Result<String> {
    if let Ok(said) = text_of(plugin, "description") {
        return Ok(said.to_owned());
    }
    let package = read_table(&project.join("Cargo.toml"))?;
    let package = package.get("package").and_then(toml::Value::as_table).context("no package")?;
    let said = text_of(package, "description")?;
    let said = said.strip_prefix("A Portcullis plugin: ").unwrap_or(said).trim_end_matches('.');
    let mut letters = said.chars();
    let first = letters.next().context("an empty description")?.to_uppercase();
    Ok(format!("{first}{}.", letters.as_str()))
}

fn language_name(language: &str) -> &str {
    match language {
        "rust" => "Rust",
        "c" => "C",
        "go" => "Go",
        "python" => "Python",
        "js" => "JavaScript",
        "ts" => "TypeScript",
        other => other,
    }
}

/// Returns the first command of a plugin's page that shows what it does; else that of its cases.
fn trial_command(readme: &str) -> Result<&str> {
    let shows = ["portcullis review ", "portcullis replay ", "portcullis audit export "];
    let lines = readme.lines().map(|line| line.trim_start_matches("$ ").trim_end());
    let mut commands = lines.filter(|line| shows.iter().any(|show| line.starts_with(show)));
    let command = commands.next().unwrap_or("portcullis plugin test");
    ensure!(!command.contains(['|', '`']), "`{command}` does not fit into a table");
    Ok(command)
}

/// Checks that a page has the sections that `plugin publish` asks for, in their order, and its measurements.
fn check_sections(name: &str, kind: &str, page: &str) -> Result<()> {
    let gaps = list_gaps(page, kind);
    ensure!(gaps.is_empty(), "{name}/README.md: {gaps:?}");
    let sections: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    ensure!(sections.contains(&MEASURED), "{name}/README.md: no section `{MEASURED}`");
    let mut rest = sections.iter();
    for section in list_sections(kind) {
        ensure!(
            rest.any(|found| *found == section.title),
            "{name}/README.md: no section `{}` in its place: {sections:?}",
            section.title
        );
    }
    Ok(())
}

/// Builds and tests each plugin of a bundle; builds the archive twice, which gives the same bytes, signs it, vets it on their
/// cases with another key, and verifies it by a policy that wants both.
#[allow(clippy::print_stderr, reason = "a skipped language is told")]
fn vetted(bundle: &str) -> Result<()> {
    let site = Site::new(&format!("catalogue {bundle}"))?;
    let mut vet = vec!["bundle".to_owned(), "vet".to_owned()];
    let archive = site.root().join("bundle.tar").display().to_string();
    vet.extend([
        archive.clone(),
        "--json".to_owned(),
        "--reviewer".to_owned(),
        "A test".to_owned(),
    ]);
    for plugin in plugins_of(bundle)? {
        let manifest = read_table(&catalogue().join(&plugin).join("plugin.toml"))?;
        let language = text_of(&manifest, "language")?.to_owned();
        if let Some(reason) = tools::missing(&language)? {
            eprintln!("the bundle {bundle}: skipped: {plugin}: {reason}");
            return Ok(());
        }
        let project = site.root().join(&plugin);
        build(&site, &plugin, &language).with_context(|| format!("the plugin `{plugin}`"))?;
        vet.extend([
            "--cases".to_owned(),
            format!("{plugin}={}", project.join("cases.toml").display()),
        ]);
    }
    let manifest = site.root().join("bundles").join(bundle);
    copy(&catalogue().join("bundles").join(bundle), &manifest)?;
    let manifest = manifest.display().to_string();
    done(&site, &["bundle", "build", &manifest, "--output", &archive])?;
    let again = site.root().join("again.tar");
    done(&site, &["bundle", "build", &manifest, "--output", &again.display().to_string()])?;
    ensure!(fs::read(&archive)? == fs::read(&again)?, "a second archive has other bytes");

    let publisher = make_key(&site, "publisher")?;
    let vetter = make_key(&site, "vetter")?;
    let with = |key: &str| {
        ["--key", key, "--passphrase-file"]
            .map(str::to_owned)
            .into_iter()
            .chain([passphrase(&site)])
    };
    let sign: Vec<String> = ["bundle", "sign", &archive]
        .map(str::to_owned)
        .into_iter()
        .chain(with(&publisher))
        .collect();
    run_words(&site, &sign)?;
    vet.extend(with(&vetter));
    let vetted: Value = serde_json::from_str(&run_words(&site, &vet)?)?;
    // What prevents a signature is an exit code of its own, and a list.
    ensure!(vetted["results"]["problems"].is_null(), "{vetted}");
    let trust = site.root().join("trust.toml");
    let policy = format!(
        "{}{}[[rule]]\nnames = [\"portcullis/\"]\npublishers = [\"publisher\"]\nvetters = [\"vetter\"]\ngrants = {GO}\n",
        policy_key("publisher", &publisher)?,
        policy_key("vetter", &vetter)?
    );
    fs::write(&trust, policy)?;
    let trust = trust.display().to_string();
    done(&site, &["bundle", "verify", &archive, "--trust", &trust])?;
    check_notes(&site, &archive, &manifest)
}

/// Checks that an index of the bundle says what its version changes.
fn check_notes(site: &Site, archive: &str, folder: &str) -> Result<()> {
    let notes = Path::new(folder).join("notes.toml").display().to_string();
    let out = site.root().join("index.tar").display().to_string();
    let what = ["--name", "portcullis/index", "--serial", "1", "--registry", "ghcr.io"];
    let words =
        ["bundle", "index", "build", archive, "--notes", &notes, "--output", &out, "--json"];
    let built: Value = serde_json::from_str(&done(site, &[words.as_slice(), &what].concat())?)?;
    let change = built["index"]["bundles"][0]["versions"][0]["change"].as_str();
    ensure!(change.is_some_and(|change| !change.is_empty()), "{built}");
    Ok(())
}

fn run_words(site: &Site, words: &[String]) -> Result<String> {
    done(site, &words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The grants that Go's runtime asks for. It runs without them.
const GO: &str = r#"["clocks", "random", "environment", "directories"]"#;

/// The languages whose components hold an interpreter's memory, with the random numbers that it began with.
const UNREPEATABLE: &[&str] = &["js", "python", "ts"];

/// Builds a plugin in the site's folder, as an author would, and plays its cases. In most languages, another build in
/// another folder has the same bytes, so that a vetter can build what a publisher signed. In Rust that compiles the plugin's
/// own crate again: what it depends on is compiled once for all plugins.
fn build(site: &Site, name: &str, language: &str) -> Result<()> {
    let project = site.root().join(name);
    let built = build_in(site, &project, name, language)?;
    sound(&built, language)?;
    let page = fs::read_to_string(project.join(PAGE))?;
    let declared = &built["inspection"]["descriptor"]["settings"];
    for setting in declared.as_array().into_iter().flatten() {
        let key = setting["key"].as_str().context("a setting without a key")?;
        ensure!(names_setting(&page, key), "{name}/{PAGE} does not name the setting `{key}`");
    }
    let folder = project.display().to_string();
    let tested: Value = serde_json::from_str(&done(site, &["plugin", "test", &folder, "--json"])?)?;
    let (all, _) = counts(&fs::read_to_string(project.join("cases.toml"))?);
    ensure!(tested["ok"] == all && tested["differ"] == 0, "{all} cases: {tested}");
    run_own_tests(&project, language)?;
    if UNREPEATABLE.contains(&language) {
        return Ok(());
    }
    let again = build_in(site, &site.root().join("elsewhere/again"), name, language)?;
    let digest = &built["inspection"]["digest"];
    ensure!(digest.is_string() && again["inspection"]["digest"] == *digest, "other bytes: {again}");
    Ok(())
}

/// Builds a copy of a plugin in that folder.
fn build_in(site: &Site, project: &Path, name: &str, language: &str) -> Result<Value> {
    let _ = fs::remove_dir_all(project);
    copy(&catalogue().join(name), project)?;
    find_sdk(project)?;
    tools::lend(language, project)?;
    let folder = project.display().to_string();
    Ok(serde_json::from_str(&done(site, &["plugin", "build", &folder, "--json"])?)?)
}

/// Runs what a plugin tests beside its cases. Those in Rust are a step of CI of their own.
fn run_own_tests(project: &Path, language: &str) -> Result<()> {
    let folder = if language == "c" { "tests" } else { "test" };
    let entries = fs::read_dir(project.join(folder)).into_iter().flatten().flatten();
    let files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    let ending =
        |end: &'static str| files.iter().filter(move |path| path.to_string_lossy().ends_with(end));
    match language {
        "js" | "ts" if ending(".test.js").next().is_some() => {
            run_tool(project, Command::new("node").arg("--test").args(ending(".test.js")))
        }
        "python" if ending(".py").next().is_some() => {
            run_tool(project, Command::new("python3").args(["-m", "unittest", "discover", folder]))
        }
        "c" => ending(".c").try_for_each(|test| {
            let name = test.file_stem().context("a test without a name")?;
            let program = project.join("build").join(name);
            let tested = Path::new("src").join(name).with_extension("c");
            let words = ["-Wall", "-Wextra", "-Werror", "-Isrc", "-o"];
            run_tool(project, Command::new("cc").args(words).arg(&program).arg(test).arg(tested))?;
            run_tool(project, &mut Command::new(&program))
        }),
        "go" => {
            let mut go = Command::new(project.join(".venv/bin/go"));
            run_tool(project, go.args(["test", "./..."]).envs(tools::environment()))
        }
        _ => Ok(()),
    }
}

fn run_tool(project: &Path, command: &mut Command) -> Result<()> {
    let ended = command.current_dir(project).output().context("a tool does not start")?;
    let said = [ended.stdout, ended.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    ensure!(ended.status.success(), "{command:?}: {}", said.concat());
    Ok(())
}
