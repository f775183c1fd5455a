//! The cost of a record and of the pages at two sizes of the database.
//!
//! Rows are made by PostgreSQL itself: some hundred bytes each, no document, two words. They are
//! spread over the machines and over thirty days, which are partitions as the hub makes them.

use crate::ground::RunningHub;
use crate::machines::SimulatedMachine;
use crate::number;
use crate::pages::SignedIn;
use crate::records::{SENDING, send_records};
use crate::usage::Used;
use std::env;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The days over which rows are spread.
const DAYS: u64 = 30;
/// The partitions that are filled at the same time.
const FILLING: usize = 2;
/// The records of small and of full batches.
const SMALL: usize = 8;
const FULL: usize = 300;

/// Fills the database to each size, and measures.
pub fn measure_rows(hub: &RunningHub, machines: &mut [SimulatedMachine]) {
    let sizes = env::var("PORTCULLIS_BENCH_ROWS").unwrap_or_else(|_| "20000,100000".to_owned());
    let sizes = sizes.split(',').map(|size| size.trim().parse::<u64>().unwrap());
    let person = SignedIn::with_link(hub);
    hub.query("ALTER SYSTEM SET max_wal_size = '4GB'");
    hub.query("ALTER SYSTEM SET maintenance_work_mem = '1GB'");
    hub.query("SELECT pg_reload_conf()");
    // Each machine needs a session of its own to look at.
    send_records(machines, SMALL, false, Duration::from_millis(500), SENDING);
    for (round, size) in sizes.enumerate() {
        let begun = Instant::now();
        fill_to(hub, size, round as u64);
        let rows = hub.query("SELECT sum(reltuples)::bigint FROM pg_class c JOIN pg_partition_tree('records') p ON p.relid = c.oid WHERE isleaf AND reltuples > 0");
        println!(
            "rows: {rows} rows, {}; filled in {:.1?}",
            hub.query("SELECT pg_size_pretty(sum(pg_total_relation_size(relid))) FROM pg_partition_tree('records')"),
            begun.elapsed()
        );
        measure_costs(hub, &person, machines);
    }
}

/// Prints what records and pages cost now.
fn measure_costs(hub: &RunningHub, person: &SignedIn, machines: &mut [SimulatedMachine]) {
    let time = Duration::from_secs(number("PORTCULLIS_BENCH_SECONDS", 5) as u64);
    for (count, is_kept) in [(SMALL, false), (FULL, true)] {
        let used = Used::read(hub);
        let sent = send_records(machines, count, is_kept, time, SENDING);
        println!(
            "  batches of {count}: {:.0} records in a second; {}",
            sent.rate,
            used.since(hub).describe()
        );
    }
    let (machine, session) = (machines[0].id(), machines[0].session());
    for (name, path) in [
        ("machines", "/".to_owned()),
        ("a machine", format!("/machine?id={machine}")),
        ("a session", format!("/session?machine={machine}&id={session}")),
        ("the newest records", "/search".to_owned()),
        ("a machine's records", format!("/search?machine={machine}")),
        ("a verdict", "/search?verdict=block".to_owned()),
        ("a common word", "/search?text=cargo".to_owned()),
        ("a word of a few records", "/search?text=rare77".to_owned()),
        ("a word of no record", "/search?text=absent77".to_owned()),
        ("a day of long ago", "/search?since=2020-01-01&until=2020-01-02".to_owned()),
        ("findings", "/findings".to_owned()),
        ("incidents", "/incidents".to_owned()),
    ] {
        println!("  the page of {name}: {:.1?}", person.time_page(&path));
    }
}

/// Adds rows until there are so many, or the disk's bound is reached.
fn fill_to(hub: &RunningHub, size: u64, round: u64) {
    let present: u64 =
        hub.query("SELECT count(*) FROM (SELECT FROM records LIMIT 1000000000) r").parse().unwrap();
    let of_day = size.saturating_sub(present).div_ceil(DAYS);
    let most = number("PORTCULLIS_BENCH_DISK", 22) as u64 * (1 << 30);
    let next = AtomicU64::new(1);
    let next = &next;
    let machines: u64 = hub.query("SELECT count(*) FROM machines").parse().unwrap();
    thread::scope(|scope| {
        for _ in 0..FILLING {
            scope.spawn(move || {
                loop {
                    let day = next.fetch_add(1, Ordering::Relaxed);
                    let bytes: u64 =
                        hub.query("SELECT pg_database_size('postgres')").parse().unwrap();
                    if day > DAYS || bytes > most {
                        if bytes > most {
                            println!(
                                "rows: the disk's bound was reached after {} of {DAYS} days",
                                day - 1
                            );
                        }
                        return;
                    }
                    hub.query(&fill_day(day, of_day, round, machines));
                }
            });
        }
    });
    hub.query("ANALYZE records");
    hub.query("CHECKPOINT");
}

/// Returns the SQL that fills the day that is so many days ago. The indexes of a partition are made
/// when it is attached, which is many times faster than a row after the other.
fn fill_day(day: u64, rows: u64, round: u64, machines: u64) -> String {
    let start = round * 1_000_000_000 + day * 10_000_000;
    format!(
        "DO $$ DECLARE \
           first timestamptz := date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - interval '{day} days'; \
           name text := 'records_' || to_char(first AT TIME ZONE 'UTC', 'YYYYMMDD'); \
         BEGIN \
           EXECUTE format('DROP TABLE IF EXISTS %I', name); \
           EXECUTE format('CREATE TABLE %I (LIKE records INCLUDING DEFAULTS INCLUDING COMPRESSION)', name); \
           EXECUTE format('INSERT INTO %I (machine, journal, sequence, stored_at, previous, hash, at, \
             id, kind, session, subject, verdict, exact, words) \
             SELECT m.machine, lpad(m.place::text, 32, ''f''), {start} + n, \
             $1 + (n / 8) * (interval ''86000 seconds'' / ({rows} / 8 + 1)), ''\\x00'', ''\\x00'', \
             1790000000000 + n, to_hex({start} + n), ''review'', \
             ''old-'' || ({start} + n) / {machines} / 100, (ARRAY[''Bash'', ''Edit'', ''Read'', ''Write''])[1 + mod(n, 4)], \
             CASE WHEN mod(n, 1000) = 0 THEN ''block'' WHEN mod(n, 100) = 0 THEN ''ask'' ELSE ''allow'' END, \
             true, array_to_tsvector(ARRAY[''cargo'', CASE WHEN mod(n, 100000) = 77 THEN ''rare77'' ELSE ''w'' || mod(n, 5000) END]) \
             FROM generate_series(1, {rows}) n JOIN (SELECT machine, row_number() OVER (ORDER BY machine) - 1 AS place \
               FROM machines) m ON m.place = mod(n / 8, {machines})', name) USING first; \
           EXECUTE format('ALTER TABLE records ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', \
             name, first, first + interval '1 day'); \
         END $$"
    )
}
