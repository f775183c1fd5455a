//! `portcullis checkpoint`: shows what was saved of files before actions, and restores it.
//!
//! Anybody may look. Only a person may restore: undoing the agent's work is not the agent's
//! decision.

mod diff;
pub mod list;
pub mod restore;

use crate::commands::boundary::files::handed_files;
use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_checkpoint::{CheckpointSummary, Content, Node, PathChange, Vault};
use portcullis_config::Config;
use portcullis_config::paths::Paths;
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::checkpoints::listing::{describe_action, open_kept_vault};
use portcullis_review::checkpoints::restoring::change_word;
use portcullis_review::checkpoints::vault_folder;
use portcullis_store::Home;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The reason why a checkpoint can be missing.
pub const HOW_TAKEN: &str =
    "one is taken before each action that can change files, unless `checkpoints.enabled = false`";

#[derive(clap::Subcommand)]
pub enum Command {
    /// List checkpoints, newest first
    List(list::Arguments),
    /// Show what an action changed, and which changes were not saved
    Show(CheckpointId),
    /// Show how files differ from their state before an action
    Diff(CheckpointId),
    /// Undo an action and all later ones in its folders (interactive)
    Restore(restore::Arguments),
}

#[derive(clap::Args)]
pub struct CheckpointId {
    /// The checkpoint's id or a prefix of it; `last` for the newest
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run_checkpoint(command: &Command) -> Result<CommandExit> {
    match command {
        Command::List(arguments) => list::run_list(arguments),
        Command::Show(arguments) => show(arguments),
        Command::Diff(arguments) => diff::run_diff(arguments),
        Command::Restore(arguments) => restore::run_restore(arguments),
    }
}

/// Opens the vault; `None` if nothing was ever saved.
pub fn vault() -> Result<Option<Vault>> {
    let places = Paths::from_environment()?;
    let Some(home) = Home::open_existing(&places.state)? else { return Ok(None) };
    if !vault_folder(home.path()).exists() {
        return Ok(None);
    }
    let vault = open_kept_vault(&home, &Config::load(&places, Some(&home))?.checkpoints)?;
    Ok(match handed_files() {
        Some(files) => vault.map(|vault| vault.with_files(files)),
        None => vault,
    })
}

/// Finds the checkpoint that an argument names, and opens the vault.
fn find(named: &str) -> Result<(Vault, CheckpointSummary)> {
    let shown = one_line(named, 64);
    let Some(vault) = vault()? else {
        return Err(Error::not_found(format!(
            "there is no checkpoint `{shown}`: none was ever taken here"
        ))
        .with_hint(HOW_TAKEN));
    };
    let mut all = vault.list()?.checkpoints;
    let found: Vec<usize> = match all.iter().position(|one| one.id.as_str() == named) {
        _ if named == "last" => all.len().checked_sub(1).into_iter().collect(),
        Some(exact) => vec![exact],
        None => (0..all.len())
            .filter(|at| {
                all.get(*at)
                    .is_some_and(|one| !named.is_empty() && one.id.as_str().starts_with(named))
            })
            .collect(),
    };
    match found.as_slice() {
        [at] => Ok((vault, all.swap_remove(*at))),
        [] => Err(Error::not_found(format!("there is no checkpoint `{shown}`"))
            .with_hint("`portcullis checkpoint list` shows what is kept")),
        several => {
            Err(Error::invalid(format!("{} checkpoints begin with `{shown}`", several.len()))
                .with_hint("give more of the id"))
        }
    }
}

fn show(arguments: &CheckpointId) -> Result<CommandExit> {
    let (vault, listed) = find(&arguments.id)?;
    let shown = vault.show_checkpoint(&listed.id)?;
    let reported = list::reported_actions(listed.at)?;
    let reported = reported.get(listed.id.as_str());
    if arguments.json {
        let mut document = list::as_json(&listed, reported);
        if let Some(document) = document.as_object_mut() {
            document.insert("changed".into(), shown.changes.iter().map(change_json).collect());
            let left_out = shown
                .left_out
                .first
                .iter()
                .map(|one| json!({ "path": path_json(&one.path), "why": one.why.to_string() }));
            document.insert("left_out".into(), left_out.collect());
            document.insert("left_out_total".into(), shown.left_out.total().into());
        }
        paint::print_text(&format!("{document}\n"));
        return Ok(CommandExit::Success);
    }
    let folders: Vec<String> = listed.roots.iter().map(|root| path(root)).collect();
    let of = if listed.tree { "the whole of" } else { "named paths in" };
    paint::print_text(&format!(
        "{}  {} UTC  {}\n",
        paint::bold(&listed.id),
        paint::time(listed.at),
        list::describe_state(&listed)
    ));
    paint::print_text(&format!(
        "{}\n{of} {}\n",
        describe_action(&listed, reported),
        folders.join(", ")
    ));
    match (listed.settled_at, shown.changes.len()) {
        (None, _) => paint::print_text(
            "\nThe end of its action was not noticed yet: what it changed is not known.\n",
        ),
        (Some(_), 0) => paint::print_text("\nIts action changed nothing.\n"),
        (Some(_), changed) => paint::print_text(&format!(
            "\nIts action changed {}:\n",
            count_noun(changed as u64, "path")
        )),
    }
    for change in &shown.changes {
        paint::print_text(&format!("  {:8} {}\n", kind(change), path(&change.path)));
    }
    if shown.left_out.total() > 0 {
        paint::print_text(&format!("\nNot kept, {} in all:\n", shown.left_out.total()));
        for one in &shown.left_out.first {
            paint::print_text(&format!("  {}: {}\n", path(&one.path), one.why));
        }
    }
    Ok(CommandExit::Success)
}

fn change_json(change: &PathChange) -> Value {
    json!({
        "path": path_json(&change.path),
        "how": kind(change),
        "before": node(&change.before),
        "after": node(&change.after),
    })
}

fn kind(change: &PathChange) -> &'static str {
    change_word(change.kind())
}

/// Describes the node at a path as JSON.
fn node(node: &Node) -> Value {
    match node {
        Node::File { content: Content::Kept(digest), size, mode, .. } => {
            json!({
                "is": "file",
                "size": size,
                "mode": format!("{mode:o}"),
                "digest": digest.to_string(),
            })
        }
        Node::File { size, mode, .. } => {
            json!({ "is": "file", "size": size, "mode": format!("{mode:o}") })
        }
        Node::Link { text } => json!({ "is": "link", "to": String::from_utf8_lossy(text) }),
        Node::Folder { mode, .. } => json!({ "is": "folder", "mode": format!("{mode:o}") }),
        Node::Missing => json!({ "is": "missing" }),
        _ => json!({ "is": "special" }),
    }
}

/// Formats a path for people.
fn path(path: &Path) -> String {
    one_line(&path.to_string_lossy(), 400)
}

/// Formats a path as JSON, in which a name that is not UTF-8 has replacement characters.
fn path_json(path: &Path) -> Value {
    path.to_string_lossy().into()
}

/// Resolves a path relative to the current folder.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    Ok(std::path::absolute(path)?)
}
