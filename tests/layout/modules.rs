//! The modules of a crate and what each imports.
//!
//! A node is one file. A module and its own submodules may know each other: an import of a module
//! above or below does not count. A path through a re-export counts as the module that defines it.

use crate::source::{Source, is_word, sources, without_comments_and_texts};
use std::collections::{BTreeMap, BTreeSet};

/// A module's path below the crate's root.
pub type Module = Vec<String>;

/// The imports between the modules of a crate.
pub struct Imports(pub BTreeMap<Module, BTreeSet<Module>>);

impl Imports {
    /// Reads the crate in a folder of the repository.
    pub fn of_crate(folder: &str) -> Self {
        let files: BTreeMap<Module, String> = sources(&format!("{folder}/src"))
            .iter()
            .map(|source| (module_of(folder, &source.path), code_of(source)))
            .collect();
        let tests: Vec<Module> =
            files.iter().flat_map(|(module, code)| test_modules(module, code)).collect();
        let is_test = |module: &Module| tests.iter().any(|test| module.starts_with(test));
        let files: BTreeMap<Module, String> =
            files.into_iter().filter(|(module, _)| !is_test(module)).collect();
        let exports: BTreeMap<Module, Module> =
            files.iter().flat_map(|(module, code)| exports(module, code)).collect();
        let imports = files.iter().map(|(module, code)| {
            let named = paths(module, &without_exports(code));
            let to = named.into_iter().filter_map(|path| resolve(path, &files, &exports));
            (
                module.clone(),
                to.filter(|to| !to.starts_with(module) && !module.starts_with(to)).collect(),
            )
        });
        Self(imports.collect())
    }

    /// Returns the circles: groups of modules of which each reaches all others.
    pub fn circles(&self) -> Vec<Vec<String>> {
        let mut circles = BTreeSet::new();
        for module in self.0.keys() {
            let reached = self.reached_from(module);
            let circle: Vec<String> = reached
                .iter()
                .filter(|other| self.reached_from(other).contains(module))
                .map(|other| other.join("::"))
                .collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }

    fn reached_from(&self, module: &Module) -> BTreeSet<Module> {
        let (mut open, mut reached) = (vec![module.clone()], BTreeSet::new());
        while let Some(next) = open.pop() {
            for to in self.0.get(&next).into_iter().flatten() {
                if reached.insert(to.clone()) {
                    open.push(to.clone());
                }
            }
        }
        reached
    }
}

fn module_of(folder: &str, path: &str) -> Module {
    let below = path.strip_prefix(&format!("{folder}/src/")).unwrap();
    let mut parts: Module = below.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

/// Returns the code without tests; the visibility `pub(in ...)` is not an import.
fn code_of(source: &Source) -> String {
    let code = without_comments_and_texts(source.production());
    ["pub(crate)", "pub(super)", "pub(self)"]
        .iter()
        .fold(code, |code, visibility| code.replace(visibility, "pub"))
}

/// Returns the submodules in files of their own that are compiled for tests only.
fn test_modules(module: &Module, code: &str) -> Vec<Module> {
    let after = code.split("#[cfg(test)]").skip(1);
    let named = after.filter_map(|rest| {
        let line =
            rest.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("#["))?;
        line.strip_prefix("mod ")?.strip_suffix(';')
    });
    named.map(|name| [module.as_slice(), &[name.to_owned()]].concat()).collect()
}

fn export_statements(code: &str) -> impl Iterator<Item = &str> {
    code.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next())
}

