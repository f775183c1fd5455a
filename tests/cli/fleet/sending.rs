//! Journals on their way to the hub: nothing that was acknowledged is lost, nothing is there twice.

use super::fleets::{Fleet, act, machine_of, send, send_all, status};
use super::wire::{batch, certificate_of, post, records};
use crate::common::site::Site;
use anyhow::{Result, ensure};
use portcullis_store::{Durability, Home, NewRecord, Store};
use serde_json::json;
use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);
const DAY: u64 = 86_400_000;
const BACKLOG: u64 = 20_000;
/// The most memory of a process that sends or takes a backlog, in KiB. All of it at once would take
/// more.
const MOST_MEMORY: u64 = 96 << 10;

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

/// Adds records of this time to a home's journal.
fn add_records(site: &Site, count: u64, at: u64) -> Result<()> {
    let mut store = Store::open_database(&Home::open_root(site.state())?, Durability::Process)?;
    let first = store.head_anchor(at)?.sequence;
    let record = |number: u64| {
        let id = format!("{:016x}", first + number);
        let document = json!({
            "version": 1, "id": id, "at": at, "kind": "fault", "client": "claude",
            "session": "old", "event": "PreToolUse", "subject": "Bash",
            "summary": "x".repeat(500), "mode": "blocking",
        });
        NewRecord {
            id,
            at,
            kind: "fault".into(),
            document: document.to_string(),
            ..NewRecord::default()
        }
    };
    let all: Vec<NewRecord> = (0..count).map(record).collect();
    for some in all.chunks(1000) {
        store.append_records(some.to_vec())?;
    }
    Ok(())
}

pub fn whole() -> Result<()> {
    let fleet = Fleet::start("whole")?;
    let sites = [fleet.machine("whole one")?, fleet.machine("whole two")?];
    for site in &sites {
        site.hook(&site.calls("s").prompt("list the files"))?;
        act(site, 2)?;
        site.hook(&site.calls("stopped").bash("b", "rm -rf / --no-preserve-root"))?;
        send_all(site, LIMIT)?;
        act(site, 1)?;
        send_all(site, LIMIT)?;
        fleet.has_journal(site)?;
        let status = status(site)?;
        ensure!(status["in_order"] == true && status["withheld"] == 0, "{status}");
        ensure!(status["receipt"] == "the journal holds the record", "{status}");
        site.verify()?;
    }
    ensure!(fleet.query("SELECT count(*) FROM records WHERE NOT exact")? == "0");
    // What a search uses is what the documents say.
    let differing = "SELECT count(*) FROM records WHERE coalesce(document::jsonb ->> 'session', '') \
                     <> coalesce(session, '') OR document::jsonb ->> 'subject' <> subject \
                     OR document::jsonb -> 'decision' ->> 'verdict' IS DISTINCT FROM verdict";
    ensure!(fleet.query(differing)? == "0");
    let incidents = fleet.list("incidents")?;
    ensure!(incidents.is_empty(), "{incidents:?}");
    let shown = fleet.output(&["hub", "machines"])?;
    ensure!(shown.contains(&machine_of(&sites[0])?) && shown.contains("a machine"), "{shown}");
    Ok(())
}

/// Rows: a level, the number of records with a document, and a text that is in one of them.
pub fn levels() -> Result<()> {
    let fleet = Fleet::start("levels")?;
    for (level, documents, has_command, has_summary) in [
        ("full", true, true, true),
        ("summary", true, false, true),
        ("outline", false, false, false),
    ] {
        let site = fleet.machine(&format!("level {level}"))?;
        site.write("config.toml", format!("[fleet]\ndetail = \"{level}\"\n"))?;
        act(&site, 1)?;
        send_all(&site, LIMIT)?;
        let of = format!("FROM records WHERE machine = '{}'", machine_of(&site)?);
        let count =
            |condition: &str| fleet.query(&format!("SELECT count(*) > 0 {of} AND {condition}"));
        for (condition, expected) in [
            ("document IS NOT NULL", documents),
            ("document LIKE '%\"parameters\"%'", has_command),
            ("document LIKE '%\"summary\"%'", has_summary),
            ("NOT exact", level != "full"),
            ("verdict = 'allow'", true),
        ] {
            let found = count(condition)?;
            ensure!(found == if expected { "t" } else { "f" }, "{level}: {condition}: {found}");
        }
        ensure!((status(&site)?["withheld"].as_u64() > Some(0)) == (level != "full"));
        fleet.has_journal(&site)?;
    }
    Ok(())
}

