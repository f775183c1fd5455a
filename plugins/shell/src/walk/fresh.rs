//! A walk at its beginning.

use super::environment::Environment;
use super::output::Output;
use super::{CALLS, Walker, containers, scripts};
use crate::bindings::exports::portcullis::shell::reader::Surroundings;
use std::collections::{BTreeMap, BTreeSet};

impl<'a> Walker<'a> {
    /// Makes a walker that has read nothing yet, and may do so much work: the bytes of text that
    /// filling in values may produce.
    pub(super) fn new(surroundings: &'a Surroundings, work: usize) -> Self {
        Walker {
            home: surroundings.home.trim_end_matches('/'),
            project: surroundings.cwd.trim_end_matches('/'),
            env: Environment::new(&surroundings.cwd, surroundings.home.trim_end_matches('/')),
            out: Output::default(),
            depth: 0,
            work,
            unread: false,
            steps: 0,
            secrets: Vec::new(),
            contacts: Vec::new(),
            sourced: false,
            running: Vec::new(),
            calls: CALLS,
            shells: 0,
            descriptors: BTreeMap::new(),
            outputs: BTreeMap::new(),
            written: Vec::new(),
            tainted: BTreeSet::new(),
            dumped: BTreeSet::new(),
            dumps: 0,
            sendings: Vec::new(),
            led: BTreeMap::new(),
            files: BTreeMap::new(),
            module_folders: BTreeSet::new(),
            generated: BTreeSet::new(),
            printed: BTreeSet::new(),
            checked_out: BTreeSet::new(),
            edits: BTreeMap::new(),
            built: Vec::new(),
            links: Vec::new(),
            enters: false,
            kept: Vec::new(),
            remotes: Vec::new(),
            hoards: Vec::new(),
            scripts: scripts::Scripts::new(surroundings),
            looked_up: false,
            looked_up_all: false,
            metadata: false,
            given: Vec::new(),
            staged: false,
            made: BTreeSet::new(),
            seen_inside: containers::SeenInside::default(),
            changes: Vec::new(),
        }
    }
}
