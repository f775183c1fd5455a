//! Sessions of machines: counted as their records arrive, and read as people look at them.

use crate::database::Database;
use crate::failure::Failure;
use deadpool_postgres::Transaction;
use portcullis_fleet::protocol::SentRecord;

/// A session as a page lists it.
#[derive(Debug)]
pub struct SessionSummary {
    /// The name that the client gave it.
    pub session: String,
    /// Its records.
    pub records: i64,
    /// The actions that were reviewed.
    pub reviews: i64,
    /// The actions about which a person was asked.
    pub asked: i64,
    /// The actions that were blocked.
    pub blocked: i64,
    /// The first and the last event by the machine's clock, in milliseconds since 1970.
    pub first_at: i64,
    /// The last event.
    pub last_at: i64,
}

/// Counts new records of a machine for their sessions.
pub async fn count_sessions(
    transaction: &Transaction<'_>,
    machine: &str,
    records: &[SentRecord],
) -> Result<(), Failure> {
    let named =
        || records.iter().filter(|one| one.session.as_ref().is_some_and(|it| !it.is_empty()));
    if named().next().is_none() {
        return Ok(());
    }
    let sessions: Vec<&str> = named().filter_map(|one| one.session.as_deref()).collect();
    let kinds: Vec<&str> = named().map(|one| one.kind.as_str()).collect();
    let verdicts: Vec<Option<&str>> = named().map(|one| one.verdict.as_deref()).collect();
    let times: Vec<i64> = named().map(|one| i64::try_from(one.at).unwrap_or(i64::MAX)).collect();
    let statement = transaction
        .prepare_cached(
            "INSERT INTO sessions (machine, session, records, reviews, asked, blocked, first_at, \
             last_at) SELECT $1, session, count(*), count(*) FILTER (WHERE kind = 'review'), \
             count(*) FILTER (WHERE verdict = 'ask'), count(*) FILTER (WHERE verdict = 'block'), \
             min(at), max(at) FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[]) \
             AS new (session, kind, verdict, at) GROUP BY session ORDER BY session \
             ON CONFLICT (machine, session) DO UPDATE SET \
             records = sessions.records + excluded.records, \
             reviews = sessions.reviews + excluded.reviews, \
             asked = sessions.asked + excluded.asked, \
             blocked = sessions.blocked + excluded.blocked, \
             first_at = least(sessions.first_at, excluded.first_at), \
             last_at = greatest(sessions.last_at, excluded.last_at), grown_at = now()",
        )
        .await?;
    transaction.execute(&statement, &[&machine, &sessions, &kinds, &verdicts, &times]).await?;
    Ok(())
}

/// Returns a machine's sessions, the one that grew last first, from a place on.
pub async fn list_sessions(
    database: &Database,
    machine: &str,
    skipped: u32,
    most: u32,
) -> Result<Vec<SessionSummary>, Failure> {
    let client = database.connect_reading().await?;
    let rows = client
        .query(
            "SELECT session, records, reviews, asked, blocked, first_at, last_at FROM sessions \
             WHERE machine = $1 ORDER BY grown_at DESC, session LIMIT $2 OFFSET $3",
            &[&machine, &i64::from(most), &i64::from(skipped)],
        )
        .await?;
    let summary = |row: &tokio_postgres::Row| SessionSummary {
        session: row.get(0),
        records: row.get(1),
        reviews: row.get(2),
        asked: row.get(3),
        blocked: row.get(4),
        first_at: row.get(5),
        last_at: row.get(6),
    };
    Ok(rows.iter().map(summary).collect())
}

/// Forgets the sessions whose records are all older than the retention; 0 keeps all.
pub async fn forget_sessions(database: &Database, retention_days: u32) -> Result<(), Failure> {
    let Some(days) = i32::try_from(retention_days).ok().filter(|days| *days > 0) else {
        return Ok(());
    };
    let client = database.connect().await?;
    // A day of records is dropped once all of it is older.
    client
        .execute(
            "DELETE FROM sessions WHERE grown_at < now() - ($1::integer + 1) * interval '1 day'",
            &[&days],
        )
        .await?;
    Ok(())
}
