//! The catalogue as data: its files and its schema, and the refusal of mistakes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests")]

use portcullis_programs::{File, Table, items, list_files};
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("catalogue")
}

fn file(name: &str, text: &str) -> File {
    File { name: name.to_owned(), text: text.to_owned() }
}

fn schema() -> jsonschema::Validator {
    let text = fs::read_to_string(folder().join("schema.json")).unwrap();
    jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
}

/// Returns the errors that the schema finds in a file. A text that is not TOML is one.
fn complaints(schema: &jsonschema::Validator, text: &str) -> Vec<String> {
    match toml::from_str::<serde_json::Value>(text) {
        Ok(value) => schema
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect(),
        Err(error) => vec![error.to_string()],
    }
}

#[test]
fn every_file_keeps_to_the_schema() {
    let schema = schema();
    for path in list_files(&folder()).unwrap() {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.display();
        assert_eq!(complaints(&schema, &text), Vec::<String>::new(), "in `{name}`");
        assert!(
            text.starts_with("#:schema ./schema.json\n"),
            "`{name}` does not name its schema for editors"
        );
    }
}

#[test]
fn the_names_in_the_readme_are_those_of_the_build() {
    let readme = fs::read_to_string(folder().join("README.md")).unwrap();
    for kind in items::KINDS {
        assert!(readme.contains(&format!("`{kind}`")), "the README does not explain `{kind}`");
    }
    let example =
        readme.split("   ```toml\n").nth(1).and_then(|rest| rest.split("   ```").next()).unwrap();
    Table::combine(&[file("shelf.toml", example), with_forms()]).unwrap();
}

/// Returns a file with the forms that the tables below name.
fn with_forms() -> File {
    let form = |name: &str| format!("[form.{name}]\nlabel = \"does it\"\nweight = 100\n");
    file("forms.toml", &["delete-remote", "force-push"].map(form).concat())
}

