//! A service that is killed at any moment, with agents at work.

use crate::common::site::Site;
use crate::common::tell;
use crate::running::{Running, ask};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const AGENTS: usize = 4;
/// The variable that sets how often it is killed.
const KILLS: &str = "PORTCULLIS_SERVICE_KILLS";

/// Every hook gets the right answer, whether the service, its last moment or the embedded review
/// gave it, and some get the last; every answered action has its review in the journal; the chain
/// holds.
pub fn under_load() -> Result<()> {
    let kills = match std::env::var(KILLS) {
        Ok(text) => text.parse().with_context(|| format!("{KILLS} is `{text}`"))?,
        Err(_) => 200,
    };
    let site = Site::new("killed-service")?;
    let over = AtomicBool::new(false);
    let answered = thread::scope(|scope| -> Result<Vec<String>> {
        let agents: Vec<_> = (0..AGENTS)
            .map(|agent| {
                let (site, over) = (&site, &over);
                scope.spawn(move || act(site, agent, over))
            })
            .collect();
        let mut moment = 1_u64;
        let killed = (0..kills).try_for_each(|_| {
            let mut running = Running::start(&site)?;
            // Moments spread over the time of some reviews, the same in every run.
            moment = moment.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            thread::sleep(Duration::from_micros((moment >> 33) % 30_000));
            running.child.kill()?;
            running.child.wait()?;
            Ok(())
        });
        over.store(true, Ordering::SeqCst);
        let acted = agents.into_iter().map(|agent| agent.join().unwrap());
        let acted = acted.collect::<Result<Vec<_>>>()?;
        killed.map(|()| acted.concat())
    })?;
    site.verify()?;
    let records = site.records()?;
    let reviews = records.iter().filter(|record| record["kind"] == "review");
    let recorded: BTreeSet<&str> = reviews.filter_map(|record| record["call"].as_str()).collect();
    let lost: Vec<&String> = answered.iter().filter(|id| !recorded.contains(id.as_str())).collect();
    ensure!(lost.is_empty(), "answered and not reviewed: {lost:?}");
    let without = |record: &&serde_json::Value| !record["details"]["without_service"].is_null();
    let fallen_back = records.iter().filter(without).count();
    ensure!(fallen_back > 0, "no hook reviewed by itself in {kills} kills");
    tell(&format!(
        "{kills} kills, {} answers, {} records, {fallen_back} of them after a failure of the service",
        answered.len(),
        records.len()
    ));
    Ok(())
}

/// One agent; returns the ids of its answered calls.
fn act(site: &Site, agent: usize, over: &AtomicBool) -> Result<Vec<String>> {
    let (mut answered, begun) = (Vec::new(), Instant::now());
    while !over.load(Ordering::SeqCst) && begun.elapsed() < Duration::from_secs(300) {
        let id = format!("c{agent}-{}", answered.len());
        let dangerous = answered.len() % 3 == 0;
        let command = if dangerous { "rm -rf /" } else { "cargo test" };
        // What is refused stops its session, so each call has one of its own.
        let calls = site.calls(&id);
        let ended = ask(site, calls.bash(&id, command).to_string().as_bytes())?;
        let expected = if dangerous { 2 } else { 0 };
        ensure!(ended.code == Some(expected), "{command}: {}", ended.all());
        answered.push(id);
    }
    Ok(answered)
}
