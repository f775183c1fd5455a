//! Search over what was received, and the records of one session.
//!
//! The order is that of storage, the newest first, by the database's clock: no machine chooses the
//! place of its records. A page goes on after a cursor, so what arrives meanwhile moves nothing.
//! Every condition is a literal of this program; what people write is a parameter.

use crate::database::Database;
use crate::failure::Failure;
use crate::words::write_query;
use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// The columns of a record that was found, from records and their machines. Of a document with more
/// than 128 KiB only the columns are shown.
const COLUMNS: &str = "r.machine, m.name, (extract(epoch FROM r.stored_at) * 1000000)::bigint, r.at, \
    r.id, r.kind, r.session, r.subject, r.verdict, \
    CASE WHEN octet_length(r.document) <= 131072 THEN r.document END, r.journal, r.sequence";
/// The tables that they come from.
const TABLES: &str = "FROM records r JOIN machines m ON m.machine = r.machine";
/// The order of storage, the newest first.
const ORDER: &str = "ORDER BY r.stored_at DESC, r.machine DESC, r.journal DESC, r.sequence DESC";
/// The newest records among which a word is looked for first.
const NEWEST: u32 = 20_000;
/// Lets PostgreSQL read the index of words in this transaction, and not the records in their order
/// until it has found enough: of a rare word there may never be enough.
const BY_INDEX_OF_WORDS: &str = "SET LOCAL enable_indexscan = off; SET LOCAL enable_seqscan = off";

/// The conditions of a search. An empty text is none.
#[derive(Clone, Debug, Default)]
pub struct RecordSearch {
    /// Words that each record has.
    pub text: String,
    /// The machine's id.
    pub machine: String,
    /// The session.
    pub session: String,
    /// The kind.
    pub kind: String,
    /// The verdict.
    pub verdict: String,
    /// The tool or the event.
    pub tool: String,
    /// The time of storage from which on, in microseconds since 1970.
    pub since: i64,
    /// The time of storage up to which.
    pub until: i64,
    /// The place after which the search goes on.
    pub after: Option<Cursor>,
}

/// The place of a record in the order of storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cursor {
    #[serde(rename = "t")]
    stored_at: i64,
    #[serde(rename = "m")]
    machine: String,
    #[serde(rename = "j")]
    journal: String,
    #[serde(rename = "s")]
    sequence: i64,
}

/// A record that was found.
#[derive(Debug)]
pub struct FoundRecord {
    /// The machine's id.
    pub machine: String,
    /// The machine's own name.
    pub name: String,
    /// The time of storage, in milliseconds since 1970.
    pub stored_at: i64,
    /// The time by the machine's clock.
    pub at: i64,
    /// The id.
    pub id: String,
    /// The kind.
    pub kind: String,
    /// The session.
    pub session: Option<String>,
    /// The tool or the event.
    pub subject: String,
    /// The verdict.
    pub verdict: Option<String>,
    /// The document, unless it is too large to show.
    pub document: Option<String>,
    /// The place.
    pub place: Cursor,
}

