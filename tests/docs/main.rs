//! The documentation names only what exists: links and anchors, paths, functions beside their
//! files, test targets and tests, commands with their options, exit codes; and the book holds every
//! page.
//!
//! Other tests check the pages' statements about behaviour.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a program of tests"
)]

mod cargo;
mod markdown;
mod program;

use crate::markdown::Page;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Folders of the repository that pages name paths in.
const TOP: [&str; 8] = ["host", "plugins", "release", "tests", "wit", ".ci", ".github", ".cargo"];
/// The folder of the book.
const BOOK: &str = "host/docs";
/// Things that existed once and may be gone: paths and commands of this page are not looked for.
const HISTORY: &str = "CHANGELOG.md";
/// The most bytes of a picture.
const MOST_PICTURE: u64 = 60_000;
/// The most lines of the README: it is the door, the book is the house.
const README_LINES: usize = 150;

/// The folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every file of the repository with that ending, as a path below its folder.
fn files(ending: &str) -> Vec<String> {
    let (root, mut open, mut found) = (root(), vec![root()], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                if !name.starts_with('.') && !["target", "node_modules"].contains(&name.as_str()) {
                    open.push(path);
                }
            } else if name.ends_with(ending) {
                found.push(path.strip_prefix(&root).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

/// Every page of the repository.
fn pages() -> Vec<Page> {
    let pages: Vec<Page> = files(".md").into_iter().map(|path| Page::read(&root(), path)).collect();
    assert!(pages.len() > 20, "only {} pages were found", pages.len());
    pages
}

/// Fails with all mistakes, one a line.
fn none(mistakes: &[String]) {
    assert!(mistakes.is_empty(), "{} mistakes:\n{}", mistakes.len(), mistakes.join("\n"));
}

/// A path below the repository's folder without `.` and `..`; none where it leads out.
fn resolve(folder: &Path, target: &str) -> Option<String> {
    let mut parts: Vec<String> =
        folder.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    for part in Path::new(target).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::ParentDir => _ = parts.pop()?,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

#[test]
fn every_link_and_anchor_resolves() {
    let pages = pages();
    let mut mistakes = Vec::new();
    // The links of a template are for the project that `plugin new` makes of it.
    for page in pages.iter().filter(|page| !page.path.starts_with("plugins/templates/")) {
        for link in page.links() {
            let (target, anchor) = link
                .split_once('#')
                .map_or((link.as_str(), None), |(target, anchor)| (target, Some(anchor)));
            let folder = Path::new(&page.path).parent().unwrap();
            let named =
                if target.is_empty() { Some(page.path.clone()) } else { resolve(folder, target) };
            let Some(named) = named.filter(|named| root().join(named).exists()) else {
                mistakes.push(format!("{}: `{link}` does not exist", page.path));
                continue;
            };
            if page.path.starts_with(BOOK) && !named.starts_with(BOOK) {
                mistakes.push(format!(
                    "{}: `{link}` leads out of the book; name the path in backticks",
                    page.path
                ));
            }
            let headings = pages.iter().find(|other| other.path == named).map(Page::anchors);
            if let Some(anchor) = anchor
                && !headings.is_some_and(|headings| headings.contains(anchor))
            {
                mistakes.push(format!("{}: `{link}`: there is no heading `#{anchor}`", page.path));
            }
        }
    }
    none(&mistakes);
}

#[test]
fn pictures_are_small_and_each_is_shown() {
    let links: Vec<String> = pages().iter().flat_map(Page::links).collect();
    let (mut mistakes, mut kinds) = (Vec::new(), [0; 3]);
    for entry in fs::read_dir(root().join(BOOK).join("images")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        let size = entry.metadata().unwrap().len();
        if size > MOST_PICTURE {
            mistakes.push(format!("`{name}` has {size} bytes, more than {MOST_PICTURE}"));
        }
        if !links.contains(&format!("images/{name}")) {
            mistakes.push(format!("`{name}` is on no page"));
        }
        for (kind, count) in ["light", "dark", "phone"].iter().zip(&mut kinds) {
            *count += usize::from(name.ends_with(&format!("-{kind}.webp")));
        }
    }
    none(&mistakes);
    assert!(kinds[0] > 10 && kinds.iter().all(|count| *count == kinds[0]), "{kinds:?}");
}

#[test]
fn every_path_exists() {
    let mut mistakes = Vec::new();
    for page in pages().iter().filter(|page| page.path != HISTORY) {
        for path in page
            .spans()
            .iter()
            .flat_map(|span| span.text.split_whitespace())
            .filter(|word| is_path(word))
        {
            // A crate's page may name what is in the crate.
            let folders = [root(), root().join(Path::new(&page.path).parent().unwrap())];
            if !folders.iter().any(|folder| folder.join(path).exists()) {
                mistakes.push(format!("{}: there is no `{path}`", page.path));
            }
        }
    }
    none(&mistakes);
}

/// Returns true if a word of code looks like a path of the repository.
fn is_path(word: &str) -> bool {
    let plain =
        word.chars().all(|letter| letter.is_ascii_alphanumeric() || "_./-".contains(letter));
    plain && word.split_once('/').is_some_and(|(top, rest)| TOP.contains(&top) && !rest.is_empty())
}

/// "`NAME` in `FILE.rs`": the file holds the name.
#[test]
fn every_name_is_in_the_file_that_is_named_for_it() {
    let (mut mistakes, mut checked) = (Vec::new(), 0);
    for page in pages() {
        let spans = page.spans();
        for (at, file) in spans
            .iter()
            .enumerate()
            .filter(|(_, span)| is_path(&span.text) && span.text.ends_with(".rs"))
        {
            let Ok(text) = fs::read_to_string(root().join(&file.text)) else { continue };
            let mut joint = " in ";
            for before in (0..at).rev() {
                if spans[before + 1].before != joint {
                    break;
                }
                joint = ", ";
                checked += 1;
                if !text.contains(&spans[before].text) {
                    mistakes.push(format!(
                        "{}: `{}` does not hold `{}`",
                        page.path, file.text, spans[before].text
                    ));
                }
            }
        }
    }
    assert!(checked > 10, "only {checked} names were found");
    none(&mistakes);
}

/// "FUNCTION FILE.rs" at the start of a line of a listing, and "| `FUNCTION` | `FILE.rs` |" in a
/// table: the file defines the function.
#[test]
fn every_function_is_in_the_file_beside_it() {
    let (mut mistakes, mut checked) = (Vec::new(), 0);
    for page in pages() {
        for (function, file) in functions(&page) {
            checked += 1;
            let text = fs::read_to_string(root().join(&file)).unwrap_or_default();
            if !defines(&text, &function) {
                mistakes.push(format!("{}: `{file}` has no `fn {function}`", page.path));
            }
        }
    }
    assert!(checked > 40, "only {checked} functions were found");
    none(&mistakes);
}

/// The functions that a page names beside their files.
fn functions(page: &Page) -> Vec<(String, String)> {
    let listed = page.shown().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.to_owned()))
    });
    let spans = page.spans();
    let in_tables = spans
        .windows(2)
        .filter(|pair| pair[1].before == " | ")
        .map(|pair| (pair[0].text.clone(), pair[1].text.clone()));
    listed
        .chain(in_tables)
        .filter(|(function, file)| {
            let named =
                |letter: char| letter.is_ascii_lowercase() || "_0123456789".contains(letter);
            is_path(file) && file.ends_with(".rs") && function.chars().all(named)
        })
        .collect()
}