fn without_exports(code: &str) -> String {
    let mut parts = code.split("pub use ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |code, part| code + part.split_once(';').map_or("", |(_, rest)| rest))
}

/// Returns the names that a module exports from others, each with the path of its definition.
fn exports(module: &Module, code: &str) -> Vec<(Module, Module)> {
    let mut found = Vec::new();
    for statement in export_statements(code) {
        for path in expand(statement) {
            let (Some(first), Some(last)) = (path.first(), path.last()) else { continue };
            let from = match first.as_str() {
                "crate" => path[1..].to_vec(),
                "super" => [&module[..module.len().saturating_sub(1)], &path[1..]].concat(),
                "self" => [module.as_slice(), &path[1..]].concat(),
                _ => [module.as_slice(), path.as_slice()].concat(),
            };
            found.push(([module.as_slice(), std::slice::from_ref(last)].concat(), from));
        }
    }
    found
}

/// Returns all paths in the code that begin with `crate`, `self` or `super`.
fn paths(module: &Module, code: &str) -> Vec<Module> {
    let mut found = Vec::new();
    for word in ["crate::", "self::", "super::"] {
        for (at, _) in code.match_indices(word) {
            let before = &code[..at];
            if before.ends_with(is_word) || before.ends_with("super::") && word != "super::" {
                continue;
            }
            if word == "super::" && before.ends_with("super::") {
                continue;
            }
            let mut rest = &code[at..];
            let mut above = module.as_slice();
            match word {
                "crate::" => {
                    above = &[];
                    rest = &rest[word.len()..];
                }
                "self::" => rest = &rest[word.len()..],
                _ => {
                    while let Some(after) = rest.strip_prefix("super::") {
                        (above, rest) = (&above[..above.len().saturating_sub(1)], after);
                    }
                }
            }
            found.extend(expand(rest).into_iter().map(|path| [above, path.as_slice()].concat()));
        }
    }
    found
}

/// Returns the paths of the use tree that a text begins with.
fn expand(text: &str) -> Vec<Module> {
    let mut found = Vec::new();
    expand_below(&[], text, &mut found);
    found
}

/// Adds the paths below `above`, and returns the text after the tree.
fn expand_below<'a>(above: &[String], text: &'a str, found: &mut Vec<Module>) -> &'a str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            let before = rest.trim_start();
            if let Some(after) = before.strip_prefix('}') {
                return after;
            }
            rest = expand_below(above, before, found).trim_start();
            rest = match rest.strip_prefix(',') {
                Some(after) => after,
                None if rest.starts_with('}') => rest,
                // The name behind `as` is nobody's path.
                None => {
                    let left = rest.find([',', '}']).map_or("", |at| &rest[at..]);
                    left.strip_prefix(',').unwrap_or(left)
                }
            };
            if rest.is_empty() {
                return rest;
            }
        }
    }
    let end = text.find(|c: char| !is_word(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let path = [above, &[name.to_owned()]].concat();
    match rest.strip_prefix("::") {
        Some(below) if !name.is_empty() && below.starts_with(|c: char| is_word(c) || c == '{') => {
            expand_below(&path, below, found)
        }
        _ => {
            found.push(if name.is_empty() { above.to_vec() } else { path });
            rest
        }
    }
}

/// Returns the module that a path is in: the longest beginning that is a module.
fn resolve(
    mut path: Module,
    files: &BTreeMap<Module, String>,
    exports: &BTreeMap<Module, Module>,
) -> Option<Module> {
    const MOST_EXPORTS: usize = 8;
    for _ in 0..MOST_EXPORTS {
        let exported = (1..=path.len()).rev().find_map(|length| {
            let beginning = &path[..length];
            let from = exports.get(beginning).filter(|_| !files.contains_key(beginning))?;
            Some([from.as_slice(), &path[length..]].concat())
        });
        match exported {
            Some(defined) if defined != path => path = defined,
            _ => break,
        }
    }
    (0..=path.len())
        .rev()
        .map(|length| path[..length].to_vec())
        .find(|path| files.contains_key(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn use_trees_are_expanded() {
        for (text, expected) in [
            ("a::B;", "a::B"),
            ("a::{B, c::{D, e}};", "a::B a::c::D a::c::e"),
            ("{a::B as C, d};", "a::B d"),
            ("a::b(1)", "a::b"),
            ("a::{self, B};", "a::self a::B"),
        ] {
            let found: Vec<String> = expand(text).iter().map(|path| path.join("::")).collect();
            assert_eq!(found.join(" "), expected, "{text}");
        }
    }

    #[test]
    fn a_circle_is_found_and_a_module_may_know_its_own_submodules() {
        let imports = |edges: &[(&str, &str)]| {
            let module = |name: &str| name.split("::").map(str::to_owned).collect::<Module>();
            let mut found: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
            for (from, to) in edges {
                found.entry(module(from)).or_default().insert(module(to));
            }
            Imports(found).circles()
        };
        assert_eq!(imports(&[("a", "b"), ("b", "c")]), Vec::<Vec<String>>::new());
        assert_eq!(imports(&[("a", "b"), ("b", "c"), ("c", "a")]), [["a", "b", "c"]]);
    }
}
