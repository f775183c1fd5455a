//! Resolves a glob to paths within bounds: a glob over a whole disk must not delay a review.

use portcullis_core::facts::is_glob;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

/// The most folder entries that are examined for one glob.
const MOST_ENTRIES: usize = 20_000;

/// Returns the paths that an absolute glob can name now: its expansion by a shell, and paths with
/// literally this name, since a shell passes on a glob without matches unchanged, and a program can
/// get it quoted. Returns `None` if that cannot be determined within bounds; shells differ on `**`
/// and on their extensions.
pub(super) fn matches(pattern: &str) -> Option<Vec<PathBuf>> {
    if !pattern.starts_with('/') || AMBIGUOUS.iter().any(|mark| pattern.contains(mark)) {
        return None;
    }
    let mut found = vec![PathBuf::from("/")];
    let mut seen = 0;
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        found = if is_glob(part) {
            expand(&found, part, &mut seen)?
        } else {
            found
                .into_iter()
                .map(|folder| folder.join(part))
                .filter(|path| path.symlink_metadata().is_ok())
                .collect()
        };
    }
    Some(found)
}

/// Syntax on which shells differ: folders at any depth, extensions, classes by name, and the
/// meaning of a backslash.
const AMBIGUOUS: &[&str] = &["**", "*(", "?(", "!(", "@(", "+(", "[:", "[.", "[=", "\\"];

fn expand(folders: &[PathBuf], part: &str, seen: &mut usize) -> Option<Vec<PathBuf>> {
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
            let hidden = name.starts_with('.') && !part.starts_with('.');
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
            ("**/1.txt", None),
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