/// Returns true if a source defines a function of that name.
fn defines(text: &str, function: &str) -> bool {
    ["(", "<"].iter().any(|end| text.contains(&format!("fn {function}{end}")))
}

#[test]
fn a_function_is_known_by_its_whole_name() {
    for (text, expected) in [
        ("pub fn judge(call: &Call) {", true),
        ("pub fn judge<'a>(call: &'a Call) {", true),
        ("fn judge_again() {", false),
        ("fn prejudge() {", false),
        ("judge();", false),
    ] {
        assert_eq!(defines(text, "judge"), expected, "{text}");
    }
}

#[test]
fn every_test_and_target_exists() {
    let (targets, sources) = (cargo::Targets::read(), cargo::Sources::read());
    let (mut mistakes, mut checked) = (Vec::new(), 0);
    for page in pages() {
        for command in page.commands().iter().filter(|command| command.contains("cargo ")) {
            checked += 1;
            let found = cargo::mistakes(command, &targets, &sources);
            mistakes.extend(
                found.into_iter().map(|mistake| format!("{}: `{command}`: {mistake}", page.path)),
            );
        }
    }
    assert!(checked > 10, "only {checked} commands of cargo were found");
    none(&mistakes);
}

/// A table of attacks names the tests of each in a last column `tests`.
#[test]
fn every_test_in_a_table_exists() {
    let sources = cargo::Sources::read();
    let (mut mistakes, mut checked) = (Vec::new(), 0);
    for page in pages() {
        for row in page.last_column("tests") {
            if row.is_empty() {
                mistakes.push(format!("{}: a row names no test", page.path));
            }
            checked += row.len();
            let unknown = row.iter().filter(|name| !sources.have_test(name));
            mistakes.extend(unknown.map(|name| format!("{}: no test is `{name}`", page.path)));
        }
    }
    assert!(checked > 30, "only {checked} tests were found");
    none(&mistakes);
    assert!(!sources.have_test("attackers get"), "a part of a name is taken for a test");
}

#[test]
fn every_command_and_option_exists() {
    let mut program = program::Program::default();
    let (mut mistakes, mut checked) = (Vec::new(), 0);
    for page in pages().iter().filter(|page| page.path != HISTORY) {
        for command in page.commands() {
            let Some(words) = program::arguments(&command) else { continue };
            checked += 1;
            if let Err(mistake) = program.check(&words) {
                mistakes.push(format!("{}: `{command}`: {mistake}", page.path));
            }
        }
    }
    assert!(checked > 100, "only {checked} commands were found");
    none(&mistakes);
}

