//! The commands of Python: pip, uv, poetry, pdm, pipenv, pipx, rye, hatch.

use super::{add_packages, add_registry};
use crate::ecosystems::Ecosystem;
use crate::packages::{Origin, Package, find_address};
use crate::wishes::Wish;
use crate::words::{Term, Words};

/// Options whose value is the next word.
pub(super) const VALUED: &[&str] = &[
    "-r",
    "--requirement",
    "--requirements",
    "-c",
    "--constraint",
    "--constraints",
    "-e",
    "--editable",
    "-i",
    "--index-url",
    "--extra-index-url",
    "--pypi-url",
    "--pypi-mirror",
    "--index",
    "--default-index",
    "-f",
    "--find-links",
    "--trusted-host",
    "--allow-insecure-host",
    "-t",
    "--target",
    "--prefix",
    "--root",
    "--src",
    "--platform",
    "--python-version",
    "--implementation",
    "--abi",
    "--no-binary",
    "--only-binary",
    "--progress-bar",
    "--report",
    "--proxy",
    "--timeout",
    "--retries",
    "--cert",
    "--cache-dir",
    "--log",
    "-d",
    "--dest",
    "--config-settings",
    "-C",
    "--global-option",
    "--upgrade-strategy",
    "-w",
    "--wheel-dir",
    "--python",
    "-p",
    "--group",
    "-G",
    "--extra",
    "-E",
    "--extras",
    "--source",
    "--with",
    "--from",
    "--spec",
    "--git",
    "--url",
    "--path",
    "--branch",
    "--tag",
    "--rev",
    "--directory",
    "--project",
    "--package",
    "--suffix",
    "--pip-args",
    "--priority",
    "--index-strategy",
    "--optional",
];

const INDEXES: &[&str] =
    &["-i", "--index-url", "--pypi-url", "--pypi-mirror", "--default-index", "--find-links"];
const EXTRA_INDEXES: &[&str] = &["--extra-index-url", "--index"];

pub(super) fn read(program: &str, words: &Words<'_>, wishes: &mut Vec<Wish>) {
    if (program, words.operand(0), words.operand(1)) == ("poetry", "source", "add") {
        add_registry(Ecosystem::Pypi, words.operand(3), true, wishes);
        return;
    }
    if words.operand(0) == "config" {
        return read_config(words, wishes);
    }
    let Some(first) = find_first_package(program, words) else { return };
    read_packages(words, first, wishes);
    read_indexes(words, wishes);
}

/// Reads the registries that options name.
pub(super) fn read_indexes(words: &Words<'_>, wishes: &mut Vec<Wish>) {
    for address in words.values(INDEXES) {
        add_registry(Ecosystem::Pypi, address, false, wishes);
    }
    for address in words.values(&["-f"]).filter(|value| find_address(value).is_some()) {
        add_registry(Ecosystem::Pypi, address, false, wishes);
    }
    for address in words.values(EXTRA_INDEXES) {
        // uv writes `name=address`.
        let address = address
            .rsplit_once("=http")
            .map_or(address.to_owned(), |(_, rest)| format!("http{rest}"));
        add_registry(Ecosystem::Pypi, &address, true, wishes);
    }
    for name in ["--trusted-host", "--allow-insecure-host"] {
        for host in words.values(&[name]) {
            wishes.push(Wish::Unverified(format!("{name} {host}")));
        }
    }
    if words.has(&["--no-verify-hashes", "--no-verify", "--skip-lock"]) {
        wishes.push(Wish::Unverified("a check of hashes is left out".to_owned()));
    }
}

/// Returns the place of the first operand that names a package; none if the command adds nothing.
fn find_first_package(program: &str, words: &Words<'_>) -> Option<usize> {
    match (program, words.operand(0), words.operand(1)) {
        ("pip" | "pip3", "install" | "download" | "wheel", _)
        | ("pipx", "install" | "install-all" | "upgrade", _)
        | ("uv" | "poetry" | "pdm" | "rye", "add", _)
        | ("pipenv", "install", _) => Some(1),
        ("pipx", "inject", _)
        | ("uv", "pip", "install" | "sync" | "compile")
        | ("uv", "tool", "install")
        | ("poetry", "self", "add")
        | ("rye", "tools" | "tool", "install") => Some(2),
        ("hatch", "dep", "add") => Some(3),
        // They install what is declared; the indexes count all the same.
        ("uv" | "pdm" | "rye" | "poetry", "sync" | "install" | "update" | "lock", _) => {
            Some(usize::MAX)
        }
        _ => None,
    }
}

fn read_packages(words: &Words<'_>, first: usize, wishes: &mut Vec<Wish>) {
    let git = words.values(&["--git", "--url"]).find_map(find_address);
    for term in words.operands_from(first) {
        match (&git, term.known) {
            (Some(address), true) => wishes.push(Wish::Add(Package::from_elsewhere(
                Ecosystem::Pypi,
                term.text,
                Origin::Address(address.clone()),
            ))),
            _ => add_packages(Ecosystem::Pypi, [*term], wishes),
        }
    }
    let named = words.values(&["-e", "--editable"]).map(|text| Term { text, known: true });
    add_packages(Ecosystem::Pypi, named, wishes);
    // A list of packages at an address is code from there, too.
    for list in words.values(&["-r", "--requirement", "--requirements"]) {
        if let Some(address) = find_address(list) {
            let package = Package::from_elsewhere(Ecosystem::Pypi, "", Origin::Address(address));
            wishes.push(Wish::Add(package));
        }
    }
}

/// Reads `pip config set global.index-url ADDRESS`, `poetry config repositories.x ADDRESS`.
fn read_config(words: &Words<'_>, wishes: &mut Vec<Wish>) {
    let (key, value) = if words.operand(1) == "set" {
        (words.operand(2), words.operand(3))
    } else {
        (words.operand(1), words.operand(2))
    };
    read_setting(key, value, wishes);
}

/// Reads a setting of pip or uv, as a command or a file of settings has it.
pub(crate) fn read_setting(key: &str, value: &str, wishes: &mut Vec<Wish>) {
    let value = value.trim_matches(['"', '\'', '[', ']', ' ']);
    match key.rsplit('.').next().unwrap_or(key) {
        "index-url" | "default-index" | "find-links" => {
            add_registry(Ecosystem::Pypi, value, false, wishes);
        }
        "extra-index-url" => add_registry(Ecosystem::Pypi, value, true, wishes),
        "trusted-host" if !value.is_empty() => {
            wishes.push(Wish::Unverified(format!("{key} {value}")));
        }
        _ if key.starts_with("repositories.") => {
            add_registry(Ecosystem::Pypi, value, true, wishes);
        }
        _ => {}
    }
}
