//! The catalogue as data: its files, its schema, its examples, and the build's refusal of mistakes.

#[path = "../../build/document.rs"]
mod document;
#[path = "../../build/items.rs"]
mod items;
#[path = "../../build/names.rs"]
mod names;
#[path = "../../build/table.rs"]
#[allow(dead_code, reason = "the build alone writes the table")]
mod table;

use crate::{effects, forms, reading};
use std::path::Path;
use table::Table;

/// Returns every file with its name.
fn files() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("catalogue");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let toml = files.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    toml.map(|path| {
        (
            path.file_name().unwrap().to_string_lossy().into_owned(),
            std::fs::read_to_string(path).unwrap(),
        )
    })
    .collect()
}

fn schema() -> jsonschema::Validator {
    let text = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("catalogue/schema.json"),
    )
    .unwrap();
    jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
}

/// Returns the errors that the schema finds in a file.
fn complaints(schema: &jsonschema::Validator, text: &str) -> Vec<String> {
    let value: serde_json::Value = toml::from_str(text).unwrap();
    schema.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn the_examples_come_out_as_they_say() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (file, text) in files() {
        for example in
            document::parse(&text).unwrap().entry.into_iter().flat_map(|entry| entry.examples)
        {
            let read = reading(&example.run);
            let sorted = |mut list: Vec<String>| {
                list.sort();
                list
            };
            let found = (
                sorted(effects(&read)),
                sorted(forms(&read).into_iter().map(str::to_owned).collect()),
            );
            let expected = (sorted(example.effects), sorted(example.forms));
            count += 1;
            if found != expected {
                wrong.push(format!(
                    "{file}: `{}`\n  expected {expected:?}\n  found    {found:?}",
                    example.run
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 0, "no file has an example");
}

#[test]
fn every_file_keeps_to_the_schema() {
    let schema = schema();
    for (file, text) in files() {
        assert_eq!(complaints(&schema, &text), Vec::<String>::new(), "in `{file}`");
        assert!(
            text.starts_with("#:schema ./schema.json\n"),
            "`{file}` does not name its schema for editors"
        );
    }
}

#[test]
fn the_names_in_the_readme_are_those_of_the_build() {
    let readme =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("catalogue/README.md"))
            .unwrap();
    for kind in items::KINDS {
        assert!(readme.contains(&format!("`{kind}`")), "the README does not explain `{kind}`");
    }
    let example =
        readme.split("   ```toml\n").nth(1).and_then(|rest| rest.split("   ```").next()).unwrap();
    Table::of(&[("shelf.toml".to_owned(), example.to_owned()), with_forms()]).unwrap();
}

/// Returns a file with the forms that the tables below name.
fn with_forms() -> (String, String) {
    let form = |name: &str| format!("[form.{name}]\nlabel = \"does it\"\nweight = 100\n");
    ("forms.toml".to_owned(), ["delete-remote", "force-push"].map(form).concat())
}

/// A file, the build's error, and a flag that is set if the schema refuses it too.
const MISTAKES: &[(&str, &str, bool)] = &[
    ("[[entry]]\nname = [\"a\"]\n", "unknown field `name`, expected one of `names`", true),
    (
        "[[entry]]\nnames = [\"a\"]\ndoes = [\"raed words\"]\n",
        "entry `a`: `raed words` means nothing: did you mean `read`?",
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
        "`cobol` is not a language: it has to be one of `awk`",
        true,
    ),
    (
        "[[entry]]\nnames = [\"a\"]\ndoes = [\"gives water\"]\n",
        "`water` is not a source: it has to be one of `decoded`",
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
    ("[[entry]]\nnames = [\"a\"]\n", "entry `a` says nothing: write `does = []`", true),
    ("[[entry]]\nnames = []\ndoes = []\n", "has no names: list at least one", true),
    (
        "[[entry]]\nnames = [\"a\", \"{b,a}\"]\ndoes = []\n",
        "`a` is in catalogue/x.toml: entry `a` too: leave one out",
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
    ("[[entry]]\nnames = [\"a\"]\nsame-as = \"b\"\n", "there is no entry `b`", false),
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
        "block `flags` is used by no entry: leave it out",
        false,
    ),
    (
        "[[entry]]\nnames = [\"a\"]\ndoes = []\nstyle = \"vms\"\n",
        "`vms` is not a style: the only one is `windows`",
        true,
    ),
    (
        "[form.x]\nlabel = \"does it\"\nweight = 400\n",
        "form `x`: the weight 400 is out of range: it has to be from 100 to 300",
        true,
    ),
    (
        "[form.force-push]\nlabel = \"does it\"\nweight = 100\n",
        "form `force-push` is given twice: leave one out",
        false,
    ),
];

#[test]
fn mistakes_are_refused_with_place_and_fix() {
    let schema = schema();
    for (text, expected, in_schema) in MISTAKES {
        let problems = Table::of(&[with_forms(), ("x.toml".to_owned(), (*text).to_owned())])
            .expect_err(text)
            .join("\n");
        assert!(
            problems.contains(expected),
            "{text}\nshould be refused with `{expected}`, and is with\n{problems}"
        );
        assert_eq!(!complaints(&schema, text).is_empty(), *in_schema, "the schema on\n{text}");
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let text = "[[entry]]\nnames = [\"a\"]\ndoes = [\"raed\"]\n[[entry]]\nnames = [\"b\"]\ndoes = [\"wriet\"]\n";
    assert_eq!(Table::of(&[("x.toml".to_owned(), text.to_owned())]).expect_err(text).len(), 2);
}
