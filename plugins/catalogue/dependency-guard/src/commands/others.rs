//! The commands of Rust, Go, Ruby, PHP and .NET.

use super::{add_packages, add_registry, is_address, is_off, read_assignment};
use crate::ecosystems::Ecosystem;
use crate::packages::{Origin, Package, find_address, find_local, is_exact};
use crate::wishes::Wish;
use crate::words::Words;

/// Options of cargo whose value is the next word.
pub(super) const CARGO: &[&str] = &[
    "--git",
    "--path",
    "--registry",
    "--index",
    "--branch",
    "--tag",
    "--rev",
    "--version",
    "--vers",
    "-F",
    "--features",
    "--rename",
    "-p",
    "--package",
    "--manifest-path",
    "--target",
    "--root",
    "--config",
    "--target-dir",
    "-j",
    "--profile",
    "--bin",
    "--example",
];
/// Options of go whose value is the next word.
pub(super) const GO: &[&str] = &[
    "-require",
    "--require",
    "-replace",
    "--replace",
    "-modfile",
    "-C",
    "-o",
    "-p",
    "-tags",
    "-ldflags",
];
/// Options of gem and bundle whose value is the next word.
pub(super) const GEM: &[&str] = &[
    "-v",
    "--version",
    "-s",
    "--source",
    "-i",
    "--install-dir",
    "-n",
    "--bindir",
    "-P",
    "--trust-policy",
    "--platform",
    "--git",
    "--github",
    "--path",
    "--branch",
    "--ref",
    "-g",
    "--group",
    "-a",
    "--add",
    "-r",
    "--remove",
];
/// Options of composer whose value is the next word.
pub(super) const COMPOSER: &[&str] = &[
    "-d",
    "--working-dir",
    "--repository",
    "--repository-url",
    "--add-repository",
    "--prefer-install",
    "-f",
    "--file",
    "-s",
    "--stability",
];
/// Options of dotnet and nuget whose value is the next word.
pub(super) const NUGET: &[&str] = &[
    "-v",
    "--version",
    "-s",
    "--source",
    "--add-source",
    "-f",
    "--framework",
    "-Version",
    "-Source",
    "-OutputDirectory",
    "--tool-path",
    "--configfile",
    "-n",
    "--name",
    "-Name",
    "--project",
    "--package-directory",
];

pub(super) fn read_cargo(words: &Words<'_>, wishes: &mut Vec<Wish>) {
    if !matches!(words.operand(0), "add" | "install" | "binstall") {
        return;
    }
    let version = words.values(&["--version", "--vers"]).next();
    let place = words
        .values(&["--git"])
        .find_map(find_address)
        .map(Origin::Address)
        .or_else(|| words.values(&["--path"]).next().map(find_local));
    if let Some(origin) = place {
        let name = words.operand(1);
        wishes.push(Wish::Add(Package::from_elsewhere(Ecosystem::Crates, name, origin)));
    } else {
        let before = wishes.len();
        add_packages(Ecosystem::Crates, words.operands_from(1).iter().copied(), wishes);
        fix_versions(wishes, before, version);
    }
    for address in words.values(&["--index"]) {
        add_registry(Ecosystem::Crates, address, false, wishes);
    }
    // Its address stands in cargo's settings.
    for name in words.values(&["--registry"]).filter(|name| *name != "crates-io") {
        add_registry(Ecosystem::Crates, name, false, wishes);
    }
}

pub(super) fn read_go(words: &Words<'_>, wishes: &mut Vec<Wish>) {
    match (words.operand(0), words.operand(1)) {
        ("get" | "install", _) => {
            let modules = words.operands_from(1).iter().copied();
            add_packages(Ecosystem::Go, modules.filter(|term| is_module(term.text)), wishes);
        }
        ("run", module) if is_module(module) && module.contains('@') => {
            add_packages(Ecosystem::Go, words.operands.get(1).copied(), wishes);
        }
        ("mod", "edit") => read_go_edit(words, wishes),
        ("env", _) if words.has(&["-w"]) => {
            for term in words.operands_from(1) {
                if let Some((name, value)) = term.text.split_once('=') {
                    read_assignment(name, value, wishes);
                }
            }
        }
        _ => {}
    }
    if words.has(&["-insecure"]) {
        wishes.push(Wish::Unverified("-insecure".to_owned()));
    }
}

