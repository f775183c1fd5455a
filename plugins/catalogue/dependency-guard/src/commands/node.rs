//! The commands of Node: npm, pnpm, yarn, bun, deno.

use super::{add_packages, add_registry, is_off};
use crate::ecosystems::Ecosystem;
use crate::packages::Package;
use crate::wishes::Wish;
use crate::words::{Term, Words};

/// Options whose value is the next word.
pub(super) const VALUED: &[&str] = &[
    "--registry",
    "--prefix",
    "-C",
    "--dir",
    "--cwd",
    "--tag",
    "--omit",
    "--include",
    "--workspace",
    "-w",
    "--filter",
    "-F",
    "--loglevel",
    "--save-prefix",
    "--userconfig",
    "--globalconfig",
    "--cache",
    "--modules-folder",
    "--network-timeout",
    "--before",
    "--install-strategy",
    "--config",
    "--backend",
    "--cpu",
    "--os",
];

/// What a command does with the packages that it names.
enum Verb {
    /// Adds them, or installs what is declared where it names none.
    Add,
    /// Installs what is declared, nothing else.
    Install,
    /// Fetches a starter and runs it.
    Create,
    /// Changes a setting.
    Config,
    /// Changes the manifest.
    Manifest,
    /// Lets packages run their install scripts.
    Trust,
}

pub(super) fn read(program: &str, words: &Words<'_>, wishes: &mut Vec<Wish>) {
    let Some((verb, first)) = find_verb(program, words) else { return };
    match verb {
        Verb::Add => {
            add_packages(Ecosystem::Npm, skip_foreign(program, words, first), wishes);
            read_switches(program, words, wishes);
        }
        Verb::Install => read_switches(program, words, wishes),
        Verb::Create => {
            if let Some(term) = words.operands.get(first).filter(|term| term.known) {
                wishes.push(Wish::Add(find_starter(term.text)));
            }
        }
        Verb::Config => read_config(words, first, wishes),
        Verb::Manifest => read_pkg(words, first, wishes),
        Verb::Trust => {
            wishes.push(Wish::Scripts(format!("{program} {}", words.operand(first - 1))))
        }
    }
}

/// Returns the verb and the place of the first operand after it.
fn find_verb(program: &str, words: &Words<'_>) -> Option<(Verb, usize)> {
    let mut at = 0;
    // `yarn workspace NAME add`, `yarn global add`, `yarn workspaces foreach add`.
    match words.operand(0) {
        "workspace" => at = 2,
        "workspaces" if words.operand(1) == "foreach" => at = 2,
        "global" | "config" if program == "yarn" && words.operand(1) == "add" => at = 1,
        "global" => at = 1,
        _ => {}
    }
    let verb = match (program, words.operand(at)) {
        ("bun", "pm") if words.operand(at + 1) == "trust" => return Some((Verb::Trust, at + 2)),
        ("pnpm", "approve-builds") => Verb::Trust,
        ("npm", "audit") if words.operand(at + 1) == "fix" => Verb::Install,
        ("npm" | "pnpm", "pkg") if words.operand(at + 1) == "set" => {
            return Some((Verb::Manifest, at + 2));
        }
        (_, "config" | "c") if words.operand(at + 1) == "set" => {
            return Some((Verb::Config, at + 2));
        }
        ("npm" | "pnpm", "set") => Verb::Config,
        ("npm" | "pnpm", "init" | "innit") | (_, "create") => Verb::Create,
        ("yarn" | "yarnpkg", "up" | "upgrade" | "add") => Verb::Add,
        ("yarn" | "yarnpkg", "install" | "") => Verb::Install,
        ("deno", "add" | "install" | "i") => Verb::Add,
        (
            _,
            "add" | "a" | "i" | "in" | "ins" | "inst" | "insta" | "instal" | "install" | "isnt"
            | "isnta" | "isntal" | "isntall" | "it" | "install-test" | "update" | "up" | "upgrade",
        ) => Verb::Add,
        (_, "ci" | "clean-install" | "install-ci-test" | "fetch" | "rebuild") => Verb::Install,
        _ => return None,
    };
    Some((verb, at + 1))
}

/// Leaves out what another registry of deno's serves, and takes off the prefix of npm's.
fn skip_foreign<'a>(program: &str, words: &Words<'a>, first: usize) -> Vec<Term<'a>> {
    let terms = words.operands_from(first).iter().copied();
    if program != "deno" {
        return terms.collect();
    }
    terms
        .filter_map(|term| {
            let text = term.text.strip_prefix("npm:")?;
            Some(Term { text, ..term })
        })
        .collect()
}

