//! `pyproject.toml`, `Pipfile` and `Cargo.toml`, line by line.
//!
//! An edit holds a piece of such a file, often without the heading of its table. There, only what
//! can be nothing but a package counts.

use crate::ecosystems::Ecosystem;
use crate::packages::{Origin, Package, find_address, find_local, is_exact};
use crate::sources::find_registry;
use crate::wishes::Wish;

/// One `key = value` with the table that it stands in.
struct Entry<'a> {
    /// The table's name; none before the first heading of a piece.
    table: Option<&'a str>,
    key: &'a str,
    value: &'a str,
}

pub(super) fn read_cargo(text: &str, wishes: &mut Vec<Wish>) {
    for entry in list_entries(text) {
        let Some(table) = entry.table else {
            if is_piece_of_dependencies(&entry) {
                wishes.push(Wish::Add(read_crate(entry.key, entry.value)));
            }
            continue;
        };
        let (parent, last) = table.rsplit_once('.').unwrap_or(("", table));
        if is_dependency_table(last) || parent.starts_with("patch") || last == "crates-io" {
            wishes.push(Wish::Add(read_crate(entry.key, entry.value)));
        } else if is_dependency_table(parent.rsplit('.').next().unwrap_or_default()) {
            // `[dependencies.name]` with a line for each of its keys.
            let inline = format!("{{ {} = {} }}", entry.key, entry.value);
            wishes.push(Wish::Add(read_crate(last, &inline)));
        }
    }
}

pub(super) fn read_cargo_settings(text: &str, wishes: &mut Vec<Wish>) {
    for entry in list_entries(text) {
        let is_source = entry.table.is_some_and(|table| {
            table.starts_with("source") || table.starts_with("registries") || table == "registry"
        });
        if is_source && matches!(entry.key, "registry" | "index") {
            let address = unquote(entry.value);
            if let Some(address) = find_registry(Ecosystem::Crates, address) {
                wishes.push(Wish::Registry { ecosystem: Ecosystem::Crates, address, extra: false });
            }
        }
    }
}

pub(super) fn read_python(text: &str, wishes: &mut Vec<Wish>) {
    let mut in_list = false;
    for entry in list_entries(text) {
        read_python_entry(&entry, wishes);
    }
    let mut table: Option<&str> = None;
    for line in text.lines().map(str::trim) {
        if let Some(heading) = find_heading(line) {
            table = Some(heading);
            in_list = false;
            continue;
        }
        let start = line.split_once('=').filter(|(_, value)| value.trim_start().starts_with('['));
        if let Some((key, value)) = start {
            in_list = is_requirement_list(table, key.trim());
            if in_list {
                read_quoted(value, wishes);
            }
            in_list = in_list && !value.contains(']');
        } else if line.starts_with(['"', '\'']) && (in_list || table.is_none()) {
            read_quoted(line, wishes);
        } else if line.starts_with(']') {
            in_list = false;
        }
    }
}

fn read_python_entry(entry: &Entry<'_>, wishes: &mut Vec<Wish>) {
    let Some(table) = entry.table else {
        if is_piece_of_dependencies(entry) {
            wishes.push(Wish::Add(read_poetry(entry.key, entry.value)));
        }
        return;
    };
    let is_index =
        matches!(table, "tool.poetry.source" | "tool.uv.index" | "tool.pdm.source" | "source")
            && entry.key == "url";
    let is_uv = table == "tool.uv" && matches!(entry.key, "index-url" | "extra-index-url");
    if is_index || is_uv {
        for address in entry.value.split(',').map(unquote) {
            if let Some(address) = find_registry(Ecosystem::Pypi, address) {
                let extra = table != "source" && entry.key != "index-url";
                wishes.push(Wish::Registry { ecosystem: Ecosystem::Pypi, address, extra });
            }
        }
    } else if is_poetry_table(table) && entry.key != "python" {
        wishes.push(Wish::Add(read_poetry(entry.key, entry.value)));
    } else if table == "tool.uv.sources" {
        let package = read_poetry(entry.key, entry.value);
        if package.origin != Origin::Registry {
            wishes.push(Wish::Add(package));
        }
    }
}

fn is_poetry_table(table: &str) -> bool {
    matches!(
        table,
        "tool.poetry.dependencies" | "tool.poetry.dev-dependencies" | "packages" | "dev-packages"
    ) || (table.starts_with("tool.poetry.group.") && table.ends_with(".dependencies"))
}

fn is_requirement_list(table: Option<&str>, key: &str) -> bool {
    match table {
        None => !matches!(
            key,
            "authors"
                | "classifiers"
                | "keywords"
                | "include"
                | "exclude"
                | "packages"
                | "select"
                | "ignore"
        ),
        Some("project") => key == "dependencies",
        Some(
            "project.optional-dependencies" | "dependency-groups" | "tool.pdm.dev-dependencies",
        ) => true,
        Some("build-system") => key == "requires",
        Some("tool.uv") => {
            matches!(key, "dev-dependencies" | "constraint-dependencies" | "override-dependencies")
        }
        Some(table) => table.starts_with("tool.hatch.envs.") && key.ends_with("dependencies"),
    }
}

