//! The registries whose packages are known, and how each spells a name.

use crate::names;

/// A language's world of packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecosystem {
    /// Node: npm, pnpm, yarn, bun, deno.
    Npm,
    /// Python: pip, uv, poetry, pipx, pdm, pipenv.
    Pypi,
    /// Rust: cargo.
    Crates,
    /// Go modules.
    Go,
    /// Ruby: gem, bundle.
    Gems,
    /// PHP: composer.
    Packagist,
    /// .NET: dotnet, nuget.
    Nuget,
}

impl Ecosystem {
    /// All of them, in the order of their names in settings.
    pub const ALL: [Self; 7] =
        [Self::Npm, Self::Pypi, Self::Crates, Self::Go, Self::Gems, Self::Packagist, Self::Nuget];

    /// Returns the name used in settings and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pypi => "pypi",
            Self::Crates => "crates",
            Self::Go => "go",
            Self::Gems => "gems",
            Self::Packagist => "packagist",
            Self::Nuget => "nuget",
        }
    }

    /// Returns the names that people install most.
    pub fn popular(self) -> &'static [&'static str] {
        match self {
            Self::Npm => names::NPM,
            Self::Pypi => names::PYPI,
            Self::Crates => names::CRATES,
            Self::Go => names::GO,
            Self::Gems => names::GEMS,
            Self::Packagist => names::PACKAGIST,
            Self::Nuget => names::NUGET,
        }
    }

    /// Returns true if the registry takes `-`, `_` and `.` for the same character, so that names
    /// that differ in these alone are one package.
    pub const fn folds_separators(self) -> bool {
        matches!(self, Self::Pypi | Self::Crates)
    }

    /// Returns true if a name belongs to whoever owns its first part (a scope, a vendor, an account
    /// of a forge), so that nobody else can publish below it.
    pub const fn has_owners(self) -> bool {
        matches!(self, Self::Go | Self::Packagist)
    }

    /// Returns the hosts of the public registry, and of mirrors that its maintainers run.
    pub const fn public_hosts(self) -> &'static [&'static str] {
        match self {
            Self::Npm => &["registry.npmjs.org", "registry.yarnpkg.com", "npm.jsr.io", "jsr.io"],
            Self::Pypi => &[
                "pypi.org",
                "files.pythonhosted.org",
                "pypi.python.org",
                "download.pytorch.org",
                "pypi.nvidia.com",
            ],
            Self::Crates => &["crates.io", "index.crates.io", "static.crates.io"],
            Self::Go => &["proxy.golang.org", "sum.golang.org"],
            Self::Gems => &["rubygems.org", "index.rubygems.org"],
            Self::Packagist => &["packagist.org", "repo.packagist.org"],
            Self::Nuget => &["api.nuget.org", "www.nuget.org", "nuget.org"],
        }
    }

    /// Spells a name as the registry compares it: in lower case where case does not count, and
    /// without what does not belong to the name (a module's version, folders inside it).
    pub fn normalise(self, name: &str) -> String {
        match self {
            Self::Gems => name.to_owned(),
            Self::Pypi => name.to_lowercase().replace(['_', '.'], "-"),
            Self::Go => cut_module(&name.to_lowercase()),
            _ => name.to_lowercase(),
        }
    }
}

/// Forges on which a module is `host/owner/repository`.
const FORGES: &[&str] = &["github.com", "gitlab.com", "bitbucket.org", "codeberg.org"];

fn cut_module(path: &str) -> String {
    let host = path.split('/').next().unwrap_or_default();
    if !FORGES.contains(&host) {
        return path.to_owned();
    }
    let parts: Vec<&str> = path.split('/').take(3).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelled_as_the_registry_compares_them() {
        for (ecosystem, name, spelled) in [
            (Ecosystem::Pypi, "Typing_Extensions", "typing-extensions"),
            (Ecosystem::Npm, "React", "react"),
            (Ecosystem::Go, "github.com/Masterminds/sprig/v3", "github.com/masterminds/sprig"),
            (Ecosystem::Go, "golang.org/x/tools/cmd/stringer", "golang.org/x/tools/cmd/stringer"),
            (Ecosystem::Nuget, "Newtonsoft.Json", "newtonsoft.json"),
            (Ecosystem::Gems, "RedCloth", "RedCloth"),
        ] {
            assert_eq!(ecosystem.normalise(name), spelled);
        }
    }
}