/// Returns the package of a starter: `npm create vite@latest` runs `create-vite`.
fn find_starter(text: &str) -> Package {
    let mut package = Package::parse(Ecosystem::Npm, text)
        .unwrap_or_else(|| Package::of_registry(Ecosystem::Npm, text, false));
    if !package.name.is_empty() {
        package.name = match package.name.split_once('/') {
            Some((scope, name)) => format!("{scope}/create-{name}"),
            None if package.name.starts_with('@') => format!("{}/create", package.name),
            None => format!("create-{}", package.name),
        };
    }
    package
}

fn read_switches(program: &str, words: &Words<'_>, wishes: &mut Vec<Wish>) {
    for (name, value) in &words.options {
        let is_on = !value.is_some_and(is_off);
        let text = || value.map_or((*name).to_owned(), |value| format!("{name}={value}"));
        match *name {
            "--force" | "-f" if is_on && program != "yarn" => wishes.push(Wish::Forced(text())),
            "--legacy-peer-deps" | "--ignore-engines" | "--no-verify" if is_on => {
                wishes.push(Wish::Forced(text()));
            }
            "--strict-peer-dependencies" if !is_on => wishes.push(Wish::Forced(text())),
            "--no-strict-ssl" => wishes.push(Wish::Unverified(text())),
            "--strict-ssl" if !is_on => wishes.push(Wish::Unverified(text())),
            "--ignore-scripts" if !is_on => wishes.push(Wish::Scripts(text())),
            "--no-ignore-scripts" | "--trust" | "--dangerously-allow-all-builds" if is_on => {
                wishes.push(Wish::Scripts(text()));
            }
            "--allow-scripts" if program == "deno" => wishes.push(Wish::Scripts(text())),
            "--no-package-lock" | "--no-lockfile" | "--no-lock" | "--no-save-lockfile" => {
                wishes.push(Wish::Unlocked(text()));
            }
            "--no-frozen-lockfile" | "--no-immutable" => wishes.push(Wish::Unlocked(text())),
            "--package-lock" | "--lockfile" | "--frozen-lockfile" | "--immutable" if !is_on => {
                wishes.push(Wish::Unlocked(text()));
            }
            "--registry" => {
                if let Some(address) = value {
                    add_registry(Ecosystem::Npm, address, false, wishes);
                }
            }
            // `--@scope:registry=address`.
            _ if name.ends_with(":registry") => {
                if let Some(address) = value {
                    add_registry(Ecosystem::Npm, address, false, wishes);
                }
            }
            _ => {}
        }
    }
}

fn read_config(words: &Words<'_>, first: usize, wishes: &mut Vec<Wish>) {
    let (key, value) = match words.operand(first).split_once('=') {
        Some((key, value)) => (key, value),
        None => (words.operand(first), words.operand(first + 1)),
    };
    read_setting(key, value, wishes);
}

/// Reads a setting of Node's package managers, as a command or a file of settings has it.
pub(crate) fn read_setting(key: &str, value: &str, wishes: &mut Vec<Wish>) {
    let text = || format!("{key}={value}");
    match key {
        "registry" | "npmRegistryServer" => add_registry(Ecosystem::Npm, value, false, wishes),
        _ if key.ends_with(":registry") => add_registry(Ecosystem::Npm, value, false, wishes),
        "ignore-scripts" if is_off(value) => wishes.push(Wish::Scripts(text())),
        "enableScripts" | "dangerouslyAllowAllBuilds" | "dangerously-allow-all-builds"
            if !is_off(value) =>
        {
            wishes.push(Wish::Scripts(text()));
        }
        "strict-ssl" | "enableStrictSsl" if is_off(value) => wishes.push(Wish::Unverified(text())),
        "legacy-peer-deps" | "force" if !is_off(value) => wishes.push(Wish::Forced(text())),
        "package-lock" | "lockfile" | "enableImmutableInstalls" if is_off(value) => {
            wishes.push(Wish::Unlocked(text()));
        }
        _ => {}
    }
}

/// Reads `npm pkg set dependencies.NAME=VERSION`.
fn read_pkg(words: &Words<'_>, first: usize, wishes: &mut Vec<Wish>) {
    for term in words.operands_from(first) {
        let Some((key, value)) = term.text.split_once('=') else { continue };
        let name =
            ["dependencies.", "devDependencies.", "optionalDependencies.", "peerDependencies."]
                .iter()
                .find_map(|section| key.strip_prefix(section));
        if let Some(name) = name {
            wishes.push(Wish::Add(Package::parse_npm_entry(name, value)));
        }
    }
}
