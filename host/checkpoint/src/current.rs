//! The current state of one path.

use crate::content_writer::ContentWriter;
use crate::error::CheckpointError;
use crate::node::{Content, Node, NodeStamp, Why};
use crate::path::Rel;
use crate::scan::file;
use crate::snapshot::KnownNode;
use crate::tree::{PathAccess, Root};
use rustix::fs::FileType;
use std::io;
use std::path::Path;

type Result<T> = std::result::Result<T, CheckpointError>;

/// The object at a path, or the fact that the way to it is blocked by something that is not a
/// folder.
#[derive(Clone, Debug)]
pub(crate) enum CurrentState {
    Is(KnownNode),
    Barred,
}

/// Scans a path. A file that is the very one of `like`, by its stamp, is not read if `like` was
/// left out.
pub(crate) fn look(
    root: &mut Root<'_>,
    path: &Rel,
    full: &Path,
    like: &[&KnownNode],
    keeper: &mut ContentWriter<'_>,
) -> Result<CurrentState> {
    let failed = |error| CheckpointError::io("look at", full)(error);
    let (folder, name) = match root.way(path).map_err(failed)? {
        PathAccess::Open(folder, name) => (folder, name),
        PathAccess::Missing => return Ok(CurrentState::Is(KnownNode::MISSING)),
        PathAccess::Barred => return Ok(CurrentState::Barred),
    };
    let Some(found) = folder.find(&name).map_err(failed)? else {
        return Ok(CurrentState::Is(KnownNode::MISSING));
    };
    let node = match found.kind {
        FileType::Directory => Node::Folder { mode: found.mode, closed: None },
        FileType::Symlink => match folder.link_text(&name) {
            Ok(text) => Node::Link { text },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(CurrentState::Is(KnownNode::MISSING));
            }
            Err(error) => return Err(failed(error)),
        },
        FileType::RegularFile => match left_out_alike(&found.stamp, like) {
            Some(why) => file(&found, Content::LeftOut(why, found.stamp)),
            None => match keeper.keep(folder, &name, full)? {
                Ok((digest, found)) => file(&found, Content::Kept(digest)),
                Err(why) => file(&found, Content::LeftOut(why, found.stamp)),
            },
        },
        _ => Node::Special,
    };
    Ok(CurrentState::Is(KnownNode { node, stamp: Some(found.stamp), sure: false }))
}

fn left_out_alike(stamp: &NodeStamp, like: &[&KnownNode]) -> Option<Why> {
    like.iter().find_map(|known| match known.node {
        Node::File { content: Content::LeftOut(why, ref old), .. } if old == stamp => Some(why),
        _ => None,
    })
}
