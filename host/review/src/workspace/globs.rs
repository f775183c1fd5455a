//! Resolves a glob to paths within bounds: a glob over a whole disk must not delay a review.

use portcullis_core::facts::is_glob;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

/// The most folder entries that are examined for one glob.
const MOST_ENTRIES: usize = 20_000;

/// Returns the paths that an absolute glob can name now: its expansion by a shell, and paths with
/// literally this name, since a shell passes on a glob without matches unchanged, and a program can
/// get it quoted. Shells differ on `**`: it names everything at any depth here, hidden or not,
/// which is all that any of them could mean. Returns `None` if that cannot be determined within
/// bounds, or if a linked folder is on the way, which only some shells enter.
pub(super) fn matches(pattern: &str) -> Option<Vec<PathBuf>> {
    if !pattern.starts_with('/') || is_ambiguous(pattern) {
        return None;
    }
    let mut found = vec![PathBuf::from("/")];
    let mut seen = 0;
    let deep = pattern.split('/').any(|part| part == "**");
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        found = if part == "**" {
            descend(found, &mut seen)?
        } else if is_glob(part) {
            expand(&found, part, deep, &mut seen)?
        } else {
            found
                .into_iter()
                .map(|folder| folder.join(part))
                .filter(|path| path.symlink_metadata().is_ok())
                .collect()
        };
    }
    if deep {
        found.sort();
        found.dedup();
    }
    Some(found)
}

/// Syntax on which shells differ: `**` as a part of a name, extensions, classes by name, and the
/// meaning of a backslash.
const AMBIGUOUS: &[&str] = &["*(", "?(", "!(", "@(", "+(", "[:", "[.", "[=", "\\"];

fn is_ambiguous(pattern: &str) -> bool {
    AMBIGUOUS.iter().any(|mark| pattern.contains(mark))
        || pattern.split('/').any(|part| part != "**" && part.contains("**"))
}

/// Returns the given paths and everything below them.
fn descend(folders: Vec<PathBuf>, seen: &mut usize) -> Option<Vec<PathBuf>> {
    let mut open: Vec<PathBuf> = folders.clone();
    let mut found = folders;
    while let Some(folder) = open.pop() {
        if !folder.symlink_metadata().is_ok_and(|entry| entry.is_dir()) {
            continue;
        }
        for entry in fs::read_dir(&folder).ok()? {
            *seen += 1;
            if *seen > MOST_ENTRIES {
                return None;
            }
            let entry = entry.ok()?;
            let (path, kind) = (entry.path(), entry.file_type().ok()?);
            path.to_str()?;
            if kind.is_symlink() && path.is_dir() {
                return None;
            }
            if kind.is_dir() {
                open.push(path.clone());
            }
            found.push(path);
        }
    }
    Some(found)
}

/// Returns the entries of the folders that match one part of the pattern; hidden ones too if
/// `deep`.
fn expand(folders: &[PathBuf], part: &str, deep: bool, seen: &mut usize) -> Option<Vec<PathBuf>> {
    // An unclosed bracket is an ordinary character.
    let pattern = glob::Pattern::new(&part.replace("[^", "[!")).ok();
    if pattern.is_none() && part.contains(['*', '?']) {
        return None;
    }
    let mut found: Vec<PathBuf> = folders
        .iter()
        .map(|folder| folder.join(part))
        .filter(|path| path.symlink_metadata().is_ok())
        .collect();
    let Some(pattern) = pattern else { return Some(found) };
    for folder in folders {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                continue;
            }
            Err(_) => return None,
        };
        for entry in entries {
            *seen += 1;
            if *seen > MOST_ENTRIES {
                return None;
            }
            let name = entry.ok()?.file_name();
            let name = name.to_str()?;
            let hidden = !deep && name.starts_with('.') && !part.starts_with('.');
            if !hidden && pattern.matches(name) {
                found.push(folder.join(name));
            }
        }
    }
    found.sort();
    found.dedup();
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_what_a_shell_would_name() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for path in ["a/1.txt", "a/2.txt", "a/.3.txt", "b/1.txt", "b/c/1.txt", "d.txt"] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), "").unwrap();
        }
        std::os::unix::fs::symlink("nowhere", root.join("b/link.txt")).unwrap();
        for (pattern, expected) in [
            ("a/*.txt", Some(vec!["a/1.txt", "a/2.txt"])),
            ("a/.*", Some(vec!["a/.3.txt"])),
            ("*/1.txt", Some(vec!["a/1.txt", "b/1.txt"])),
            ("*/*/[0-9].txt", Some(vec!["b/c/1.txt"])),
            ("b/*.txt", Some(vec!["b/1.txt", "b/link.txt"])),
            ("?", Some(vec!["a", "b"])),
            ("*.rs", Some(vec![])),
            ("none/*", Some(vec![])),
            ("**/1.txt", Some(vec!["a/1.txt", "b/1.txt", "b/c/1.txt"])),
            ("a/**", Some(vec!["a", "a/.3.txt", "a/1.txt", "a/2.txt"])),
            ("a/**/*.txt", Some(vec!["a/.3.txt", "a/1.txt", "a/2.txt"])),
            ("a**/1.txt", None),
            ("a/[", Some(vec![])),
            ("a/[^1]*", Some(vec!["a/2.txt"])),
            ("a/[[:digit:]]*", None),
            ("a/!(1.txt)", None),
            ("a/*(1.txt)", None),
        ] {
            let found = matches(&format!("{}/{pattern}", root.display()));
            let expected =
                expected.map(|paths| paths.iter().map(|path| root.join(path)).collect::<Vec<_>>());
            assert_eq!(found, expected, "{pattern}");
        }
        assert_eq!(matches("*"), None);
        std::os::unix::fs::symlink("../a", root.join("b/linked")).unwrap();
        let linked = format!("{}/**/1.txt", root.display());
        assert_eq!(matches(&linked), None, "only some shells enter a linked folder");
    }

    #[test]
    fn gives_up_at_its_bound() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..200 {
            fs::write(folder.path().join(number.to_string()), "").unwrap();
            std::os::unix::fs::symlink(folder.path(), folder.path().join(format!("l{number}")))
                .unwrap();
        }
        let root = folder.path().display();
        assert_eq!(matches(&format!("{root}/*")).map(|found| found.len()), Some(400));
        assert_eq!(matches(&format!("{root}/*/*/*/*")), None);
    }
}
