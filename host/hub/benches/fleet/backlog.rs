//! A machine that was offline for weeks: a real journal in a real home, sent by a process of its own.

use crate::ground::RunningHub;
use crate::machines::{SimulatedMachine, fill_record, now};
use crate::number;
use crate::records::send_records;
use crate::usage::{Used, forget_peak, percentile, read_peak};
use data_encoding::HEXLOWER;
use portcullis_core::mask::{MaskPolicy, Masker};
use portcullis_fleet::protocol::SentDetail;
use portcullis_fleet::{FleetFiles, HubClient, HubError, JournalSender, SendError};
use portcullis_store::{
    Durability, Hash, Home, NewRecord, RecordProof, Store, hash_record, to_hex,
};
use std::env;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// The variable that makes this program the machine of a home.
pub const SENDER: &str = "PORTCULLIS_BENCH_SENDER";
/// The records that are recorded in one transaction, and read back at once.
const CHUNK: u64 = 1000;
/// The time for which a machine sends before it would start again.
const BUDGET: Duration = Duration::from_secs(3600);
/// The time between two looks at the machine that sends.
const LOOK: Duration = Duration::from_millis(500);
/// Other machines that send at the same time.
const OTHERS: usize = 2;
/// The records of a batch of the other machines.
const SMALL: usize = 8;

/// Lets one machine send a backlog, while the others send small batches.
pub fn measure_backlog(hub: &RunningHub, machines: &mut [SimulatedMachine]) {
    let count = number("PORTCULLIS_BENCH_BACKLOG", 20_000) as u64;
    let machine = SimulatedMachine::join_all(hub, 1).remove(0);
    let folder = hub.path("offline");
    let home = Home::open_root(&folder).unwrap();
    FleetFiles::of_home(&home).write_membership(&machine.membership).unwrap();
    let begun = Instant::now();
    let head = record_weeks(&home, count);
    println!("backlog: {count} records were recorded in {:.1?}", begun.elapsed());
    let used = Used::read(hub);
    hub.replica_ids().into_iter().for_each(forget_peak);
    let begun = Instant::now();
    let mut sender =
        Command::new(env::current_exe().unwrap()).env(SENDER, &folder).spawn().unwrap();
    let (mut peak, mut times, mut others) = (0, Vec::new(), 0.0);
    while sender.try_wait().unwrap().is_none() {
        peak = peak.max(read_peak(sender.id()));
        let sent = send_records(machines, SMALL, false, LOOK, OTHERS);
        others = (others + sent.rate) / 2.0;
        times.extend(sent.times);
    }
    let time = begun.elapsed();
    assert!(sender.wait().unwrap().success());
    times.sort_unstable();
    let replicas: Vec<String> =
        hub.replica_ids().iter().map(|id| format!("{} MiB", read_peak(*id) / 1024)).collect();
    println!(
        "backlog: sent in {time:.1?}, {:.0} records in a second; at most {} MiB on the machine, {} \
         at the replicas; other machines sent {others:.0} records in a second meanwhile, a batch \
         took {:.1?} (p50), {:.1?} (p99)",
        count as f64 / time.as_secs_f64(),
        peak / 1024,
        replicas.join(" and "),
        percentile(&times, 50),
        percentile(&times, 99),
    );
    println!("  {}", used.since(hub).describe());
    let begun = Instant::now();
    let verified = verify_chain(hub, machine.id());
    assert_eq!(verified, (count, to_hex(&head)), "the hub has another chain");
    let head =
        format!("SELECT encode(head_hash, 'hex') FROM journals WHERE machine = '{}'", machine.id());
    assert_eq!(hub.query(&head), verified.1, "the hub's head is another record");
    println!(
        "backlog: the hub's chain of {count} records was recomputed in {:.1?}",
        begun.elapsed()
    );
}

/// Fills a journal; returns the hash of its newest record.
fn record_weeks(home: &Home, count: u64) -> Hash {
    let mut store = Store::open_database(home, Durability::Process).unwrap();
    let at = now();
    for first in (0..count).step_by(CHUNK as usize) {
        let records = (first..count.min(first + CHUNK)).map(|number| {
            let (id, session) = (format!("{number:016x}"), format!("offline-{}", number / 100));
            let (kind, verdict, document) = fill_record(&id, at, &session, number);
            NewRecord {
                id,
                at,
                kind: kind.to_owned(),
                subject: "Bash".to_owned(),
                verdict: verdict.map(str::to_owned),
                document,
                ..NewRecord::default()
            }
        });
        store.append_records(records.collect()).unwrap();
    }
    store.head_anchor(at).unwrap().hash
}

/// Sends the journal of a home until the hub has it all.
pub fn send_as_machine(home: &Path) {
    let home = Home::open_root(home).unwrap();
    let files = FleetFiles::of_home(&home);
    let membership = files.read_membership().unwrap().unwrap();
    let mut store = Store::open_database(&home, Durability::Process).unwrap();
    let masker = Masker::new([1; 32], &MaskPolicy::default());
    loop {
        let client = HubClient::of_member(&membership).unwrap();
        let mut sender = JournalSender {
            store: &mut store,
            files: &files,
            client: &client,
            membership: &membership,
            masker: &masker,
            detail: SentDetail::Full,
            portcullis: env!("CARGO_PKG_VERSION"),
        };
        match sender.send_journal(Instant::now() + BUDGET, now) {
            Ok(report) if report.waiting == 0 => return,
            Ok(_) => {}
            Err(SendError::Hub(HubError::Busy { after, .. })) => {
                thread::sleep(after.unwrap_or(LOOK));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Recomputes the chain of a machine from what the hub has; returns the records and the last hash.
fn verify_chain(hub: &RunningHub, machine: &str) -> (u64, String) {
    let (mut hash, mut sequence): (Hash, u64) = ([0; 32], 0);
    // With the journal, the key has the records in order: no query sorts all that follow.
    let journal = hub.query(&format!("SELECT journal FROM journals WHERE machine = '{machine}'"));
    loop {
        let rows = hub.query(&format!(
            "SELECT encode(hash, 'hex'), encode(salt, 'hex'), encode(stored, 'hex'), document \
             FROM records WHERE machine = '{machine}' AND journal = '{journal}' \
             AND sequence > {sequence} ORDER BY sequence LIMIT {CHUNK}"
        ));
        for row in rows.lines() {
            let [stated, salt, stored, document] = *row.splitn(4, '|').collect::<Vec<_>>() else {
                panic!("{row}")
            };
            sequence += 1;
            // A journal is encrypted unless its person has turned that off.
            let hash_of =
                |text: &str| HEXLOWER.decode(text.as_bytes()).unwrap().try_into().unwrap();
            let proof = RecordProof { salt: hash_of(salt), stored: hash_of(stored) };
            hash = hash_record(&hash, sequence, document.as_bytes(), Some(&proof));
            assert_eq!(to_hex(&hash), stated, "record {sequence}");
        }
        if rows.is_empty() {
            return (sequence, to_hex(&hash));
        }
    }
}
