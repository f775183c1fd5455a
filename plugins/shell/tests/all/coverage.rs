//! The coverage of programs: the most used ones have an entry, and the page that lists all of them
//! is what the catalogue says. `PORTCULLIS_WRITE_PAGES=1 cargo test` writes the page.

use crate::catalogue::fields;
use portcullis_programs::names;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const LEAST: usize = 600;

/// Returns the programs of each field, with the number of their entries.
fn programs() -> BTreeMap<String, BTreeMap<String, usize>> {
    let mut programs: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for (field, document) in fields() {
        for entry in &document.entry {
            let written = &entry.get_ref().names;
            for name in written.iter().flat_map(|name| names::expand(name).unwrap()) {
                let program = name.split(' ').next().unwrap().to_owned();
                *programs.entry(field.clone()).or_default().entry(program).or_default() += 1;
            }
        }
    }
    programs
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

#[test]
fn the_most_used_programs_have_an_entry() {
    let text = std::fs::read_to_string(folder().join("catalogue/common.txt")).unwrap();
    let common: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let known: BTreeSet<String> = programs().into_values().flat_map(BTreeMap::into_keys).collect();
    let missing: Vec<&&str> = common.iter().filter(|name| !known.contains(**name)).collect();
    assert!(missing.is_empty(), "no entry for {missing:?}");
    assert!(common.len() >= LEAST, "the list has {} programs", common.len());
    // Distinct names of programs: no verbs of cmdlets, no scripts by their path.
    let programs = known.iter().filter(|name| !name.contains(['*', '/'])).count();
    assert!(programs >= LEAST, "the catalogue has {programs} programs");
    assert!(common.is_sorted(), "the list is not sorted");
}

#[test]
fn the_page_of_programs_is_current() {
    let path = folder().join("../../host/docs/programs.md");
    let page = page();
    if std::env::var_os("PORTCULLIS_WRITE_PAGES").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == page,
        "host/docs/programs.md is not what the catalogue says: set PORTCULLIS_WRITE_PAGES=1"
    );
}

fn page() -> String {
    let all = programs();
    let count: BTreeSet<&String> = all.values().flat_map(BTreeMap::keys).collect();
    let entries: usize = all.values().flat_map(BTreeMap::values).sum();
    let mut page = format!(
        "# Programs that the catalogue knows\n\n\
         This page is generated from `plugins/shell/catalogue`. It lists {} programs with {entries} \
         entries; a number behind a name is the number of its entries, where subcommands have their \
         own. A program without an entry counts as one whose effects are not known. To add one, see \
         [Describe a program](catalogue.md).\n\n\
         | field | programs | entries | examples |\n|---|---|---|---|\n",
        count.len()
    );
    let documents = fields();
    for (field, programs) in &all {
        let entries: usize = programs.values().sum();
        let examples = documents.get(field).map_or(0, |document| {
            document.entry.iter().map(|entry| entry.get_ref().examples.len()).sum()
        });
        page.push_str(&format!(
            "| [{field}](#{field}) | {} | {entries} | {examples} |\n",
            programs.len()
        ));
    }
    page.push_str(
        "\nA program may be in several fields: the rows count it in each, the number above once. \
         Names with `*` stand for PowerShell cmdlets by their verb.\n",
    );
    for (field, programs) in &all {
        page.push_str(&format!("\n## {field}\n\n"));
        let names: Vec<String> = programs
            .iter()
            .map(|(name, count)| match count {
                1 => format!("`{name}`"),
                count => format!("`{name}` {count}"),
            })
            .collect();
        page.push_str(&names.join(", "));
        page.push('\n');
    }
    page
}
