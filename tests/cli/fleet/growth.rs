//! A hub that has grown: a database of an older version, partitions of many days, and a standby from
//! which the pages read.

use super::cluster::{self, Cluster};
use super::fleets::{Fleet, PageLines, machine_of};
use super::pages::send_reviews;
use super::visits::Visited;
use super::wire::{JOURNAL, batch, certificate_of, post, records};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(30);
/// The migrations that the older hub knew.
const OLDER: u32 = 10;

/// Fills a database as a hub of that version has left it: a machine whose records were stored three days
/// ago and yesterday.
fn fill_older(name: &str) -> Result<()> {
    let cluster = cluster::get()?;
    for version in 1..=OLDER {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("../host/hub/migrations/{version}.sql"));
        cluster.feed(name, &fs::read_to_string(path)?)?;
    }
    let stored = |record: &Value| -> Result<String> {
        let text = |key: &str| record[key].as_str().context("no text");
        let days = if record["sequence"].as_u64() <= Some(4) { 3 } else { 1 };
        Ok(format!(
            "INSERT INTO records (machine, journal, sequence, stored_at, previous, hash, at, id, kind, \
             session, subject, document, exact) VALUES ('m-old', '{JOURNAL}', {}, \
             now() - interval '{days} days', decode('{}', 'hex'), decode('{}', 'hex'), {}, '{}', \
             'session', 's', 's', '{}', true);",
            record["sequence"],
            text("previous")?,
            text("hash")?,
            record["at"],
            text("id")?,
            text("document")?,
        ))
    };
    let all = records(1, 6, "own");
    let rows = all.iter().map(stored).collect::<Result<Vec<_>>>()?.concat();
    let head = all.last().and_then(|last| last["hash"].as_str()).context("no head")?;
    cluster.feed(
        name,
        &format!(
            "CREATE TABLE hub_version (version integer NOT NULL); \
             INSERT INTO hub_version VALUES ({OLDER}); SELECT make_partitions(1); \
             DO $$ BEGIN EXECUTE format('CREATE TABLE %I PARTITION OF records FOR VALUES FROM (%L) \
               TO (%L)', 'records_' || to_char((now() AT TIME ZONE 'UTC')::date - 3, 'YYYYMMDD'), \
               to_char((now() AT TIME ZONE 'UTC')::date - 3, 'YYYY-MM-DD') || ' 00:00:00+00', \
               to_char((now() AT TIME ZONE 'UTC')::date - 2, 'YYYY-MM-DD') || ' 00:00:00+00'); END $$; \
             INSERT INTO tokens VALUES ('t', '\\x00', '{{}}', 0, now(), now()); \
             INSERT INTO machines (machine, name, labels, token, version) \
               VALUES ('m-old', 'old', '{{}}', 't', '0.1.0'); \
             INSERT INTO journals (machine, journal, start_sequence, start_hash, head_sequence, \
               head_hash, claimed_sequence, records) VALUES ('m-old', '{JOURNAL}', 0, \
               decode(repeat('00', 32), 'hex'), 6, decode('{head}', 'hex'), 6, 6); \
             INSERT INTO sessions (machine, session, records, reviews, asked, blocked, first_at, \
               last_at, grown_at) VALUES ('m-old', 's', 6, 0, 0, 0, 1, 6, now() - interval '1 day'); \
             {rows} UPDATE sessions SET grown_at = (SELECT max(stored_at) FROM records);"
        ),
    )
}

/// A database of an older version is brought to this one: its journals go on, and a look-up reads
/// the partitions of the days in question alone.
pub fn migrated() -> Result<()> {
    let name = "migrated";
    let mut filled = Ok(());
    let page = PageLines::plain()?;
    let fleet = Fleet::with_page_filled(name, &page, || filled = fill_older(name))?;
    filled?;
    let hub = Visited { fleet: Arc::new(fleet), host: page.host };
    let days = "SELECT string_agg(first_sequence || '-' || last_sequence, ' ' ORDER BY day) \
                FROM journal_days";
    ensure!(hub.fleet.query(days)? == "1-4 5-6", "{}", hub.fleet.query(days)?);
    let begun = "SELECT now() - begun_at > interval '2 days 23 hours' FROM sessions";
    ensure!(hub.fleet.query(begun)? == "t");
    // The journal goes on, as that of a machine that has a certificate.
    let site = hub.fleet.machine("migrated")?;
    let (own, machine) = (certificate_of(&site)?, machine_of(&site)?);
    let tables = ["journals", "records", "journal_days", "sessions"];
    let moved: Vec<String> = tables
        .iter()
        .map(|table| format!("UPDATE {table} SET machine = '{machine}' WHERE machine = 'm-old';"))
        .collect();
    hub.fleet.query(&moved.concat())?;
    // Whoever so much as looks at the partition of three days ago waits for whom it is locked by.
    let old = hub
        .fleet
        .query("SELECT 'records_' || to_char((now() AT TIME ZONE 'UTC')::date - 3, 'YYYYMMDD')")?;
    let lock = format!("BEGIN; LOCK TABLE {old} IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(60)");
    let mut locker = cluster::get()?.psql(name, &lock).stdout(Stdio::null()).spawn()?;
    let locked = await_lock(&hub.fleet, &old)
        .and_then(|()| post(&hub.fleet, &own, &batch(&machine, records(6, 8, "own"))));
    hub.fleet.query(
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'BEGIN; LOCK%'",
    )?;
    locker.wait()?;
    let answer = locked?;
    ensure!(answer.status == 200 && answer.body["accepted_through"] == 8, "{answer:?}");
    // What was stored days ago is still compared.
    let forged = post(&hub.fleet, &own, &batch(&machine, records(2, 9, "other")))?;
    ensure!(forged.refused() == (409, "incident"), "{forged:?}");
    let repeated = post(&hub.fleet, &own, &batch(&machine, records(1, 9, "own")))?;
    ensure!(repeated.body["accepted_through"] == 9, "{repeated:?}");
    ensure!(hub.fleet.query(days)? == "1-4 5-6 7-9", "{}", hub.fleet.query(days)?);
    // A session that began days ago is shown whole.
    let cookie = hub.sign_in("ann", "viewer", 0)?;
    let page = hub.page(&format!("/session?machine={machine}&id=s"), &cookie)?;
    ensure!(page.matches("<span class=\"goal\">session</span>").count() == 6, "{page}");
    Ok(())
}

