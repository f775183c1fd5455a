//! A database whose disk is full, and many services at once.

use super::cluster::Cluster;
use super::fleets::{Fleet, act, machine_of, send, send_all};
use super::orders::{Service, operator, orders, write_signed};
use super::wire::{batch, certificate_of, post, records};
use crate::common::site::{LIMIT, Site};
use anyhow::{Context, Result, anyhow, ensure};
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The services that run at once.
const SERVICES: usize = 50;
/// The records of a large batch, and all that are offered: far more than the disk holds.
const LARGE: usize = 300;
const OFFERED: u64 = 12_000;
/// The batches that are refused before there is room again.
const REFUSED: usize = 12;

/// Returns letters that do not compress.
fn noise(length: usize) -> String {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'a' + u8::try_from(state % 26).unwrap_or(0))
    };
    (0..length).map(|_| next()).collect()
}

/// What the hub acknowledged before its database's disk was full is there; what it could not store it
/// did not acknowledge; and once there is room again, everything arrives.
pub fn full_disk() -> Result<()> {
    let cluster: &'static Cluster = Box::leak(Box::new(Cluster::create_small("cluster-full")?));
    let filled = fill_disk(cluster);
    cluster.stop()?;
    filled
}

fn fill_disk(cluster: &'static Cluster) -> Result<()> {
    let fleet = Fleet::over(cluster, "disk_full")?;
    let (site, light) = (fleet.machine("full disk")?, fleet.machine("full disk light")?);
    act(&site, 2)?;
    send_all(&site, LIMIT)?;
    let (own, id) = (certificate_of(&light)?, machine_of(&light)?);
    let all = records(1, OFFERED, &noise(1500));
    let (mut accepted, mut refused) = (0_usize, 0);
    while refused < REFUSED {
        let end = (accepted + LARGE).min(all.len());
        ensure!(accepted < all.len(), "the disk was never full");
        match post(&fleet, &own, &batch(&id, all[accepted..end].to_vec())) {
            Ok(answer) if answer.status == 200 => {
                ensure!(answer.body["accepted_through"] == end as u64, "{answer:?}");
                accepted = end;
            }
            Ok(answer) => {
                ensure!(answer.status == 503, "{answer:?}");
                refused += 1;
            }
            Err(error) => return Err(error.context("the hub ended")),
        }
    }
    // A real machine keeps its records meanwhile.
    act(&site, 2)?;
    send(&site)?;
    cluster.free_space()?;
    let begun = Instant::now();
    let end = (accepted + LARGE).min(all.len());
    loop {
        let answer = post(&fleet, &own, &batch(&id, all[accepted..end].to_vec()))?;
        if answer.status == 200 {
            break;
        }
        ensure!(begun.elapsed() < LIMIT, "still refused: {answer:?}");
        thread::sleep(Duration::from_millis(200));
    }
    let sql =
        format!("SELECT count(*) || ' ' || max(sequence) FROM records WHERE machine = '{id}'");
    ensure!(fleet.query(&sql)? == format!("{end} {end}"), "{}", fleet.query(&sql)?);
    send_all(&site, LIMIT)?;
    fleet.has_journal(&site)?;
    ensure!(fleet.incident_kinds()?.is_empty(), "{:?}", fleet.incident_kinds()?);
    Ok(())
}

/// Fifty resident services hold their requests, at two replicas of which one dies. Orders reach all
/// of them, and all of their journals arrive whole.
pub fn many_services() -> Result<()> {
    let mut fleet = Fleet::start("many")?;
    let uses = SERVICES.to_string();
    let token = fleet.token("of-many", &["--label", "group=web", "--uses", &uses])?;
    let key = fleet.folder.join("many.key.pub");
    fs::write(&key, operator().public().to_pem()?)?;
    let (token, key, url) = (token.display().to_string(), key.display().to_string(), fleet.url());
    let next = AtomicUsize::new(0);
    let begin = || -> Result<Vec<(Site, Service)>> {
        let mut begun = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= SERVICES {
                return Ok(begun);
            }
            let site = Site::new(&format!("many {index}"))?;
            let join = ["fleet", "join", &url, "--token-file", &token, "--orders-key", &key];
            site.output(&join)?;
            let service = Service::start(&site)?;
            act(&site, 1)?;
            begun.push((site, service));
        }
    };
    let machines: Vec<(Site, Service)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(begin)).collect();
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().map_err(|_| anyhow!("a thread panicked"))??);
        }
        Ok::<_, anyhow::Error>(all)
    })?;
    fleet.replace_replica(0)?;
    let file = write_signed(&fleet, "many.json", &orders(1))?;
    fleet.output(&["hub", "orders", "publish", &file])?;
    let begun = Instant::now();
    let having = "SELECT count(*) FROM machines WHERE orders_seen = 1";
    while fleet.query(having)? != uses {
        ensure!(begun.elapsed() < LIMIT, "{} of {uses} have them", fleet.query(having)?);
        thread::sleep(Duration::from_millis(100));
    }
    let fleet = &fleet;
    thread::scope(|scope| -> Result<()> {
        let send_some = |some: &[(Site, Service)]| -> Result<()> {
            for (site, _) in some {
                send_all(site, LIMIT)?;
                fleet.has_journal(site).with_context(|| site.root().display().to_string())?;
            }
            Ok(())
        };
        let parts = machines.chunks(SERVICES.div_ceil(4));
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || send_some(part))).collect();
        for thread in threads {
            thread.join().map_err(|_| anyhow!("a thread panicked"))??;
        }
        Ok(())
    })?;
    ensure!(fleet.incident_kinds()?.is_empty());
    Ok(())
}
