//! Measures a fleet: light clients that speak the real protocol, two replicas of the real hub, and a
//! real PostgreSQL, all on this machine.
//!
//! `cargo bench --workspace --bench fleet` prints, one part after the other:
//!
//! | part | |
//! |---|---|
//! | `join` | machines that join in a second, each with a key of its own |
//! | `records` | records taken in a second, and the time of a batch: small batches with a connection each, as machines send while agents work, and full ones on one connection |
//! | `backlog` | one machine after weeks offline: the time, the memory at both ends, and its chain as the hub has it |
//! | `rows` | the cost of a record and of the pages in a database with few rows and with many |
//! | `orders` | connections that a replica holds, what they and an open page take, and the time in which orders arrive |
//!
//! The machines are simplified. Each is a value of this program, and its records are copies of a real
//! review and its outcome with other ids, sessions, times and words. Each joins with a token, has its own key and
//! certificate, and speaks through `HubClient` as a machine does; only held connections are lighter
//! than that (`held.rs`), since a thread for each is more than a process may have. Nothing on the hub's
//! side is simplified. Clients, hub and database share this machine's processors, so every figure is a
//! floor.
//!
//! PostgreSQL is started by `portcullis hub dev`, with the settings that it comes with.
//!
//! | variable | default | |
//! |---|---|---|
//! | `PORTCULLIS_BENCH_PARTS` | all | the parts, separated by commas |
//! | `PORTCULLIS_BENCH_MACHINES` | 200 | machines |
//! | `PORTCULLIS_BENCH_SECONDS` | 5 | the length of each measurement of records, and of held connections |
//! | `PORTCULLIS_BENCH_BATCH` | 8 | records of a small batch |
//! | `PORTCULLIS_BENCH_BACKLOG` | 20000 | records of the machine that was offline |
//! | `PORTCULLIS_BENCH_ROWS` | 20000,100000 | sizes of the database, in rows, each larger than the one before |
//! | `PORTCULLIS_BENCH_DISK` | 22 | the most GiB that rows may take: filling stops there and says so |
//! | `PORTCULLIS_BENCH_ROUNDS` | 3 | versions of orders that are published |
//! | `PORTCULLIS_BENCH_HUB` | this build's | the program of the hub, to compare two |

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    unreachable_pub,
    missing_docs,
    reason = "a measurement for people"
)]

mod backlog;
mod ground;
mod held;
mod machines;
mod orders;
mod pages;
mod records;
mod rows;
mod usage;

use ground::RunningHub;
use machines::SimulatedMachine;
use std::env;
use std::time::Instant;

fn main() {
    if let Some(home) = env::var_os(backlog::SENDER) {
        backlog::send_as_machine(home.as_ref());
        return;
    }
    let hub = RunningHub::start();
    println!("{}", usage::describe_machine());
    let begun = Instant::now();
    let mut machines = SimulatedMachine::join_all(&hub, number("PORTCULLIS_BENCH_MACHINES", 200));
    if wants("join") {
        let rate = machines.len() as f64 / begun.elapsed().as_secs_f64();
        println!("join: {} machines, {rate:.0} in a second", machines.len());
    }
    if wants("records") {
        records::measure_records(&hub, &mut machines);
    }
    if wants("backlog") {
        backlog::measure_backlog(&hub, &mut machines);
    }
    if wants("rows") {
        rows::measure_rows(&hub, &mut machines);
    }
    // Its machines hold their connections until the end.
    if wants("orders") {
        orders::measure_orders(&hub, machines);
    }
}

/// Returns true if a part was asked for.
fn wants(part: &str) -> bool {
    env::var("PORTCULLIS_BENCH_PARTS")
        .map_or(true, |parts| parts.split(',').any(|named| named.trim() == part))
}

/// Returns the number in a variable.
pub fn number(variable: &str, default: usize) -> usize {
    env::var(variable).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}
