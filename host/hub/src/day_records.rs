//! The records that the hub stored on a day, by the database's clock (UTC), in the order of storage.
//!
//! A day is read in pages, each by its own statement, so that no statement lasts longer than the
//! database allows. Once a day is over, nothing is added to it. Retention removes a day as a whole, also
//! between two pages: who has read one asks [`find_days`] whether it is still there.

use crate::database::Database;
use crate::day_file::DayRecord;
use crate::failure::Failure;
use jiff::civil::Date;
use portcullis_store::Hash;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// The most records of a page, and the bytes of their documents after which it ends before.
const PAGE: i64 = 1000;
const PAGE_BYTES: i64 = 16 << 20;
/// The time after the end of a day in which a batch that began before may still be stored. The hub's
/// transactions end within a minute.
const GRACE: &str = "5 minutes";

/// The days that are over and have records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayRange {
    /// The day of the oldest record.
    pub first: Date,
    /// The last day that is over.
    pub last: Date,
}

/// Reads a day's records, page by page.
#[derive(Debug)]
pub struct DayReader {
    day: String,
    after: Option<Place>,
}

/// A place in the order of storage.
#[derive(Clone, Debug)]
struct Place {
    stored_at: i64,
    machine: String,
    journal: String,
    sequence: i64,
}

/// Returns the days that can be exported; none if the hub has no record of a day that is over.
pub async fn find_days(database: &Database) -> Result<Option<DayRange>, Failure> {
    let client = database.connect().await?;
    let sql = format!(
        "SELECT to_char(min(stored_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD'), \
         to_char(((now() - interval '{GRACE}') AT TIME ZONE 'UTC')::date - 1, 'YYYY-MM-DD') \
         FROM records"
    );
    let row = client.query_one(&sql, &[]).await?;
    let (oldest, last): (Option<String>, String) = (row.get(0), row.get(1));
    let Some(oldest) = oldest else { return Ok(None) };
    let parse = |day: String| day.parse::<Date>().map_err(Failure::internal);
    let (first, last) = (parse(oldest)?, parse(last)?);
    Ok((first <= last).then_some(DayRange { first, last }))
}

impl DayReader {
    /// Begins with the first record of a day.
    pub fn of_day(day: Date) -> Self {
        Self { day: day.to_string(), after: None }
    }

    /// Returns the next records; none once the day was read.
    pub async fn read_page(&mut self, database: &Database) -> Result<Vec<DayRecord>, Failure> {
        const COLUMNS: &str = "r.machine, coalesce(m.name, ''), r.journal, r.sequence, \
            (extract(epoch FROM r.stored_at) * 1000000)::bigint, r.at, r.id, r.kind, r.session, \
            r.agent, r.subject, r.verdict, r.document, r.exact, r.previous, r.hash, r.salt, \
            r.stored";
        // A day of the calendar may have 23 or 25 hours where the server is; a day of UTC has 24.
        const DAY: &str = "stored_at >= ($1::text || ' 00:00:00+00')::timestamptz \
            AND stored_at < ($1::text || ' 00:00:00+00')::timestamptz + interval '24 hours'";
        const AFTER: &str = "AND stored_at >= \
            'epoch'::timestamptz + $2::bigint * interval '1 microsecond' \
            AND (stored_at, machine, journal, sequence) > \
            ('epoch'::timestamptz + $2::bigint * interval '1 microsecond', $3, $4, $5)";
        const ORDER: &str = "ORDER BY stored_at, machine, journal, sequence";
        let select = |after: &str| {
            format!(
                "WITH page AS (SELECT * FROM records WHERE {DAY} {after} {ORDER} LIMIT {PAGE}), \
                 measured AS (SELECT *, coalesce(octet_length(document), 0) AS own, \
                 sum(coalesce(octet_length(document), 0)) OVER ({ORDER}) AS all_bytes FROM page) \
                 SELECT {COLUMNS} FROM measured r LEFT JOIN machines m ON m.machine = r.machine \
                 WHERE r.all_bytes - r.own < {PAGE_BYTES} \
                 ORDER BY r.stored_at, r.machine, r.journal, r.sequence"
            )
        };
        let client = database.connect().await?;
        let rows = match &self.after {
            None => client.query(&select(""), &[&self.day]).await?,
            Some(Place { stored_at, machine, journal, sequence }) => {
                let values: [&(dyn ToSql + Sync); 5] =
                    [&self.day, stored_at, machine, journal, sequence];
                client.query(&select(AFTER), &values).await?
            }
        };
        let records = rows.iter().map(read_record).collect::<Result<Vec<_>, _>>()?;
        if let Some(last) = records.last() {
            self.after = Some(Place {
                stored_at: last.stored_at,
                machine: last.machine.clone(),
                journal: last.journal.clone(),
                sequence: last.sequence,
            });
        }
        Ok(records)
    }
}

fn read_record(row: &Row) -> Result<DayRecord, Failure> {
    let hash = |column| {
        Hash::try_from(row.get::<_, Vec<u8>>(column))
            .map_err(|_| Failure::internal("the database holds a hash that is none"))
    };
    Ok(DayRecord {
        machine: row.get(0),
        machine_name: row.get(1),
        journal: row.get(2),
        sequence: row.get(3),
        stored_at: row.get(4),
        at: row.get(5),
        id: row.get(6),
        kind: row.get(7),
        session: row.get(8),
        agent: row.get(9),
        subject: row.get(10),
        verdict: row.get(11),
        document: row.get(12),
        exact: row.get(13),
        previous: hash(14)?,
        hash: hash(15)?,
        salt: row.get(16),
        stored: row.get(17),
    })
}
