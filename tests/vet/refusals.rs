//! Tests of bundles that are not signed, or not even tried.

use crate::common::process;
use crate::common::site::LIMIT;
use crate::vetting_site::{CASES, VettingSite};
use anyhow::{Context, Result, ensure};
use portcullis_bundle::{About, Bundle, NewComponent, write_archive};
use std::fs::{self, File};

/// A bundle with an objection.
struct Row {
    guest: &'static str,
    arguments: &'static [&'static str],
    says: &'static [&'static str],
}

const ROWS: &[Row] = &[
    Row {
        guest: "broken",
        arguments: &["--corpus", "corpus.jsonl"],
        says: &[
            "`broken` failed ",
            " times (trap ",
            "the first: it trapped",
            "the sky fell on Bash",
        ],
    },
    Row {
        guest: "jumpy",
        arguments: &["--corpus", "corpus.jsonl"],
        says: &["`jumpy` objects to 4 of 4 benign actions (100.0 %); at most 5 % are allowed"],
    },
    Row {
        guest: "careful",
        arguments: &["--cases", "careful=other.toml"],
        says: &["1 of 2 cases of `careful` gave another result: `ls is frobbing`"],
    },
    Row {
        guest: "idle",
        arguments: &["--corpus", "corpus.jsonl"],
        says: &["never called by this material: `idle`; a corpus calls"],
    },
];

pub fn refused() -> Result<()> {
    for row in ROWS {
        let name = format!("vet refused {} {}", row.guest, row.arguments[0]);
        refusal(&VettingSite::new(&name)?, row).with_context(|| name)?;
    }
    Ok(())
}

fn refusal(stage: &VettingSite, Row { guest, arguments, says }: &Row) -> Result<()> {
    stage.write(
        "other.toml",
        &format!(
            "{}\n[[case.step.expect]]\nrule = \"no_frobbing\"\n",
            CASES.replace("ls is nobody's business", "ls is frobbing")
        ),
    )?;
    let archive = stage.bundle(&[(*guest, "")])?;
    let before = fs::read(&archive)?;
    let ended = stage.vet(arguments)?;
    ensure!(
        ended.code == Some(1) && ended.stderr.starts_with("error: not signed: "),
        "{}",
        ended.all()
    );
    for part in says.iter().chain(&["give a reason, which is signed too: `--despite REASON`"]) {
        ensure!(ended.stderr.contains(part), "it does not say {part:?}: {}", ended.all());
    }
    ensure!(ended.text().contains("objection:"), "{}", ended.all());
    let dry =
        stage.site.run(&[&["bundle", "vet", "checks.tar", "--dry-run"], *arguments].concat())?;
    ensure!(
        dry.code == Some(1) && dry.stderr.is_empty() && dry.text().contains("objection:"),
        "{}",
        dry.all()
    );
    ensure!(fs::read(&archive)? == before, "what was refused changed the archive");
    stage.vetted(&[*arguments, &["--despite", "it is for our tests"]].concat())?;
    let results = stage.attestation("checks.tar")?.vetting.context("it is not a vetting")?.results;
    ensure!(results["despite"] == "it is for our tests", "{results}");
    let problems = results["problems"].to_string();
    ensure!(
        results["problems"].as_array().is_some_and(|all| all.len() == 1)
            && problems.contains(&says[0].replace('"', "\\\"")),
        "{problems}"
    );
    Ok(())
}

/// Arguments, the exit code, and the message.
const MISTAKES: &[(&[&str], i32, &str)] = &[
    (&[], 1, "nothing to vet it on\nhint: give `--corpus`, `--session` or `--cases`"),
    (
        &["--cases", "other=cases.toml"],
        1,
        "`--cases other=...`: the bundle has no such plugin\nhint: it has `careful`",
    ),
    (&["--cases", "careful"], 2, "name the plugin and its file: `--cases PLUGIN=FILE`"),
    (&["--cases", "careful=corpus.jsonl"], 1, "the cases cannot be played: corpus.jsonl:1"),
    (&["--corpus", "nowhere.jsonl"], 1, "cannot read the corpus `nowhere.jsonl`"),
    (&["--corpus", "cases.toml"], 1, "line 1 of the corpus `cases.toml`"),
    (&["--session", "corpus.jsonl"], 1, "in the recording `corpus.jsonl`: line 1"),
    (&["--corpus", "empty"], 1, "the folder `empty` holds no `.jsonl` or `.json` file"),
    (
        &["--corpus", "corpus.jsonl", "--corpus", "corpus.jsonl"],
        1,
        "`corpus.jsonl` has the same bytes as `corpus.jsonl`: it would count twice",
    ),
    (&["--corpus", "corpus.jsonl", "--most-flagged", "101"], 2, "it takes a number from 0 to 100"),
    (&["--corpus", "corpus.jsonl", "--days", "0"], 2, "0 is not in 1..=3650"),
    (&["--corpus", "corpus.jsonl", "--despite", " "], 2, "it takes 1 to 400 bytes in one line"),
    (
        &["--corpus", "corpus.jsonl", "--output", "cases.toml"],
        1,
        "it is there already, and is not overwritten",
    ),
];

