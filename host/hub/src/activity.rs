//! Counts what machines do under which orders, from their records as they are stored.
//!
//! A machine's journal says in its order which version of orders it took, so the counts are right
//! however late a record comes. They are the machine's word, as the records are.

use crate::failure::Failure;
use deadpool_postgres::Transaction;
use portcullis_fleet::orders::taken_version;
use portcullis_fleet::protocol::SentRecord;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

/// The verdicts that disturb somebody.
const DISTURBING: &[&str] = &["warn", "ask", "block"];
/// The modes in which no verdict takes effect.
const OBSERVING: &[&str] = &["observe", "off"];
/// The days for which counts are kept.
pub const KEPT_DAYS: i32 = 30;

/// Counts of some actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ActivityCounts {
    /// The actions that were reviewed.
    pub actions: i64,
    /// Those with a warning, a question or a refusal that took effect.
    pub disturbed: i64,
    /// Faults, of a plugin in a review or of a review as a whole.
    pub faults: i64,
}

/// The part of a document that counts.
#[derive(Default, Deserialize)]
struct CountedDocument {
    #[serde(default)]
    mode: String,
    #[serde(default)]
    faults: Vec<IgnoredAny>,
}

/// Counts records that are new, after those that were made under `version`; returns the counts of
/// each version, and the version of the newest record.
pub fn count_records(records: &[SentRecord], version: i64) -> (BTreeMap<i64, ActivityCounts>, i64) {
    let mut counts: BTreeMap<i64, ActivityCounts> = BTreeMap::new();
    let mut current = version;
    for record in records {
        match record.kind.as_str() {
            "configuration" => {
                let taken = taken_version(&record.subject);
                current = taken.and_then(|taken| i64::try_from(taken).ok()).unwrap_or(current);
            }
            "review" => count_review(record, counts.entry(current).or_default()),
            "fault" => counts.entry(current).or_default().faults += 1,
            _ => {}
        }
    }
    (counts, current)
}

fn count_review(record: &SentRecord, counts: &mut ActivityCounts) {
    let document = record.document.as_deref().unwrap_or("{}");
    let document: CountedDocument = serde_json::from_str(document).unwrap_or_default();
    let verdict = record.verdict.as_deref().unwrap_or_default();
    counts.actions += 1;
    counts.faults += i64::from(!document.faults.is_empty());
    let takes_effect = !OBSERVING.contains(&document.mode.as_str());
    counts.disturbed += i64::from(takes_effect && DISTURBING.contains(&verdict));
}

/// Adds new records of a machine to its counts. `version` is the machine's `activity_version`, whose
/// row is locked.
pub async fn add_activity(
    transaction: &Transaction<'_>,
    machine: &str,
    version: i64,
    records: &[SentRecord],
) -> Result<(), Failure> {
    let (counts, newest) = count_records(records, version);
    for (version, ActivityCounts { actions, disturbed, faults }) in counts {
        let statement = transaction
            .prepare_cached(
                "INSERT INTO activity (machine, orders_version, hour, actions, disturbed, faults) \
                 VALUES ($1, $2, date_trunc('hour', now()), $3, $4, $5) \
                 ON CONFLICT (machine, orders_version, hour) DO UPDATE \
                 SET actions = activity.actions + $3, disturbed = activity.disturbed + $4, \
                 faults = activity.faults + $5",
            )
            .await?;
        transaction
            .execute(&statement, &[&machine, &version, &actions, &disturbed, &faults])
            .await?;
    }
    if newest != version {
        let update = "UPDATE machines SET activity_version = $2 WHERE machine = $1";
        transaction.execute(update, &[&machine, &newest]).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: &str, subject: &str, verdict: Option<&str>, document: &str) -> SentRecord {
        SentRecord {
            sequence: 1,
            previous: [0; 32],
            hash: [0; 32],
            id: "r".into(),
            at: 1,
            kind: kind.into(),
            session: None,
            agent: None,
            subject: subject.into(),
            verdict: verdict.map(str::to_owned),
            document: Some(document.to_owned()).filter(|document| !document.is_empty()),
            exact: false,
            proof: None,
        }
    }

    #[test]
    fn actions_count_for_the_orders_that_they_were_reviewed_under() {
        let review = |verdict, document| record("review", "Bash", Some(verdict), document);
        let records = [
            review("allow", ""),
            review("ask", r#"{"mode":"blocking"}"#),
            review("block", r#"{"mode":"observe"}"#),
            record("outcome", "Bash", None, ""),
            record("configuration", "fleet-orders 7", None, ""),
            record("configuration", "fleet-orders", None, ""),
            record("configuration", "fleet-orders x", None, ""),
            record("fault", "PreToolUse", None, ""),
            review("warn", ""),
            review("modify", r#"{"faults":[{"kind":"trap"}],"mode":"blocking"}"#),
            review("allow", "no JSON"),
        ];
        let counts = |actions, disturbed, faults| ActivityCounts { actions, disturbed, faults };
        let (found, newest) = count_records(&records, 3);
        assert_eq!(newest, 7);
        assert_eq!(found, BTreeMap::from([(3, counts(3, 1, 0)), (7, counts(3, 1, 2))]));
    }
}
