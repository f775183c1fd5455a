//! Addresses among the words of package managers: whatever flag or key one follows, packages come
//! from there. The catalogue says which words are names of owners, channels and the like; an
//! address needs no such knowledge.

use super::Walker;
use super::expand::Field;
use super::sources::{host_of, is_address, is_foreign_registry, is_image_host};
use crate::catalogue::Plan;

/// Programs that fetch packages, extensions, plugins or settings of where these come from.
const MANAGERS: &[&str] = &[
    "amm",
    "ansible-galaxy",
    "antigen",
    "apk",
    "apm",
    "apt",
    "apt-get",
    "aptitude",
    "arduino-cli",
    "asdf",
    "basher",
    "box",
    "brew",
    "bun",
    "bundle",
    "bundler",
    "cabal",
    "cargo",
    "cargo-binstall",
    "carthage",
    "choco",
    "clib",
    "code",
    "code-insiders",
    "codium",
    "composer",
    "conan",
    "conda",
    "coursier",
    "cpan",
    "cpanm",
    "cpanp",
    "cpm",
    "cs",
    "cursor",
    "dart",
    "deno",
    "devbox",
    "dnf",
    "dotnet",
    "drush",
    "dub",
    "easy_install",
    "emerge",
    "eopkg",
    "eselect",
    "fisher",
    "flatpak",
    "flox",
    "flutter",
    "gem",
    "gradle",
    "gradlew",
    "guix",
    "haxelib",
    "helm",
    "jsr",
    "jupyter",
    "krew",
    "layman",
    "luarocks",
    "mamba",
    "microdnf",
    "micromamba",
    "mise",
    "mix",
    "msiexec",
    "nala",
    "nimble",
    "nix-channel",
    "nix-env",
    "npm",
    "nuget",
    "oh-my-posh",
    "omf",
    "opam",
    "opkg",
    "pacman",
    "paru",
    "pdm",
    "pip",
    "pip3",
    "pipenv",
    "pipx",
    "pixi",
    "pkg",
    "pkgin",
    "pnpm",
    "pod",
    "poetry",
    "port",
    "proto",
    "raco",
    "rebar3",
    "rpm",
    "rtx",
    "rustup",
    "rye",
    "scoop",
    "shards",
    "sheldon",
    "snap",
    "spack",
    "tdnf",
    "tfenv",
    "tlmgr",
    "uv",
    "vagrant",
    "vcpkg",
    "windsurf",
    "winget",
    "wp",
    "xbps-install",
    "yarn",
    "yay",
    "yum",
    "zef",
    "zinit",
    "zplug",
    "zypper",
];
/// Subcommands that publish, look or run what is there already.
const OTHER: &[&str] = &[
    "access",
    "adduser",
    "audit",
    "build",
    "dist-tag",
    "docs",
    "doctor",
    "ef",
    "exec",
    "export",
    "info",
    "list",
    "login",
    "logout",
    "ls",
    "outdated",
    "owner",
    "ping",
    "publish",
    "push",
    "query",
    "remove",
    "rm",
    "run",
    "run-script",
    "search",
    "show",
    "start",
    "status",
    "task",
    "team",
    "test",
    "token",
    "trust",
    "uninstall",
    "unpublish",
    "untap",
    "upload",
    "view",
    "watch",
    "whoami",
    "yank",
];
/// Parts of flags and keys whose address is something else.
const NOT_SOURCES: &[&str] =
    &["api", "author", "bugs", "callback", "description", "endpoint", "home", "proxy", "urls"];

impl Walker<'_> {
    /// Notes packages from an address that nobody vouches for, wherever the address stands.
    pub(super) fn source_addresses(&mut self, name: &str, rest: &[Field], plan: &Plan) {
        let manages = MANAGERS.binary_search(&name).is_ok()
            || (name == "kubectl" && rest.first().is_some_and(|word| word.text == "krew"));
        if !manages || plan.nothing {
            return;
        }
        let verb = rest.iter().find(|field| !field.text.starts_with(['-', '+']));
        let describes = |verb: &str| verb == "pkg" && matches!(name, "npm" | "pnpm");
        if verb.is_some_and(|verb| OTHER.contains(&verb.text.as_str()) || describes(&verb.text)) {
            return;
        }
        let mut skips_value = false;
        for field in rest.iter().take_while(|field| field.text != "--") {
            let text = field.text.as_str();
            let flag = text.starts_with('-');
            let (key, value) = match text.split_once('=') {
                // An address may hold a `=` itself, in its query: then the whole word is the value.
                Some((key, value)) if flag || !key.contains("://") => (key, value),
                _ if flag => (text, ""),
                _ => ("", text),
            };
            let low = key.to_ascii_lowercase();
            let skips = flag && low.starts_with("--set")
                || NOT_SOURCES.iter().any(|part| low.contains(part));
            let host = host_of(value);
            // Charts come from registries of images, some of which the community runs.
            let is_chart = value.starts_with("oci://") && is_image_host(&host);
            let foreign = is_address(value) && is_foreign_registry(value) && !is_chart;
            if foreign && !skips_value && !skips {
                let source = if host.is_empty() { host } else { format!(": {host}") };
                self.out.gap(&format!("a package from a source that nobody vouches for{source}"));
            }
            // Its value is the next word.
            skips_value =
                value.is_empty() && skips || !flag && text.to_ascii_lowercase().ends_with("proxy");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn managers_are_sorted() {
        assert!(MANAGERS.is_sorted(), "binary search needs it");
    }
}