pub fn mistakes() -> Result<()> {
    let stage = VettingSite::new("vet mistakes")?;
    let archive = stage.bundle(&[("careful", "")])?;
    let before = fs::read(&archive)?;
    fs::create_dir(stage.path("empty"))?;
    for (arguments, code, says) in MISTAKES {
        let ended = stage.vet(arguments)?;
        ensure!(
            ended.code == Some(*code) && ended.stderr.contains(says),
            "{arguments:?}: not {says:?}: {}",
            ended.all()
        );
        ensure!(ended.text().is_empty(), "{arguments:?}: {}", ended.all());
    }
    for (command, says) in [
        (&["checks.tar", "--reviewer", "Ann"][..], "--key <FILE>"),
        (&["checks.tar", "--key", "security.key"], "--reviewer <NAME>"),
        (&["corpus.jsonl", "--dry-run"], "`corpus.jsonl` is not an archive of a bundle"),
    ] {
        let ended =
            stage.site.run(&[&["bundle", "vet", "--corpus", "corpus.jsonl"], command].concat())?;
        ensure!(
            ended.code != Some(0) && ended.stderr.contains(says),
            "{command:?}: not {says:?}: {}",
            ended.all()
        );
    }
    // A wrong passphrase is reported before any work.
    stage.write("passphrase", "another passphrase")?;
    let ended = stage.vet(&["--corpus", "corpus.jsonl"])?;
    ensure!(
        ended.code == Some(1) && ended.stderr.contains("wrong passphrase for this key"),
        "{}",
        ended.all()
    );
    ensure!(fs::read(&archive)? == before, "a mistake changed the archive");
    Ok(())
}

/// A bundle that an author made by other means than `bundle build`.
type Contradiction = (&'static str, fn(&mut About), &'static str);

const CONTRADICTIONS: &[Contradiction] = &[
    (
        "a grant that no import needs",
        |about| about.components[0].wants.grants.push("hosts = [\"https://HOST\"]".into()),
        "disagree: grants",
    ),
    (
        "an import kept quiet",
        |about| drop(about.components[0].wants.imports.pop()),
        "disagree: imports",
    ),
    (
        "another plugin's name",
        |about| about.components[0].plugins[0].name = "harmless".into(),
        "disagree: plugins",
    ),
];

pub fn contradictory() -> Result<()> {
    let stage = VettingSite::new("vet contradictory")?;
    stage.bundle(&[("careful", "")])?;
    let (bundle, _) = stage.read("checks.tar")?;
    for (what, lie, says) in CONTRADICTIONS {
        let mut about = bundle.about().clone();
        let bytes = bundle.component_bytes(&about.components[0]).context("it has no component")?;
        lie(&mut about);
        let lying = Bundle::from_components(
            about,
            &[NewComponent { bytes, exports: &["portcullis:plugin/assessor@0.1.0".to_owned()] }],
        )?;
        write_archive(&lying, &[], File::create(stage.path("lying.tar"))?)?;
        let command = stage.site.command(&[
            "bundle",
            "vet",
            "lying.tar",
            "--dry-run",
            "--corpus",
            "corpus.jsonl",
        ]);
        let ended = process::run(command, b"", LIMIT)?;
        ensure!(
            ended.code == Some(1) && ended.stderr.contains(says),
            "{what}: not {says:?}: {}",
            ended.all()
        );
        ensure!(ended.stdout.is_empty(), "{what} was tried: {}", ended.all());
    }
    Ok(())
}