impl Cursor {
    /// Returns the cursor as a word of an address.
    pub fn to_word(&self) -> String {
        BASE64URL_NOPAD.encode(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// Returns the cursor of a record.
    pub fn of_place(stored_at: i64, machine: &str, journal: String, sequence: i64) -> Self {
        Self { stored_at, machine: machine.to_owned(), journal, sequence }
    }

    /// Returns the journal, and the position in it.
    pub fn position(&self) -> (&str, i64) {
        (&self.journal, self.sequence)
    }

    /// Reads a cursor from a word of an address.
    pub fn from_word(word: &str) -> Option<Self> {
        let bytes = BASE64URL_NOPAD.decode(word.as_bytes()).ok()?;
        let found: Self = serde_json::from_slice(&bytes).ok()?;
        let is_text = |text: &str| !text.contains('\0');
        (is_text(&found.machine) && is_text(&found.journal)).then_some(found)
    }
}

/// Returns records, the newest first, at most `most`.
///
/// A word that many records have is found among the newest ones, in the order of storage. Only for
/// one that few of those have, the index of words is read: PostgreSQL cannot tell one from the other.
pub async fn find_records(
    database: &Database,
    search: &RecordSearch,
    most: u32,
) -> Result<Vec<FoundRecord>, Failure> {
    let words = write_query(&search.text);
    if words.is_none() && !search.text.trim().is_empty() {
        // A text without a letter or a digit is in no record's words.
        return Ok(Vec::new());
    }
    let mut conditions = list_conditions(search);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut client = database.connect_reading().await?;
    let Some(words) = &words else {
        let sql =
            format!("SELECT {COLUMNS} {TABLES} WHERE {} {ORDER} LIMIT {most}", conditions.text);
        let rows = client.query(&sql, &conditions.values).await?;
        return Ok(rows.iter().map(found_record).collect());
    };
    let without = conditions.text.clone();
    conditions.add("r.words @@ $::text::tsquery", words);
    let has_words = format!("r.words @@ ${}::text::tsquery", conditions.values.len());
    let newest = format!(
        "SELECT {COLUMNS} FROM (SELECT * FROM records r WHERE {without} {ORDER} \
         LIMIT {NEWEST}) r JOIN machines m ON m.machine = r.machine WHERE {has_words} \
         {ORDER} LIMIT {most}"
    );
    let rows = client.query(&newest, &conditions.values).await?;
    if rows.len() >= most {
        return Ok(rows.iter().map(found_record).collect());
    }
    let transaction = client.transaction().await?;
    transaction.batch_execute(BY_INDEX_OF_WORDS).await?;
    let sql = format!("SELECT {COLUMNS} {TABLES} WHERE {} {ORDER} LIMIT {most}", conditions.text);
    let rows = transaction.query(&sql, &conditions.values).await?;
    transaction.commit().await?;
    Ok(rows.iter().map(found_record).collect())
}

/// Returns the conditions on columns. A time is a constant once its parameter is known, so the
/// partitions of other days are not even looked at.
fn list_conditions(search: &RecordSearch) -> Conditions<'_> {
    let mut conditions = Conditions::default();
    let (since, until) = (&search.since, &search.until);
    conditions.add("r.stored_at >= to_timestamp($::bigint / 1000000.0)", since);
    conditions.add("r.stored_at < to_timestamp($::bigint / 1000000.0)", until);
    for (condition, value) in [
        ("r.machine = $", &search.machine),
        ("r.session = $", &search.session),
        ("r.kind = $", &search.kind),
        ("r.verdict = $", &search.verdict),
        ("r.subject = $", &search.tool),
    ] {
        if !value.is_empty() {
            conditions.add(condition, value);
        }
    }
    if let Some(after) = &search.after {
        conditions.add_all(
            "r.stored_at <= to_timestamp($::bigint / 1000000.0) \
             AND (r.stored_at, r.machine, r.journal, r.sequence) < \
             (to_timestamp($::bigint / 1000000.0), $, $, $)",
            &[&after.stored_at, &after.stored_at, &after.machine, &after.journal, &after.sequence],
        );
    }
    conditions
}

/// Returns the newest records of a session, the oldest first. Reads only the partitions of the days
/// on which the session grew.
pub async fn read_session(
    database: &Database,
    machine: &str,
    session: &str,
    most: u32,
) -> Result<Vec<FoundRecord>, Failure> {
    let client = database.connect_reading().await?;
    let times = "SELECT (extract(epoch FROM begun_at) * 1000000)::bigint, \
                 (extract(epoch FROM grown_at) * 1000000)::bigint \
                 FROM sessions WHERE machine = $1 AND session = $2";
    let Some(times) = client.query_opt(times, &[&machine, &session]).await? else {
        // Its records are gone with it, or there never were any.
        return Ok(Vec::new());
    };
    let (begun_at, grown_at): (i64, i64) = (times.get(0), times.get(1));
    let sql = format!(
        "SELECT {COLUMNS} {TABLES} WHERE r.machine = $1 AND r.session = $2 \
         AND r.stored_at >= to_timestamp($4::bigint / 1000000.0) \
         AND r.stored_at <= to_timestamp($5::bigint / 1000000.0) ORDER BY r.sequence DESC LIMIT $3"
    );
    let rows =
        client.query(&sql, &[&machine, &session, &i64::from(most), &begun_at, &grown_at]).await?;
    Ok(rows.iter().rev().map(found_record).collect())
}

/// Returns the record at a place.
pub async fn find_record(
    database: &Database,
    place: &Cursor,
) -> Result<Option<FoundRecord>, Failure> {
    let client = database.connect().await?;
    // The time of storage names the partition.
    let sql = format!(
        "SELECT {COLUMNS} {TABLES} WHERE r.machine = $1 AND r.journal = $2 AND r.sequence = $3 \
         AND r.stored_at = 'epoch'::timestamptz + $4::bigint * interval '1 microsecond'"
    );
    let Cursor { stored_at, machine, journal, sequence } = place;
    let row = client.query_opt(&sql, &[machine, journal, sequence, stored_at]).await?;
    Ok(row.as_ref().map(found_record))
}

fn found_record(row: &Row) -> FoundRecord {
    let (machine, stored_at): (String, i64) = (row.get(0), row.get(2));
    FoundRecord {
        name: row.get(1),
        stored_at: stored_at / 1000,
        at: row.get(3),
        id: row.get(4),
        kind: row.get(5),
        session: row.get(6),
        subject: row.get(7),
        verdict: row.get(8),
        document: row.get(9),
        place: Cursor {
            stored_at,
            machine: machine.clone(),
            journal: row.get(10),
            sequence: row.get(11),
        },
        machine,
    }
}

/// Conditions that all hold, with their parameters.
#[derive(Default)]
struct Conditions<'a> {
    text: String,
    values: Vec<&'a (dyn ToSql + Sync)>,
}

