//! Files of settings that say where packages come from.

/// Names of files that say where packages come from.
const FILES: &[&str] = &[
    ".condarc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    "Cargo.toml",
    "Gemfile",
    "bunfig.toml",
    "package.json",
    "pip.conf",
    "pip.ini",
    "uv.toml",
];

/// Returns true for a file that says where packages come from: settings of a package manager, or a
/// list of requirements.
#[must_use]
pub fn names_sources(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let (name, folder) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let listed =
        name.ends_with(".txt") && (name.contains("requirements") || folder == "requirements");
    FILES.contains(&name)
        || listed
        || folder == ".cargo" && matches!(name, "config" | "config.toml")
}

#[cfg(test)]
mod tests {
    use super::names_sources;

    #[test]
    fn settings_of_package_managers_are_known() {
        for path in [
            "/p/.npmrc",
            "/p/requirements-dev.txt",
            "/p/requirements/a.txt",
            "/p/.cargo/config.toml",
            "/p/web/package.json",
        ] {
            assert!(names_sources(path), "{path}");
        }
        for path in ["/p/npmrc", "/p/requirements.md", "/p/config.toml", "/p/notes.txt"] {
            assert!(!names_sources(path), "{path}");
        }
    }
}
