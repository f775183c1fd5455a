//! Words that were replaced by the terms of the field: they stay out of names, files and prose.

use crate::none;
use crate::source::{Source, is_word, root, sources, without_comments_and_texts};
use std::fs;
use std::path::Path;

/// A word that may not be a part of a name, and the terms that say it.
const NAMES: &[(&str, &str)] = &[
    ("aside", "quarantine, shadow, unrelated"),
    ("backstop", "deadline, time budget"),
    ("ear", "observer"),
    ("lies", "relation, inside"),
    ("overheard", "observed"),
    ("scene", "context, setup, site"),
    ("scenes", "contexts, setups, sites"),
    ("seat", "env"),
    ("shelf", "store, folder"),
    ("shelves", "stores, folders"),
    ("sight", "input"),
    ("told", "reported, disclosed, notified"),
    ("trials", "tests, evaluations"),
    ("twins", "aliases"),
    ("voice", "quoting"),
    ("workshop", "compiler, publisher"),
];

/// Parts of names that are right at their place: the file, the word, and why.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("plugins/patterns/src/hallucination/", "told", "`after_told` is the public name of a setting"),
    ("tests/", "trials", "a test of libtest-mimic is a `Trial`"),
    ("host/run/tests/", "trials", "a test of libtest-mimic is a `Trial`"),
    ("plugins/shell/src/", "sight", "a text may be in plain sight"),
    ("plugins/shell/tests/all/", "twins", "ordinary work beside a class of harm"),
];

/// A name that was replaced as a whole, and the one that is used.
const WHOLE: &[(&str, &str)] = &[
    ("Draft", "PackWriter, OutgoingRequest, RequestParts, PendingCommit"),
    ("Seat", "CallEnv"),
    ("Sight", "GuardInput"),
    ("set_aside", "quarantine_journal"),
    ("stands_for", "fingerprint"),
];

/// Folders in which whole names are checked: tests elsewhere use some of the words as English.
const CODE: &[&str] = &["host"];

/// Words of comments, texts and pages, and what to write instead.
const PROSE: &[(&str, &str)] = &[
    ("anew", "again"),
    ("goes before", "takes precedence"),
    ("mend", "fix"),
    ("mended", "fixed"),
    ("mends", "fixes"),
    ("of ours", "our"),
    ("whence", "from where"),
];

/// Pieces after "is no" that make a calque of "is not a".
const CALQUES: &[&str] = &[
    "JSON",
    "TOML",
    "UTF-8",
    "address",
    "intervention",
    "name",
    "object",
    "plugin",
    "text",
    "type",
];

/// Files whose prose is not ours to change, and why.
const KEPT: &[(&str, &str)] = &[
    ("CHANGELOG.md", "it names a field that had another name"),
    ("host/engine/tests/all/released.rs", "a call of a released version"),
    ("host/docs/bundles.md", "the description of somebody's bundle"),
    ("plugins/patterns/src/instruction_injection/text/", "the texts of others"),
    ("tests/cli/rules/hostile.rs", "the reason of a rule that is named `ours`"),
    ("tests/layout/words.rs", "the lists above"),
    ("wit/", "the released interfaces never change"),
];

#[test]
fn replaced_words_are_no_names() {
    let mut offenders = Vec::new();
    for source in all_sources() {
        let stem = Path::new(&source.path).file_stem().unwrap().to_str().unwrap();
        let code = without_comments_and_texts(&source.text);
        for name in names(&code).chain([stem]) {
            for part in parts(name) {
                if let Some((word, terms)) = NAMES.iter().find(|(word, _)| *word == part)
                    && !is_allowed(&source.path, word)
                {
                    offenders.push(format!("{}: `{name}`: say {terms}", source.path));
                }
            }
            let whole = WHOLE.iter().find(|(word, _)| *word == name);
            if let Some((_, terms)) = whole.filter(|_| is_host_code(&source.path)) {
                offenders.push(format!("{}: `{name}`: say {terms}", source.path));
            }
        }
    }
    offenders.sort();
    offenders.dedup();
    none(&offenders);
}

