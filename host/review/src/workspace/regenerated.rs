//! Files and folders that a build, an install or a run of the tests recreates.
//!
//! A name alone proves nothing on a disk, unless only one tool gives it: git must ignore the path,
//! or a file beside it or in it must name the tool that creates it.

use std::path::Path;

/// Folders that hold nothing but what a tool recreates, whatever is beside them: nobody but the
/// tool gives these names.
const FOLDERS: &[&str] = &[
    "__pycache__",
    ".angular",
    ".aws-sam",
    ".bloop",
    ".cache",
    ".cpcache",
    ".cxx",
    ".dart_tool",
    ".docusaurus",
    ".eggs",
    ".elixir_ls",
    ".expo",
    ".externalNativeBuild",
    ".gradle",
    ".hypothesis",
    ".ipynb_checkpoints",
    ".jekyll-cache",
    ".kotlin",
    ".lsp-cache",
    ".metals",
    ".mypy_cache",
    ".next",
    ".nitro",
    ".nox",
    ".nuxt",
    ".nyc_output",
    ".output",
    ".parcel-cache",
    ".pdm-build",
    ".pytest_cache",
    ".pytype",
    ".ruff_cache",
    ".sass-cache",
    ".scala-build",
    ".serverless",
    ".shadow-cljs",
    ".stack-work",
    ".svelte-kit",
    ".swc",
    ".terraform",
    ".terragrunt-cache",
    ".tox",
    ".turbo",
    ".vite",
    ".webpack",
    ".wireit",
    ".zig-cache",
    "blob-report",
    "cdk.out",
    "CMakeFiles",
    "DerivedData",
    "dist-newstyle",
    "elm-stuff",
    "Pods",
    "playwright-report",
    "storybook-static",
    "test-results",
    "zig-cache",
    "zig-out",
];

/// Files that only one tool writes, and from which nobody but it reads.
const FILES: &[&str] = &[
    ".coverage",
    ".DS_Store",
    ".eslintcache",
    ".phpunit.result.cache",
    ".stylelintcache",
    "CMakeCache.txt",
    "coverage.xml",
    "lcov.info",
    "Thumbs.db",
];

/// Folders that a tool recreates if the file that it leaves there is in them.
const MARKED: &[(&str, &str)] = &[
    ("*", "CACHEDIR.TAG"),
    ("*", "CMakeCache.txt"),
    (".venv", "pyvenv.cfg"),
    ("env", "pyvenv.cfg"),
    ("node_modules", ".modules.yaml"),
    ("node_modules", ".package-lock.json"),
    ("node_modules", ".yarn-integrity"),
    ("obj", "project.assets.json"),
    ("Pods", "Manifest.lock"),
    ("venv", "pyvenv.cfg"),
];

/// Folders of a build, a cache or a run that count where git is told to ignore them, at any depth.
const IGNORED_FOLDERS: &[&str] = &[
    "bin",
    "build",
    "cache",
    "coverage",
    "deps",
    "dist",
    "gen",
    "generated",
    "htmlcov",
    "log",
    "logs",
    "node_modules",
    "obj",
    "out",
    "Pods",
    "target",
    "temp",
    "tmp",
    "vendor",
];

/// Folders that a tool recreates if one of its own files is beside them.
const FOLDERS_OF_TOOLS: &[(&[&str], &[&str])] = &[
    (&["node_modules"], &["package.json"]),
    (&["target"], &["Cargo.toml", "pom.xml", "build.sbt"]),
    (
        &["dist", "build", "out", "coverage", "htmlcov"],
        &[
            "package.json",
            "pyproject.toml",
            "setup.py",
            "CMakeLists.txt",
            "build.gradle",
            "build.gradle.kts",
            "Makefile",
            "meson.build",
            "Cargo.toml",
            "go.mod",
        ],
    ),
    (&["_build", "deps"], &["mix.exs"]),
    (&["_build"], &["conf.py", "dune-project", "Makefile"]),
    (&["vendor"], &["composer.json", "Gemfile", "go.mod"]),
    (&["Pods"], &["Podfile"]),
    (&[".build"], &["Package.swift"]),
    (&["cmake-build-debug", "cmake-build-release"], &["CMakeLists.txt"]),
    (&["_site"], &["_config.yml", ".eleventy.js", "eleventy.config.js"]),
    (&["site"], &["mkdocs.yml"]),
    (&["public", "resources"], &["hugo.toml", "hugo.yaml"]),
];

/// Ends of names of files and folders that a compiler, a test run or an editor recreates.
const ENDS: &[&str] = &[
    ".aux",
    ".bbl",
    ".bcf",
    ".beam",
    ".blg",
    ".class",
    ".cmi",
    ".cmo",
    ".cmx",
    ".egg-info",
    ".fdb_latexmk",
    ".fls",
    ".gcda",
    ".gch",
    ".gcno",
    ".hi",
    ".lo",
    ".lof",
    ".lot",
    ".nav",
    ".o",
    ".obj",
    ".profraw",
    ".pyc",
    ".pyo",
    ".run.xml",
    ".snap.new",
    ".snm",
    ".swp",
    ".synctex.gz",
    ".toc",
    ".tsbuildinfo",
];

