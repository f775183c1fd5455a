//! The definition of a test.

const NEVER: &[&str] = &[
    "node_modules",
    "target",
    "build",
    "dist",
    "vendor",
    "venv",
    ".venv",
    ".tox",
    ".git",
    ".pytest_cache",
    "__pycache__",
    "__snapshots__",
    "fixtures",
    "testdata",
];
const ENDINGS: &[&str] = &[
    "py", "rs", "js", "jsx", "mjs", "cjs", "ts", "tsx", "go", "java", "kt", "rb", "php", "c", "cc",
    "cpp", "h", "cs", "swift", "scala", "ex", "exs", "sh", "lua", "dart",
];

/// The folders in which tests are found.
pub struct Project<'a> {
    /// Its folders.
    pub roots: &'a [String],
    /// Names of folders that hold tests.
    pub folders: Vec<&'a str>,
}

impl Project<'_> {
    /// Returns the location of a path in the project; none outside of it.
    pub fn place<'p>(&self, path: &'p str) -> Option<&'p str> {
        self.roots
            .iter()
            .find_map(|root| path.strip_prefix(root.as_str())?.strip_prefix('/'))
            .filter(|place| !place.is_empty())
    }

    /// Returns the location of a path that is a test.
    pub fn test<'p>(&self, path: &'p str) -> Option<&'p str> {
        self.place(path).filter(|place| self.is_test(place))
    }

    fn is_test(&self, place: &str) -> bool {
        if is_never_one(place) {
            return false;
        }
        let name = name(place);
        let mut folders = place.split('/').rev().skip(1);
        is_named_as_test(name)
            || self.folders.contains(&name)
            || (ENDINGS.contains(&ending(name))
                && folders.any(|folder| self.folders.contains(&folder)))
    }
}

/// Returns true if one of its parts is a folder that never holds tests.
pub fn is_never_one(path: &str) -> bool {
    path.split('/').any(|part| NEVER.contains(&part))
}

/// Returns true if the name is that of a test.
pub fn is_named_as_test(name: &str) -> bool {
    let Some((stem, _)) = name.rsplit_once('.') else { return false };
    let capital = |rest: &str| rest.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase());
    stem.starts_with("test_")
        || ["_test", "_tests", "_spec", ".test", ".spec", "Test", "Tests"]
            .iter()
            .any(|end| stem.ends_with(end))
        || stem.strip_prefix("Test").is_some_and(capital)
}

/// Returns the last part of a path.
pub fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

fn ending(name: &str) -> &str {
    name.rsplit_once('.').map(|(_, ending)| ending).unwrap_or_default()
}
