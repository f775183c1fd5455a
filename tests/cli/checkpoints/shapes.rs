//! Undo of the shapes in which commands change many files: each runs as the hook answers, and
//! `portcullis undo` restores the project byte for byte.

use super::{act, each};
use crate::common::site::Site;
use anyhow::{Context, Result, ensure};
use portcullis_tests::differing;
use portcullis_tests::shapes::{SHAPES, Shape, create_project, read_project};
use serde_json::{Value, json};

pub fn shapes() -> Result<()> {
    each(SHAPES, |Shape { name, command, changes }| {
        // No configuration: undo is on by default.
        let site = Site::new(&format!("checkpoints-shape-{name}"))?;
        create_project(&site.project())?;
        let before = read_project(&site.project())?;
        act(&site, "s", "c1", command).with_context(|| (*name).to_owned())?;
        let changed = differing(&before, &read_project(&site.project())?).len();
        ensure!(changed >= *changes, "{name}: {changed} paths changed, not {changes}");
        let undone = undo(&site, &[]).with_context(|| (*name).to_owned())?;
        let after = read_project(&site.project())?;
        let lost = differing(&before, &after);
        ensure!(lost.is_empty(), "{name}: {} are not as before: {lost:?}", lost.len());
        ensure!(undone["not_restored"] == json!([]), "{name}: {undone}");
        site.verify()
    })
}

/// Runs `portcullis undo` for a person who has confirmed.
pub fn undo(site: &Site, more: &[&str]) -> Result<Value> {
    let ended = site.run(&[&["undo", "--yes", "--json"], more].concat())?;
    ensure!(ended.code == Some(0), "{}", ended.all());
    Ok(serde_json::from_slice(&ended.stdout)?)
}
