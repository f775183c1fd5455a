//! The records of a day as a file in columns, which a reader of that format can verify.

use super::fleets::{Fleet, act, send_all};
use anyhow::{Context, Result, ensure};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Row, RowAccessor};
use portcullis_store::{Hash, Home, RecordProof, hash_record};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);

pub fn exported() -> Result<()> {
    let fleet = Fleet::start("exported")?;
    let sites = [fleet.machine("exported one")?, fleet.machine("exported two")?];
    // One keeps its journal encrypted, the other one as plain text.
    Home::open_root(sites[1].state())?.data_keys().set_off(true)?;
    for site in &sites {
        act(site, 3)?;
        send_all(site, LIMIT)?;
    }
    let output = fleet.folder.with_file_name("exported-days");
    fs::create_dir(&output)?;
    let folder = output.display().to_string();
    let export = |more: &[&str]| -> Result<Value> {
        let arguments = [&["hub", "export", "--json", "--output", &folder], more].concat();
        Ok(serde_json::from_str(&fleet.output(&arguments)?)?)
    };
    let tomorrow =
        fleet.query("SELECT to_char((now() AT TIME ZONE 'UTC')::date + 1, 'YYYY-MM-DD')")?;
    let found = export(&["--since", &tomorrow])?;
    ensure!(found["files"] == serde_json::json!([]), "the day is not over: {found}");

    // More than a page of one moment, and the rest of a day before yesterday: the test may run around
    // midnight.
    fleet.query(
        "INSERT INTO records (machine, journal, sequence, previous, hash, at, id, kind, subject, exact) \
         SELECT machine, 'many', n, hash, hash, n, n::text, 'fault', 'x', false \
         FROM (SELECT machine, hash FROM records LIMIT 1) one, generate_series(1, 2500) n",
    )?;
    let day = fleet.query("SELECT to_char((now() AT TIME ZONE 'UTC')::date - 3, 'YYYY-MM-DD')")?;
    make_partition(&fleet, &day)?;
    fleet.query(&format!(
        "UPDATE records SET stored_at = '{day} 00:00:00+00'::timestamptz + \
         (stored_at - (SELECT min(stored_at) FROM records))"
    ))?;
    let places = "SELECT string_agg(journal || ' ' || sequence, '\n' ORDER BY journal, sequence) \
                  FROM records";
    let places: BTreeSet<String> = fleet.query(places)?.lines().map(str::to_owned).collect();
    let all = places.len() as u64;
    let found = export(&["--until", &day])?;
    let path = output.join(format!("records-{day}.parquet"));
    ensure!(found["files"][0]["records"] == all, "{all} records: {found}");
    ensure!(found["files"][0]["path"] == path.display().to_string(), "{found}");
    let rows = read_rows(&path)?;
    let read: BTreeSet<String> = rows.iter().map(place_of).collect::<Result<_>>()?;
    ensure!(rows.len() as u64 == all && read == places, "{} of {all} rows", rows.len());
    let chained: Vec<&Row> =
        rows.iter().filter(|row| row.get_bool(EXACT).unwrap_or(false)).collect();
    let verified = verify_chains(&chained)?;
    ensure!(verified.len() == 2 && verified.values().all(|count| *count >= 3), "{verified:?}");
    for expected in [true, false] {
        let some = chained.iter().any(|row| row.get_bytes(SALT).is_ok() == expected);
        ensure!(some, "no journal is encrypted, or all are");
    }

    // A day that has a file keeps it, unless that is to be replaced.
    fs::write(&path, "kept")?;
    let found = export(&["--until", &day])?;
    ensure!(found["kept"] == 1 && fs::read(&path)? == b"kept", "{found}");
    let found = export(&["--since", &day, "--until", &day, "--replace"])?;
    ensure!(found["files"][0]["records"] == all && read_rows(&path)?.len() as u64 == all);
    let outside = export(&["--until", "2020-01-01"])?;
    ensure!(outside["files"] == serde_json::json!([]), "{outside}");
    ensure!(fs::read_dir(&output)?.count() == 1, "something else is left in the folder");
    let audit = fleet.output(&["hub", "audit", "show"])?;
    ensure!(audit.matches("export-records").count() == 2, "{audit}");
    let missing = fleet.run(&["hub", "export", "--output", "/nowhere"])?;
    ensure!(missing.stderr.contains("there is no folder `/nowhere`"), "{}", missing.all());
    Ok(())
}