/// Waits until somebody has a table for himself.
fn await_lock(fleet: &Fleet, table: &str) -> Result<()> {
    let start = Instant::now();
    let held = format!(
        "SELECT count(*) FROM pg_locks WHERE relation = '{table}'::regclass AND granted \
         AND mode = 'AccessExclusiveLock'"
    );
    while fleet.query(&held)? != "1" {
        ensure!(start.elapsed() < LIMIT, "`{table}` is not locked");
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// The pages read from a standby while it is near, and from the database itself while it stands still
/// or is gone.
pub fn standby() -> Result<()> {
    // Its cluster streams to the standby, which no other test needs.
    let primary: &'static Cluster = Box::leak(Box::new(Cluster::create("cluster-streaming")?));
    let standby = primary.create_standby("cluster-standby")?;
    let checked = read_from(primary, &standby);
    standby.stop()?;
    primary.stop()?;
    checked
}

fn read_from(primary: &'static Cluster, standby: &Cluster) -> Result<()> {
    let name = "standby";
    let lines = format!(
        "standby = \"host='{}' user=portcullis dbname={name}\"\n",
        standby.socket().display()
    );
    // Far behind is still near: only then does it show what is read.
    let page = PageLines::plain()?.and(&lines).and("standby_lag_seconds = 3600\n");
    let fleet = Arc::new(Fleet::with_page_on(primary, name, &page)?);
    let mut hub = Visited { host: page.host.clone(), fleet };
    let cookie = hub.sign_in("ann", "viewer", 0)?;
    let site = hub.fleet.machine("streamed")?;
    let shows = |hub: &Visited, word: &str| -> Result<bool> {
        Ok(hub
            .page(&format!("/search?text={word}"), &cookie)?
            .contains("<span class=\"goal\">review "))
    };
    let await_word = |hub: &Visited, word: &str| -> Result<()> {
        let start = Instant::now();
        while !shows(hub, word)? {
            ensure!(start.elapsed() < LIMIT, "the page does not show `{word}`");
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    };
    send_reviews(&hub.fleet, &site, &[("s", "Bash", "allow", "first")])?;
    await_word(&hub, "first")?;
    // What the standby does not have is not shown, once the pages read from it.
    standby.query(name, "SELECT pg_wal_replay_pause()")?;
    let start = Instant::now();
    while standby.query(name, "SELECT pg_get_wal_replay_pause_state()")? != "paused" {
        ensure!(start.elapsed() < LIMIT, "the standby does not stand still");
        thread::sleep(Duration::from_millis(20));
    }
    let two = hub.fleet.machine("streamed too")?;
    send_reviews(&hub.fleet, &two, &[("s", "Bash", "allow", "second")])?;
    while shows(&hub, "second")? {
        ensure!(start.elapsed() < LIMIT, "the pages do not read from the standby");
        thread::sleep(Duration::from_millis(50));
    }
    standby.query(name, "SELECT pg_wal_replay_resume()")?;
    await_word(&hub, "second")?;
    // With a bound, one that stands still is left.
    let path = hub.fleet.folder.join("hub.toml");
    fs::write(&path, fs::read_to_string(&path)?.replace("_seconds = 3600", "_seconds = 1"))?;
    Arc::get_mut(&mut hub.fleet).context("it is shared")?.replace_replica(0)?;
    standby.query(name, "SELECT pg_wal_replay_pause()")?;
    let three = hub.fleet.machine("streamed late")?;
    send_reviews(&hub.fleet, &three, &[("s", "Bash", "allow", "third")])?;
    await_word(&hub, "third")?;
    ensure!(standby.query(name, "SELECT pg_is_wal_replay_paused()")? == "t");
    standby.query(name, "SELECT pg_wal_replay_resume()")?;
    standby.stop()?;
    let four = hub.fleet.machine("streamed last")?;
    send_reviews(&hub.fleet, &four, &[("s", "Bash", "allow", "fourth")])?;
    await_word(&hub, "fourth")?;
    // A database that takes writes is no standby.
    let own = format!("host='{}' user=portcullis dbname={name}", primary.socket().display());
    let other = format!("host='{}' user=portcullis dbname={name}", standby.socket().display());
    let text = fs::read_to_string(&path)?;
    fs::write(&path, text.replace(&format!("standby = \"{other}"), &format!("standby = \"{own}")))?;
    Arc::get_mut(&mut hub.fleet).context("it is shared")?.replace_replica(0)?;
    await_word(&hub, "fourth")
}
