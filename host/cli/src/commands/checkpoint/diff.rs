//! `portcullis checkpoint diff`: compares the files before an action with the files now.

use super::{CheckpointId, find, path, word};
use crate::error::Result;
use crate::exit::CommandExit;
use crate::{differ, paint};
use portcullis_checkpoint::{Difference, Node, PathChange, PathStatus, Vault};
use portcullis_fs::{Links, read_file};
use serde_json::{Value, json};
use std::path::Path;

/// The largest text that is compared, in bytes; larger ones are only named.
const MOST_BYTES: u64 = 1 << 20;
/// The name shown for a file that does not exist.
const NOTHING: &str = "/dev/null";

pub fn run_diff(arguments: &CheckpointId) -> Result<CommandExit> {
    let (vault, listed) = find(&arguments.id)?;
    let differences: Vec<Difference> = vault
        .diff_checkpoint(&listed.id)?
        .into_iter()
        .filter(|one| one.standing != PathStatus::AlreadyBack)
        .collect();
    for one in &differences {
        let texts = texts(&vault, one)?;
        paint::print_text(&if arguments.json {
            format!("{}\n", as_json(one, texts.as_ref()))
        } else {
            page(one, texts.as_ref())
        });
    }
    if differences.is_empty() && !arguments.json {
        paint::print_text("everything is as it was before the action\n");
    }
    Ok(CommandExit::Success)
}

/// Describes the change from the state to be restored to the current one.
pub fn describe_change(one: &Difference) -> &'static str {
    word(
        PathChange { path: one.path.clone(), before: one.wanted.clone(), after: one.now.clone() }
            .kind(),
    )
}

fn as_json(one: &Difference, texts: Option<&(String, String)>) -> Value {
    let shown = one.path.to_string_lossy();
    json!({
        "path": super::path_json(&one.path),
        "how": describe_change(one),
        "standing": one.standing.to_string(),
        "before": super::node(&one.wanted),
        "now": super::node(&one.now),
        "diff": texts.map(|(before, now)| differ::plain_diff(before, now, &shown, &shown)),
    })
}

fn page(one: &Difference, texts: Option<&(String, String)>) -> String {
    let shown = path(&one.path);
    let standing = if one.standing == PathStatus::AsLeft {
        String::new()
    } else {
        format!("  ({})", one.standing)
    };
    let head = format!("{} {shown}{}\n", paint::bold(describe_change(one)), paint::warn(standing));
    let Some((before, now)) = texts else { return head + &sizes(one) };
    let named =
        |node: &Node| if *node == Node::Missing { NOTHING.to_owned() } else { shown.clone() };
    head + &differ::painted_diff(before, now, &named(&one.wanted), &named(&one.now))
}

/// Describes the change of a file that is not text.
fn sizes(one: &Difference) -> String {
    let said = |node: &Node| match node {
        Node::File { size, mode, .. } => format!("{size} bytes, mode {mode:o}"),
        Node::Folder { mode, .. } => format!("a folder, mode {mode:o}"),
        Node::Link { text } => {
            format!("a link to {}", path(Path::new(String::from_utf8_lossy(text).as_ref())))
        }
        Node::Missing => "nothing".to_owned(),
        _ => "a pipe, socket or device".to_owned(),
    };
    format!("  before: {}\n  now:    {}\n", said(&one.wanted), said(&one.now))
}

/// Returns both texts if each is text or absent, small enough, and they differ.
fn texts(vault: &Vault, one: &Difference) -> Result<Option<(String, String)>> {
    let small = |node: &Node| {
        matches!(node, Node::Missing)
            || matches!(node, Node::File { size, .. } if *size <= MOST_BYTES)
    };
    let files = [&one.wanted, &one.now].into_iter().any(|node| matches!(node, Node::File { .. }));
    if !files || !small(&one.wanted) || !small(&one.now) || one.wanted.digest() == one.now.digest()
    {
        return Ok(None);
    }
    let before = match (&one.wanted, one.wanted.digest()) {
        (Node::Missing, _) => Vec::new(),
        (_, Some(digest)) => vault.read_content(&digest)?,
        (_, None) => return Ok(None),
    };
    let now = if one.now == Node::Missing { Some(Vec::new()) } else { read(&one.path) };
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    Ok(text(before).zip(now.and_then(text)))
}

/// Reads a file, which may have been replaced by anything since it was listed; `None` if it is not
/// a small regular file.
fn read(path: &Path) -> Option<Vec<u8>> {
    read_file(path, MOST_BYTES, Links::Refuse).ok()?
}
