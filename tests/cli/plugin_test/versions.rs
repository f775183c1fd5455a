//! Tests of comparing two versions of a plugin: each row changes bytes of the same component, as a
//! new version would.

use crate::common::site::Site;
use crate::component;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

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

/// What no case plays: an action for each verdict, and a session with one of them.
const CORPUS: &str = r#"{"id":"b1","tool":"Bash","input":{"command":"ls"},"label":"benign"}
{"id":"d1","tool":"Bash","input":{"command":"echo frob"},"label":"dangerous"}
{"id":"d2","tool":"Bash","input":{"command":"echo for the first version"},"label":"dangerous"}
"#;
const SESSION: &str = r#"{"hook_event_name":"PreToolUse","session_id":"one","cwd":"/project","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"1"}
{"hook_event_name":"PostToolUse","session_id":"one","cwd":"/project","tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":{"stdout":"a","stderr":"","interrupted":false},"tool_use_id":"1"}
{"hook_event_name":"PreToolUse","session_id":"one","cwd":"/project","tool_name":"Bash","tool_input":{"command":"echo for the first version"},"tool_use_id":"2"}
"#;
/// Other words are blocked.
const OTHER_WORDS: Edit = ("for the first version", "for the other version");

/// Labelled actions and sessions show what no case shows, and count like one.
pub fn tried() -> Result<()> {
    let site = Site::new("plugin diff material")?;
    let old = component("talker")?;
    fs::write(site.project().join("corpus.jsonl"), CORPUS)?;
    fs::write(site.project().join("session.jsonl"), SESSION)?;
    let new = site.project().join("talker.wasm");
    let corpus = json!({
        "benign": { "of": 1, "old": 0, "new": 0 },
        "dangerous": { "of": 2, "old": 2, "new": 1 },
    });
    let sessions = json!({ "of": 2, "old": 1, "new": 0 });
    for (edits, material, expected) in [
        (&[OTHER_WORDS, FIX][..], "--corpus", ("minor", 0)),
        (&[OTHER_WORDS, FIX], "--session", ("minor", 0)),
        (&[OTHER_WORDS], "--corpus", ("minor", 1)),
        (&[OTHER_WORDS], "--session", ("minor", 1)),
        (&[FIX], "--corpus", ("patch", 0)),
        (&[FIX], "--session", ("patch", 0)),
    ] {
        let bytes = edits.iter().try_fold(fs::read(&old)?, |bytes, edit| replace(&bytes, *edit))?;
        fs::write(&new, bytes)?;
        let new = new.display().to_string();
        let file = if material == "--corpus" { "corpus.jsonl" } else { "session.jsonl" };
        let arguments = ["plugin", "diff", &old, &new, material, file];
        let ended = site.run(&[&arguments[..], &["--json"]].concat())?;
        let said: Value = serde_json::from_str(&ended.text()).with_context(|| ended.all())?;
        let (needed, code) = expected;
        ensure!(said["version"]["needed"] == needed && ended.code == Some(code), "{}", ended.all());
        let verdicts = &said["verdicts"];
        if edits.contains(&OTHER_WORDS) {
            let found = if material == "--corpus" {
                verdicts["corpus"] == corpus
                    && verdicts["plugins"]["talker"]["dangerous"] == corpus["dangerous"]
            } else {
                verdicts["sessions"] == sessions
            };
            ensure!(found, "{said}");
        }
        let text = site.run(&arguments)?;
        let reported = text.text().contains("verdicts, with the old version and with the new one");
        ensure!(reported && text.code == ended.code, "{}", text.all());
    }
    Ok(())
}

/// A project's component is the last that was built: `plugin diff`, `test` and `bench` say so where its source is newer.
pub fn older() -> Result<()> {
    let site = Site::new("plugin diff older")?;
    let talker = component("talker")?;
    let project = site.project().join("talker");
    let built = project.join("build/talker.wasm");
    fs::create_dir_all(project.join("build"))?;
    fs::create_dir_all(project.join("src"))?;
    let manifest = "name = \"talker\"\nkind = \"risk-calculator\"\nlanguage = \"rust\"\n";
    fs::write(project.join("plugin.toml"), manifest)?;
    fs::write(project.join("src/lib.rs"), "")?;
    fs::copy(&talker, &built)?;
    let set_time = |path: &Path, second: u64| -> Result<()> {
        let file = fs::File::options().write(true).open(path)?;
        Ok(file.set_modified(UNIX_EPOCH + Duration::from_secs(second))?)
    };
    let folder = project.display().to_string();
    let warning =
        "build/talker.wasm` is older than `src/lib.rs`; build it again: `portcullis plugin build ";
    // Cases, pages and tests are no part of it.
    for (file, second, warns) in
        [("src/lib.rs", 900, false), ("src/lib.rs", 1100, true), ("cases.toml", 1100, false)]
    {
        fs::write(project.join("cases.toml"), CASES)?;
        set_time(&project.join("plugin.toml"), 900)?;
        set_time(&project.join("src/lib.rs"), 900)?;
        set_time(&project.join(file), second)?;
        set_time(&built, 1000)?;
        for command in ["diff", "test"] {
            let mut arguments = vec!["plugin", command];
            arguments.extend((command == "diff").then_some(talker.as_str()));
            arguments.push(&folder);
            let ended = site.run(&arguments)?;
            ensure!(ended.code == Some(0), "{command}: {}", ended.all());
            ensure!(ended.stderr.contains(warning) == warns, "{command}, {file}: {}", ended.all());
        }
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
