//! A plugin's project: a folder with a manifest, test cases, and build output.
//!
//! Nothing here builds or runs anything.

mod files;
pub mod language;
mod manifest;

pub use files::{FileStates, list_files};
pub use language::Language;
pub use manifest::{Build, PluginManifest};

use anyhow::{Context, Result, bail};
use portcullis_core::known_failure::KnownFailure;
use portcullis_core::text::one_line;
use std::fs;
use std::path::{Path, PathBuf};

/// The manifest's file name.
pub const MANIFEST: &str = "plugin.toml";
/// The file name of the cases.
pub const CASES: &str = "cases.toml";
/// The name of the folder for build output.
pub const BUILD: &str = "build";

/// A project.
#[derive(Debug)]
pub struct PluginProject {
    /// Its folder, absolute.
    pub folder: PathBuf,
    /// Its manifest.
    pub manifest: PluginManifest,
}

impl PluginProject {
    /// Finds the project in that folder.
    pub fn find_project(folder: &Path) -> Result<Self> {
        let shown = folder.display();
        let Ok(folder) = folder.canonicalize() else {
            bail!(KnownFailure::NotFound(format!(
                "there is no folder `{shown}`; name a project's folder, or make one: `portcullis plugin new NAME`"
            )))
        };
        let path = folder.join(MANIFEST);
        if !path.exists() {
            bail!(KnownFailure::NotFound(format!(
                "`{}` holds no plugin project: there is no `{MANIFEST}`; name a project's folder, \
                 or make one: `portcullis plugin new NAME`",
                folder.display()
            )));
        }
        let manifest = PluginManifest::read_manifest(&path)?;
        Ok(Self { folder, manifest })
    }

    /// Returns the path of its component after a build.
    pub fn component(&self) -> PathBuf {
        self.folder.join(BUILD).join(&self.manifest.name).with_extension("wasm")
    }

    /// Returns its existing component.
    ///
    /// # Errors
    /// Fails if it was not built.
    pub fn built(&self) -> Result<PathBuf> {
        let file = self.component();
        if !file.is_file() {
            let [shown, folder] =
                [&file, &self.folder].map(|path| one_line(&path.to_string_lossy(), 400));
            bail!(KnownFailure::NotFound(format!(
                "there is no `{shown}`: build the plugin first, `portcullis plugin build {folder}`"
            )));
        }
        Ok(file)
    }

    /// Returns the path of its cases.
    pub fn cases(&self) -> PathBuf {
        self.folder.join(CASES)
    }
}

/// Replaces a file atomically: a reader sees the old bytes or the new ones.
///
/// # Errors
/// Fails if the file or its folder cannot be written.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    folder
        .and_then(|()| portcullis_fs::replace_bytes(path, 0o666, bytes))
        .with_context(|| format!("cannot write `{}`", path.display()))
}

/// Returns why that cannot be a plugin's name, if it cannot. A name is used in configurations, file
/// names and records.
pub fn explain_unfit_name(name: &str) -> Option<String> {
    let letters = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let well_formed = name.len() <= 64
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(letters);
    if !well_formed || name.ends_with('-') {
        return Some(match likely(name) {
            Some(better) => format!("it needs lower-case letters, digits and hyphens, beginning \
                 with a letter: `{better}`?"),
            None => "it needs lower-case letters, digits and hyphens, beginning with a letter, 64 at most".to_owned(),
        });
    }
    portcullis_builtin::find(name)
        .is_some()
        .then(|| "a plugin of that name comes with Portcullis: take another".to_owned())
}

/// Returns the name that was probably meant.
fn likely(name: &str) -> Option<String> {
    let mut better = String::new();
    for character in name.chars() {
        match character.to_ascii_lowercase() {
            letter if letter.is_ascii_lowercase() || letter.is_ascii_digit() => {
                // `NoForce` is two words.
                if character.is_ascii_uppercase()
                    && better.ends_with(|last: char| last.is_ascii_lowercase())
                {
                    better.push('-');
                }
                better.push(letter);
            }
            _ if !better.is_empty() && !better.ends_with('-') => better.push('-'),
            _ => {}
        }
    }
    let better = better.trim_matches('-');
    let better = better.get(..better.len().min(64)).unwrap_or_default();
    better.starts_with(|first: char| first.is_ascii_lowercase()).then(|| better.to_owned())
}

#[cfg(test)]
mod tests {
    use super::explain_unfit_name;

    #[test]
    fn names_that_cannot_be_are_fixed() {
        for (name, said) in [
            ("no-force", None),
            ("a1", None),
            ("NoForce", Some("`no-force`?")),
            ("no_force", Some("`no-force`?")),
            ("No Force!", Some("`no-force`?")),
            ("no-force-", Some("`no-force`?")),
            ("1st", Some("64 at most")),
            ("", Some("64 at most")),
            ("../x", Some("`x`?")),
            ("loop", Some("comes with Portcullis")),
        ] {
            let found = explain_unfit_name(name);
            assert_eq!(found.is_some(), said.is_some(), "{name}: {found:?}");
            assert!(
                said.is_none_or(|said| found.as_deref().unwrap_or_default().contains(said)),
                "{name}: {found:?}"
            );
        }
    }
}
