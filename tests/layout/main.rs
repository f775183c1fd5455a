//! The structure of the sources: which crate and which module may import which, no client named
//! outside its adapter, and how comments and names are written.
//!
//! Each test reads sources and lists offenders; exceptions are tables with reasons.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "a program of tests"
)]

mod commands;
mod modules;
mod source;
mod words;

use modules::Imports;
use source::{root, sources, without_comments_and_texts};
use std::collections::BTreeSet;
use std::fs;

/// The crates below `host`, by floor: a crate imports from lower floors only.
const FLOORS: &[&[&str]] = &[
    &["fs", "network", "protocol"],
    &["core"],
    &["credentials"],
    &["encryption"],
    &["bundle", "checkpoint", "engine", "notify", "run", "store", "traces"],
    &["agents", "fleet", "mcp", "registry", "sinks"],
    &["config"],
    &["review", "terminal"],
    &["author", "page", "service"],
    &["served"],
    &["web"],
    &["cli", "hook", "hub", "toolchain"],
];

/// Crates below `plugins` that the host imports: they import nothing of it.
const OF_PLUGINS: &[&str] =
    &["autoruns", "builtin", "programs", "rule-language", "shell-reader", "strict-toml"];

/// Crates on one floor that import each other, and why.
const SIDEWAYS: &[(&str, &str, &str)] = &[];

/// Circles of modules that stay, by crate and modules, and why.
const CIRCLES: &[(&str, &[&str], &str)] = &[
    (
        "host/bundle",
        &["indexes::check", "indexes::document"],
        "a document is checked when it is made or read, and its rules have a file of their own",
    ),
    (
        "plugins/inline-code",
        &["scope", "value"],
        "a value may be a function, which holds the values around it",
    ),
    (
        "plugins/shell",
        &[
            "catalogue::abbreviations",
            "catalogue::flags",
            "catalogue::plan",
            "catalogue::reach",
            "catalogue::requests",
            "catalogue::verbs",
        ],
        "rules of a program refer to each other",
    ),
    (
        "plugins/shell",
        &["syntax::commands", "syntax::windows", "syntax::words"],
        "the grammar of a shell is recursive",
    ),
    (
        "plugins/shell",
        &["walk::braces", "walk::environment", "walk::expand", "walk::feed"],
        "the expansion of words is recursive",
    ),
    (
        "plugins/shell",
        &["walk::scripts::running", "walk::simple"],
        "a command may run a file, which holds commands",
    ),
    (
        "plugins/strict-toml",
        &["item", "table"],
        "the grammar of TOML is recursive: a table has values, and a value may be a table",
    ),
];

/// Files outside host/agents that name a client, and why.
const NAMED_CLIENTS: &[(&str, &str)] = &[
    ("host/cli/src/commands/replay.rs", "`--claude` is the public name of an option of `replay`"),
    ("host/cli/src/command_line/examples.rs", "examples are commands as people type them"),
];

/// Beginnings of a comment whose subject is a clause: it hides the subject from the reader.
const CLAUSES: &[&str] = &["What", "Where", "Whether", "How", "Who", "Whose", "Whom", "Which"];
/// The greatest share of such comments, in percent.
const MOST_CLAUSES: usize = 3;
/// The greatest share of public functions with a name of one word, in percent. A name of one word
/// finds nothing in a search. The share may only go down.
const MOST_SHORT_NAMES: usize = 20;

/// Files with code for Linux alone whose substitute is elsewhere, and where.
const LINUX_ALONE: &[(&str, &str)] = &[
    ("host/cli/src/error.rs", "errors of `host/run`"),
    ("host/run/src/lib.rs", "`host/cli/src/commands/run_elsewhere.rs` refuses"),
];

/// Fails with all offenders, one a line.
fn none(offenders: &[String]) {
    assert!(offenders.is_empty(), "{} offenders:\n{}", offenders.len(), offenders.join("\n"));
}

fn crates(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut crates: Vec<String> = entries
        .filter(|path| path.join("Cargo.toml").exists() && path.join("src").exists())
        .map(|path| format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap()))
        .collect();
    crates.sort();
    crates
}