/// A day has 24 hours of UTC wherever the database is.
pub fn hours() -> Result<()> {
    let mut fleet = Fleet::start("hours")?;
    let site = fleet.machine("hours")?;
    act(&site, 1)?;
    send_all(&site, LIMIT)?;
    // There, the first of these days has 25 hours.
    fleet.query("ALTER DATABASE hours SET timezone = 'Europe/Berlin'")?;
    fleet.replace_replica(0)?;
    for (day, time, id) in [("2026-10-25", "23:30", "late"), ("2026-10-26", "00:30", "early")] {
        make_partition(&fleet, day)?;
        fleet.query(&format!(
            "INSERT INTO records (machine, journal, sequence, previous, hash, at, id, kind, subject, \
             exact, stored_at) SELECT machine, '{id}', 1, hash, hash, at, '{id}', kind, subject, \
             false, '{day} {time}+00' FROM records ORDER BY stored_at DESC LIMIT 1"
        ))?;
    }
    let output = fleet.folder.with_file_name("hours-days");
    fs::create_dir(&output)?;
    let folder = output.display().to_string();
    let (since, until) = ("2026-10-25", "2026-10-26");
    fleet.output(&["hub", "export", "--output", &folder, "--since", since, "--until", until])?;
    for (day, id) in [(since, "late"), (until, "early")] {
        let rows = read_rows(&output.join(format!("records-{day}.parquet")))?;
        let ids: Vec<&String> =
            rows.iter().map(|row| row.get_string(ID)).collect::<Result<_, _>>()?;
        ensure!(ids == [id], "{day}: {ids:?}");
    }
    Ok(())
}

fn make_partition(fleet: &Fleet, day: &str) -> Result<()> {
    let name = day.replace('-', "");
    fleet.query(&format!(
        "CREATE TABLE IF NOT EXISTS records_{name} PARTITION OF records \
         FOR VALUES FROM ('{day} 00:00:00+00') TO ('{day} 00:00:00+00'::timestamptz + interval '24 hours')"
    ))?;
    Ok(())
}

const JOURNAL: usize = 2;
const SEQUENCE: usize = 3;
const ID: usize = 6;
const DOCUMENT: usize = 12;
const EXACT: usize = 13;
const PREVIOUS: usize = 14;
const HASH: usize = 15;
const SALT: usize = 16;
const STORED: usize = 17;

fn read_rows(path: &Path) -> Result<Vec<Row>> {
    let reader = SerializedFileReader::new(fs::File::open(path)?)?;
    let names: Vec<String> = reader
        .metadata()
        .file_metadata()
        .schema_descr()
        .columns()
        .iter()
        .map(|column| column.name().to_owned())
        .collect();
    ensure!(names[DOCUMENT] == "document" && names[STORED] == "stored", "{names:?}");
    Ok(reader.get_row_iter(None)?.collect::<Result<_, _>>()?)
}

/// Returns a record's journal and position.
fn place_of(row: &Row) -> Result<String> {
    Ok(format!("{} {}", row.get_string(JOURNAL)?, row.get_long(SEQUENCE)?))
}

/// Follows each journal from its first record on; returns how many it has.
fn verify_chains(rows: &[&Row]) -> Result<BTreeMap<String, u64>> {
    let mut journals: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    for &row in rows {
        journals.entry(row.get_string(JOURNAL)?.clone()).or_default().push(row);
    }
    let mut counts = BTreeMap::new();
    for (journal, mut rows) in journals {
        rows.sort_by_key(|row| row.get_long(SEQUENCE).unwrap_or_default());
        let mut head = Hash::default();
        for row in &rows {
            let sequence = row.get_long(SEQUENCE)?;
            ensure!(
                hash_of(row, PREVIOUS)? == head,
                "{journal}: {sequence} follows another record"
            );
            let document = row.get_string(DOCUMENT)?;
            let proof = match row.get_bytes(SALT) {
                Ok(_) => {
                    Some(RecordProof { salt: hash_of(row, SALT)?, stored: hash_of(row, STORED)? })
                }
                Err(_) => None,
            };
            let place = u64::try_from(sequence)?;
            head = hash_of(row, HASH)?;
            ensure!(
                hash_record(&hash_of(row, PREVIOUS)?, place, document.as_bytes(), proof.as_ref())
                    == head,
                "{journal}: {sequence} has another hash"
            );
        }
        counts.insert(journal, rows.len() as u64);
    }
    Ok(counts)
}

fn hash_of(row: &Row, column: usize) -> Result<Hash> {
    row.get_bytes(column)?.data().try_into().context("a hash has another length")
}
