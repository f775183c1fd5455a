//! Tools of MCP servers that install packages.

use crate::ecosystems::Ecosystem;
use crate::json;
use crate::packages::Package;
use crate::wishes::Wish;
use portcullis_plugin::types::ToolCall;

const VERBS: &[&str] = &[
    "install",
    "add_package",
    "add_dependency",
    "add_dependencies",
    "add-package",
    "add-dependency",
];
const ARGUMENTS: &[&str] = &[
    "package",
    "packages",
    "package_name",
    "packagename",
    "name",
    "names",
    "dependency",
    "dependencies",
    "module",
    "modules",
    "crate",
    "gem",
    "requirement",
    "requirements",
];

/// Returns the packages that a tool installs, as far as its name and arguments tell.
pub fn list_wishes(call: &ToolCall) -> Vec<Wish> {
    let name = call.name.to_ascii_lowercase();
    if !VERBS.iter().any(|verb| name.contains(verb)) {
        return Vec::new();
    }
    let server = call.server.as_deref().unwrap_or_default().to_ascii_lowercase();
    let Some(ecosystem) = find_ecosystem(&format!("{server} {name}"), call) else {
        return Vec::new();
    };
    let mut wishes = Vec::new();
    let named = call
        .arguments
        .iter()
        .filter(|argument| ARGUMENTS.contains(&argument.name.to_ascii_lowercase().as_str()));
    for argument in named {
        let value = argument.value.trim();
        if value.starts_with(['[', '{']) {
            json::walk(value, |member| {
                let text = if member.parents.len() > 1 && member.key != "name" {
                    ""
                } else {
                    member.value
                };
                wishes.extend(Package::parse(ecosystem, text).map(Wish::Add));
            });
        } else {
            for word in value.split_whitespace() {
                wishes.extend(Package::parse(ecosystem, word).map(Wish::Add));
            }
        }
    }
    wishes
}

/// Returns the ecosystem that the tool's name or one of its arguments speaks of.
fn find_ecosystem(name: &str, call: &ToolCall) -> Option<Ecosystem> {
    const SIGNS: &[(&str, Ecosystem)] = &[
        ("npm", Ecosystem::Npm),
        ("node", Ecosystem::Npm),
        ("yarn", Ecosystem::Npm),
        ("pip", Ecosystem::Pypi),
        ("pypi", Ecosystem::Pypi),
        ("python", Ecosystem::Pypi),
        ("uv", Ecosystem::Pypi),
        ("poetry", Ecosystem::Pypi),
        ("cargo", Ecosystem::Crates),
        ("crate", Ecosystem::Crates),
        ("rust", Ecosystem::Crates),
        ("golang", Ecosystem::Go),
        ("gem", Ecosystem::Gems),
        ("ruby", Ecosystem::Gems),
        ("composer", Ecosystem::Packagist),
        ("nuget", Ecosystem::Nuget),
        ("dotnet", Ecosystem::Nuget),
    ];
    let find = |text: &str| SIGNS.iter().find(|(sign, _)| text.contains(sign)).map(|(_, of)| *of);
    let manager = call.arguments.iter().find(|argument| {
        matches!(
            argument.name.as_str(),
            "manager" | "ecosystem" | "package_manager" | "registry" | "language"
        )
    });
    manager.and_then(|argument| find(&argument.value.to_ascii_lowercase())).or_else(|| find(name))
}
