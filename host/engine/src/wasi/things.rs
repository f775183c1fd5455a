//! What stands behind the handles that a guest holds: folders, files, their content as a stream, the names in a
//! folder, the parts of a request (`http`). A handle is a number; a number that names another kind of thing is refused, so that a guest which mixes
//! its handles up gets nothing by it.

use super::http::Part;
use cap_std::fs::Dir;
use std::collections::VecDeque;
use std::fs::File;
use std::sync::Arc;

/// The most things that are open at a time.
const MOST: usize = 64;

/// One thing behind a handle.
pub(crate) enum Thing {
    /// A folder, and what it is called in records.
    Folder(Arc<Dir>, String),
    /// A file, and what it is called in records.
    File(Arc<File>, String),
    /// A file's content from some byte on.
    Stream(Arc<File>, String, u64),
    /// What a folder holds: the kind of each entry and its name.
    Names(VecDeque<(&'static str, String)>),
    /// Something of `wasi:http`.
    Http(Part),
}

/// All things of one call.
#[derive(Default)]
pub(crate) struct Things {
    slots: Vec<Option<Thing>>,
}

impl Things {
    /// Keeps a thing; its handle's number, none when too many are open. Number 0 has nothing behind it.
    pub(crate) fn keep(&mut self, thing: Thing) -> Option<u32> {
        let free = self.slots.iter().position(Option::is_none);
        let at = free.or_else(|| (self.slots.len() < MOST).then_some(self.slots.len()))?;
        match self.slots.get_mut(at) {
            Some(slot) => *slot = Some(thing),
            None => self.slots.push(Some(thing)),
        }
        u32::try_from(at + 1).ok()
    }

    /// The thing with this number.
    pub(crate) fn get(&mut self, number: u32) -> Option<&mut Thing> {
        self.slots.get_mut(index(number)?)?.as_mut()
    }

    /// Lets a thing go.
    pub(crate) fn take(&mut self, number: u32) -> Option<Thing> {
        self.slots.get_mut(index(number)?)?.take()
    }
}

fn index(number: u32) -> Option<usize> {
    usize::try_from(number).ok()?.checked_sub(1)
}
