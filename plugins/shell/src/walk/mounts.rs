//! Folders that steps of a session mount at second places, for later steps: no look at the disk
//! shows that such a place leads elsewhere.
//!
//! A place in a container is written as `//NAME` and the path inside, a volume as `//NAME=/`.

use super::Walker;
use super::environment::UNKNOWN;
use super::expand::Field;
use super::links::Link;
use crate::bindings::exports::portcullis::shell::reader::Mount;
use crate::catalogue::Plan;
use crate::places;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The maximum number of mounts that are taken over, and that are reported.
const RECALLED: usize = 16;
const CHANGED: usize = 32;

impl Walker<'_> {
    /// Takes over what earlier steps of the session mounted.
    pub(super) fn recall_mounts(&mut self, mounts: &[Mount]) {
        let mut inside: BTreeMap<&str, Vec<places::Mount>> = BTreeMap::new();
        for mount in mounts.iter().take(RECALLED) {
            match mount.at.strip_prefix("//").and_then(|rest| rest.split_once('/')) {
                Some((name, _)) if name.ends_with('=') => {
                    let name = name.trim_end_matches('=').to_owned();
                    self.seen_inside.volumes.insert(name, mount.to.clone());
                }
                Some((name, path)) => inside.entry(name).or_default().push(places::Mount {
                    inside: format!("/{path}"),
                    here: mount.to.clone(),
                    read_only: false,
                }),
                None => self.links.push(Link {
                    at: mount.at.clone(),
                    to: mount.to.clone(),
                    removable: false,
                    lasting: true,
                }),
            }
        }
        for (name, mounts) in inside {
            self.note_container(name, &Rc::from(mounts));
        }
    }

    /// Returns what the command line has mounted and unmounted.
    pub(super) fn changed_mounts(&self, before: &[Mount]) -> Vec<Mount> {
        let lasting = self.links.iter().filter(|link| link.lasting);
        let mut now: Vec<Mount> =
            lasting.map(|link| Mount { at: link.at.clone(), to: link.to.clone() }).collect();
        for (name, mounts) in &self.seen_inside.containers {
            let named = !name.is_empty() && !name.contains(['/', UNKNOWN]);
            let writable = mounts.iter().filter(|mount| named && !mount.read_only);
            now.extend(writable.map(|mount| Mount {
                at: format!("//{name}{}", mount.inside),
                to: mount.here.clone(),
            }));
        }
        now.extend(
            self.seen_inside
                .volumes
                .iter()
                .map(|(name, here)| Mount { at: format!("//{name}=/"), to: here.clone() }),
        );
        now.retain(|mount| !mount.to.contains(UNKNOWN) && !mount.at.contains(UNKNOWN));
        let gone = before
            .iter()
            .take(RECALLED)
            .filter(|old| !old.at.starts_with("//") && !now.iter().any(|mount| mount.at == old.at));
        let gone = gone.map(|old| Mount { at: old.at.clone(), to: String::new() });
        let new = now.iter().filter(|mount| !before.contains(mount)).cloned();
        new.chain(gone).take(CHANGED).collect()
    }

    /// Notes that nothing is mounted at some places any more.
    pub(super) fn forget_mounts(&mut self, rest: &[Field], plan: &Plan) {
        for field in plan.operands.iter().filter_map(|at| rest.get(*at)) {
            let (path, known) = places::resolve(&field.text, &self.env.folder);
            self.links.retain(|link| !(known && link.lasting && link.at == path));
        }
    }
}
