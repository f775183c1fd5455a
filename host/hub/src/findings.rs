//! Findings about the fleet: one thing that many machines have had to do with within a time.
//!
//! A destination or a package is a finding while it is new to the fleet: one that some machine has
//! known for longer is everyday. A text that told agents what to do is one whenever many machines
//! met it.

use crate::database::Database;
use crate::failure::Failure;
use crate::traits::{TraitKind, collect_traits};
use deadpool_postgres::Transaction;
use portcullis_fleet::protocol::SentRecord;
use serde::Serialize;
use std::time::Duration;

/// The most findings in a list, and the machines that are named with each.
const MOST: i64 = 200;
const MOST_NAMED: i64 = 20;
/// The most rows of one machine; further things of it are left out.
const MOST_OF_MACHINE: i64 = 20_000;
/// The days after which what nobody has met again is forgotten.
const KEPT_DAYS: i32 = 90;

/// The size of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindingBounds {
    /// The fewest machines.
    pub machines: u32,
    /// The time within which they met it.
    pub within: Duration,
}

impl Default for FindingBounds {
    fn default() -> Self {
        Self { machines: 3, within: Duration::from_secs(24 * 60 * 60) }
    }
}

/// A thing that many machines have in common.
#[derive(Debug, Serialize)]
pub struct FleetFinding {
    /// The kind.
    pub kind: String,
    /// The thing, as machines named it.
    pub value: String,
    /// The machines that met it first within the time.
    pub machines: i64,
    /// The records that name it.
    pub times: i64,
    /// The first time, by the hub's clock, in milliseconds since 1970.
    pub first_at: i64,
    /// The last time.
    pub last_at: i64,
    /// The person who called it harmless, and the reason.
    pub harmless: Option<Harmless>,
    /// Some of the machines, those that met it first first.
    pub met_by: Vec<MetBy>,
}

/// A person's mark that a finding is harmless.
#[derive(Debug, Serialize)]
pub struct Harmless {
    /// The person.
    pub by: String,
    /// The reason.
    pub reason: String,
}

/// A machine that met something.
#[derive(Debug, Serialize)]
pub struct MetBy {
    /// The machine.
    pub machine: String,
    /// Its own name.
    pub name: String,
    /// The session of the first record.
    pub session: Option<String>,
    /// The first record's id.
    pub record: String,
    /// The time at which the hub received it.
    pub first_at: i64,
}

/// Notes what new records of a machine name.
pub async fn note_traits(
    transaction: &Transaction<'_>,
    machine: &str,
    records: &[SentRecord],
) -> Result<(), Failure> {
    let (mut kinds, mut values, mut sessions, mut ids) = (vec![], vec![], vec![], vec![]);
    for record in records {
        for found in collect_traits(record) {
            kinds.push(found.kind.as_str());
            values.push(found.value);
            sessions.push(record.session.as_deref());
            ids.push(record.id.as_str());
        }
    }
    if kinds.is_empty() {
        return Ok(());
    }
    let statement = transaction
        .prepare_cached(
            "INSERT INTO traits (kind, value, machine, session, record, times) \
             SELECT kind, value, $1, (array_agg(session ORDER BY place))[1], \
             (array_agg(record ORDER BY place))[1], count(*) \
             FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) WITH ORDINALITY \
             AS new (kind, value, session, record, place) \
             WHERE (SELECT count(*) FROM traits WHERE machine = $1) < $6 \
             GROUP BY kind, value ORDER BY kind, value \
             ON CONFLICT (kind, value, machine) DO UPDATE \
             SET times = traits.times + excluded.times, last_at = now()",
        )
        .await?;
    let most = MOST_OF_MACHINE;
    transaction.execute(&statement, &[&machine, &kinds, &values, &sessions, &ids, &most]).await?;
    Ok(())
}

/// Returns the findings, those of most machines first, and behind all others those that a person
/// called harmless.
pub async fn list_findings(
    database: &Database,
    bounds: FindingBounds,
) -> Result<Vec<FleetFinding>, Failure> {
    let client = database.connect_reading().await?;
    let seconds = i64::try_from(bounds.within.as_secs()).unwrap_or(i64::MAX);
    let rows = client
        .query(
            "WITH since AS (SELECT now() - $1::bigint * interval '1 second' AS at), \
             recent AS (SELECT DISTINCT kind, value FROM traits, since WHERE first_at > since.at) \
             SELECT t.kind, t.value, count(*) FILTER (WHERE first_at > since.at), \
             sum(times)::bigint, (extract(epoch FROM min(first_at)) * 1000)::bigint, \
             (extract(epoch FROM max(last_at)) * 1000)::bigint, \
             (SELECT ARRAY[marked_by, reason] FROM finding_marks f \
              WHERE f.kind = t.kind AND f.value = t.value) \
             FROM recent JOIN traits t USING (kind, value), since \
             GROUP BY t.kind, t.value, since.at \
             HAVING count(*) FILTER (WHERE first_at > since.at) >= $2 \
             AND (t.kind = $3 OR min(first_at) > since.at) \
             ORDER BY 7 NULLS FIRST, 3 DESC, 6 DESC, t.kind, t.value LIMIT $4",
            &[&seconds, &i64::from(bounds.machines), &TraitKind::InjectedText.as_str(), &MOST],
        )
        .await?;
    let mut findings = Vec::new();
    for row in rows {
        let (kind, value): (String, String) = (row.get(0), row.get(1));
        let met_by = client
            .query(
                "SELECT t.machine, m.name, t.session, t.record, \
                 (extract(epoch FROM t.first_at) * 1000)::bigint \
                 FROM traits t JOIN machines m USING (machine) WHERE kind = $1 AND value = $2 \
                 AND first_at > now() - $3::bigint * interval '1 second' \
                 ORDER BY t.first_at, t.machine LIMIT $4",
                &[&kind, &value, &seconds, &MOST_NAMED],
            )
            .await?;
        let met_by = met_by.iter().map(|row| MetBy {
            machine: row.get(0),
            name: row.get(1),
            session: row.get(2),
            record: row.get(3),
            first_at: row.get(4),
        });
        let mark: Option<Vec<String>> = row.get(6);
        let harmless = mark.and_then(|mark| {
            let mut parts = mark.into_iter();
            Some(Harmless { by: parts.next()?, reason: parts.next()? })
        });
        findings.push(FleetFinding {
            harmless,
            met_by: met_by.collect(),
            kind,
            value,
            machines: row.get(2),
            times: row.get(3),
            first_at: row.get(4),
            last_at: row.get(5),
        });
    }
    Ok(findings)
}

/// Forgets what nobody has met for long.
pub async fn forget_traits(database: &Database) -> Result<(), Failure> {
    let client = database.connect().await?;
    client
        .execute(
            "DELETE FROM traits WHERE last_at < now() - $1::integer * interval '1 day'",
            &[&KEPT_DAYS],
        )
        .await?;
    Ok(())
}
