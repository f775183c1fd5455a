//! Tests of `catalogue check`: files of the catalogue, alone and in a whole one, with each kind of
//! mistake.

use crate::common::site::Site;
use crate::common::trial;
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The programs that the built-in catalogue knows, at least.
const LEAST_PROGRAMS: u64 = 600;

pub fn tests() -> Vec<Trial> {
    vec![
        trial("catalogue: check reports mistakes with place and fix", checks),
        trial("catalogue: check reports all as JSON", as_json),
        trial("catalogue: the built-in one is in order and knows the most used programs", built_in),
    ]
}

const SAMPLE: &str = "[[entry]]\nnames = [\"shelf\"]\ndoes = [\"network at shelf\"]\n";
const FORM: &str = "[form.lost]\nlabel = \"loses it\"\nweight = 200\n";

/// Files, the path that is checked, the exit code, and parts of the output.
type Row = (&'static [(&'static str, &'static str)], &'static str, i32, &'static [&'static str]);

const ROWS: &[Row] = &[
    (
        &[("shelf.toml", SAMPLE)],
        "shelf.toml",
        0,
        &["shelf.toml: ok, 1 entry, 1 program, 0 examples", "with the built-in catalogue"],
    ),
    (
        &[("own/forms.toml", FORM), ("own/shelf.toml", SAMPLE)],
        "own",
        0,
        &["own: ok, 1 entry, 1 program, 0 examples\n"],
    ),
    (
        &[("own/forms.toml", FORM), ("own/shelf.toml", SAMPLE)],
        "own/shelf.toml",
        0,
        &["own/shelf.toml: ok, 1 entry, 1 program, 0 examples\n"],
    ),
    (
        &[(
            "shelf.toml",
            "[[entry]]\nnames = [\"shelf\"]\ndoes = []\n[[entry]]\nnames = [\"shelf rm\"]\n\
             does = [\"remote-delete at shelf\", \"form delete-remote\"]\n\
             examples = [\n{ run = \"shelf rm x\", effects = [\"remote-delete shelf\"], forms = [\"delete-remote\"] },\n\
             { run = \"shelf --help\" },\n]\n",
        )],
        "shelf.toml",
        0,
        &["ok, 2 entries, 1 program, 2 examples"],
    ),
    (
        &[("shelf.toml", "[[entry]]\nnames = [\"shelf\"]\ndoes = [\n  \"raed words\",\n]\n")],
        "shelf.toml",
        1,
        &["shelf.toml:4: entry `shelf`: `raed words` means nothing: did you mean `read`?"],
    ),
    (
        &[("shelf.toml", "[[entry]]\nnames = [\"shelf\"]\ndoes = []\nvalue.\"-x\" = \"read\"\n")],
        "shelf.toml",
        1,
        &["shelf.toml:4: unknown field `value`: expected one of `names`"],
    ),
    (
        &[("shelf.toml", "[[entry]]\nnames = [\"git\"]\ndoes = []\n")],
        "shelf.toml",
        1,
        &["entry `git`: `git` is in", "git.toml:", "leave one out"],
    ),
    (
        &[("shelf.toml", "[[entry]]\nnames = [\"shelf rm\"]\ndoes = []\n")],
        "shelf.toml",
        1,
        &["shelf.toml:2: entry `shelf rm`: `shelf rm` has no entry `shelf`: add one"],
    ),
    (
        &[("shelf.toml", "[[entry]]\nnames = [\"shelf\"]\ndoes = [\"form delete-remot\"]\n")],
        "shelf.toml",
        1,
        &["shelf.toml:3:", "no form `delete-remot`: did you mean `delete-remote`?"],
    ),
    (
        &[(
            "shelf.toml",
            "[[entry]]\nnames = [\"shelf\"]\ndoes = [\"read words\"]\nexamples = [\n{ run = \"shelf a\" },\n\
             { run = \"shelf b\", effects = [\"delete b\"] },\n]\n",
        )],
        "shelf.toml",
        1,
        &[
            "shelf.toml:5: entry `shelf`: the example `shelf a` has effects [read a] instead of []: correct",
            "shelf.toml:6: entry `shelf`: the example `shelf b` has effects [read b] instead of [delete b]",
        ],
    ),
    (
        &[
            ("two/a.toml", "[[entry]]\nnames = [\"shelf\"]\ndoes = [\"raed\"]\n"),
            ("two/b.toml", "[[entry]]\nnames = [\"rack\"]\ndoes = [\"wriet\"]\n"),
        ],
        "two",
        1,
        &["two/a.toml:3: entry `shelf`", "two/b.toml:3: entry `rack`"],
    ),
];

fn place(name: &str, files: &[(&str, &str)]) -> Result<Site> {
    let site = Site::new(name)?;
    for (name, text) in files {
        let path = site.project().join(name);
        fs::create_dir_all(path.parent().context("no folder")?)?;
        fs::write(path, text)?;
    }
    Ok(site)
}

fn checks() -> Result<()> {
    for (number, (files, path, code, parts)) in ROWS.iter().enumerate() {
        let site = place(&format!("catalogue {number}"), files)?;
        let ended = site.run(&["catalogue", "check", path])?;
        ensure!(ended.code == Some(*code), "{files:?}: {}", ended.all());
        let text = ended.text();
        for part in *parts {
            ensure!(text.contains(part), "{files:?} does not say {part:?}: {text}");
        }
    }
    Ok(())
}

fn as_json() -> Result<()> {
    let text = "[[entry]]\nnames = [\"shelf\"]\ndoes = [\"raed words\"]\n";
    let site = place("catalogue json", &[("shelf.toml", text)])?;
    let ended = site.run(&["catalogue", "check", "--json", "shelf.toml"])?;
    ensure!(ended.code == Some(1), "{}", ended.all());
    let found: Value = serde_json::from_str(&ended.text())?;
    let expected = serde_json::json!([{
        "file": "shelf.toml", "line": 3, "kind": "entry", "name": "shelf",
        "message": "`raed words` means nothing", "fix": "did you mean `read`?",
    }]);
    ensure!(found["problems"] == expected && found["with_built_in"] == true, "{found}");
    Ok(())
}

fn built_in() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/shell/catalogue");
    let folder = folder.canonicalize()?.display().to_string();
    let site = Site::new("catalogue whole")?;
    let found: Value =
        serde_json::from_str(&site.output(&["catalogue", "check", "--json", &folder])?)?;
    ensure!(found["problems"] == serde_json::json!([]), "{found}");
    ensure!(found["with_built_in"] == false, "{found}");
    let programs = found["programs"].as_u64().context("no number of programs")?;
    ensure!(programs >= LEAST_PROGRAMS, "{programs} programs");
    Ok(())
}
