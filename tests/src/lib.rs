//! Support for several of these test programs.

pub mod compiled;
pub mod coverage;
pub mod driven;
pub mod pages;
pub mod process;
pub mod programs;
pub mod shapes;
pub mod terminal;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A folder tree: by path, the kind and permission bits, and the bytes or the link's text. In a
/// path that is not UTF-8, the other bytes are escaped as `\xe9`.
pub type Tree = BTreeMap<String, (u32, Vec<u8>)>;

/// Reads everything below a folder.
///
/// # Errors
/// Fails if the system refuses to read some of it.
pub fn tree(folder: &Path) -> io::Result<Tree> {
    let mut found = Tree::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next)? {
            let path = entry?.path();
            let stat = fs::symlink_metadata(&path)?;
            let bytes = if stat.is_symlink() {
                fs::read_link(&path)?.into_os_string().into_vec()
            } else if stat.is_dir() {
                open.push(path.clone());
                Vec::new()
            } else {
                fs::read(&path)?
            };
            let path = path.strip_prefix(folder).unwrap_or(&path);
            let name = path.to_str().map(str::to_owned);
            let name =
                name.unwrap_or_else(|| path.as_os_str().as_bytes().escape_ascii().to_string());
            found.insert(name, (stat.permissions().mode(), bytes));
        }
    }
    Ok(found)
}

/// Returns the paths at which two trees differ.
#[must_use]
pub fn differing<'t>(one: &'t Tree, other: &'t Tree) -> Vec<&'t String> {
    let mut paths: Vec<&String> =
        one.keys().chain(other.keys()).filter(|path| one.get(*path) != other.get(*path)).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}