#[test]
fn no_client_is_named_outside_its_adapter() {
    let exempt = |path: &str| {
        let tests = ["/tests/", "/benches/", "/examples/", "/src/tests/", "tests.rs"];
        path.starts_with("host/agents/") || tests.iter().any(|part| path.contains(part))
    };
    let mut found = BTreeSet::new();
    for source in sources("host").iter().filter(|source| !exempt(&source.path)) {
        if source.production().to_lowercase().contains("claude") {
            found.insert(source.path.clone());
        }
    }
    let listed: BTreeSet<String> = NAMED_CLIENTS.iter().map(|(path, _)| (*path).into()).collect();
    let news = found
        .difference(&listed)
        .map(|path| format!("{path} names a client: take its name from `portcullis_agents`"));
    let gone = listed
        .difference(&found)
        .map(|path| format!("{path} names no client: remove the exception"));
    none(&news.chain(gone).collect::<Vec<_>>());
}

#[test]
fn commands_are_imported_by_commands_only() {
    let may = |path: &str| {
        path.starts_with("host/cli/src/commands/")
            || ["host/cli/src/main.rs", "host/cli/src/commands.rs"].contains(&path)
    };
    let imports = |text: &str| without_comments_and_texts(text).contains("crate::commands");
    let all = sources("host");
    let offenders: Vec<String> = all
        .iter()
        .filter(|source| !may(&source.path) && imports(source.production()))
        .map(|source| format!("{} imports a command: move what it needs below", source.path))
        .collect();
    none(&offenders);
}

#[test]
fn crates_import_from_lower_floors() {
    let floor = |name: &str| FLOORS.iter().position(|floor| floor.contains(&name));
    let mut offenders = Vec::new();
    for folder in crates("host") {
        let name = folder.trim_start_matches("host/");
        let Some(own) = floor(name) else {
            offenders.push(format!("{folder} is on no floor"));
            continue;
        };
        for dependency in dependencies(&folder) {
            let sideways =
                SIDEWAYS.iter().any(|(from, to, _)| *from == name && *to == dependency.as_str());
            match floor(&dependency) {
                None if OF_PLUGINS.contains(&dependency.as_str()) => {}
                Some(below) if below < own || sideways => {}
                _ => {
                    offenders.push(format!("{folder} imports {dependency}, which is not below it"))
                }
            }
        }
    }
    none(&offenders);
}

/// Returns the workspace's crates that a crate needs to build, without those of its tests.
fn dependencies(folder: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
    let (mut inside, mut found) = (false, Vec::new());
    for line in text.lines() {
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]")
                && !["dev-", "build-"].iter().any(|kind| line.contains(kind));
        } else if let Some(name) = line.strip_prefix("portcullis-").filter(|_| inside) {
            found.push(name.split(['.', ' ', '=']).next().unwrap().to_owned());
        }
    }
    found
}

#[test]
fn no_module_imports_itself_in_a_circle() {
    let listed: BTreeSet<(String, Vec<String>)> = CIRCLES
        .iter()
        .map(|(folder, modules, _)| {
            ((*folder).to_owned(), modules.iter().map(ToString::to_string).collect())
        })
        .collect();
    let mut found = BTreeSet::new();
    for folder in crates("host").into_iter().chain(crates("plugins")) {
        let circles = Imports::of_crate(&folder).circles();
        found.extend(circles.into_iter().map(|circle| (folder.clone(), circle)));
    }
    let shown =
        |(folder, modules): &(String, Vec<String>)| format!("{folder}: {}", modules.join(", "));
    let news =
        found.difference(&listed).map(|circle| format!("{} import each other", shown(circle)));
    let gone = listed
        .difference(&found)
        .map(|circle| format!("{} is not a circle any more: remove the exception", shown(circle)));
    none(&news.chain(gone).collect::<Vec<_>>());
}

#[test]
fn what_is_for_linux_alone_has_a_substitute() {
    let (mut all, mut without) = (0, Vec::new());
    for source in sources("host").iter().filter(|source| source.path.contains("/src/")) {
        let code = source.production();
        let count = code.matches("cfg(target_os = \"linux\")").count();
        all += count;
        if count > 0 && !code.contains("not(target_os = \"linux\")") {
            without.push(source.path.clone());
        }
    }
    assert!(all > 20, "only {all} were found");
    let excused = |path: &String| LINUX_ALONE.iter().any(|(known, _)| known == path);
    let unused = LINUX_ALONE.iter().filter(|(known, _)| !without.iter().any(|path| path == known));
    let mut offenders: Vec<String> =
        without.iter().filter(|path| !excused(path)).cloned().collect();
    offenders.extend(unused.map(|(path, _)| format!("{path}: it needs no excuse")));
    none(&offenders);
}

