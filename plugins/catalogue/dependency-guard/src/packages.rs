//! A package as a command or a manifest names it: its name, where it comes from, and whether its
//! version is fixed.

use crate::ecosystems::Ecosystem;

/// A package that is to be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// The registry that it would come from.
    pub ecosystem: Ecosystem,
    /// Its name as written; empty where only its source says what it is.
    pub name: String,
    /// Where it comes from.
    pub origin: Origin,
    /// The version is one, not a range or the newest.
    pub pinned: bool,
}

/// Where a package comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The registry in force.
    Registry,
    /// A repository or an archive at an address, written as `host/path`.
    Address(String),
    /// An archive on this machine.
    Archive(String),
    /// A folder on this machine.
    Folder(String),
}

impl Package {
    /// Returns a package of a registry.
    pub fn of_registry(ecosystem: Ecosystem, name: &str, pinned: bool) -> Self {
        Self { ecosystem, name: name.to_owned(), origin: Origin::Registry, pinned }
    }

    /// Returns a package from somewhere else. Its version is whatever stands there.
    pub fn from_elsewhere(ecosystem: Ecosystem, name: &str, origin: Origin) -> Self {
        let pinned = !matches!(origin, Origin::Registry);
        Self { ecosystem, name: name.to_owned(), origin, pinned }
    }

    /// Reads a package as the ecosystem's commands write it; none for an empty word.
    pub fn parse(ecosystem: Ecosystem, text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        match ecosystem {
            Ecosystem::Npm => Some(parse_npm(text)),
            Ecosystem::Pypi => parse_requirement(text),
            Ecosystem::Crates => Some(parse_split(ecosystem, text, '@', is_exact_crate)),
            Ecosystem::Go => Some(parse_split(ecosystem, text, '@', is_exact_module)),
            Ecosystem::Gems => Some(parse_gem(text)),
            Ecosystem::Packagist => Some(parse_split(ecosystem, text, ':', is_exact)),
            Ecosystem::Nuget => Some(parse_split(ecosystem, text, '@', is_exact)),
        }
    }

    /// Reads a package of a manifest of Node: a name, and what stands beside it.
    pub fn parse_npm_entry(name: &str, value: &str) -> Self {
        if let Some(aliased) = value.strip_prefix("npm:") {
            return parse_npm(aliased);
        }
        // Packages of the same repository.
        if ["workspace:", "catalog:", "portal:"].iter().any(|prefix| value.starts_with(prefix)) {
            return Self::from_elsewhere(Ecosystem::Npm, name, Origin::Folder(".".to_owned()));
        }
        match find_npm_origin(value) {
            Some(origin) => Self::from_elsewhere(Ecosystem::Npm, name, origin),
            None => Self::of_registry(Ecosystem::Npm, name, is_exact(value)),
        }
    }
}

/// Returns true for one version: `1.2.3`, `v1.2.3`, `=1.2.3`.
pub fn is_exact(version: &str) -> bool {
    let version = version.trim().trim_start_matches(['=', 'v', ' ']);
    version.starts_with(|first: char| first.is_ascii_digit())
        && version.contains('.')
        && !version.contains(['*', 'x', '^', '~', '>', '<', '|', ' ', ','])
}

/// Returns the address without its scheme and its user, as `host/path`; none for other texts.
pub fn find_address(text: &str) -> Option<String> {
    // A long manifest asks for every line.
    if !text.as_bytes().contains(&b':') {
        return None;
    }
    let text = text.strip_prefix("git+").unwrap_or(text);
    let rest = ["https://", "http://", "git://", "ssh://", "git+ssh://", "ftp://", "svn+https://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    if let Some(rest) = rest {
        let start = rest.split('/').next().unwrap_or_default();
        let skipped = start.rfind('@').map_or(0, |at| at + 1);
        return Some(cut_address(rest.get(skipped..)?));
    }
    // `git@host:owner/name`.
    let (user, rest) = text.split_once('@')?;
    let (host, path) = rest.split_once(':')?;
    let is_login = !user.is_empty() && user.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_login && host.contains('.')).then(|| cut_address(&format!("{host}/{path}")))
}

