//! A process that hands files over is its user's: it may answer anything.

use crate::support::{Place, id, plainly, sh};
use portcullis_checkpoint::{Allowed, CheckpointError, FileAccess, FilePort, What, answer_request};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Changes an answer by its number.
type Change = fn(u64, Vec<u8>) -> io::Result<Vec<u8>>;

/// A process that answers truly, and then changes the answer.
struct Liar {
    allowed: Allowed,
    change: Change,
    asked: AtomicU64,
    rejected: Arc<Mutex<Vec<String>>>,
}

impl FilePort for Liar {
    fn ask(&self, request: &[u8]) -> io::Result<Vec<u8>> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        (self.change)(number, answer_request(request, self.allowed))
    }

    fn reject(&self, why: &str) {
        self.rejected.lock().unwrap().push(why.to_owned());
    }
}

/// Returns the access, and what was rejected.
fn liar(allowed: Allowed, change: Change) -> (FileAccess, Arc<Mutex<Vec<String>>>) {
    let rejected = Arc::default();
    let asked = AtomicU64::new(0);
    let port = Liar { allowed, change, asked, rejected: Arc::clone(&rejected) };
    (FileAccess::through(port), rejected)
}

#[test]
fn an_answer_that_is_none_is_rejected_and_keeps_nothing() {
    let rows: [(&str, Change); 6] = [
        ("nothing", |_, _| Ok(Vec::new())),
        ("noise", |_, _| Ok(vec![0xff; 100])),
        ("another kind", |_, _| Ok(vec![0])),
        ("too long a length", |_, _| Ok(vec![2, 0xff, 0xff, 0xff, 0xff, 0x0f])),
        ("noise later on", |number, answer| Ok(if number > 3 { vec![0xfe; 9] } else { answer })),
        ("cut off", |number, mut answer| {
            answer.truncate(if number > 2 { answer.len() / 2 } else { answer.len() });
            Ok(answer)
        }),
    ];
    for (name, change) in rows {
        let place = Place::new();
        sh(&place.root, "mkdir d; echo one > d/a; echo two > b");
        let (files, rejected) = liar(Allowed::Change, change);
        let vault = place.vault.clone().with_files(files);
        let taken = vault.take_checkpoint(&place.request("c", 1, What::Tree));
        let is_whole = taken.is_ok_and(|taken| taken.complete);
        assert!(!is_whole, "{name}: it counts as complete");
        assert!(!rejected.lock().unwrap().is_empty(), "{name}: nobody noticed");
    }
}

#[test]
fn a_name_leads_nowhere_else() {
    for name in ["..", ".", "", "a/b", "/etc", "nul\0"] {
        let place = Place::new();
        sh(&place.root, "echo one > secret-name");
        let (files, rejected) = {
            let rejected: Arc<Mutex<Vec<String>>> = Arc::default();
            let port = Renaming { to: name, rejected: Arc::clone(&rejected) };
            (FileAccess::through(port), rejected)
        };
        let vault = place.vault.clone().with_files(files);
        let taken = vault.take_checkpoint(&place.request("c", 1, What::Tree));
        assert!(!taken.is_ok_and(|taken| taken.complete), "`{name}`");
        assert!(!rejected.lock().unwrap().is_empty(), "`{name}`: nobody noticed");
    }
}

/// Answers truly, but for the name of a file.
struct Renaming {
    to: &'static str,
    rejected: Arc<Mutex<Vec<String>>>,
}

impl FilePort for Renaming {
    fn ask(&self, request: &[u8]) -> io::Result<Vec<u8>> {
        const OWN: &[u8] = b"\x0bsecret-name";
        let answer = answer_request(request, Allowed::Change);
        let at = answer.windows(OWN.len()).position(|part| part == OWN);
        let Some(at) = at else { return Ok(answer) };
        let mut changed = answer[..at].to_vec();
        changed.push(u8::try_from(self.to.len()).unwrap());
        changed.extend(self.to.as_bytes());
        changed.extend(&answer[at + OWN.len()..]);
        Ok(changed)
    }

    fn reject(&self, why: &str) {
        self.rejected.lock().unwrap().push(why.to_owned());
    }
}

#[test]
fn a_process_that_only_reads_changes_nothing() {
    let place = Place::new();
    sh(&place.root, "echo one > a");
    let (files, rejected) = liar(Allowed::Read, |_, answer| Ok(answer));
    let vault = place.vault.clone().with_files(files);
    vault.take_checkpoint(&place.request("c", 1, What::Tree)).unwrap();
    sh(&place.root, "echo two > a");
    let settled = vault.settle_checkpoint(&id("c"), 2, crate::support::TIME).unwrap();
    assert_eq!(settled.changes.len(), 1, "it reads");
    let before = place.walk();
    let restored = vault.restore_checkpoint(&id("c"), &plainly("u", 3));
    assert!(matches!(restored, Err(CheckpointError::Io { .. })), "{restored:?}");
    assert_eq!(place.walk(), before, "a refused restore has changed something");
    assert!(rejected.lock().unwrap().is_empty(), "a refusal is an answer");
    // The same with somebody who may.
    let vault = crate::support::open(&place.home.join("vault"));
    vault.restore_checkpoint(&id("c"), &plainly("v", 4)).unwrap();
    assert_ne!(place.walk(), before);
}

#[test]
fn a_connection_that_ends_fails_and_is_no_empty_tree() {
    let place = Place::new();
    sh(&place.root, "mkdir d; echo one > d/a; echo two > b");
    for last in 0..6 {
        let (files, _rejected) = match last {
            0 => liar(Allowed::Change, |_, _| Err(io::ErrorKind::BrokenPipe.into())),
            1 => liar(Allowed::Change, |n, a| if n > 0 { Err(closed()) } else { Ok(a) }),
            2 => liar(Allowed::Change, |n, a| if n > 1 { Err(closed()) } else { Ok(a) }),
            3 => liar(Allowed::Change, |n, a| if n > 2 { Err(closed()) } else { Ok(a) }),
            4 => liar(Allowed::Change, |n, a| if n > 3 { Err(closed()) } else { Ok(a) }),
            _ => liar(Allowed::Change, |n, a| if n > 4 { Err(closed()) } else { Ok(a) }),
        };
        let vault = place.vault.clone().with_files(files);
        let taken = vault.take_checkpoint(&place.request(&format!("c{last}"), 1, What::Tree));
        assert!(!taken.is_ok_and(|taken| taken.complete), "after {last} answers");
    }
}

fn closed() -> io::Error {
    io::ErrorKind::ConnectionReset.into()
}

#[test]
fn without_anybody_who_hands_over_nothing_is_looked_at() {
    let place = Place::new();
    sh(&place.root, "echo one > a");
    let vault = place.vault.clone().with_files(FileAccess::unreachable());
    let taken = vault.take_checkpoint(&place.request("c", 1, What::Tree));
    assert!(matches!(taken, Err(CheckpointError::Io { .. })), "{taken:?}");
    assert!(vault.read_current(&place.root.join("a"), 100).is_none());
    assert_eq!(place.vault.read_current(&place.root.join("a"), 100).unwrap(), b"one\n");
    assert!(place.vault.read_current(&place.root.join("a"), 3).is_none(), "too long");
}