/// Returns true for a module of another machine; the others are folders and the standard library.
fn is_module(text: &str) -> bool {
    let host = text.split('/').next().unwrap_or_default();
    !text.starts_with(['.', '/']) && host.contains('.') && text.contains('/')
}

fn read_go_edit(words: &Words<'_>, wishes: &mut Vec<Wish>) {
    for module in words.values(&["-require", "--require"]) {
        wishes.extend(Package::parse(Ecosystem::Go, module).map(Wish::Add));
    }
    for replacement in words.values(&["-replace", "--replace"]) {
        // `-replace=old=new`, where the new one is a module or a folder.
        if let Some((old, new)) = replacement.split_once('=') {
            wishes.push(Wish::Add(find_replacement(old, new)));
        }
    }
}

/// Returns the package that stands in for a module.
pub(crate) fn find_replacement(old: &str, new: &str) -> Package {
    let (new, old) = (new.trim(), old.trim());
    if new.starts_with(['.', '/']) {
        return Package::from_elsewhere(Ecosystem::Go, old, find_local(new));
    }
    let address = new.split(['@', ' ']).next().unwrap_or(new).to_owned();
    Package::from_elsewhere(Ecosystem::Go, old, Origin::Address(address))
}

pub(super) fn read_gem(words: &Words<'_>, wishes: &mut Vec<Wish>) {
    match words.operand(0) {
        "install" | "i" | "update" | "fetch" => {
            let before = wishes.len();
            add_packages(Ecosystem::Gems, words.operands_from(1).iter().copied(), wishes);
            fix_versions(wishes, before, words.values(&["-v", "--version"]).next());
            let only = words.has(&["--clear-sources"]);
            for address in words.values(&["-s", "--source"]) {
                add_registry(Ecosystem::Gems, address, !only, wishes);
            }
            if words.values(&["-P", "--trust-policy"]).any(|policy| policy == "NoSecurity") {
                wishes.push(Wish::Unverified("--trust-policy NoSecurity".to_owned()));
            }
        }
        "sources" => {
            for address in words.values(&["-a", "--add"]) {
                add_registry(Ecosystem::Gems, address, true, wishes);
            }
        }
        _ => {}
    }
}

pub(super) fn read_bundle(words: &Words<'_>, wishes: &mut Vec<Wish>) {
    match (words.operand(0), words.operand(1)) {
        ("add", name) => {
            let hosted = words.values(&["--github"]).next();
            let place = words
                .values(&["--git"])
                .find_map(find_address)
                .or_else(|| hosted.map(|path| format!("github.com/{path}")))
                .map(Origin::Address)
                .or_else(|| words.values(&["--path"]).next().map(find_local));
            match place {
                Some(origin) => {
                    wishes.push(Wish::Add(Package::from_elsewhere(Ecosystem::Gems, name, origin)));
                }
                None => {
                    let before = wishes.len();
                    add_packages(Ecosystem::Gems, words.operands_from(1).iter().copied(), wishes);
                    fix_versions(wishes, before, words.values(&["-v", "--version"]).next());
                }
            }
            for address in words.values(&["-s", "--source"]) {
                add_registry(Ecosystem::Gems, address, false, wishes);
            }
        }
        ("config", "set") if words.operand(2).starts_with("mirror.") => {
            add_registry(Ecosystem::Gems, words.operand(3), false, wishes);
        }
        ("config", "set") if words.operand(2) == "frozen" && is_off(words.operand(3)) => {
            wishes.push(Wish::Unlocked("frozen false".to_owned()));
        }
        _ => {}
    }
}

