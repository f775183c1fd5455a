//! What stands at one path now.

use crate::error::CheckpointError;
use crate::keep::Keeper;
use crate::node::{Content, Node, Stamp, Why};
use crate::path::Rel;
use crate::scan::file;
use crate::snapshot::Known;
use crate::tree::{Root, Way};
use rustix::fs::FileType;
use std::io;
use std::path::Path;

type Result<T> = std::result::Result<T, CheckpointError>;

/// What stands at a path, or that the way to it is barred by something that is no folder.
#[derive(Clone, Debug)]
pub(crate) enum Now {
    Is(Known),
    Barred,
}

/// Looks at a path. A file that is the very one of `like`, by its stamp, is not read if `like` was left out.
pub(crate) fn look(root: &mut Root<'_>, path: &Rel, full: &Path, like: &[&Known], keeper: &mut Keeper<'_>) -> Result<Now> {
    let failed = |error| CheckpointError::io("look at", full)(error);
    let (folder, name) = match root.way(path).map_err(failed)? {
        Way::Open(folder, name) => (folder, name),
        Way::Missing => return Ok(Now::Is(Known::MISSING)),
        Way::Barred => return Ok(Now::Barred),
    };
    let Some(found) = folder.find(&name).map_err(failed)? else { return Ok(Now::Is(Known::MISSING)) };
    let node = match found.kind {
        FileType::Directory => Node::Folder { mode: found.mode, closed: None },
        FileType::Symlink => match folder.link_text(&name) {
            Ok(text) => Node::Link { text },
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Now::Is(Known::MISSING)),
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
    Ok(Now::Is(Known { node, stamp: Some(found.stamp), sure: false }))
}

fn left_out_alike(stamp: &Stamp, like: &[&Known]) -> Option<Why> {
    like.iter().find_map(|known| match known.node {
        Node::File { content: Content::LeftOut(why, ref old), .. } if old == stamp => Some(why),
        _ => None,
    })
}