/// Without a hub, nothing else changes: hooks answer, records stay, and arrive when it is back.
pub fn held() -> Result<()> {
    let fleet = Fleet::start("held")?;
    let site = fleet.machine("held")?;
    site.write("config.toml", "[audit]\nretention_days = 30\n")?;
    add_records(&site, 2, now() - 59 * DAY)?;
    send_all(&site, LIMIT)?;
    let port = fleet.balancer.port();
    fleet.balancer.set_targets(Vec::new());
    add_records(&site, 3, now() - 40 * DAY)?;
    act(&site, 1)?;
    let status = send(&site)?;
    ensure!(status["failures"] == 1 && status["waiting"].as_u64() > Some(3), "{status}");
    let shown = site.run(&["fleet", "status"])?;
    ensure!(shown.code == Some(1) && shown.text().contains("does not answer"), "{}", shown.all());
    // Retention took what the hub has, and nothing else.
    let first = site.records()?[0]["sequence"].clone();
    ensure!(first == 3, "{first}, port {port}");
    ensure!(site.run(&["fleet", "join", "x", "--token-file", "-"])?.code == Some(1));
    fleet.balancer.set_targets(vec![fleet.replica(0), fleet.replica(1)]);
    send_all(&site, LIMIT)?;
    site.output(&["maintain", "--all"])?;
    ensure!(fleet.incident_kinds()?.is_empty());
    let there = fleet.hashes(&site)?.len();
    ensure!(there as u64 == self::status(&site)?["sent_through"].as_u64().unwrap(), "{there}");
    Ok(())
}

pub fn cursor_lost() -> Result<()> {
    let fleet = Fleet::start("cursor_lost")?;
    let site = fleet.machine("cursor lost")?;
    act(&site, 2)?;
    send_all(&site, LIMIT)?;
    let progress = site.state().join("fleet/progress");
    for damage in [None, Some("{}"), Some("nothing")] {
        match damage {
            None => fs::remove_file(&progress)?,
            Some(text) => fs::write(&progress, text)?,
        }
        act(&site, 1)?;
        send_all(&site, LIMIT)?;
        fleet.has_journal(&site)?;
    }
    ensure!(fleet.incident_kinds()?.is_empty());
    Ok(())
}