#[test]
fn replaced_words_are_not_in_prose() {
    let mut offenders = Vec::new();
    for source in all_sources().into_iter().chain(pages()) {
        if KEPT.iter().any(|(path, _)| source.path.starts_with(path)) {
            continue;
        }
        for (number, line) in source.text.lines().enumerate() {
            let place = || format!("{}:{}", source.path, number + 1);
            for (words, instead) in PROSE {
                if has_words(line, words) {
                    offenders.push(format!("{}: `{words}`: write `{instead}`", place()));
                }
            }
            for thing in CALQUES {
                let found = has_words(line, &format!("is no {thing}"))
                    && !line.contains(&format!("here is no {thing}"));
                if found {
                    offenders.push(format!("{}: write `is not a {thing}`", place()));
                }
            }
        }
    }
    none(&offenders);
}

#[test]
fn exceptions_of_words_are_needed() {
    let all = all_sources();
    let used = |(path, word, _): &&(&str, &str, &str)| {
        all.iter().filter(|source| source.path.starts_with(path)).any(|source| {
            let code = without_comments_and_texts(&source.text);
            let stem = Path::new(&source.path).file_stem().unwrap().to_str().unwrap();
            names(&code).chain([stem]).any(|name| parts(name).iter().any(|part| part == word))
        })
    };
    let unused: Vec<String> = ALLOWED
        .iter()
        .filter(|entry| !used(entry))
        .map(|(path, word, _)| format!("{path}: `{word}` is in no name: remove the exception"))
        .collect();
    none(&unused);
}

fn all_sources() -> Vec<Source> {
    ["host", "plugins", "tests"].into_iter().flat_map(sources).collect()
}

/// Returns the pages of the repository: the documents at its top and those in the folders.
fn pages() -> Vec<Source> {
    let mut open: Vec<_> = ["host", "plugins", "tests"].map(|folder| root().join(folder)).into();
    let mut paths: Vec<_> =
        ["CONTRIBUTING.md", "CHANGELOG.md", "README.md"].map(|page| root().join(page)).into();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() && !path.ends_with("node_modules") {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                paths.push(path);
            }
        }
    }
    let page = |path: std::path::PathBuf| Source {
        text: fs::read_to_string(&path).unwrap(),
        path: path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned(),
    };
    paths.into_iter().map(page).collect()
}

fn is_allowed(path: &str, word: &str) -> bool {
    path == "tests/layout/words.rs"
        || ALLOWED.iter().any(|(folder, allowed, _)| path.starts_with(folder) && *allowed == word)
}

fn is_host_code(path: &str) -> bool {
    CODE.iter().any(|folder| path.starts_with(folder)) && path.contains("/src/")
}

fn names(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c| !is_word(c)).filter(|name| !name.is_empty())
}

/// Returns the words of a name, in lower case: `told_disk`, `ToldDisk` and `TOLD` have `told`.
fn parts(name: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for piece in name.split('_').filter(|piece| !piece.is_empty()) {
        let mut lower = false;
        let mut part = String::new();
        for c in piece.chars() {
            if c.is_uppercase() && lower {
                parts.push(std::mem::take(&mut part));
            }
            lower = c.is_lowercase();
            part.extend(c.to_lowercase());
        }
        parts.push(part);
    }
    parts
}

/// Returns true if a line has these words, not as a part of longer ones.
fn has_words(line: &str, words: &str) -> bool {
    line.match_indices(words).any(|(at, _)| {
        let around = [line[..at].chars().next_back(), line[at + words.len()..].chars().next()];
        around.iter().flatten().all(|c| !is_word(*c) && *c != '-')
    })
}

#[test]
fn words_are_found_in_every_form_of_a_name() {
    for (name, expected) in [
        ("told", &["told"][..]),
        ("after_told", &["after", "told"]),
        ("ToldDisk", &["told", "disk"]),
        ("TOLD_DISK", &["told", "disk"]),
        ("toldHere", &["told", "here"]),
        ("recommend", &["recommend"]),
    ] {
        assert_eq!(parts(name), expected, "{name}");
    }
    for (line, words, expected) in [
        ("a file of ours", "of ours", true),
        ("of ours.", "of ours", true),
        ("of hours", "of ours", false),
        ("amend", "mend", false),
        ("to mend it", "mend", true),
        ("mend-it", "mend", false),
    ] {
        assert_eq!(has_words(line, words), expected, "{line}");
    }
}