/// Ends of names of files that a running program leaves behind. They tell about the past, so they
/// count only if git is told to ignore them.
const LEFT_BEHIND: &[&str] = &[".log", ".pid", ".tmp"];

/// The most folders above a path that are examined.
const MOST_ANCESTORS: usize = 12;

/// Returns true if a tool recreates it, judged by its name and by the files in it or next to it.
pub(super) fn is_recreated(path: &Path) -> bool {
    is_recreated_among(path, &Path::exists)
}

/// Returns true if a tool recreates it, where `exists` tells which files there are.
pub(super) fn is_recreated_among(path: &Path, exists: &dyn Fn(&Path) -> bool) -> bool {
    path.ancestors().take(MOST_ANCESTORS).any(|part| {
        let beside = |names: &&[&str]| {
            part.parent().is_some_and(|folder| names.iter().any(|name| exists(&folder.join(name))))
        };
        let name = name_of(part);
        by_name(name)
            || tools_of(name).any(|tools| beside(&tools))
            || MARKED.iter().any(|(of, mark)| [name, "*"].contains(of) && exists(&part.join(mark)))
    })
}

/// Returns true if git is right to ignore it and nobody misses it: a tool recreates it, a program
/// left it behind, or it is in a folder of builds or scratch. `root` is the project's folder.
pub(super) fn is_ignored_for_good(path: &Path, root: &Path) -> bool {
    is_ignored_for_good_among(path, root, &Path::exists)
}

/// Returns what [`is_ignored_for_good`] does, where `exists` tells which files there are.
pub(super) fn is_ignored_for_good_among(
    path: &Path,
    root: &Path,
    exists: &dyn Fn(&Path) -> bool,
) -> bool {
    let name = name_of(path);
    let left_behind = LEFT_BEHIND.iter().any(|end| name.ends_with(end));
    // The project itself may lie in a folder of such a name.
    let below = path.strip_prefix(root).unwrap_or(Path::new(""));
    let in_a_build = || below.ancestors().any(|part| IGNORED_FOLDERS.contains(&name_of(part)));
    left_behind || in_a_build() || is_recreated_among(path, exists)
}

fn by_name(name: &str) -> bool {
    FOLDERS.contains(&name)
        || FILES.contains(&name)
        || ENDS.iter().any(|end| name.len() > end.len() && name.ends_with(end))
}

/// Returns the files that show which tools recreate a folder of that name.
fn tools_of(name: &str) -> impl Iterator<Item = &'static [&'static str]> {
    let rows = FOLDERS_OF_TOOLS.iter().filter(move |(folders, _)| folders.contains(&name));
    rows.map(|(_, tools)| *tools)
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_tools_recreate() {
        let scratch = tempfile::tempdir().unwrap();
        // Names above the project do not count.
        let root = &scratch.path().join("build/app");
        std::fs::create_dir_all(root.join("docs")).unwrap();
        std::fs::create_dir_all(root.join("make")).unwrap();
        std::fs::create_dir_all(root.join("api/obj")).unwrap();
        std::fs::write(root.join("package.json"), "{}").unwrap();
        std::fs::write(root.join("make/CMakeCache.txt"), "").unwrap();
        std::fs::write(root.join("api/obj/project.assets.json"), "{}").unwrap();
        let rows = [
            // (path, recreated, ignored for good)
            ("node_modules/x/index.js", true, true),
            ("dist", true, true),
            ("docs/dist", false, true),
            ("target/debug", false, true),
            ("src/__pycache__", true, true),
            ("app.egg-info", true, true),
            ("src/main.o", true, true),
            ("server.log", false, true),
            ("tmp/server.pid", false, true),
            ("tmp/test.sqlite3", false, true),
            ("ios/Pods", true, true),
            ("api/obj", true, true),
            ("web/obj", false, true),
            ("make", true, true),
            ("make/x/y", true, true),
            (".dart_tool/x", true, true),
            ("test-results", true, true),
            (".coverage", true, true),
            ("thesis.aux", true, true),
            ("thesis.pdf", false, false),
            ("models/a.weights", false, false),
            ("src", false, false),
            (".o", false, false),
            ("notes/build.md", false, false),
            ("data.sqlite3", false, false),
            ("data/tmp.csv", false, false),
            (".env", false, false),
        ];
        for (path, recreated, ignored) in rows {
            let full = root.join(path);
            assert_eq!(is_recreated(&full), recreated, "{path} on a disk");
            assert_eq!(is_ignored_for_good(&full, root), ignored, "{path} ignored");
        }
    }
}
