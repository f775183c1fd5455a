//! Generates Rust that embeds the files written by `plugin new`: the templates, the bindings for C
//! and Go, the SDK for Rust and the WIT package.

use crate::bindings;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The WIT package, relative to the repository's root.
const WIT: &str = "wit/plugin";
/// The templates, relative to the repository's root.
const TEMPLATES: &str = "plugins/templates";
/// The source folders, relative to the repository's root, and the folders they are embedded under.
const SOURCES: &[(&str, &str)] = &[(TEMPLATES, ""), ("plugins/sdk/src", "sdk/src/"), (WIT, "wit/")];
/// Folders that tools create when somebody builds in a template.
const LEFT_BEHIND: &[&str] = &["build", "target", "node_modules", "__pycache__", ".venv"];

/// Writes `templates.rs` to cargo's folder: `FILES`, pairs of name and bytes, in order.
pub(crate) fn embed() -> anyhow::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let mut files = bindings::generate(&root.join(WIT), &root.join(TEMPLATES), &out)?;
    for (source, kept) in SOURCES {
        let folder = root.join(source);
        println!("cargo:rerun-if-changed={}", folder.display());
        collect(&folder, kept, &mut files)?;
    }
    // The file directly in the templates' folder generates types; the templates are in subfolders.
    files.retain(|(name, _)| name.contains('/'));
    files.sort();
    let mut text = String::from(
        "/// Every file that `plugin new` can write, by name.\npub static FILES: &[(&str, &[u8])] = &[\n",
    );
    for (name, path) in files {
        let _ = writeln!(
            text,
            "    ({name:?}, include_bytes!({:?})),",
            path.canonicalize()?.display().to_string()
        );
    }
    text.push_str("];\n");
    fs::write(out.join("templates.rs"), text)?;
    Ok(())
}

fn collect(folder: &Path, kept: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if LEFT_BEHIND.contains(&name.as_str()) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{kept}{name}/"), files)?;
        } else {
            files.push((format!("{kept}{name}"), entry.path()));
        }
    }
    Ok(())
}
