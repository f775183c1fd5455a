//! Resolves a path with `..`: component by component, as the system does.

use portcullis_core::facts::{climbs_above, collapse_path, is_glob};
use portcullis_core::observe::ClimbTarget;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The most components of a path that are followed.
const MOST_PARTS: usize = 256;

/// Returns the target of the path; `None` if it has no `..`. Parts after the last `..` are not
/// followed: they may be a link that is meant itself.
pub(super) fn resolve_climb(path: &str) -> Option<ClimbTarget> {
    climbs_above(path).then(|| follow(path))
}

fn follow(path: &str) -> ClimbTarget {
    let parts: Vec<&str> =
        path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let climbing = parts.iter().rposition(|part| *part == "..").map_or(0, |last| last + 1);
    // A glob before a `..` can name several folders.
    if parts.len() > MOST_PARTS || parts.iter().take(climbing).any(|part| is_glob(part)) {
        return ClimbTarget::Unknown;
    }
    let mut at = PathBuf::from("/");
    let mut missing = None;
    for part in parts {
        if part != ".." {
            at.push(part);
            continue;
        }
        match up(&at) {
            Ok(above) => at = above,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                missing.get_or_insert_with(|| at.clone());
                at.pop();
            }
            Err(_) => return ClimbTarget::Unknown,
        }
    }
    match (missing.as_deref().map(Path::to_str), at.to_str()) {
        (None, Some(there)) => ClimbTarget::To(there.to_owned()),
        // The text determines the rest only if no link is on the way.
        (Some(Some(missing)), Some(there)) if there == collapse_path(path) => {
            ClimbTarget::Missing(missing.to_owned())
        }
        _ => ClimbTarget::Unknown,
    }
}

/// Returns the folder that `..` means from there: its parent by name, unless a link leads
/// elsewhere.
fn up(folder: &Path) -> std::io::Result<PathBuf> {
    let real = fs::canonicalize(folder)?;
    if !real.is_dir() {
        return Err(ErrorKind::NotADirectory.into());
    }
    let above = real.parent().unwrap_or(&real).to_path_buf();
    match folder.parent() {
        Some(named) if fs::canonicalize(named).is_ok_and(|named| named == above) => {
            Ok(named.to_path_buf())
        }
        _ => Ok(above),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn goes_where_the_system_goes() {
        let scratch = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(scratch.path()).unwrap();
        fs::create_dir_all(root.join("w/deep/sub")).unwrap();
        fs::create_dir_all(root.join("other")).unwrap();
        fs::write(root.join("w/file"), "").unwrap();
        for (link, to) in
            [("w/link", "w/deep/sub"), ("w/out", "other"), ("way", "w"), ("w/chain", "w/link")]
        {
            symlink(root.join(to), root.join(link)).unwrap();
        }
        symlink("loop", root.join("w/loop")).unwrap();
        let full = |path: &str| root.join(path).display().to_string();
        for (path, expected) in [
            ("w/deep/../x", ClimbTarget::To(full("w/x"))),
            ("w/deep/sub/../../x", ClimbTarget::To(full("w/x"))),
            ("w/link/../work", ClimbTarget::To(full("w/deep/work"))),
            ("w/link/../../work", ClimbTarget::To(full("w/work"))),
            ("w/chain/../work", ClimbTarget::To(full("w/deep/work"))),
            ("w/out/../x", ClimbTarget::To(full("x"))),
            ("w/out/../w/link", ClimbTarget::To(full("w/link"))),
            ("w/link/../*", ClimbTarget::To(full("w/deep/*"))),
            ("w/link/..", ClimbTarget::To(full("w/deep"))),
            // A link that all paths of a project pass through is kept in them.
            ("way/deep/../x", ClimbTarget::To(full("way/x"))),
            ("w/none/../x", ClimbTarget::Missing(full("w/none"))),
            ("w/file/../x", ClimbTarget::Missing(full("w/file"))),
            ("w/none/../link/../x", ClimbTarget::Unknown),
            ("w/loop/../x", ClimbTarget::Unknown),
            ("w/*/../x", ClimbTarget::Unknown),
        ] {
            assert_eq!(resolve_climb(&full(path)), Some(expected), "{path}");
        }
        assert_eq!(resolve_climb(&full("w/..x/y..")), None);
    }
}