#[test]
fn comments_begin_with_their_subject() {
    let (mut blocks, mut clauses) = (0, Vec::new());
    for source in sources("host").into_iter().chain(sources("plugins")) {
        let mut inside = false;
        for (number, line) in source.text.lines().enumerate() {
            let comment = line.trim_start().strip_prefix("//");
            if let Some(comment) = comment.filter(|_| !inside) {
                blocks += 1;
                let first = comment.trim_start_matches(['/', '!']).split_whitespace().next();
                if first.is_some_and(|word| CLAUSES.contains(&word)) {
                    clauses.push(format!("{}:{}: {}", source.path, number + 1, line.trim()));
                }
            }
            inside = comment.is_some();
        }
    }
    assert!(blocks > 1000, "only {blocks} comments were found");
    if clauses.len() * 100 >= blocks * MOST_CLAUSES {
        none(&clauses);
    }
}

#[test]
fn public_functions_have_names_that_a_search_finds() {
    let (mut all, mut short) = (0_usize, Vec::new());
    for source in sources("host").iter().filter(|source| source.path.contains("/src/")) {
        for line in source.production().lines().map(str::trim_start) {
            let Some(rest) = line.strip_prefix("pub ") else { continue };
            let rest = ["const ", "async ", "unsafe "]
                .iter()
                .fold(rest, |rest, word| rest.strip_prefix(word).unwrap_or(rest));
            let Some(name) = rest.strip_prefix("fn ") else { continue };
            all += 1;
            let name = name.split(['(', '<']).next().unwrap();
            if !name.contains('_') {
                short.push(format!("{}: {name}", source.path));
            }
        }
    }
    assert!(all > 500, "only {all} functions were found");
    if short.len() * 100 > all * MOST_SHORT_NAMES {
        none(&short);
    }
}

/// A crate without unit tests or examples in its comments says so in its manifest: cargo would
/// compile it once more to run none. What is turned off there must not be there.
#[test]
fn tests_that_are_turned_off_do_not_exist() {
    let (mut quiet, mut offenders) = (0, Vec::new());
    for folder in ["host", "plugins"].into_iter().flat_map(crates) {
        let manifest = fs::read_to_string(root().join(&folder).join("Cargo.toml")).unwrap();
        let off = |key: &str| manifest.lines().any(|line| line == format!("{key} = false"));
        let (no_examples, no_tests) = (off("doctest"), off("test"));
        quiet += usize::from(no_examples);
        for source in sources(&format!("{folder}/src")) {
            if no_examples && has_example(&source.text) {
                offenders.push(format!("{}: an example that is not run", source.path));
            }
            if no_tests && source.text.contains("#[test]") {
                offenders.push(format!("{}: a test that is not run", source.path));
            }
        }
    }
    assert!(quiet > 20, "only {quiet} manifests were found");
    none(&offenders);
}

/// Returns true if a comment holds a block of code that rustdoc would run.
fn has_example(text: &str) -> bool {
    let mut is_open = false;
    text.lines().map(str::trim_start).filter(|line| line.starts_with("//")).any(|line| {
        let Some(tag) = line.trim_start_matches(['/', '!', ' ']).strip_prefix("```") else {
            return false;
        };
        is_open = !is_open;
        let run = ["rust", "no_run", "should_panic", "compile_fail", "ignore", "edition"];
        is_open && (tag.is_empty() || run.iter().any(|word| tag.starts_with(word)))
    })
}

#[test]
fn an_example_in_a_comment_is_noticed() {
    for (text, expected) in [
        ("/// ```\n/// one();\n/// ```\n", true),
        ("    //! ```no_run\n    //! one();\n    //! ```\n", true),
        ("/// ```text\n/// one\n/// ```\n", false),
        ("/// ```toml\n/// a = 1\n/// ```\n/// ```rust\n/// one();\n/// ```\n", true),
        ("let text = \"\n```\n\";\n", false),
    ] {
        assert_eq!(has_example(text), expected, "{text}");
    }
}