impl<'a> Conditions<'a> {
    /// Adds a condition with one parameter, which it names `$`.
    fn add(&mut self, condition: &'static str, value: &'a (dyn ToSql + Sync)) {
        self.add_all(condition, &[value]);
    }

    /// Adds a condition, each of whose parameters it names `$`.
    fn add_all(&mut self, condition: &'static str, values: &[&'a (dyn ToSql + Sync)]) {
        if !self.text.is_empty() {
            self.text.push_str(" AND ");
        }
        let mut values = values.iter();
        for (index, part) in condition.split('$').enumerate() {
            if index > 0
                && let Some(value) = values.next()
            {
                self.values.push(*value);
                self.text.push_str(&format!("${}", self.values.len()));
            }
            self.text.push_str(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let cursor = Cursor {
            stored_at: 1_790_000_000_123_456,
            machine: "m-0".into(),
            journal: "ab".into(),
            sequence: 7,
        };
        assert_eq!(Cursor::from_word(&cursor.to_word()), Some(cursor.clone()));
        let with_nul = Cursor { machine: "m\0".into(), ..cursor };
        for other in ["", "x", "e30", &with_nul.to_word(), "eyJ0IjoxfQ"] {
            assert_eq!(Cursor::from_word(other), None, "{other}");
        }
    }

    #[test]
    fn parameters_are_numbered() {
        let mut conditions = Conditions::default();
        conditions.add("a = $", &1_i64);
        conditions.add_all("(b, c) < ($, $)", &[&2_i64, &3_i64]);
        assert_eq!(conditions.text, "a = $1 AND (b, c) < ($2, $3)");
        assert_eq!(conditions.values.len(), 3);
    }
}
