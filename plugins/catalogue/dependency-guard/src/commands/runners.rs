//! Programs that fetch a package and run it at once: npx, uvx and their like.
//!
//! The host passes on what runs, not the words of the program that fetches it, so that these are
//! read from the text of the line.

use super::python::read_indexes;
use super::{add_packages, add_registry};
use crate::ecosystems::Ecosystem;
use crate::wishes::Wish;
use crate::words::{Term, Words};
use portcullis_plugin::types::{Command, Shell};

const NODE_VALUED: &[&str] = &["-p", "--package", "--registry", "--prefix", "--cwd", "-w"];
const PYTHON_VALUED: &[&str] = &[
    "--from",
    "--with",
    "--spec",
    "--index",
    "--index-url",
    "-i",
    "--extra-index-url",
    "--default-index",
    "--find-links",
    "-p",
    "--python",
    "--pip-args",
    "--project",
    "--directory",
    "--env-file",
    "--group",
    "--extra",
    "--package",
    "--with-requirements",
];

/// Reads what a runner fetches for a command.
pub(super) fn read(wrapper: &str, command: &Command, shell: &Shell, wishes: &mut Vec<Wish>) {
    let Some(text) = find_text(command, shell) else { return };
    let mut terms = text.split_whitespace().map(Term::of_text);
    if !terms.any(|term| term.text.rsplit('/').next() == Some(wrapper)) {
        return;
    }
    match wrapper {
        "uvx" | "uv" | "pipx" => read_python(wrapper, terms, wishes),
        _ => read_node(wrapper, terms, wishes),
    }
}

/// Returns the text of a command with what stands before it, up to the command before.
fn find_text<'a>(command: &Command, shell: &'a Shell) -> Option<&'a str> {
    let ends = shell.commands.iter().map(|other| other.end);
    let start = ends.filter(|end| *end <= command.start).max().unwrap_or_default();
    shell.text.get(start as usize..command.end as usize)
}

fn read_node<'a>(wrapper: &str, terms: impl Iterator<Item = Term<'a>>, wishes: &mut Vec<Wish>) {
    let words = Words::of_terms(terms, NODE_VALUED);
    let first = match (wrapper, words.operand(0)) {
        ("npx" | "bunx" | "pnpx", _) => 0,
        ("npm", "exec" | "x") | ("pnpm" | "yarn", "dlx") | ("bun", "x") => 1,
        // A script of the project, or a program that is installed already.
        _ => return,
    };
    let named: Vec<Term<'_>> = words
        .values(&["-p", "--package"])
        .map(|text| Term { text, known: !text.contains('$') })
        .collect();
    let fetched = if named.is_empty() {
        words.operands.get(first).copied().into_iter().collect()
    } else {
        named
    };
    // A program that only the run knows is the host's matter: most often it is a local one.
    add_packages(Ecosystem::Npm, fetched.into_iter().filter(|term| term.known), wishes);
    for address in words.values(&["--registry"]) {
        add_registry(Ecosystem::Npm, address, false, wishes);
    }
}

fn read_python<'a>(wrapper: &str, terms: impl Iterator<Item = Term<'a>>, wishes: &mut Vec<Wish>) {
    let words = Words::of_terms(terms, PYTHON_VALUED);
    let fetched = match (wrapper, words.operand(0), words.operand(1)) {
        ("uvx", ..) => words.operands.first(),
        ("uv", "tool", "run") => words.operands.get(2),
        ("pipx", "run", _) => words.operands.get(1),
        // `uv run` runs what the project has; options alone fetch more.
        ("uv", "run", _) => None,
        _ => return,
    };
    let named = words.values(&["--from", "--spec"]).chain(words.values(&["--with"]));
    let named: Vec<Term<'_>> = named
        .flat_map(|list| list.split(','))
        .map(|text| Term { text, known: !text.contains('$') })
        .collect();
    let replaced = words.has(&["--from", "--spec"]);
    let fetched = fetched.copied().filter(|term| !replaced && term.known);
    add_packages(Ecosystem::Pypi, named.into_iter().chain(fetched), wishes);
    read_indexes(&words, wishes);
}