/// Reads the quoted requirements of a line.
fn read_quoted(line: &str, wishes: &mut Vec<Wish>) {
    let mut rest = line;
    while let Some(start) = rest.find(['"', '\'']) {
        let Some(quote) = rest.get(start..).and_then(|text| text.chars().next()) else { return };
        let inner = rest.get(start + 1..).unwrap_or_default();
        let Some(end) = inner.find(quote) else { return };
        let text = inner.get(..end).unwrap_or_default();
        wishes.extend(Package::parse(Ecosystem::Pypi, text).map(Wish::Add));
        rest = inner.get(end + 1..).unwrap_or_default();
    }
}

/// Returns the entries of a text. A line inside a list or a long text may be among them: it has no
/// key that a table of packages could have.
fn list_entries(text: &str) -> impl Iterator<Item = Entry<'_>> {
    let mut table = None;
    text.lines().filter_map(move |line| {
        let line = line.trim();
        if let Some(heading) = find_heading(line) {
            table = Some(heading);
            return None;
        }
        let (key, value) = line.split_once('=')?;
        let (key, value) = (unquote(key), value.trim());
        let is_key = !key.is_empty()
            && key.chars().all(|letter| letter.is_alphanumeric() || "-_.".contains(letter));
        is_key.then_some(Entry { table, key, value })
    })
}

fn find_heading(line: &str) -> Option<&str> {
    let inner = line.strip_prefix('[')?;
    let inner = inner.strip_prefix('[').unwrap_or(inner);
    let name = inner.get(..inner.find(']')?)?.trim();
    let is_name = !name.is_empty() && !name.contains([',', '=']) && !name.starts_with(['{']);
    // A list of texts begins with a quotation mark and has no dot outside of it.
    (is_name && !(name.starts_with(['"', '\'']) && !name.contains("\".") && !name.contains("'.")))
        .then_some(name)
}

fn is_dependency_table(name: &str) -> bool {
    matches!(name, "dependencies" | "dev-dependencies" | "build-dependencies" | "dev_dependencies")
}

/// Returns true for a line without a heading that can only be a dependency.
fn is_piece_of_dependencies(entry: &Entry<'_>) -> bool {
    const OTHER_KEYS: &[&str] = &[
        "version",
        "edition",
        "rust-version",
        "resolver",
        "python",
        "requires-python",
        "target-version",
        "python_version",
        "python_full_version",
        "opt-level",
        "minversion",
        "min-version",
        "required-version",
        "line-length",
        "name",
    ];
    let value = entry.value;
    let inline = value.starts_with('{')
        && ["version", "git", "path", "workspace", "url"]
            .iter()
            .any(|key| find_inline(value, key).is_some());
    let version = unquote(value).trim_start_matches(['^', '~', '=', '>', '<', ' ']);
    let numbers = value.starts_with(['"', '\''])
        && !version.contains([' ', '/'])
        && (version.starts_with(|first: char| first.is_ascii_digit()) || version == "*");
    !OTHER_KEYS.contains(&entry.key) && (inline || numbers)
}

fn read_crate(key: &str, value: &str) -> Package {
    let name = find_inline(value, "package").unwrap_or(key);
    if let Some(address) = find_inline(value, "git").and_then(find_address) {
        return Package::from_elsewhere(Ecosystem::Crates, name, Origin::Address(address));
    }
    if let Some(path) = find_inline(value, "path") {
        return Package::from_elsewhere(Ecosystem::Crates, name, find_local(path));
    }
    let version = find_inline(value, "version").unwrap_or_else(|| unquote(value));
    let pinned = version.starts_with('=') && is_exact(version);
    Package::of_registry(Ecosystem::Crates, name, pinned)
}

fn read_poetry(key: &str, value: &str) -> Package {
    for place in ["git", "url"] {
        if let Some(address) = find_inline(value, place).and_then(find_address) {
            return Package::from_elsewhere(Ecosystem::Pypi, key, Origin::Address(address));
        }
    }
    if let Some(path) = find_inline(value, "path").or_else(|| find_inline(value, "file")) {
        return Package::from_elsewhere(Ecosystem::Pypi, key, find_local(path));
    }
    let version = find_inline(value, "version").unwrap_or_else(|| unquote(value));
    Package::of_registry(Ecosystem::Pypi, key, is_exact(version.trim_start_matches("==")))
}

/// Returns the text of a key in an inline table: `git` of `{ git = "a", tag = "b" }`.
fn find_inline<'a>(value: &'a str, key: &str) -> Option<&'a str> {
    let inner = value.trim().strip_prefix('{')?;
    let mut pieces = inner.split([',', '}']);
    pieces.find_map(|piece| {
        let (name, text) = piece.split_once('=')?;
        (name.trim() == key).then(|| unquote(text))
    })
}

fn unquote(text: &str) -> &str {
    let text = text.split(" #").next().unwrap_or(text).trim();
    text.trim_matches(['"', '\'', '[', ']', ' '])
}
