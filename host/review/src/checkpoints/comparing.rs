//! The files before an action and now, as texts and as sizes.

use portcullis_checkpoint::{CheckpointError, Difference, Id, Node, PathStatus, Vault};
use portcullis_core::text::one_line;

/// The largest text that is compared, in bytes; larger ones are only named.
pub const MOST_COMPARED: u64 = 1 << 20;
/// The most bytes of a link's text.
const MOST_LINK: usize = 400;

/// Returns the paths that differ from their state before the checkpoint's action.
///
/// # Errors
/// Fails if the checkpoint does not exist or is damaged.
pub fn list_differences(vault: &Vault, id: &Id) -> Result<Vec<Difference>, CheckpointError> {
    let all = vault.diff_checkpoint(id)?;
    Ok(all.into_iter().filter(|one| one.standing != PathStatus::AlreadyBack).collect())
}

/// Returns the texts before and now if each is text or absent, small enough, and they differ.
///
/// # Errors
/// Fails if the content is not in the vault or is damaged.
pub fn read_both_texts(
    vault: &Vault,
    one: &Difference,
) -> Result<Option<(String, String)>, CheckpointError> {
    let small = |node: &Node| {
        matches!(node, Node::Missing)
            || matches!(node, Node::File { size, .. } if *size <= MOST_COMPARED)
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
    let now = if one.now == Node::Missing {
        Some(Vec::new())
    } else {
        vault.read_current(&one.path, MOST_COMPARED)
    };
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    Ok(text(before).zip(now.and_then(text)))
}

/// Describes what is, or was, at a path.
#[must_use]
pub fn describe_node(node: &Node) -> String {
    match node {
        Node::File { size, mode, .. } => format!("{size} bytes, mode {mode:o}"),
        Node::Folder { mode, .. } => format!("a folder, mode {mode:o}"),
        Node::Link { text } => {
            format!("a link to {}", one_line(&String::from_utf8_lossy(text), MOST_LINK))
        }
        Node::Missing => "nothing".to_owned(),
        _ => "a pipe, socket or device".to_owned(),
    }
}