/// Rows: the records of a batch, the newest that the machine has, and what the hub then has.
pub fn batches() -> Result<()> {
    let fleet = Fleet::start("batches")?;
    let site = fleet.machine("batches")?;
    let (own, machine) = (certificate_of(&site)?, machine_of(&site)?);
    let head = records(12, 12, "own").remove(0);
    for (name, from, to, through) in [
        ("the first", 1, 3, 3),
        ("the same", 1, 3, 3),
        ("the next", 4, 5, 5),
        ("half known", 5, 8, 8),
        ("a part of an old one", 2, 4, 8),
        ("cut in two, first half", 9, 10, 10),
        ("cut in two, the whole", 9, 12, 12),
        ("all", 1, 12, 12),
    ] {
        let mut batch = batch(&machine, records(from, to, "own"));
        batch["head"] = json!({ "sequence": head["sequence"], "hash": head["hash"] });
        let answer = post(&fleet, &own, &batch)?;
        ensure!(answer.status == 200, "{name}: {answer:?}");
        ensure!(answer.body["accepted_through"] == through, "{name}: {answer:?}");
        let count = format!(
            "SELECT count(*) || ' ' || max(sequence) FROM records WHERE machine = '{machine}'"
        );
        let found = fleet.query(&count)?;
        ensure!(found == format!("{through} {through}"), "{name}: {found}");
    }
    // One batch at both replicas at once, many times.
    let more = batch(&machine, records(13, 200, "own"));
    let answers: Vec<_> = thread::scope(|scope| {
        let posts: Vec<_> = (0..8).map(|_| scope.spawn(|| post(&fleet, &own, &more))).collect();
        posts.into_iter().map(|post| post.join().unwrap()).collect()
    });
    for answer in answers {
        ensure!(answer?.body["accepted_through"] == 200);
    }
    let count = format!("SELECT count(*) FROM records WHERE machine = '{machine}'");
    ensure!(fleet.query(&count)? == "200");
    // Out of order: refused as a gap, which settles itself when the rest comes.
    let late = post(&fleet, &own, &batch(&machine, records(301, 310, "own")))?;
    ensure!(late.refused() == (409, "incident"), "{late:?}");
    ensure!(late.body["head"]["sequence"] == 200, "{late:?}");
    ensure!(post(&fleet, &own, &batch(&machine, records(201, 310, "own")))?.status == 200);
    ensure!(
        fleet.query("SELECT kind || ' ' || (settled_at IS NOT NULL) FROM incidents")? == "gap true"
    );
    Ok(())
}

/// Replicas are killed between and in the middle of batches, and the database loses its power, all
/// while records arrive.
pub fn killed() -> Result<()> {
    // A cluster of its own: the other tests need theirs.
    let cluster: &'static super::cluster::Cluster =
        Box::leak(Box::new(super::cluster::Cluster::create("cluster-killed")?));
    let mut fleet = Fleet::over(cluster, "killed")?;
    let site = fleet.machine("killed")?;
    add_records(&site, 6000, now())?;
    let start = Instant::now();
    let sent = thread::scope(|scope| -> Result<()> {
        let sender = scope.spawn(|| send_all(&site, LIMIT));
        for round in 0..6 {
            thread::sleep(Duration::from_millis(150 + 70 * round));
            fleet.replace_replica(usize::try_from(round % 2)?)?;
            if round == 3 {
                cluster.stop()?;
                thread::sleep(Duration::from_millis(200));
                cluster.start()?;
            }
            if sender.is_finished() {
                break;
            }
        }
        sender.join().unwrap()
    });
    sent?;
    fleet.has_journal(&site)?;
    act(&site, 1)?;
    send_all(&site, LIMIT)?;
    fleet.has_journal(&site)?;
    let kinds = fleet.incident_kinds()?;
    ensure!(kinds.is_empty(), "{kinds:?} after {} ms", start.elapsed().as_millis());
    cluster.stop()
}

/// Neither the machine nor a replica holds more of a backlog than some batches at once.
pub fn backlog() -> Result<()> {
    let fleet = Fleet::start("backlog")?;
    let site = fleet.machine("backlog")?;
    add_records(&site, BACKLOG, now())?;
    let mut sender = site.command(&["maintain", "--all"]);
    let mut sender = sender.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut most = 0;
    while sender.try_wait()?.is_none() {
        most = most.max(peak_of(sender.id()));
        thread::sleep(Duration::from_millis(10));
    }
    ensure!(most > 0 && most < MOST_MEMORY, "the machine took {most} KiB");
    send_all(&site, LIMIT)?;
    fleet.has_journal(&site)?;
    for replica in fleet.replica_ids() {
        let most = peak_of(replica);
        ensure!(most > 0 && most < MOST_MEMORY, "a replica took {most} KiB");
    }
    site.verify()
}

/// Returns the most memory that a process has had, in KiB.
fn peak_of(process: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}
