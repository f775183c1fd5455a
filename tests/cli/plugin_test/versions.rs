//! Tests of comparing two versions of a plugin: each row changes bytes of the same component, as a
//! new version would.

use crate::common::site::Site;
use crate::component;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::fs;

/// A change: what stands in the component, and what takes its place, of the same length.
type Edit = (&'static str, &'static str);

/// A new version, and how it is judged: the step that it needs and takes, and the lowest version
/// that would do.
struct NewVersion {
    name: &'static str,
    edits: &'static [Edit],
    needed: &'static str,
    taken: Option<&'static str>,
    would_do: Option<&'static str>,
}

const VERSION: &str = "\"version\":\"0.1.0\"";
const FIX: Edit = (VERSION, "\"version\":\"0.1.1\"");
const NEXT: Edit = (VERSION, "\"version\":\"0.2.0\"");
const WORDING: Edit = ("frobbing is for people", "frobbing is for robots");
const OTHER_SETTING: Edit = ("\"key\":\"word\"", "\"key\":\"term\"");
const OTHER_TYPE: Edit = ("\"type\":\"text\"", "\"type\":\"flag\"");
const OTHER_DEFAULT: Edit = ("\"default\":\"frob\"", "\"default\":\"brof\"");
const OTHER_DESCRIPTION: Edit = ("the word that it objects to", "the text that it objects to");

const NEW_VERSIONS: &[NewVersion] = &[
    row("the same bytes", &[], "none", Some("none"), None),
    row("only its number", &[FIX], "patch", Some("minor"), None),
    row(
        "a description, without a new number",
        &[OTHER_DESCRIPTION],
        "patch",
        Some("none"),
        Some("0.1.1"),
    ),
    row("another answer, without a new number", &[WORDING], "minor", Some("none"), Some("0.1.1")),
    row("another answer", &[WORDING, FIX], "minor", Some("minor"), None),
    row("another default", &[OTHER_DEFAULT, FIX], "minor", Some("minor"), None),
    row("a setting that is gone", &[OTHER_SETTING, FIX], "major", Some("minor"), Some("0.2.0")),
    row(
        "a setting that is gone, as a major step",
        &[OTHER_SETTING, NEXT],
        "major",
        Some("major"),
        None,
    ),
    row("a setting of another type", &[OTHER_TYPE, FIX], "major", Some("minor"), Some("0.2.0")),
    row("an older number", &[(VERSION, "\"version\":\"0.0.9\"")], "patch", None, Some("0.1.1")),
    row("no version", &[(VERSION, "\"version\":\"newer\"")], "patch", None, None),
];

const fn row(
    name: &'static str,
    edits: &'static [Edit],
    needed: &'static str,
    taken: Option<&'static str>,
    would_do: Option<&'static str>,
) -> NewVersion {
    NewVersion { name, edits, needed, taken, would_do }
}

const CASES: &str = "[[case]]\nname = \"it frobs\"\n[[case.step]]\ntool = \"Bash\"\ninput = { command = \"frob\" }\n\
                     [[case.step.expect]]\nrule = \"no_frobbing\"\n";

pub fn judged() -> Result<()> {
    let site = Site::new("plugin diff")?;
    let old = component("talker")?;
    let bytes = fs::read(&old)?;
    fs::write(site.project().join("cases.toml"), CASES)?;
    let folder = site.project().join("new");
    fs::create_dir_all(&folder)?;
    let new = folder.join("talker.wasm");
    for NewVersion { name, edits, needed, taken, would_do } in NEW_VERSIONS {
        let changed = edits.iter().try_fold(bytes.clone(), |bytes, edit| replace(&bytes, *edit));
        fs::write(&new, changed.context(*name)?)?;
        let new = new.display().to_string();
        let arguments = ["plugin", "diff", &old, &new, "--cases", "cases.toml"];
        let ended = site.run(&[&arguments[..], &["--json"]].concat())?;
        let said: Value = serde_json::from_str(&ended.text()).with_context(|| ended.all())?;
        let version = &said["version"];
        ensure!(
            version["needed"] == *needed
                && version["taken"] == json!(taken)
                && version["would_do"] == json!(would_do),
            "{name}: {version}"
        );
        let is_enough = taken.is_some() && would_do.is_none();
        ensure!(ended.code == Some(i32::from(!is_enough)), "{name}: {}", ended.all());
        // The text says the same.
        let text = site.run(&arguments)?;
        let word = if is_enough { "says as much" } else { "says less than that" };
        let word = if *name == "no version" { "is no version" } else { word };
        ensure!(text.code == ended.code && text.text().contains(word), "{name}: {}", text.all());
    }
    Ok(())
}

/// A comparison of two plugins, and of cases that are not there, is refused.
pub fn refused() -> Result<()> {
    let site = Site::new("plugin diff refused")?;
    let (talker, answerer) = (component("talker")?, component("answerer")?);
    let (talker, answerer) = (talker.as_str(), answerer.as_str());
    for (arguments, expected) in [
        (
            [talker, answerer, "--cases", "cases.toml"],
            "these are two plugins, `talker` and `answerer`",
        ),
        ([talker, talker, "--cases", "nowhere.toml"], "there is no file of cases"),
        ([talker, talker, "--corpus", "nowhere.jsonl"], "nowhere.jsonl"),
    ] {
        let ended = site.run(&[&["plugin", "diff"], &arguments[..]].concat())?;
        ensure!(ended.code == Some(1) && ended.stderr.contains(expected), "{}", ended.all());
    }
    Ok(())
}

/// Replaces every occurrence of a text that must be there.
fn replace(bytes: &[u8], (from, to): Edit) -> Result<Vec<u8>> {
    ensure!(from.len() == to.len(), "`{from}` and `{to}` have different lengths");
    let mut changed = bytes.to_vec();
    let places: Vec<usize> = bytes
        .windows(from.len())
        .enumerate()
        .filter(|(_, window)| *window == from.as_bytes())
        .map(|(at, _)| at)
        .collect();
    ensure!(!places.is_empty(), "there is no `{from}` in the component");
    for at in places {
        changed.splice(at..at + from.len(), to.bytes());
    }
    Ok(changed)
}
