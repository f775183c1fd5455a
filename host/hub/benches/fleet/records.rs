//! Records that are taken in a second.

use crate::ground::RunningHub;
use crate::machines::SimulatedMachine;
use crate::number;
use crate::usage::{Used, describe_memory, percentile};
use portcullis_fleet::protocol::MOST_RECORDS;
use portcullis_fleet::{HubClient, HubError};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The machines that send at the same time.
pub const SENDING: usize = 24;
/// The time after which a machine that finds the hub busy comes again. A real one waits longer.
const RETRY: Duration = Duration::from_millis(20);
/// The records of a full batch: with some 3 KiB each, more would not fit.
const FULL: usize = 300;

/// The outcome of sending for a time.
pub struct Sent {
    /// Records in a second.
    pub rate: f64,
    /// The times of all batches, sorted.
    pub times: Vec<Duration>,
    /// The batches that found the hub busy.
    busy: u64,
}

/// Measures small and full batches, and the storage that records take.
pub fn measure_records(hub: &RunningHub, machines: &mut [SimulatedMachine]) {
    let time = Duration::from_secs(number("PORTCULLIS_BENCH_SECONDS", 5) as u64);
    let small = number("PORTCULLIS_BENCH_BATCH", 8).min(MOST_RECORDS);
    for (count, is_kept, name) in
        [(small, false, "with a connection each"), (FULL, true, "on one connection a machine")]
    {
        let (before, rows) = read_size(hub);
        let log = read_log(hub);
        let used = Used::read(hub);
        let sent = send_records(machines, count, is_kept, time, SENDING);
        let share = used.since(hub);
        let log = read_log(hub) - log;
        let (after, now) = read_size(hub);
        println!(
            "records: batches of {count} {name}: {:.0} records in a second, {:.0} batches; a batch \
             takes {:.1?} (p50), {:.1?} (p99); {} found the hub busy",
            sent.rate,
            sent.rate / count as f64,
            percentile(&sent.times, 50),
            percentile(&sent.times, 99),
            sent.busy,
        );
        println!("  {}; a record takes {}", share.describe(), share.describe_each(sent.rate));
        println!("  {}", describe_memory(hub));
        let stored = now.saturating_sub(rows).max(1);
        println!(
            "  storage: {} bytes a record with its indexes, and {} bytes of PostgreSQL's log",
            (after - before) / stored,
            log / stored
        );
    }
    describe_storage(hub);
}

/// Sends batches from all machines in turn, some at the same time, for a time.
pub fn send_records(
    machines: &mut [SimulatedMachine],
    count: usize,
    is_kept: bool,
    time: Duration,
    sending: usize,
) -> Sent {
    let (times, busy, taken) = (Mutex::new(Vec::new()), AtomicU64::new(0), AtomicU64::new(0));
    let begun = Instant::now();
    let part = machines.len().div_ceil(sending);
    thread::scope(|scope| {
        for some in machines.chunks_mut(part) {
            scope.spawn(|| {
                let mut own_times = Vec::new();
                let mut clients: Vec<Option<HubClient>> = some.iter().map(|_| None).collect();
                for index in (0..some.len()).cycle() {
                    if begun.elapsed() >= time {
                        break;
                    }
                    let machine = &mut some[index];
                    let batch = machine.make_batch(count);
                    let start = Instant::now();
                    let connect = || HubClient::of_member(&machine.membership).unwrap();
                    let client = clients[index].take().unwrap_or_else(connect);
                    match client.send_batch(&batch) {
                        Ok(_) => {
                            own_times.push(start.elapsed());
                            taken.fetch_add(count as u64, Ordering::Relaxed);
                            machine.advance(&batch);
                        }
                        Err(HubError::Busy { .. }) => {
                            busy.fetch_add(1, Ordering::Relaxed);
                            thread::sleep(RETRY);
                        }
                        Err(error) => panic!("{error}"),
                    }
                    if is_kept {
                        clients[index] = Some(client);
                    }
                }
                times.lock().unwrap().extend(own_times);
            });
        }
    });
    let rate = taken.into_inner() as f64 / begun.elapsed().as_secs_f64();
    let mut times = times.into_inner().unwrap();
    times.sort_unstable();
    Sent { rate, times, busy: busy.into_inner() }
}

/// Returns the bytes that PostgreSQL has written to its log so far.
fn read_log(hub: &RunningHub) -> u64 {
    hub.query("SELECT (pg_current_wal_lsn() - '0/0')::bigint").parse().unwrap()
}

/// Returns the bytes of all records with their indexes, and their number as the journals count them.
fn read_size(hub: &RunningHub) -> (u64, u64) {
    // The index of words keeps new entries in a list, which counts until it is emptied.
    hub.query(
        "SELECT gin_clean_pending_list(i.indexrelid::regclass) FROM pg_stat_user_indexes i \
         WHERE i.indexrelname LIKE 'records\\_2%words%'",
    );
    let bytes = "SELECT coalesce(sum(pg_total_relation_size(relid)), 0)::bigint \
                 FROM pg_partition_tree('records')";
    let rows = "SELECT coalesce(sum(records), 0) FROM journals";
    (hub.query(bytes).parse().unwrap(), hub.query(rows).parse().unwrap())
}

/// Prints what a record's bytes are.
fn describe_storage(hub: &RunningHub) {
    let parts = hub.query(
        "WITH leaves AS (SELECT t.oid, t.reltoastrelid FROM pg_partition_tree('records') p \
           JOIN pg_class t ON t.oid = p.relid WHERE p.isleaf), \
         parts AS (SELECT 'rows' AS name, oid FROM leaves \
           UNION ALL SELECT 'long documents', reltoastrelid FROM leaves \
           UNION ALL SELECT regexp_replace(indexrelid::regclass::text, '^records_[0-9]+_', ''), \
             indexrelid FROM leaves JOIN pg_index ON indrelid = leaves.oid), \
         sums AS (SELECT name, (sum(pg_relation_size(oid)) / \
           greatest((SELECT sum(records) FROM journals), 1))::bigint AS bytes FROM parts GROUP BY 1) \
         SELECT string_agg(name || ' ' || bytes, ', ' ORDER BY bytes DESC) FROM sums WHERE bytes > 0",
    );
    println!("  bytes a record: {parts}");
    let document = hub.query(
        "SELECT avg(octet_length(document))::bigint || ' bytes of document, ' || \
         avg(pg_column_size(document))::bigint || ' as stored, ' || \
         avg(pg_column_size(words))::bigint || ' of words' \
         FROM (SELECT document, words FROM records LIMIT 5000) AS seen",
    );
    println!("  {document}");
    let sessions = hub.query(
        "SELECT (pg_total_relation_size('sessions') / greatest(count(*), 1))::bigint FROM sessions",
    );
    println!("  a session's own row: {sessions} bytes with its indexes");
}
