//! Machines as values: a real identity, and a journal that is made as it is sent.

use crate::ground::RunningHub;
use portcullis_fleet::protocol::{Batch, Position, SentDetail, SentRecord, VERSION};
use portcullis_fleet::{HubClient, HubError, JoinToken, Membership};
use portcullis_store::hash_record;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

/// The two records of an action as a machine records them. The marks stand for what differs.
const REVIEW: &str = include_str!("review.json");
const OUTCOME: &str = include_str!("outcome.json");
/// The records of a session.
pub const OF_SESSION: u64 = 100;
/// The group of all machines.
pub const GROUP: &str = "bench";
/// The machines that join at the same time.
const JOINING: usize = 16;

/// A machine.
pub struct SimulatedMachine {
    /// Its identity; the address of its hub is that of one replica.
    pub membership: Membership,
    index: usize,
    head: Position,
}

impl SimulatedMachine {
    /// Lets machines join, half of them at each replica.
    pub fn join_all(hub: &RunningHub, count: usize) -> Vec<Self> {
        static TOKENS: AtomicUsize = AtomicUsize::new(0);
        let file = hub.path(&format!("token-{}", TOKENS.fetch_add(1, Ordering::Relaxed)));
        let (shown, uses) = (file.display().to_string(), count.to_string());
        let label = format!("group={GROUP}");
        hub.run(&["token", "create", "--label", &label, "--uses", &uses, "-o", &shown]);
        let token = JoinToken::parse_text(&fs::read_to_string(file).unwrap()).unwrap();
        let (next, joined) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(count)));
        thread::scope(|scope| {
            for _ in 0..JOINING.min(count) {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        if index >= count {
                            return;
                        }
                        let machine = Self::join(hub, &token, index);
                        joined.lock().unwrap().push(machine);
                    }
                });
            }
        });
        joined.into_inner().unwrap()
    }

    fn join(hub: &RunningHub, token: &JoinToken, index: usize) -> Self {
        let address = &hub.addresses[index % hub.addresses.len()];
        let name = format!("laptop-{index}");
        let membership = loop {
            match HubClient::join_fleet(address, token, &name, env!("CARGO_PKG_VERSION")) {
                Ok(membership) => break membership,
                Err(HubError::Busy { .. }) => thread::yield_now(),
                Err(error) => panic!("{error}"),
            }
        };
        Self { membership, index, head: Position::default() }
    }

    /// Returns the machine's id.
    pub fn id(&self) -> &str {
        &self.membership.machine
    }

    /// Returns its journal's id.
    pub fn journal(&self) -> String {
        format!("{:032x}", self.index)
    }

    /// Returns the session of the newest record.
    pub fn session(&self) -> String {
        name_session(self.index, self.head.sequence)
    }

    /// Makes the next records.
    pub fn make_batch(&self, count: usize) -> Batch {
        let (mut head, mut records) = (self.head, Vec::with_capacity(count));
        for _ in 0..count {
            let record = make_record(self.index, head);
            head = Position { sequence: record.sequence, hash: record.hash };
            records.push(record);
        }
        Batch {
            version: VERSION,
            machine: self.id().to_owned(),
            journal: self.journal(),
            portcullis: env!("CARGO_PKG_VERSION").to_owned(),
            start: Position::default(),
            head,
            detail: SentDetail::Full,
            records,
        }
    }

    /// Notes that the hub has a batch.
    pub fn advance(&mut self, batch: &Batch) {
        self.head = batch.head;
    }
}

/// Makes the record after a place in the journal of a machine.
fn make_record(machine: usize, after: Position) -> SentRecord {
    let sequence = after.sequence + 1;
    let (id, at) = (format!("{machine:08x}{sequence:08x}"), now());
    let session = name_session(machine, sequence);
    let (kind, verdict, document) = fill_record(&id, at, &session, sequence);
    SentRecord {
        hash: hash_record(&after.hash, sequence, document.as_bytes(), None),
        sequence,
        previous: after.hash,
        id,
        at,
        kind: kind.to_owned(),
        session: Some(session),
        agent: None,
        subject: "Bash".to_owned(),
        verdict: verdict.map(str::to_owned),
        document: Some(document),
        exact: true,
        proof: None,
    }
}

/// Returns kind, verdict and document of a record: a review, then its outcome.
pub fn fill_record(
    id: &str,
    at: u64,
    session: &str,
    number: u64,
) -> (&'static str, Option<&'static str>, String) {
    let (kind, verdict, text) = match number.is_multiple_of(2) {
        true => ("outcome", None, OUTCOME),
        false => ("review", Some("allow"), REVIEW),
    };
    let document = text
        .trim_end()
        .replace("@id@", id)
        .replace("\"@at@\"", &at.to_string())
        .replace("@session@", session)
        // A file of a project of a thousand, and a word that few records have.
        .replace("@file@", &format!("part{}/file{}.rs", number % 37, number % 1000))
        .replace("@word@", &format!("w{:x}", number.wrapping_mul(0x9e37_79b9) % 100_000));
    (kind, verdict, document)
}

fn name_session(machine: usize, sequence: u64) -> String {
    format!("session-{machine}-{}", sequence / OF_SESSION)
}

/// Returns the time in milliseconds since 1970.
pub fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}
