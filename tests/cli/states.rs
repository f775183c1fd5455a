//! State of earlier versions: each archive in `tests/states` is what a version left behind
//! (`release/keep-state`), and the program of now works on with it.

use crate::common::reply::Answer;
use crate::common::site::Site;
use crate::common::trial;
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use portcullis_tests::programs::list_cases;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// The end of an archive's name.
const ENDING: &str = "tar";

pub fn tests() -> Vec<Trial> {
    let archives = list_cases("states").unwrap_or_default();
    let archives = archives.into_iter().filter(|(_, path)| has_ending(path));
    let mut tests: Vec<Trial> = archives
        .map(|(version, path)| {
            trial(format!("states: that of {version} is opened"), move || opened(&path))
        })
        .collect();
    tests.push(trial("states: each released version has one", complete));
    tests
}

fn has_ending(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == ENDING)
}

/// The state of an earlier version, in a site of its own.
struct EarlierState {
    site: Site,
    /// What that version said of its journal.
    kept: Value,
}

impl EarlierState {
    fn unpack(archive: &Path) -> Result<Self> {
        let site = Site::new(&format!("state {}", archive.display()))?;
        let folder = site.root().join("unpacked");
        fs::create_dir(&folder)?;
        let unpacked =
            Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(&folder).status()?;
        ensure!(unpacked.success(), "`tar` cannot unpack `{}`", archive.display());
        fs::remove_dir_all(site.state())?;
        fs::rename(folder.join("home"), site.state())?;
        close(&site.state())?;
        let kept = serde_json::from_slice(&fs::read(folder.join("kept.json"))?)?;
        Ok(Self { site, kept })
    }

    fn records(&self) -> Result<&Vec<Value>> {
        self.kept["records"].as_array().context("it keeps no records")
    }

    /// Checks that each record of the earlier version is there, and says what it said then.
    fn has_all(&self) -> Result<()> {
        let now = self.site.records()?;
        for then in self.records()? {
            let id = &then["id"];
            let found = now.iter().find(|record| record["id"] == *id);
            let found = found.with_context(|| format!("the record {id} is gone"))?;
            for (name, value) in then.as_object().context("a record has no fields")? {
                ensure!(
                    found[name] == *value,
                    "`{name}` of the record {id} was {value} and is {}",
                    found[name]
                );
            }
        }
        Ok(())
    }
}

/// Archives keep no modes that a checkout could lose: the state belongs to one user alone.
fn close(folder: &Path) -> Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            close(&path)?;
        } else {
            fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        }
    }
    Ok(())
}

fn opened(archive: &Path) -> Result<()> {
    let state = EarlierState::unpack(archive)?;
    let site = &state.site;
    site.verify()?;
    let before = state.records()?.len();
    ensure!(before > 10, "only {before} records are kept");
    ensure!(site.records()?.len() == before, "the journal holds {}", site.records()?.len());
    state.has_all()?;
    site.output(&["explain", "last"])?;
    site.output(&["config", "check"])?;
    site.output(&["metrics"])?;
    site.output(&["incident", "list"])?;

    let session = state.kept["session"].as_str().context("it names no session")?;
    let calls = site.calls(session);
    // The archive gets older: the time of its last prompt would be used up.
    site.hook(&calls.prompt("go on"))?;
    let listed = site.hook(&calls.bash("continued-1", "ls"))?;
    ensure!(matches!(listed.answer, Answer::Quiet | Answer::Informed), "{listed:?}");
    site.hook(&calls.bash_done("continued-1", "ls", ""))?;
    let refused = site.hook(&calls.bash("continued-2", "rm -rf /"))?;
    ensure!(matches!(refused.answer, Answer::Refused | Answer::Stopped), "{refused:?}");
    let records = site.records()?;
    let continued = records
        .iter()
        .filter(|record| record["session"] == session && record["kind"] == "review")
        .filter(|record| record.to_string().contains("continued-"))
        .count();
    ensure!(continued == 2, "of two reviews {continued} are in the journal");
    state.has_all()?;
    site.verify()?;
    // Neither has a client with hooks, which is a problem of both.
    let (found, usual) = (problems(site)?, problems(&Site::new("state of now")?)?);
    ensure!(found.is_subset(&usual), "`doctor` finds {found:?}, and with new state {usual:?}");
    site.ordinary("new session")
}

/// Returns the checks of `doctor` that found a problem.
fn problems(site: &Site) -> Result<BTreeSet<String>> {
    let report: Value = serde_json::from_str(&site.run(&["doctor", "--json"])?.text())?;
    let findings = report["findings"].as_array().context("no findings")?;
    let bad = findings.iter().filter(|finding| finding["level"] == "problem");
    Ok(bad.filter_map(|finding| Some(finding["check"].as_str()?.to_owned())).collect())
}

/// A version in the changelog without its state would never be tested again.
fn complete() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let changelog = fs::read_to_string(root.join("../CHANGELOG.md"))?;
    let released: BTreeSet<String> = changelog
        .lines()
        .filter_map(|line| line.strip_prefix("## [")?.split_once(']'))
        .map(|(version, _)| version.to_owned())
        .filter(|version| version != "Unreleased")
        .collect();
    let kept = list_cases("states")?.into_iter().filter(|(_, path)| has_ending(path));
    let kept: BTreeSet<String> = kept.map(|(version, _)| version).collect();
    ensure!(!kept.is_empty(), "no state is kept");
    let lacking: Vec<_> = released.difference(&kept).collect();
    ensure!(lacking.is_empty(), "`release/keep-state` was not run for {lacking:?}");
    Ok(())
}
