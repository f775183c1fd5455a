//! Resolves the roots of a request, and the paths below them.

use crate::error::CheckpointError;
use crate::files::FileAccess;
use crate::manifest::ScannedPath;
use crate::node::Why;
use crate::path::{Rel, is_plain};
use crate::report::LeftOuts;
use std::collections::BTreeSet;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, CheckpointError>;

/// The longest chain of links that Linux follows: nothing changes a file through a longer one.
const MAX_LINKS: usize = 40;

/// Returns the roots, resolved, without those that are below another.
pub(crate) fn roots(files: &FileAccess, given: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut roots = BTreeSet::new();
    for path in given {
        let bad = || CheckpointError::BadRoot { path: path.clone() };
        let root = if path.is_absolute() {
            files.resolve(path).map_err(CheckpointError::io("look at", path))?
        } else {
            return Err(bad());
        };
        if !files.is_folder(&root) {
            return Err(bad());
        }
        roots.insert(root);
    }
    let outer: Vec<PathBuf> = roots
        .iter()
        .filter(|root| !roots.iter().any(|other| other != *root && root.starts_with(other)))
        .cloned()
        .collect();
    if outer.is_empty() {
        Err(CheckpointError::BadRoot { path: PathBuf::new() })
    } else {
        Ok(outer)
    }
}

/// Returns the whole of each root.
pub(crate) fn whole(roots: Vec<PathBuf>) -> Vec<(PathBuf, Vec<ScannedPath>)> {
    roots
        .into_iter()
        .map(|root| (root, vec![ScannedPath { path: Rel::default(), deep: true }]))
        .collect()
}

/// Returns the targets, and the folders above them that do not exist yet.
pub(crate) fn chosen(
    files: &FileAccess,
    roots: Vec<PathBuf>,
    targets: &[PathBuf],
    left_out: &mut LeftOuts,
) -> Result<Vec<(PathBuf, Vec<ScannedPath>)>> {
    let mut areas: Vec<(PathBuf, BTreeSet<ScannedPath>)> =
        roots.into_iter().map(|root| (root, BTreeSet::new())).collect();
    for target in targets {
        let mut next = Some(target.clone());
        for _ in 0..=MAX_LINKS {
            let Some(target) = next.take() else { break };
            let path = resolve(files, &target)?;
            let Some((root, scopes)) = areas
                .iter_mut()
                .find(|(root, _)| path.starts_with(root))
                .map(|(root, scopes)| (&*root, scopes))
            else {
                left_out.add(|| path, Why::OutsideRoots);
                break;
            };
            if let Some(below) = path
                .strip_prefix(root)
                .ok()
                .and_then(|below| Rel::new(below.as_os_str().as_bytes()))
            {
                let missing = below
                    .ancestors()
                    .take_while(|above| files.is_missing(&root.join(above.as_path())));
                scopes.extend(missing.map(|path| ScannedPath { path, deep: false }));
                scopes.insert(ScannedPath { path: below, deep: true });
            }
            next = files.link_text(&path).map(|text| path.parent().unwrap_or(&path).join(text));
        }
    }
    areas.retain(|(_, scopes)| !scopes.is_empty());
    Ok(areas.into_iter().map(|(root, scopes)| (root, scopes.into_iter().collect())).collect())
}

/// Resolves the links of the folders above a path, as far as these exist.
///
/// # Errors
/// Fails if the path is not absolute, or has `..` below the part that exists.
pub(crate) fn resolve(files: &FileAccess, path: &Path) -> Result<PathBuf> {
    let bad = || CheckpointError::BadTarget { path: path.to_owned() };
    if !path.is_absolute() || path.as_os_str().as_bytes().contains(&0) {
        return Err(bad());
    }
    let (Some(mut above), Some(name)) = (path.parent().map(Path::to_owned), path.file_name())
    else {
        return if path.parent().is_none() { Ok(path.to_owned()) } else { Err(bad()) };
    };
    let mut below = vec![name.to_owned()];
    let mut resolved = loop {
        match files.resolve(&above) {
            Ok(resolved) => break resolved,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) => {}
            Err(error) => return Err(CheckpointError::io("look at", above)(error)),
        }
        below.push(above.file_name().ok_or_else(bad)?.to_owned());
        above.pop();
    };
    resolved.extend(below.iter().rev());
    if is_plain(&resolved) { Ok(resolved) } else { Err(bad()) }
}