pub(super) fn read_composer(words: &Words<'_>, wishes: &mut Vec<Wish>) {
    let skip = usize::from(words.operand(0) == "global");
    match words.operand(skip) {
        "require" | "req" | "update" | "u" | "upgrade" => {
            let packages = words.operands_from(skip + 1).iter().copied();
            add_packages(
                Ecosystem::Packagist,
                packages.filter(|term| term.text.contains('/')),
                wishes,
            );
            read_composer_switches(words, wishes);
        }
        "create-project" => {
            add_packages(Ecosystem::Packagist, words.operands.get(skip + 1).copied(), wishes);
            read_composer_switches(words, wishes);
        }
        "install" | "i" => read_composer_switches(words, wishes),
        "config" => {
            let (key, value) = (words.operand(skip + 1), words.operand(skip + 2));
            if key.starts_with("repositories.") || key.starts_with("repo") {
                let texts = words.operands_from(skip + 2).iter().map(|term| term.text);
                for address in texts.filter(|text| is_address(text)) {
                    add_registry(Ecosystem::Packagist, address, true, wishes);
                }
            } else if key.starts_with("allow-plugins") && !is_off(value) {
                wishes.push(Wish::Scripts(format!("{key} {value}")));
            } else if key == "secure-http" && is_off(value) {
                wishes.push(Wish::Unverified(format!("{key} {value}")));
            }
        }
        _ => {}
    }
}

fn read_composer_switches(words: &Words<'_>, wishes: &mut Vec<Wish>) {
    if words.has(&["--ignore-platform-reqs"]) {
        wishes.push(Wish::Forced("--ignore-platform-reqs".to_owned()));
    }
    let addresses = words.values(&["--repository", "--repository-url", "--add-repository"]);
    for address in addresses {
        add_registry(Ecosystem::Packagist, address, true, wishes);
    }
}

pub(super) fn read_nuget(program: &str, words: &Words<'_>, wishes: &mut Vec<Wish>) {
    let first = match (program, words.operand(0), words.operand(1), words.operand(2)) {
        ("dotnet", "add", "package", _) => 2,
        ("dotnet", "add", _, "package") => 3,
        ("dotnet", "package", "add", _) => 2,
        ("dotnet", "tool", "install" | "update", _) | ("dotnet", "new", "install", _) => 2,
        ("dotnet", "nuget", "add", "source") => {
            add_registry(Ecosystem::Nuget, words.operand(3), true, wishes);
            return;
        }
        ("nuget", "sources" | "source", "add" | "Add", _) => {
            for address in words.values(&["-Source", "-source"]) {
                add_registry(Ecosystem::Nuget, address, true, wishes);
            }
            return;
        }
        ("dotnet", "restore", ..) => usize::MAX,
        ("nuget", "install", ..) | ("paket", "add", ..) => 1,
        ("Install-Package", ..) => 0,
        _ => return,
    };
    let before = wishes.len();
    // A tool's template may be a folder, and one package is added at a time.
    let name = words.operands.get(first).copied();
    add_packages(Ecosystem::Nuget, name.filter(|term| !term.text.contains('/')), wishes);
    fix_versions(wishes, before, words.values(&["-v", "--version", "-Version"]).next());
    let sources = words.values(&["-s", "--source", "--add-source", "-Source"]);
    for address in sources {
        add_registry(Ecosystem::Nuget, address, words.has(&["--add-source"]), wishes);
    }
}

/// Marks the packages from a place on as fixed, if an option names one version.
fn fix_versions(wishes: &mut [Wish], from: usize, version: Option<&str>) {
    if !version.is_some_and(is_exact) {
        return;
    }
    for wish in wishes.get_mut(from..).unwrap_or_default() {
        if let Wish::Add(package) = wish {
            package.pinned = true;
        }
    }
}
