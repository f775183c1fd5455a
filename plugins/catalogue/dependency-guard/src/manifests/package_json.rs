//! `package.json` of Node and `composer.json` of PHP.

use crate::commands::is_off;
use crate::ecosystems::Ecosystem;
use crate::json::{self, Member};
use crate::packages::{Package, find_address, is_exact};
use crate::sources::find_registry;
use crate::wishes::Wish;

const SECTIONS: &[&str] = &[
    "dependencies",
    "devDependencies",
    "peerDependencies",
    "optionalDependencies",
    "overrides",
    "resolutions",
    "catalog",
];
/// Keys of a `package.json` whose value looks like a version and is none of a package.
const OTHER_KEYS: &[&str] = &[
    "version",
    "name",
    "node",
    "npm",
    "yarn",
    "pnpm",
    "bun",
    "vscode",
    "packageManager",
    "license",
    "main",
    "module",
    "types",
    "typings",
    "homepage",
    "url",
    "description",
    "author",
    "type",
    "target",
    "lockfileVersion",
    "email",
];
/// Scripts that run whenever somebody installs the package. `prepare` is how hooks are set up.
const INSTALL_SCRIPTS: &[&str] = &["preinstall", "install", "postinstall"];

pub(super) fn read(text: &str, wishes: &mut Vec<Wish>) {
    json::walk(text, |member| read_member(member, wishes));
}

fn read_member(member: &Member<'_>, wishes: &mut Vec<Wish>) {
    let parent = member.parents.last().map_or("", String::as_str);
    let is_piece = parent.is_empty();
    if INSTALL_SCRIPTS.contains(&member.key) && (parent == "scripts" || is_piece) {
        if fetches(member.value) {
            wishes.push(Wish::Scripts(format!("the script {}", member.key)));
        }
    } else if matches!(parent, "trustedDependencies" | "onlyBuiltDependencies") {
        wishes.push(Wish::Scripts(format!("{parent} {}", member.value)));
    } else if SECTIONS.iter().any(|section| member.parents.iter().any(|parent| parent == section)) {
        // Deeper keys of `overrides` name packages too.
        if !member.key.is_empty() {
            wishes.push(Wish::Add(Package::parse_npm_entry(member.key, member.value)));
        }
    } else if is_piece && !OTHER_KEYS.contains(&member.key) && is_version(member.value) {
        wishes.push(Wish::Add(Package::parse_npm_entry(member.key, member.value)));
    }
}

/// Returns true if a value can only be that of a package: a version or a place.
fn is_version(value: &str) -> bool {
    const PLACES: &[&str] = &["npm:", "git+", "git:", "github:", "gitlab:", "file:", "link:"];
    let version = value.trim_start_matches(['^', '~', '>', '<', '=', ' ', 'v']);
    let numbers = version.starts_with(|first: char| first.is_ascii_digit())
        && version
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-+*|<>=^~ ".contains(&byte));
    numbers
        || matches!(value, "*" | "latest" | "next")
        || PLACES.iter().any(|place| value.starts_with(place))
        || (find_address(value).is_some() && value.ends_with(".tgz"))
}

/// Returns true if a script gets or runs what is not in the project.
fn fetches(script: &str) -> bool {
    const SIGNS: &[&str] = &[
        "curl",
        "wget",
        "http://",
        "https://",
        "node -e",
        "node --eval",
        "base64",
        "| sh",
        "|sh",
        "| bash",
        "|bash",
        "eval ",
        "powershell",
        "/dev/tcp",
    ];
    SIGNS.iter().any(|sign| script.contains(sign))
}

pub(super) fn read_composer(text: &str, wishes: &mut Vec<Wish>) {
    json::walk(text, |member| {
        let parent = member.parents.last().map_or("", String::as_str);
        let is_section = matches!(parent, "require" | "require-dev");
        let is_named = member.key.contains('/') && !member.key.contains([' ', ':']);
        if member.parents.iter().any(|parent| parent == "repositories") || member.key == "url" {
            if member.key == "url"
                && let Some(address) = find_registry(Ecosystem::Packagist, member.value)
                && find_address(member.value).is_some()
            {
                wishes.push(Wish::Registry {
                    ecosystem: Ecosystem::Packagist,
                    address,
                    extra: true,
                });
            }
        } else if parent == "allow-plugins" || member.key == "allow-plugins" {
            if !is_off(member.value) {
                wishes.push(Wish::Scripts(format!("allow-plugins {}", member.key)));
            }
        } else if member.key == "secure-http" && is_off(member.value) {
            wishes.push(Wish::Unverified("secure-http false".to_owned()));
        } else if is_named && (is_section || (parent.is_empty() && is_version(member.value))) {
            let pinned = is_exact(member.value);
            wishes.push(Wish::Add(Package::of_registry(Ecosystem::Packagist, member.key, pinned)));
        }
    });
}
