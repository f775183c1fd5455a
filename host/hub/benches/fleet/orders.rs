//! Connections that replicas hold, and orders that arrive at them.

use crate::ground::RunningHub;
use crate::held::{Answer, BUSY, HeldConnection};
use crate::machines::{GROUP, SimulatedMachine, now};
use crate::number;
use crate::pages::SignedIn;
use crate::usage::{Used, count_files, describe_memory, percentile, read_memory};
use portcullis_bundle::SecretKey;
use portcullis_fleet::orders::{AfterExpiry, FORMAT, Orders, SignedOrders};
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Machines that connect in a second.
const PACE: usize = 400;
/// The time after which a machine that failed comes again.
const RETRY: Duration = Duration::from_secs(5);
/// The time until all machines have new orders.
const PATIENCE: Duration = Duration::from_secs(120);
/// The time in which what machines do at first is over.
const PAUSE: Duration = Duration::from_secs(3);

/// The results of the machines' requests.
#[derive(Default)]
struct Met {
    /// Machines that have asked at least once.
    asking: AtomicUsize,
    /// The number of machines that have the version that was published last, and when each got it.
    version: AtomicU64,
    arrivals: Mutex<Vec<Instant>>,
    busy: AtomicUsize,
    failed: AtomicUsize,
    /// The newest failure.
    failure: Mutex<String>,
}

/// Lets all machines hold a request for orders, and publishes some.
pub fn measure_orders(hub: &RunningHub, machines: Vec<SimulatedMachine>) {
    let met: &'static Met = Box::leak(Box::default());
    let replicas = hub.replica_ids();
    let read = || -> Vec<(u64, usize)> {
        replicas.iter().map(|id| (read_memory(*id), count_files(*id))).collect()
    };
    let (count, before) = (machines.len(), read());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    for (index, machine) in machines.into_iter().enumerate() {
        runtime.spawn(hold_requests(machine, met));
        if index % (PACE / 20) == 0 {
            thread::sleep(Duration::from_millis(50));
        }
    }
    thread::sleep(PAUSE);
    let measure_share = || {
        let used = Used::read(hub);
        thread::sleep(Duration::from_secs(number("PORTCULLIS_BENCH_SECONDS", 5) as u64));
        used.since(hub).describe()
    };
    let share = measure_share();
    for ((memory, files), (memory_before, files_before)) in read().into_iter().zip(before) {
        let held = files.saturating_sub(files_before);
        println!(
            "orders: a replica holds {held} connections, {} KiB each",
            memory.saturating_sub(memory_before) / held.max(1) as u64
        );
    }
    println!("  {} machines ask; {}", met.asking.load(Ordering::Relaxed), met.failures());
    println!("  without news: {share}");
    // Each has a journal, as after its first batch.
    hub.query(
        "INSERT INTO journals (machine, journal, start_sequence, start_hash, head_sequence, \
         head_hash, claimed_sequence) \
         SELECT machine, md5(machine), 0, '\\x00', 1, '\\x00', 1 FROM machines",
    );
    let page = SignedIn::with_link(hub).open_page();
    println!("  the same while somebody has a page open: {}", measure_share());
    drop(page);
    println!("  {}", describe_memory(hub));
    for version in 1..=number("PORTCULLIS_BENCH_ROUNDS", 3) as u64 {
        publish(hub, met, version, count);
        thread::sleep(PAUSE);
    }
}

/// Publishes a version, and waits until all machines have it.
fn publish(hub: &RunningHub, met: &Met, version: u64, count: usize) {
    let orders = Orders {
        format: FORMAT,
        group: GROUP.to_owned(),
        version,
        not_before: now(),
        expires_at: now() + 3_600_000,
        after_expiry: AfterExpiry::Keep,
        configuration: "mode = \"blocking\"\n".to_owned(),
        trust: String::new(),
        lock: String::new(),
        approvals: String::new(),
    };
    let signed = SignedOrders::sign_orders(&orders, &SecretKey::of_seed(&[7; 32]));
    let file = hub.path("orders.json");
    fs::write(&file, serde_json::to_vec(&signed).unwrap()).unwrap();
    met.arrivals.lock().unwrap().clear();
    met.version.store(version, Ordering::Release);
    let used = Used::read(hub);
    let begun = Instant::now();
    hub.run(&["orders", "publish", &file.display().to_string()]);
    let command = begun.elapsed();
    while met.arrivals.lock().unwrap().len() < count && begun.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(10));
    }
    let arrivals = met.arrivals.lock().unwrap();
    let mut times: Vec<Duration> = arrivals.iter().map(|at| at.duration_since(begun)).collect();
    times.sort_unstable();
    println!(
        "orders: version {version} arrived at {} of {count} machines after {:.1?} (p50), {:.1?} \
         (p99), {:.1?} (last), from the start of the command, which took {command:.1?}; {}",
        times.len(),
        percentile(&times, 50),
        percentile(&times, 99),
        percentile(&times, 100),
        met.failures(),
    );
    println!("  {}", used.since(hub).describe());
}

/// Asks for orders again and again, as a resident service does.
async fn hold_requests(machine: SimulatedMachine, met: &'static Met) {
    let mut seen = 0;
    loop {
        let asked = ask_until_failure(&machine, &mut seen, met).await;
        let failure =
            asked.map_or_else(|error| error.to_string(), |status| format!("status {status}"));
        if failure.ends_with(&BUSY.to_string()) {
            met.busy.fetch_add(1, Ordering::Relaxed);
        } else {
            met.failed.fetch_add(1, Ordering::Relaxed);
            *met.failure.lock().unwrap() = failure;
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Asks on one connection; returns the status of a refusal.
async fn ask_until_failure(
    machine: &SimulatedMachine,
    seen: &mut u64,
    met: &Met,
) -> std::io::Result<u16> {
    let mut connection = HeldConnection::connect(&machine.membership).await?;
    if *seen == 0 {
        met.asking.fetch_add(1, Ordering::Relaxed);
    }
    loop {
        match connection.ask_orders(*seen).await? {
            Answer::Refused(status) => return Ok(status),
            Answer::Orders(answer) => {
                let Some(signed) = answer.orders else { continue };
                let orders: Orders = serde_json::from_str(&signed.orders)?;
                *seen = orders.version;
                if *seen == met.version.load(Ordering::Acquire) {
                    met.arrivals.lock().unwrap().push(Instant::now());
                }
            }
        }
    }
}

impl Met {
    fn failures(&self) -> String {
        let (busy, failed) =
            (self.busy.swap(0, Ordering::Relaxed), self.failed.swap(0, Ordering::Relaxed));
        match failed {
            0 => format!("{busy} found the hub busy"),
            _ => format!(
                "{busy} found the hub busy, {failed} failed: {}",
                self.failure.lock().unwrap()
            ),
        }
    }
}
