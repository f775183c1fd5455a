//! Manifests with a package on each line: requirements, go.mod, Gemfile, .NET projects, notebooks.

use crate::commands;
use crate::commands::others::find_replacement;
use crate::ecosystems::Ecosystem;
use crate::packages::{Origin, Package, find_address, find_local, is_exact};
use crate::sources::find_registry;
use crate::wishes::Wish;

pub(super) fn read_requirements(text: &str, wishes: &mut Vec<Wish>) {
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with('-') {
            // An option is what a command has too.
            commands::read_line(&format!("pip install {line}"), wishes);
            continue;
        }
        // A hash has 64 digits: a shorter line has none, and needs no search.
        let bare =
            if line.len() > 64 { line.split(" --hash").next().unwrap_or(line) } else { line };
        let line = bare.trim_end_matches(['\\', ' ']);
        wishes.extend(Package::parse(Ecosystem::Pypi, line).map(Wish::Add));
    }
}

pub(super) fn read_go_mod(text: &str, wishes: &mut Vec<Wish>) {
    let mut block = "";
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        match line {
            "" => continue,
            ")" => {
                block = "";
                continue;
            }
            _ => {}
        }
        if let Some(name) = line.strip_suffix('(') {
            block = name.trim();
            continue;
        }
        let (verb, rest) = match line.split_once(' ') {
            Some((verb @ ("require" | "replace" | "exclude" | "retract" | "tool"), rest)) => {
                (verb, rest)
            }
            Some(("module" | "go" | "toolchain", _)) => continue,
            _ => (block, line),
        };
        read_go_line(verb, rest.trim(), wishes);
    }
}

fn read_go_line(verb: &str, rest: &str, wishes: &mut Vec<Wish>) {
    if let Some((old, new)) = rest.split_once("=>") {
        let old = old.split_whitespace().next().unwrap_or_default();
        wishes.push(Wish::Add(find_replacement(old, new)));
        return;
    }
    let mut words = rest.split_whitespace();
    let (Some(module), Some(version)) = (words.next(), words.next()) else { return };
    let is_module = module.contains('.') && module.contains('/') && version.starts_with('v');
    if is_module && matches!(verb, "require" | "") {
        wishes.push(Wish::Add(Package::of_registry(Ecosystem::Go, module, true)));
    }
}

pub(super) fn read_gemfile(text: &str, wishes: &mut Vec<Wish>) {
    for line in text.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("source ").and_then(find_quoted) {
            if let Some(address) = find_registry(Ecosystem::Gems, address) {
                wishes.push(Wish::Registry { ecosystem: Ecosystem::Gems, address, extra: false });
            }
            continue;
        }
        let rest = line.strip_prefix("gem ").or_else(|| {
            let (before, rest) = line.split_once("dependency")?;
            before.contains(".add_").then_some(rest)
        });
        if let Some((rest, name)) = rest.and_then(|rest| Some((rest, find_quoted(rest)?))) {
            wishes.push(Wish::Add(read_gem(name, rest)));
        }
    }
}

fn read_gem(name: &str, rest: &str) -> Package {
    let option = |key: &str| {
        let after = [format!("{key}:"), format!(":{key} =>")]
            .iter()
            .find_map(|form| rest.split_once(form.as_str()).map(|(_, after)| after))?;
        find_quoted(after)
    };
    if let Some(address) = option("git").and_then(find_address) {
        return Package::from_elsewhere(Ecosystem::Gems, name, Origin::Address(address));
    }
    if let Some(path) = option("github") {
        let origin = Origin::Address(format!("github.com/{path}"));
        return Package::from_elsewhere(Ecosystem::Gems, name, origin);
    }
    if let Some(path) = option("path") {
        return Package::from_elsewhere(Ecosystem::Gems, name, find_local(path));
    }
    let version = rest.split_once(',').and_then(|(_, rest)| find_quoted(rest));
    Package::of_registry(Ecosystem::Gems, name, version.is_some_and(is_exact))
}

/// Returns the first text in quotation marks.
fn find_quoted(text: &str) -> Option<&str> {
    let start = text.find(['"', '\''])?;
    let quote = text.get(start..)?.chars().next()?;
    let inner = text.get(start + 1..)?;
    inner.get(..inner.find(quote)?)
}

pub(super) fn read_project(text: &str, wishes: &mut Vec<Wish>) {
    for element in text.split('<') {
        let is_package =
            ["PackageReference", "PackageVersion", "package ", "GlobalPackageReference"]
                .iter()
                .any(|name| element.starts_with(name));
        if !is_package {
            continue;
        }
        let attribute = |name: &str| {
            let (_, rest) = element.split_once(&format!("{name}="))?;
            find_quoted(rest)
        };
        let name =
            attribute(" Include").or_else(|| attribute(" id")).or_else(|| attribute(" Update"));
        if let Some(name) = name {
            let version = attribute(" Version").or_else(|| attribute(" version"));
            let pinned = version.is_some_and(is_exact);
            wishes.push(Wish::Add(Package::of_registry(Ecosystem::Nuget, name, pinned)));
        }
    }
}

pub(super) fn read_nuget_settings(text: &str, wishes: &mut Vec<Wish>) {
    for element in text.split('<').filter(|element| element.starts_with("add ")) {
        let value = element.split_once("value=").and_then(|(_, rest)| find_quoted(rest));
        let address = value.filter(|value| find_address(value).is_some());
        if let Some(address) = address.and_then(|value| find_registry(Ecosystem::Nuget, value)) {
            wishes.push(Wish::Registry { ecosystem: Ecosystem::Nuget, address, extra: true });
        }
    }
}

/// Reads the lines of a notebook that go to a shell.
pub(super) fn read_notebook(text: &str, wishes: &mut Vec<Wish>) {
    for line in text.lines() {
        let line = line.trim_start().trim_start_matches(['"', ' ']);
        if let Some(command) = line.strip_prefix(['!', '%']) {
            commands::read_line(
                command.trim_end_matches(['"', ',']).trim_end_matches("\\n"),
                wishes,
            );
        }
    }
}
