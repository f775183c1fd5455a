//! Which paths a glob names, found within bounds: a glob over a whole disk must not hold a review up.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

/// The most entries of folders that are looked at for one glob.
const MOST_ENTRIES: usize = 20_000;

/// The paths that an absolute glob names now, as a shell expands it; none where that cannot be told
/// within bounds. `**` is never told: shells differ on it.
pub fn matches(pattern: &str) -> Option<Vec<PathBuf>> {
    if !pattern.starts_with('/') || pattern.contains("**") {
        return None;
    }
    let mut found = vec![PathBuf::from("/")];
    let mut seen = 0;
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        found = if part.contains(['*', '?', '[']) {
            expand(&found, part, &mut seen)?
        } else {
            found.into_iter().map(|folder| folder.join(part)).filter(|path| path.symlink_metadata().is_ok()).collect()
        };
    }
    Some(found)
}

fn expand(folders: &[PathBuf], part: &str, seen: &mut usize) -> Option<Vec<PathBuf>> {
    let pattern = glob::Pattern::new(part).ok()?;
    let mut found = Vec::new();
    for folder in folders {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => continue,
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
            ("a/[", None),
        ] {
            let found = matches(&format!("{}/{pattern}", root.display()));
            let expected = expected.map(|paths| paths.iter().map(|path| root.join(path)).collect::<Vec<_>>());
            assert_eq!(found, expected, "{pattern}");
        }
        assert_eq!(matches("*"), None);
    }

    #[test]
    fn gives_up_at_its_bound() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..200 {
            fs::write(folder.path().join(number.to_string()), "").unwrap();
            std::os::unix::fs::symlink(folder.path(), folder.path().join(format!("l{number}"))).unwrap();
        }
        let root = folder.path().display();
        assert_eq!(matches(&format!("{root}/*")).map(|found| found.len()), Some(400));
        assert_eq!(matches(&format!("{root}/*/*/*/*")), None);
    }
}
