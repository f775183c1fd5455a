//! Incidents: what the hub saw that no honest journal does.
//!
//! One that comes again is counted, not repeated: a machine that cannot go on tries for ever. A gap
//! settles itself when its records come after all; every other incident stays for a person. Open
//! incidents of one machine have a bound, since a machine chooses the names of its journals.

use crate::chain::{ChainIncident, IncidentKind};
use crate::database::Database;
use crate::failure::Failure;
use deadpool_postgres::GenericClient;
use serde::Serialize;
use tokio_postgres::Row;

/// The most incidents in a list.
const MOST: i64 = 1000;
/// The most open incidents of one machine; further ones are only counted.
const MOST_OPEN: i64 = 100;

/// An incident as an operator sees it.
#[derive(Debug, Serialize)]
pub struct IncidentSummary {
    /// Its number.
    pub incident: i64,
    /// The machine; empty for an incident of a group.
    pub machine: String,
    /// The machine's own name, or the group's.
    pub name: String,
    /// The group, for an incident of its rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The journal.
    pub journal: String,
    /// The kind.
    pub kind: String,
    /// The first position that is wrong.
    pub sequence: i64,
    /// The reason.
    pub reason: String,
    /// The number of times it was seen.
    pub times: i64,
    /// The first time, in milliseconds since 1970.
    pub first_at: i64,
    /// The last time.
    pub last_at: i64,
    /// The time when it settled itself, or a person settled it.
    pub settled_at: Option<i64>,
    /// The person who settled it last; it may have come again since.
    pub settled_by: Option<String>,
    /// The person's reason.
    pub settle_reason: Option<String>,
}

/// Stores an incident, or counts it once more. One that was settled is open again.
pub async fn raise_incident(
    client: &impl GenericClient,
    machine: &str,
    journal: &str,
    incident: &ChainIncident,
) -> Result<(), Failure> {
    let sequence = i64::try_from(incident.sequence).unwrap_or(i64::MAX);
    let stored = client
        .execute(
            "INSERT INTO incidents (machine, journal, kind, sequence, reason) \
             SELECT $1, $2, $3::text, $4::bigint, $5 \
             WHERE (SELECT count(*) FROM incidents WHERE machine = $1 AND settled_at IS NULL) < $6 \
             OR EXISTS (SELECT FROM incidents WHERE (machine, journal, kind, sequence) = ($1, $2, $3, $4)) \
             ON CONFLICT (machine, journal, kind, sequence) DO UPDATE \
             SET times = incidents.times + 1, last_at = now(), settled_at = NULL",
            &[&machine, &journal, &incident.kind.as_str(), &sequence, &incident.reason, &MOST_OPEN],
        )
        .await?;
    if stored == 0 {
        let count =
            "UPDATE machines SET incidents_omitted = incidents_omitted + 1 WHERE machine = $1";
        client.execute(count, &[&machine]).await?;
    }
    Ok(())
}

/// The kind of the incident of a rollout that was held.
const HELD_ROLLOUT: &str = "held-rollout";

/// Stores that a rollout of a group was held, or counts it once more.
pub async fn raise_held_rollout(
    client: &impl GenericClient,
    group: &str,
    version: i64,
    reason: &str,
) -> Result<(), Failure> {
    client
        .execute(
            "INSERT INTO incidents (group_name, journal, kind, sequence, reason) \
             VALUES ($1, '', $2, $3, $4) ON CONFLICT (group_name, kind, sequence) \
             WHERE machine IS NULL DO UPDATE SET times = incidents.times + 1, last_at = now(), \
             settled_at = NULL, reason = $4",
            &[&group, &HELD_ROLLOUT, &version, &reason],
        )
        .await?;
    Ok(())
}

/// Settles the incident of a rollout that a person lets go on.
pub async fn settle_held_rollout(
    client: &impl GenericClient,
    group: &str,
    version: i64,
    by: &str,
) -> Result<(), Failure> {
    client
        .execute(
            "UPDATE incidents SET settled_at = now(), settled_by = $4, \
             settle_reason = 'the rollout goes on' WHERE machine IS NULL AND group_name = $1 \
             AND kind = $2 AND sequence = $3 AND settled_at IS NULL",
            &[&group, &HELD_ROLLOUT, &version, &by],
        )
        .await?;
    Ok(())
}

/// Settles an incident in the name of a person; returns false if there is none of that number.
pub async fn settle_incident(
    client: &impl GenericClient,
    incident: i64,
    reason: &str,
    by: &str,
) -> Result<bool, Failure> {
    let changed = client
        .execute(
            "UPDATE incidents SET settled_at = now(), settled_by = $2, settle_reason = $3 \
             WHERE incident = $1",
            &[&incident, &by, &reason],
        )
        .await?;
    Ok(changed > 0)
}

/// Settles the gaps whose records have come.
pub async fn settle_gaps(
    client: &impl GenericClient,
    machine: &str,
    journal: &str,
    through: i64,
) -> Result<(), Failure> {
    let statement = client
        .prepare_cached(
            "UPDATE incidents SET settled_at = now() WHERE machine = $1 AND journal = $2 \
             AND kind = $3 AND sequence <= $4 AND settled_at IS NULL",
        )
        .await?;
    let kind = IncidentKind::Gap.as_str();
    client.execute(&statement, &[&machine, &journal, &kind, &through]).await?;
    Ok(())
}

/// Returns the newest incidents, the newest first.
pub async fn list_incidents(database: &Database) -> Result<Vec<IncidentSummary>, Failure> {
    let client = database.connect().await?;
    let sql = format!("{SUMMARIES} ORDER BY last_at DESC, incident DESC LIMIT $1");
    let rows = client.query(&sql, &[&MOST]).await?;
    Ok(rows.iter().map(summary_of_row).collect())
}

/// Returns incidents, those that are open first, then the newest, from a place on; of one machine,
/// or with an empty text of all.
pub async fn search_incidents(
    database: &Database,
    machine: &str,
    skipped: u32,
    most: u32,
) -> Result<Vec<IncidentSummary>, Failure> {
    let client = database.connect().await?;
    let sql = format!(
        "{SUMMARIES} WHERE $1 = '' OR i.machine = $1 \
         ORDER BY settled_at IS NULL DESC, last_at DESC, incident DESC LIMIT $2 OFFSET $3"
    );
    let rows = client.query(&sql, &[&machine, &i64::from(most), &i64::from(skipped)]).await?;
    Ok(rows.iter().map(summary_of_row).collect())
}

/// The beginning of each query for incidents as people see them.
const SUMMARIES: &str = "SELECT incident, coalesce(i.machine, ''), coalesce(name, group_name), \
    journal, kind, sequence, reason, times, \
    (extract(epoch FROM first_at) * 1000)::bigint, \
    (extract(epoch FROM last_at) * 1000)::bigint, \
    (extract(epoch FROM settled_at) * 1000)::bigint, settled_by, settle_reason, group_name \
    FROM incidents i LEFT JOIN machines m ON m.machine = i.machine";

fn summary_of_row(row: &Row) -> IncidentSummary {
    IncidentSummary {
        incident: row.get(0),
        machine: row.get(1),
        name: row.get(2),
        journal: row.get(3),
        kind: row.get(4),
        sequence: row.get(5),
        reason: row.get(6),
        times: row.get(7),
        first_at: row.get(8),
        last_at: row.get(9),
        settled_at: row.get(10),
        settled_by: row.get(11),
        settle_reason: row.get(12),
        group: row.get(13),
    }
}
