//! Every public function, method, trait and macro is shown in an example that `cargo test --doc`
//! runs: in its own docs, or by its name in those of its type, its trait or its block.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The text of the examples of an item, without the prose.
type Examples = String;

#[test]
fn every_public_item_is_shown() {
    let (mut seen, mut missing) = (0, Vec::new());
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    let hidden = hidden(&fs::read_to_string(folder.join("lib.rs")).unwrap());
    for file in files(folder).into_iter().filter(|file| {
        file.file_stem().is_none_or(|name| !hidden.iter().any(|one| name == one.as_str()))
    }) {
        let text = fs::read_to_string(&file).unwrap();
        for item in items(&text) {
            seen += 1;
            if !item.is_shown {
                missing.push(format!("{}:{}: `{}`", file.display(), item.line, item.name));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "no example shows these; write one in the docs of the item or of its type:\n{}",
        missing.join("\n")
    );
    assert!(seen > 120, "only {seen} items were found: is the SDK written in another way now?");
}

#[test]
fn missing_examples_are_found() {
    for (text, missing) in [
        ("/// A.\npub fn a() {}\n", &["a"][..]),
        ("/// A.\n///\n/// ```\n/// a();\n/// ```\npub fn a() {}\n", &[]),
        ("/// A, `a()`.\npub const fn a() {}\n", &["a"]),
        ("#[doc(hidden)]\npub fn a() {}\nfn b() {}\n", &[]),
        (
            "/// ```\n/// T::a();\n/// ```\npub struct T;\nimpl T {\n    pub fn a() {}\n    pub fn b() {}\n}\n",
            &["b"],
        ),
        (
            "/// ```\n/// t.a();\n/// ```\nimpl T {\n    pub fn a() {}\n}\nimpl U {\n    pub fn a() {}\n}\n",
            &["a"],
        ),
        ("/// T.\npub trait T {\n    fn a();\n}\n", &["T", "a"]),
        (
            "/// ```\n/// x.a();\n/// ```\npub trait T {\n    fn a();\n}\nimpl T for U {\n    fn a() {}\n}\n",
            &[],
        ),
        ("/// M.\n#[macro_export]\nmacro_rules! m {\n}\nmacro_rules! n {\n}\n", &["m"]),
        ("#[cfg(test)]\nmod tests {\n    pub fn a() {}\n}\n", &[]),
    ] {
        let found: Vec<String> =
            items(text).into_iter().filter(|item| !item.is_shown).map(|item| item.name).collect();
        assert_eq!(found, missing, "{text}");
    }
}

struct Item {
    name: String,
    line: usize,
    is_shown: bool,
}

/// The block that begins at the start of a line.
#[derive(Default)]
struct Block {
    /// The type or the trait.
    name: String,
    /// The examples in its own docs.
    shows: Examples,
    is_public_trait: bool,
    /// True if its items are a trait's, and shown there.
    is_of_a_trait: bool,
}

fn items(text: &str) -> Vec<Item> {
    let (mut docs, mut hidden, mut exported) = (Vec::new(), false, false);
    let mut types: BTreeMap<String, Examples> = BTreeMap::new();
    let mut block = Block::default();
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let code = line.trim();
        if code == "#[cfg(test)]" {
            break;
        }
        if let Some(doc) = code.strip_prefix("///") {
            docs.push(doc.trim_start().to_owned());
            continue;
        }
        if code.starts_with("#[") {
            hidden |= code == "#[doc(hidden)]";
            exported |= code == "#[macro_export]";
            continue;
        }
        let shows = examples(&std::mem::take(&mut docs));
        let (was_hidden, was_exported) =
            (std::mem::take(&mut hidden), std::mem::take(&mut exported));
        if let Some(begun) = begun(line, &shows) {
            block = begun;
            types.entry(block.name.clone()).or_default().push_str(&shows);
        }
        let Some(name) = public(line, &block, was_exported).filter(|_| !was_hidden) else {
            continue;
        };
        let by_type = types.get(&block.name).is_some_and(|shown| calls(shown, &name))
            || calls(&block.shows, &name);
        found.push(Item { is_shown: !shows.is_empty() || by_type, name, line: number + 1 });
    }
    found
}

/// Returns the block that a line without indentation begins.
fn begun(line: &str, shows: &str) -> Option<Block> {
    let words: Vec<&str> = line.split([' ', '{', '(', ';', '!']).collect();
    let bare = |name: &str| name.split('<').next().unwrap_or_default().to_owned();
    let block =
        |name: &str| Block { name: bare(name), shows: shows.to_owned(), ..Block::default() };
    match words.as_slice() {
        ["impl" | "impl<'a>", _, "for", ..] => {
            Some(Block { is_of_a_trait: true, ..Block::default() })
        }
        ["impl" | "impl<'a>", name, ..] => Some(block(name)),
        [generic, ..] if generic.starts_with("impl<") => {
            Some(Block { is_of_a_trait: true, ..Block::default() })
        }
        ["pub", "trait", name, ..] => {
            Some(Block { is_public_trait: true, ..block(name.trim_end_matches(':')) })
        }
        ["pub", "struct" | "enum", name, ..] => Some(block(name)),
        ["pub" | "fn" | "const" | "mod" | "macro_rules", ..] => Some(Block::default()),
        _ => None,
    }
}

/// Returns the name of the public item that a line declares.
fn public(line: &str, block: &Block, exported: bool) -> Option<String> {
    if block.is_of_a_trait {
        return None;
    }
    let code = line.trim();
    let function = code.strip_prefix("pub const fn ").or_else(|| code.strip_prefix("pub fn "));
    let method =
        code.strip_prefix("fn ").filter(|_| block.is_public_trait && line.starts_with("    fn "));
    let declared = code.strip_prefix("pub trait ").or(function).or(method);
    let declared = declared.or_else(|| code.strip_prefix("macro_rules! ").filter(|_| exported));
    let end = |name: &str| {
        name.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(name.len())
    };
    declared.map(|name| name.chars().take(end(name)).collect())
}

/// Returns the text between the fences.
fn examples(docs: &[String]) -> Examples {
    let mut inside = false;
    let mut shown = String::new();
    for line in docs {
        if line.starts_with("```") {
            inside = !inside;
        } else if inside {
            shown.push_str(line);
            shown.push('\n');
        }
    }
    shown
}

/// Returns true if an example calls it, or declares it as a trait's.
fn calls(shown: &str, name: &str) -> bool {
    shown.match_indices(name).any(|(at, _)| {
        let (before, after) =
            (shown[..at].chars().next_back(), shown[at + name.len()..].chars().next());
        let whole = before.is_none_or(|letter| !letter.is_alphanumeric() && letter != '_');
        whole && matches!(after, Some('(' | ':' | '!' | ' '))
    })
}

/// Returns the modules that the documentation leaves out.
fn hidden(root: &str) -> Vec<String> {
    let lines: Vec<&str> = root.lines().collect();
    let modules = lines
        .windows(2)
        .filter(|pair| pair[0] == "#[doc(hidden)]")
        .filter_map(|pair| pair[1].strip_prefix("pub mod "));
    modules.map(|name| name.trim_end_matches(';').to_owned()).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.file_name().is_none_or(|name| name != "tests.rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}
