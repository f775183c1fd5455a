//! Marks of people: a review of a machine was wrong or right, and a finding about the fleet is
//! harmless. A mark changes no verdict; it is counted by rule, and a wrong finding is left out.

use crate::database::Database;
use crate::failure::Failure;
use crate::records::FoundRecord;
use deadpool_postgres::Transaction;
use serde::Serialize;

/// The most marks in a list.
const MOST: i64 = 200;

/// The words of a mark.
pub const WORDS: [&str; 2] = ["false-positive", "right"];

/// A review that a person marked.
#[derive(Debug, Serialize)]
pub struct ReviewMark {
    /// The machine.
    pub machine: String,
    /// The machine's own name.
    pub name: String,
    /// The record's id.
    pub record: String,
    /// The verdict.
    pub verdict: String,
    /// The action in one line.
    pub summary: String,
    /// The rules that objected.
    pub rules: Vec<String>,
    /// `false-positive` or `right`.
    pub word: String,
    /// The reason.
    pub reason: String,
    /// The person.
    pub marked_by: String,
    /// The time, in milliseconds since 1970.
    pub marked_at: i64,
}

/// The marks of a rule, counted.
#[derive(Debug, Serialize)]
pub struct RuleMarks {
    /// The rule.
    pub rule: String,
    /// The reviews that a person called a false positive.
    pub false_positive: i64,
    /// The reviews that a person called right.
    pub right: i64,
}

/// Marks a review, in place of what was said of it before.
pub async fn mark_review(
    transaction: &Transaction<'_>,
    found: &FoundRecord,
    (summary, rules): (&str, &[String]),
    word: &str,
    reason: &str,
    by: &str,
) -> Result<(), Failure> {
    let (journal, sequence) = found.place.position();
    let verdict = found.verdict.as_deref().unwrap_or_default();
    transaction
        .execute(
            "INSERT INTO review_marks (machine, journal, sequence, record, verdict, summary, rules, \
             word, reason, marked_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
             ON CONFLICT (machine, journal, sequence) DO UPDATE SET word = $8, reason = $9, \
             marked_by = $10, marked_at = now()",
            &[
                &found.machine,
                &journal,
                &sequence,
                &found.id,
                &verdict,
                &summary,
                &rules,
                &word,
                &reason,
                &by,
            ],
        )
        .await?;
    Ok(())
}

/// Returns the newest marks, the newest first; of one record if its place is named.
pub async fn list_marks(
    database: &Database,
    of: Option<&FoundRecord>,
) -> Result<Vec<ReviewMark>, Failure> {
    let client = database.connect().await?;
    let (machine, journal, sequence) = match of {
        Some(found) => {
            let (journal, sequence) = found.place.position();
            (found.machine.as_str(), journal, sequence)
        }
        None => ("", "", 0),
    };
    let rows = client
        .query(
            "SELECT machine, name, record, verdict, summary, rules, word, reason, marked_by, \
             (extract(epoch FROM marked_at) * 1000)::bigint FROM review_marks \
             JOIN machines USING (machine) WHERE $1 = '' OR (machine, journal, sequence) = \
             ($1, $2, $3) ORDER BY marked_at DESC, machine, sequence LIMIT $4",
            &[&machine, &journal, &sequence, &MOST],
        )
        .await?;
    let mark = |row: &tokio_postgres::Row| ReviewMark {
        machine: row.get(0),
        name: row.get(1),
        record: row.get(2),
        verdict: row.get(3),
        summary: row.get(4),
        rules: row.get(5),
        word: row.get(6),
        reason: row.get(7),
        marked_by: row.get(8),
        marked_at: row.get(9),
    };
    Ok(rows.iter().map(mark).collect())
}

/// Returns the marks by rule, those with most false positives first.
pub async fn count_marks(database: &Database) -> Result<Vec<RuleMarks>, Failure> {
    let client = database.connect().await?;
    let rows = client
        .query(
            "SELECT rule, count(*) FILTER (WHERE word = 'false-positive'), \
             count(*) FILTER (WHERE word = 'right') FROM review_marks, unnest(rules) rule \
             GROUP BY rule ORDER BY 2 DESC, rule LIMIT $1",
            &[&MOST],
        )
        .await?;
    let counted = |row: &tokio_postgres::Row| RuleMarks {
        rule: row.get(0),
        false_positive: row.get(1),
        right: row.get(2),
    };
    Ok(rows.iter().map(counted).collect())
}

/// Marks a finding about the fleet as harmless, or takes that back; returns false if nothing changes.
pub async fn mark_finding(
    transaction: &Transaction<'_>,
    (kind, value): (&str, &str),
    reason: Option<&str>,
    by: &str,
) -> Result<bool, Failure> {
    let changed = match reason {
        None => {
            let delete = "DELETE FROM finding_marks WHERE kind = $1 AND value = $2";
            transaction.execute(delete, &[&kind, &value]).await?
        }
        Some(reason) => {
            transaction
                .execute(
                    "INSERT INTO finding_marks (kind, value, reason, marked_by) \
                     SELECT $1, $2, $3, $4 WHERE EXISTS (SELECT FROM traits \
                     WHERE kind = $1 AND value = $2) ON CONFLICT DO NOTHING",
                    &[&kind, &value, &reason, &by],
                )
                .await?
        }
    };
    Ok(changed > 0)
}
