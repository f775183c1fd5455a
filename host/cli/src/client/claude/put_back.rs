//! Puts our hooks back where they were taken out of a settings file while a session ran.
//!
//! A change of the settings that is held in this session counts in the next one, which then runs without
//! us and cannot say so. Only what switches us off is undone, and only in a file that `install` wrote:
//! everything else in it stays as it was changed. A person who wants to be rid of us has `uninstall`,
//! which forgets the installation before it edits the file.

use super::edit;
use super::handlers::Invocation;
use super::registered::{find, missing};
use super::validate::MOST_BYTES;
use crate::client::json::Document;
use crate::client::{backup, file};
use anyhow::{Context, Result, anyhow};
use portcullis_store::Home;
use serde_json::json;
use std::path::Path;

const OFF: &str = "disableAllHooks";

/// Makes `path` start our hooks again; says what was wrong with it, or none when nothing was or when it
/// is no file of ours.
///
/// # Errors
/// The file cannot be read, understood or written: until somebody mends it, sessions run without us.
pub fn put_back(home: &Home, path: &Path, wanted: &Invocation) -> Result<Option<String>> {
    if backup::receipt(home, path)?.is_none() {
        return Ok(None);
    }
    let found = file::look(path, MOST_BYTES)?;
    let document = Document::parse(found.bytes.as_deref().unwrap_or_default())
        .map_err(|error| anyhow!("`{}` is no JSON any more ({})", path.display(), error.what))?;
    let gone = missing(&find(document.value(), wanted)).len();
    let off = document.value().get(OFF) == Some(&json!(true));
    if gone == 0 && !off {
        return Ok(None);
    }
    let mut edited = edit::install(&document, wanted)?;
    if off {
        edited =
            edited.replace(&format!("/{OFF}"), &json!(false)).map_err(|error| anyhow!("`{OFF}` cannot be taken back: {}", error.what))?;
    }
    found.replace(&edited.bytes(), 0o600).with_context(|| format!("cannot write `{}`", path.display()))?;
    let what = [(gone > 0).then(|| format!("{gone} of our hooks were missing")), off.then(|| format!("`{OFF}` was set"))];
    Ok(Some(what.into_iter().flatten().collect::<Vec<_>>().join(", ")))
}