/// Code and meaning of each, as `portcullis --help` lists them at its end.
fn exit_codes(help: &str) -> Vec<(u8, String)> {
    let (_, list) = help.split_once("\nExit codes:\n").unwrap();
    let mut codes: Vec<(u8, String)> = Vec::new();
    for line in list.lines() {
        let (first, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        match first.parse() {
            Ok(code) if line.starts_with("  ") && !line.starts_with("   ") => {
                codes.push((code, rest.trim().to_owned()));
            }
            _ => {
                let (_, meaning) = codes.last_mut().unwrap();
                meaning.push(' ');
                meaning.push_str(line.trim());
            }
        }
    }
    codes
}

#[test]
fn the_readme_has_every_exit_code() {
    let codes = exit_codes(&program::Program::default().help(&[]));
    assert!(codes.len() > 5, "{codes:?}");
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, section) = readme.split_once("\n## Exit codes\n").unwrap();
    let table = section.split("\n## ").next().unwrap();
    let rows: Vec<(u8, String)> = table
        .lines()
        .filter_map(|row| {
            let mut cells = row.split('|').map(str::trim).skip(1);
            Some((cells.next()?.parse().ok()?, cells.next()?.to_owned()))
        })
        .collect();
    assert_eq!(rows, codes, "the README's table and `portcullis --help`");
}

/// An exit code that is a number in the source would have no meaning in the help.
#[test]
fn exit_codes_are_numbers_in_one_file_only() {
    let mut mistakes = Vec::new();
    for path in files(".rs").into_iter().filter(|path| path.starts_with("host/cli/src/")) {
        if path.ends_with("/exit.rs") {
            continue;
        }
        let text = fs::read_to_string(root().join(&path)).unwrap();
        for number in ["Result<u8>", "ExitCode::from(0", "ExitCode::from(1", "process::exit("] {
            if text.contains(number) {
                mistakes.push(format!("{path}: `{number}`"));
            }
        }
    }
    none(&mistakes);
}

#[test]
fn every_page_is_in_the_book_once() {
    let summary = Page::read(&root(), format!("{BOOK}/SUMMARY.md"));
    let mut listed = summary.links();
    listed.sort();
    let pages = files(".md")
        .into_iter()
        .filter_map(|path| path.strip_prefix(BOOK)?.strip_prefix('/').map(str::to_owned));
    assert_eq!(
        listed,
        pages.filter(|page| page != "SUMMARY.md").collect::<Vec<_>>(),
        "{BOOK}/SUMMARY.md"
    );
}

#[test]
fn the_readme_is_short() {
    let lines = fs::read_to_string(root().join("README.md")).unwrap().lines().count();
    assert!(
        lines <= README_LINES,
        "README.md has {lines} lines, at most {README_LINES}: move what is too much into {BOOK}"
    );
}

/// Returns the keys of the configuration, from the page whose table is generated.
fn keys() -> Vec<Vec<String>> {
    let page = fs::read_to_string(root().join(BOOK).join("configuration.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let keys = rows.filter(|key| key.contains('.') && !key.contains(' '));
    keys.map(|key| key.split('.').map(str::to_owned).collect()).collect()
}

/// Returns true for a key, or a table of keys. A name in capitals stands for any.
fn is_key(word: &str, keys: &[Vec<String>]) -> bool {
    let fits = |(own, known): (&str, &String)| {
        own == known || known.bytes().all(|byte| byte.is_ascii_uppercase())
    };
    let parts = || word.split('.').filter(|part| *part != "*");
    keys.iter().any(|key| parts().count() <= key.len() && parts().zip(key).all(fits))
}

#[test]
fn every_key_that_an_intervention_advises_exists() {
    let keys = keys();
    let tables: Vec<&String> = keys.iter().map(|key| &key[0]).collect();
    let mut named = 0;
    let mut mistakes = Vec::new();
    for file in files(".rs") {
        if !file.starts_with("plugins/interventions/src") || file.contains("/tests") {
            continue;
        }
        let text = fs::read_to_string(root().join(&file)).unwrap();
        for word in text.split('`').skip(1).step_by(2) {
            let plain = |byte: u8| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-*".contains(&byte)
            };
            let first = word.split_once('.').map(|(first, _)| first.to_owned());
            if !word.bytes().all(plain) || !first.is_some_and(|first| tables.contains(&&first)) {
                continue;
            }
            named += 1;
            if !is_key(word, &keys) {
                mistakes.push(format!("{file}: there is no key `{word}`"));
            }
        }
    }
    none(&mistakes);
    assert!(named > 5, "only {named} keys were found");
    for (word, is) in
        [("limits.token_usage", true), ("plugins.x.settings.y", true), ("limits.threshold", false)]
    {
        assert_eq!(is_key(word, &keys), is, "{word}");
    }
}
