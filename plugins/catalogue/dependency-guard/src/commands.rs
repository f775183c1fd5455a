//! The commands of package managers: which packages, registries and switches they name.

pub(crate) mod node;
pub(crate) mod others;
pub(crate) mod python;
mod runners;

use crate::ecosystems::Ecosystem;
use crate::packages::{Package, find_address};
use crate::sources::find_registry;
use crate::wishes::Wish;
use crate::words::{Term, Words};
use portcullis_plugin::types::{Command, Shell};

/// Returns true if a shell line has a command that this module reads.
pub fn concerns(shell: &Shell) -> bool {
    shell.commands.iter().any(|command| {
        is_manager(&command.program) || command.wrappers.iter().any(|name| is_runner(name))
    })
}

/// Returns what a command wants.
pub fn list_wishes(command: &Command, shell: &Shell) -> Vec<Wish> {
    let mut wishes = Vec::new();
    if is_manager(&command.program) {
        read_manager(&command.program, command.words.iter().map(Term::of), &mut wishes);
        for attribute in &command.assignments {
            read_assignment(&attribute.name, &attribute.value, &mut wishes);
        }
    }
    for wrapper in command.wrappers.iter().filter(|name| is_runner(name)) {
        runners::read(wrapper, command, shell, &mut wishes);
    }
    wishes
}

/// Reads a line of plain text, as a notebook holds it (`!pip install x`).
pub fn read_line(line: &str, wishes: &mut Vec<Wish>) {
    let mut terms = line.split_whitespace().map(Term::of_text).peekable();
    while let Some(term) = terms.next() {
        let name = term.text.rsplit('/').next().unwrap_or(term.text);
        if is_manager(name) {
            read_manager(name, terms, wishes);
            return;
        }
    }
}

fn read_manager<'a>(program: &str, terms: impl Iterator<Item = Term<'a>>, wishes: &mut Vec<Wish>) {
    match program {
        "npm" | "pnpm" | "yarn" | "yarnpkg" | "bun" | "deno" | "cnpm" => {
            node::read(program, &Words::of_terms(terms, node::VALUED), wishes);
        }
        "pip" | "pip3" | "uv" | "poetry" | "pdm" | "pipenv" | "pipx" | "rye" | "hatch" => {
            python::read(program, &Words::of_terms(terms, python::VALUED), wishes);
        }
        "cargo" => others::read_cargo(&Words::of_terms(terms, others::CARGO), wishes),
        "go" => others::read_go(&Words::of_terms(terms, others::GO), wishes),
        "gem" => others::read_gem(&Words::of_terms(terms, others::GEM), wishes),
        "bundle" | "bundler" => {
            others::read_bundle(&Words::of_terms(terms, others::GEM), wishes);
        }
        "composer" => others::read_composer(&Words::of_terms(terms, others::COMPOSER), wishes),
        "dotnet" | "nuget" | "paket" | "Install-Package" => {
            others::read_nuget(program, &Words::of_terms(terms, others::NUGET), wishes);
        }
        _ => {}
    }
}

/// Returns true for a program that installs packages.
pub fn is_manager(program: &str) -> bool {
    matches!(
        program,
        "npm"
            | "pnpm"
            | "yarn"
            | "yarnpkg"
            | "bun"
            | "deno"
            | "cnpm"
            | "pip"
            | "pip3"
            | "uv"
            | "poetry"
            | "pdm"
            | "pipenv"
            | "pipx"
            | "rye"
            | "hatch"
            | "cargo"
            | "go"
            | "gem"
            | "bundle"
            | "bundler"
            | "composer"
            | "dotnet"
            | "nuget"
            | "paket"
            | "Install-Package"
    )
}

/// Returns true for a program that fetches a package and runs it at once.
fn is_runner(wrapper: &str) -> bool {
    matches!(
        wrapper,
        "npx" | "bunx" | "pnpx" | "npm" | "pnpm" | "yarn" | "bun" | "uvx" | "uv" | "pipx"
    )
}

/// Adds the packages that words name, and a wish for those that only the run knows.
fn add_packages<'a>(
    ecosystem: Ecosystem,
    terms: impl IntoIterator<Item = Term<'a>>,
    wishes: &mut Vec<Wish>,
) {
    for term in terms {
        if term.known {
            wishes.extend(Package::parse(ecosystem, term.text).map(Wish::Add));
        } else {
            wishes.push(Wish::Unread("a word that only the run knows".to_owned()));
        }
    }
}

/// Adds a registry if the address is one that the ecosystem's people do not run themselves.
fn add_registry(ecosystem: Ecosystem, address: &str, extra: bool, wishes: &mut Vec<Wish>) {
    if let Some(address) = find_registry(ecosystem, address) {
        wishes.push(Wish::Registry { ecosystem, address, extra });
    }
}

/// Reads a variable that is set for a command: registries and checks in another spelling.
fn read_assignment(name: &str, value: &str, wishes: &mut Vec<Wish>) {
    let upper = name.to_ascii_uppercase();
    let off = || Wish::Unverified(format!("{name}={value}"));
    match upper.as_str() {
        "PIP_INDEX_URL" | "UV_INDEX_URL" | "UV_DEFAULT_INDEX" | "PIP_FIND_LINKS" => {
            add_registry(Ecosystem::Pypi, value, false, wishes);
        }
        "PIP_EXTRA_INDEX_URL" | "UV_EXTRA_INDEX_URL" | "UV_INDEX" => {
            for address in value.split_whitespace() {
                add_registry(Ecosystem::Pypi, address, true, wishes);
            }
        }
        "NPM_CONFIG_REGISTRY"
        | "YARN_REGISTRY"
        | "YARN_NPM_REGISTRY_SERVER"
        | "BUN_CONFIG_REGISTRY" => {
            add_registry(Ecosystem::Npm, value, false, wishes);
        }
        "GOPROXY" => {
            for address in value.split([',', '|']) {
                add_registry(Ecosystem::Go, address, false, wishes);
            }
        }
        "NPM_CONFIG_IGNORE_SCRIPTS" if is_off(value) => {
            wishes.push(Wish::Scripts(format!("{name}={value}")));
        }
        "YARN_ENABLE_SCRIPTS" if !is_off(value) => {
            wishes.push(Wish::Scripts(format!("{name}={value}")));
        }
        "NPM_CONFIG_LEGACY_PEER_DEPS" | "NPM_CONFIG_FORCE" if !is_off(value) => {
            wishes.push(Wish::Forced(format!("{name}={value}")));
        }
        "NPM_CONFIG_STRICT_SSL" | "NODE_TLS_REJECT_UNAUTHORIZED" if is_off(value) => {
            wishes.push(off());
        }
        "GOSUMDB" if value == "off" => wishes.push(off()),
        "GONOSUMDB" | "GONOSUMCHECK" | "GOINSECURE" | "PIP_TRUSTED_HOST" if !value.is_empty() => {
            wishes.push(off());
        }
        "GOFLAGS" if value.contains("-insecure") => wishes.push(off()),
        "GOFLAGS" if value.contains("-mod=mod") => {
            wishes.push(Wish::Unlocked(format!("{name}={value}")));
        }
        _ => {}
    }
}

/// Returns true for a value that turns a switch off.
pub fn is_off(value: &str) -> bool {
    matches!(value, "" | "0" | "false" | "no" | "off")
}

/// Returns true if a word names an address.
fn is_address(text: &str) -> bool {
    find_address(text).is_some()
}
