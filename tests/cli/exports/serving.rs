//! Deliveries by the resident service, and by `maintain` where there is none.

use crate::common::site::Site;
use crate::journal::{append, check_complete};
use crate::receiver::{LONG, Protocol, Receiver, Step};
use crate::running::{Running, ask};
use anyhow::{Result, ensure};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

/// Returns the configuration of an export. The records are old, so nothing is removed by its age.
fn configuration(receiver: &Receiver, more: &str) -> String {
    format!(
        "[exports.out]\nformat = \"jsonl\"\nsink = \"webhook\"\nurl = \"http://127.0.0.1:{}/in\"\n\
         batch.wait_seconds = 0\nbatch.records = 50\n{more}\n[audit]\nretention_days = 0\n",
        receiver.port
    )
}

/// Waits until a receiver has so many records.
fn await_records(receiver: &Receiver, count: usize) -> Result<()> {
    let begun = Instant::now();
    loop {
        let taken: BTreeSet<u64> = receiver.sequences()?.into_iter().flatten().collect();
        if taken.len() >= count {
            return Ok(());
        }
        ensure!(begun.elapsed() < LONG, "only {} of {count} records came", taken.len());
        thread::sleep(Duration::from_millis(10));
    }
}

/// While a delivery waits for a sink that does not answer, hooks are answered, by the service and
/// without it, and their records follow. A service that is killed goes on where it was.
pub fn by_the_service() -> Result<()> {
    let site = Site::new("served exports")?;
    append(&site, 1..=120)?;
    let script = |number: usize, _: &[u8]| if number == 1 { Step::Hold } else { Step::Take };
    let receiver = Receiver::start(Protocol::Webhook, None, script)?;
    site.write("config.toml", configuration(&receiver, ""))?;
    let running = Running::start(&site)?;
    receiver.await_held()?;
    ask(&site, site.calls("served").bash("c1", "ls").to_string().as_bytes())?;
    site.ordinary("embedded")?;
    let records = site.records()?.len();
    ensure!(records > 120, "the hooks left no record");
    ensure!(receiver.taken().len() == 2, "another delivery went past the one that is held");
    receiver.release();
    await_records(&receiver, records)?;
    running.signal(Signal::KILL)?;
    drop(running);
    append(&site, 1001..=1100)?;
    let running = Running::start(&site)?;
    await_records(&receiver, records + 100)?;
    let last = u64::try_from(site.records()?.len())?;
    await_records(&receiver, usize::try_from(last)?)?;
    drop(running);
    check_complete(&receiver.sequences()?, last).map(drop)
}

/// A hook that finds an export starts `maintain`, which delivers, also what comes after a failure.
pub fn by_maintenance() -> Result<()> {
    let site = Site::new("maintained exports")?;
    append(&site, 1..=120)?;
    let script = |number: usize, _: &[u8]| if number == 0 { Step::Refuse } else { Step::Take };
    let receiver = Receiver::start(Protocol::Webhook, None, script)?;
    site.write("config.toml", configuration(&receiver, "retry.first_seconds = 1"))?;
    let refused = site.run(&["maintain", "--json"])?;
    ensure!(refused.code == Some(1), "{}", refused.all());
    ensure!(refused.text().contains("answered 503"), "{}", refused.all());
    // It waits for its retry, unless all work is wanted.
    let ended = site.run(&["maintain", "--all", "--json"])?;
    ensure!(ended.code == Some(0), "{}", ended.all());
    ensure!(ended.text().contains("120 records delivered"), "{}", ended.all());
    check_complete(&receiver.sequences()?, 120)?;
    // Without an export, hooks find no such work.
    site.write("config.toml", "")?;
    site.output(&["maintain", "--all"])?;
    let left = crate::journal::open(&site)?.queued_work()?;
    ensure!(left.iter().all(|work| work.kind != "export"), "{left:?}");
    Ok(())
}