fn cut_address(text: &str) -> String {
    let end = text.find(['#', '?']).unwrap_or(text.len());
    text.get(..end).unwrap_or(text).trim_end_matches('/').to_owned()
}

fn is_exact_crate(version: &str) -> bool {
    version.starts_with('=') && is_exact(version)
}

fn is_exact_module(version: &str) -> bool {
    is_exact(version) || (version.len() >= 7 && version.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn parse_split(
    ecosystem: Ecosystem,
    text: &str,
    separator: char,
    is_exact: fn(&str) -> bool,
) -> Package {
    if let Some(address) = find_address(text) {
        return Package::from_elsewhere(ecosystem, "", Origin::Address(address));
    }
    let (name, version) = text.split_once(separator).unwrap_or((text, ""));
    Package::of_registry(ecosystem, name, is_exact(version))
}

fn parse_gem(text: &str) -> Package {
    if text.ends_with(".gem") {
        let origin =
            find_address(text).map_or_else(|| Origin::Archive(text.to_owned()), Origin::Address);
        return Package::from_elsewhere(Ecosystem::Gems, "", origin);
    }
    parse_split(Ecosystem::Gems, text, ':', is_exact)
}

/// Reads `name`, `name@version`, `@scope/name@tag`, `alias@npm:name`, an address, a file.
fn parse_npm(text: &str) -> Package {
    if let Some(origin) = find_npm_origin(text) {
        return Package::from_elsewhere(Ecosystem::Npm, "", origin);
    }
    let after_scope = usize::from(text.starts_with('@'));
    let at = text.get(after_scope..).and_then(|rest| rest.find('@')).map(|at| at + after_scope);
    match at.and_then(|at| text.split_at_checked(at)) {
        Some((name, version)) => Package::parse_npm_entry(name, version.trim_start_matches('@')),
        None => Package::of_registry(Ecosystem::Npm, text, false),
    }
}

/// Returns where an entry of Node comes from, none for a version or a tag.
fn find_npm_origin(text: &str) -> Option<Origin> {
    const HOSTED: [(&str, &str); 4] = [
        ("github:", "github.com"),
        ("gitlab:", "gitlab.com"),
        ("bitbucket:", "bitbucket.org"),
        ("gist:", "gist.github.com"),
    ];
    if let Some((rest, host)) =
        HOSTED.iter().find_map(|(prefix, host)| Some((text.strip_prefix(prefix)?, host)))
    {
        return Some(Origin::Address(cut_address(&format!("{host}/{rest}"))));
    }
    if let Some(address) = find_address(text) {
        return Some(Origin::Address(address));
    }
    let path = text.strip_prefix("file:").or_else(|| text.strip_prefix("link:"));
    let path = path.or_else(|| text.starts_with(['.', '/', '~']).then_some(text));
    if let Some(path) = path.or_else(|| is_archive(text).then_some(text)) {
        return Some(find_local(path));
    }
    // `owner/name` is a repository on GitHub.
    let is_hosted = !text.starts_with('@')
        && !text.contains([':', ' '])
        && text.split('/').count() == 2
        && !text.split('/').any(str::is_empty);
    is_hosted.then(|| Origin::Address(cut_address(&format!("github.com/{text}"))))
}

/// Returns the origin of something on this machine.
pub fn find_local(path: &str) -> Origin {
    if is_archive(path) {
        Origin::Archive(path.to_owned())
    } else {
        Origin::Folder(path.to_owned())
    }
}

fn is_archive(path: &str) -> bool {
    [".tgz", ".tar.gz", ".tar.bz2", ".zip", ".whl", ".gem", ".nupkg", ".crate", ".egg"]
        .iter()
        .any(|ending| path.ends_with(ending))
}

/// Reads a requirement of Python: `name[extra]>=1; marker`, `name @ address`, a path, an address.
fn parse_requirement(text: &str) -> Option<Package> {
    if let Some(address) = find_address(text) {
        let name = text.split_once("#egg=").map_or("", |(_, name)| name);
        let name = name.split(['&', '[']).next().unwrap_or_default();
        return Some(Package::from_elsewhere(Ecosystem::Pypi, name, Origin::Address(address)));
    }
    let is_commented = text.as_bytes().contains(&b'#');
    let text = if is_commented { text.split(" #").next().unwrap_or(text).trim() } else { text };
    let length = text
        .find(|letter: char| !(letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.')))
        .unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(length)?;
    let is_path = text.starts_with(['.', '/', '~'])
        || rest.starts_with(['/', '\\'])
        || is_archive(text.split('[').next().unwrap_or(text));
    if is_path {
        let path = text.split('[').next().unwrap_or(text);
        return Some(Package::from_elsewhere(Ecosystem::Pypi, "", find_local(path)));
    }
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or(rest, |x| x.1);
    let rest = rest.split(';').next().unwrap_or_default().trim();
    if let Some(place) = rest.strip_prefix('@').map(str::trim) {
        // `name@1.2` is how uv and pipx write a version.
        let Some(address) = find_address(place) else {
            let is_file = place.strip_prefix("file:");
            return Some(match is_file {
                Some(path) => {
                    let path = path.trim_start_matches("//");
                    Package::from_elsewhere(Ecosystem::Pypi, name, find_local(path))
                }
                None => Package::of_registry(Ecosystem::Pypi, name, is_exact(place)),
            });
        };
        return Some(Package::from_elsewhere(Ecosystem::Pypi, name, Origin::Address(address)));
    }
    let pinned = rest.strip_prefix("==").is_some_and(|version| !version.contains(['*', ',']));
    let is_version = rest.is_empty() || rest.starts_with(['=', '>', '<', '~', '!', '^', '(']);
    (!name.is_empty() && is_version).then(|| Package::of_registry(Ecosystem::Pypi, name, pinned))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(ecosystem: Ecosystem, text: &str) -> String {
        let Some(package) = Package::parse(ecosystem, text) else { return "nothing".into() };
        let origin = match package.origin {
            Origin::Registry => String::new(),
            Origin::Address(address) => format!(" at {address}"),
            Origin::Archive(path) => format!(" in {path}"),
            Origin::Folder(path) => format!(" below {path}"),
        };
        let pinned = if package.pinned { " pinned" } else { "" };
        format!("{}{origin}{pinned}", package.name)
    }

    #[test]
    fn packages_are_read_as_commands_write_them() {
        use Ecosystem::{Crates, Gems, Go, Npm, Packagist, Pypi};
        for (ecosystem, text, expected) in [
            (Npm, "lodash", "lodash"),
            (Npm, "lodash@4.17.21", "lodash pinned"),
            (Npm, "@types/node@^20", "@types/node"),
            (Npm, "mine@npm:lodash@4.1.2", "lodash pinned"),
            (Npm, "acme/thing", " at github.com/acme/thing pinned"),
            (Npm, "git+ssh://git@host.example/a/b.git#v1", " at host.example/a/b.git pinned"),
            (Npm, "mine@github:acme/thing", "mine at github.com/acme/thing pinned"),
            (Npm, "./lib", " below ./lib pinned"),
            (Npm, "file:../a.tgz", " in ../a.tgz pinned"),
            (Pypi, "requests[socks]>=2 ; python_version < '3'", "requests"),
            (Pypi, "requests==2.31.0", "requests pinned"),
            (Pypi, "requests==2.*", "requests"),
            (Pypi, "a @ git+https://host.example/a", "a at host.example/a pinned"),
            (Pypi, "git+https://u@host.example/a#egg=b", "b at host.example/a pinned"),
            (Pypi, "ruff@0.4.1", "ruff pinned"),
            (Pypi, "./x.whl", " in ./x.whl pinned"),
            (Pypi, "dist/x-1.0.tar.gz", " in dist/x-1.0.tar.gz pinned"),
            (Pypi, ".[dev]", " below . pinned"),
            (Pypi, "not a package", "nothing"),
            (Crates, "serde@=1.0.1", "serde pinned"),
            (Crates, "serde@1", "serde"),
            (Go, "example.com/a/b@v1.2.3", "example.com/a/b pinned"),
            (Go, "example.com/a/b@latest", "example.com/a/b"),
            (Gems, "rails:7.1.2", "rails pinned"),
            (Gems, "/tmp/a.gem", " in /tmp/a.gem pinned"),
            (Packagist, "a/b:1.2.3", "a/b pinned"),
        ] {
            assert_eq!(reported(ecosystem, text), expected, "{text}");
        }
    }
}