/// A file, its error, and a flag that is set if the schema refuses it too.
const MISTAKES: &[(&str, &str, bool)] = &[
    (
        "[[entry]]\nname = [\"a\"]\n",
        "x.toml:2: unknown field `name`: expected one of `names`",
        true,
    ),
    (
        "[[entry]]\nnames = [\"a\"]\ndoes = [\"raed words\"]\n",
        "x.toml:3: entry `a`: `raed words` means nothing: did you mean `read`?",
        true,
    ),
    (
        "[[entry]]\nnames = [\"a\"]\ndoes = [\"read word\"]\n",
        "`read word` names no words: write `words`, `word N`",
        true,
    ),
    (
        "[[entry]]\nnames = [\"a\"]\ndoes = [\"read word 0\"]\n",
        "`read word 0` names no words",
        true,
    ),
    (
        "[[entry]]\nnames = [\"a\"]\ndoes = [\"network at \"]\n",
        "`network at ` names no target: write `at` and a path, host or service",
        true,
    ),
    (
        "[[entry]]\nnames = [\"a\"]\ndoes = [\"form forcepush\"]\n",
        "there is no form `forcepush`: did you mean `force-push`?",
        false,
    ),
    (
        "[[entry]]\nnames = [\"a\"]\ndoes = [\"code cobol word 1\"]\n",
        "`cobol` is not a language: write one of `awk`",
        true,
    ),
    (
        "[[entry]]\nnames = [\"a\"]\ndoes = [\"gives water\"]\n",
        "`water` is not a source: write one of `decoded`",
        true,
    ),
    (
        "[[entry]]\nnames = [\"a\"]\nvalues.\"-x\" = \"raed\"\n",
        "`raed` is nothing that a value can be: did you mean `read`?",
        true,
    ),
    ("[[entry]]\nnames = [\"a\"]\nvalues.\"x\" = \"read\"\n", "`x` in `x` is not a flag", true),
    (
        "[[entry]]\nnames = [\"a\"]\nvalues.\"-x -y\" = \"read\"\nvalues.\"-y\" = \"ignored\"\n",
        "the value of `-y` is given twice",
        false,
    ),
    (
        "[[entry]]\nnames = [\"a\"]\nwhen.\"-x  -y\" = [\"read words\"]\n",
        "`-x  -y` is not a condition",
        true,
    ),
    (
        "[[entry]]\nnames = [\"a\"]\nwhen.\"-x &\" = [\"read words\"]\n",
        "`-x &` is not a condition",
        true,
    ),
    ("[[entry]]\nnames = [\"a\"]\n", "entry `a`: it says nothing: write `does = []`", true),
    ("[[entry]]\nnames = []\ndoes = []\n", "x.toml:1: it has no names: list at least one", true),
    (
        "[[entry]]\nnames = [\"a\", \"{b,a}\"]\ndoes = []\n",
        "x.toml:2: entry `a`: `a` is in x.toml:1 too: leave one out",
        false,
    ),
    ("[[entry]]\nnames = [\"a  b\"]\ndoes = []\n", "`a  b` is not a name", true),
    ("[[entry]]\nnames = [\"a {b\"]\ndoes = []\n", "`a {b` has a `{` without its `}`", false),
    (
        "[[entry]]\nnames = [\"a --b\"]\ndoes = []\n",
        "`a --b` names the flag `--b`: say what it changes under `when`",
        true,
    ),
    ("[[entry]]\nnames = [\"a b c d e\"]\ndoes = []\n", "`a b c d e` is too long", true),
    ("[[entry]]\nnames = [\"a b\"]\ndoes = []\n", "`a b` has no entry `a`: add one", false),
    (
        "[[entry]]\nnames = [\"a\"]\nsame-as = \"b\"\n",
        "x.toml:3: entry `a`: there is no entry `b`",
        false,
    ),
    (
        "[[entry]]\nnames = [\"a\"]\nsame-as = \"b\"\ndoes = []\n",
        "is the same as `b` and says something of its own",
        true,
    ),
    (
        "[[entry]]\nnames = [\"a\"]\nsame-as = \"b\"\n[[entry]]\nnames = [\"b\"]\nsame-as = \"c\"\n[[entry]]\nnames = [\"c\"]\ndoes = []\n",
        "`b` is itself the same as another entry: name that one",
        false,
    ),
    (
        "[[entry]]\nnames = [\"a\"]\nuse = [\"flagz\"]\n[block.flags]\ndoes = []\n",
        "there is no block `flagz`: did you mean `flags`?",
        false,
    ),
    (
        "[block.flags]\ndoes = [\"read words\"]\n",
        "x.toml:1: block `flags`: no entry uses it: leave it out",
        false,
    ),
    (
        "[[entry]]\nnames = [\"a\"]\ndoes = []\nstyle = \"vms\"\n",
        "`vms` is not a style: write `gnu`, `exact` or `windows`",
        true,
    ),
    (
        "[form.x]\nlabel = \"does it\"\nweight = 400\n",
        "form `x`: the weight 400 is out of range: write one from 100 to 300",
        true,
    ),
    (
        "[form.force-push]\nlabel = \"does it\"\nweight = 100\n",
        "form `force-push`: it is given twice: leave one out",
        false,
    ),
    (
        "[[entry]]\nnames = [\"a\"]\ndoes = [\"code python\"]\n",
        "x.toml:3: entry `a`: `code python` is not complete: write `code LANGUAGE word N`",
        true,
    ),
    (
        "[[variable]]\nnames = [\"A\"]\nholds = \"shel\"\n",
        "x.toml:3: variable `A`: `shel` is nothing that a value can be: did you mean `shell`?",
        true,
    ),
    (
        "[[setting]]\nof = \"git\"\nkeys = [\"a\", \"a\"]\nholds = \"shell\"\n",
        "x.toml:3: setting `git`: `a` is given twice: leave one out",
        false,
    ),
    (
        "[[option]]\nof = [\"a\"]\nflags = \"-x\"\nholds = \"shell\"\n",
        "x.toml:2: option `-x`: there is no entry `a`: add the entry first",
        false,
    ),
    ("[[entry]\n", "x.toml:1: ", true),
];

#[test]
fn mistakes_are_refused_with_place_and_fix() {
    let schema = schema();
    for (text, expected, in_schema) in MISTAKES {
        let problems = Table::combine(&[with_forms(), file("x.toml", text)]).expect_err(text);
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let lines = lines.join("\n");
        assert!(
            lines.contains(expected),
            "{text}\nshould be refused with `{expected}`, and is with\n{lines}"
        );
        for problem in &problems {
            assert!(problem.line > 0 && !problem.mistake.fix.is_empty(), "{problem}");
        }
        assert_eq!(!complaints(&schema, text).is_empty(), *in_schema, "the schema on\n{text}");
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let text = "[[entry]]\nnames = [\"a\"]\ndoes = [\"raed\"]\n[[entry]]\nnames = [\"b\"]\ndoes = [\"wriet\"]\n";
    assert_eq!(Table::combine(&[file("x.toml", text)]).expect_err(text).len(), 2);
}
