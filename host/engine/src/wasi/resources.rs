//! The objects behind the handles that a guest holds: folders, files, their content as a stream,
//! the names in a folder, the parts of a request (`http`). A handle is a number. A number of
//! another kind of object is refused, so that a guest gains nothing by mixing up its handles.

use super::http::HttpResource;
use cap_std::fs::Dir;
use std::collections::VecDeque;
use std::fs::File;
use std::sync::Arc;

/// The most objects that are open at a time.
const MOST: usize = 64;

/// One object behind a handle.
pub(crate) enum HostResource {
    /// A folder, and its name in records.
    Folder(Arc<Dir>, String),
    /// A file, and its name in records.
    File(Arc<File>, String),
    /// A file's content from some byte onwards.
    Stream(Arc<File>, String, u64),
    /// The entries of a folder: the kind of each and its name.
    Names(VecDeque<(&'static str, String)>),
    /// Something of `wasi:http`.
    Http(HttpResource),
}

/// All objects of one call.
#[derive(Default)]
pub(crate) struct ResourceTable {
    slots: Vec<Option<HostResource>>,
}

impl ResourceTable {
    /// Stores an object and returns its handle's number; none if too many are open. Number 0 has no
    /// object.
    pub(crate) fn keep(&mut self, thing: HostResource) -> Option<u32> {
        let free = self.slots.iter().position(Option::is_none);
        let at = free.or_else(|| (self.slots.len() < MOST).then_some(self.slots.len()))?;
        match self.slots.get_mut(at) {
            Some(slot) => *slot = Some(thing),
            None => self.slots.push(Some(thing)),
        }
        u32::try_from(at + 1).ok()
    }

    /// Returns the object with this number.
    pub(crate) fn get(&mut self, number: u32) -> Option<&mut HostResource> {
        self.slots.get_mut(index(number)?)?.as_mut()
    }

    /// Removes an object.
    pub(crate) fn take(&mut self, number: u32) -> Option<HostResource> {
        self.slots.get_mut(index(number)?)?.take()
    }
}

fn index(number: u32) -> Option<usize> {
    usize::try_from(number).ok()?.checked_sub(1)
}
