//! Judges a batch against what the hub has of its journal: pure, and the only place that decides
//! whether records are taken.
//!
//! The hash is the journal's own (`portcullis_store::hash_record`). Where a record's document came
//! as it was recorded, its hash is recomputed. Everywhere else the hub can say only that the chain
//! of hashes has no gap and no fork; a machine that sends less proves less.

use portcullis_fleet::protocol::{Batch, Position, SentRecord};
use portcullis_store::{Hash, RecordProof, hash_record};
use serde_json::Value;
use std::collections::BTreeMap;

/// The hub's knowledge of a journal.
#[derive(Clone, Debug, Default)]
pub struct KnownJournal {
    /// The newest record; none if the hub has never heard of the journal.
    pub head: Option<Position>,
    /// The hashes that the hub has of the positions that the batch names, and of the one before.
    pub hashes: BTreeMap<u64, Hash>,
}

/// The kinds of incidents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncidentKind {
    /// Records between the hub's newest one and the batch are missing.
    Gap,
    /// The hub has another record at a position, after the same past.
    Fork,
    /// A record builds on another past than the hub has.
    RewrittenPast,
    /// The machine's journal ends before the hub's newest record.
    OlderCopy,
    /// A record does not have the hash of its document.
    ForgedHash,
    /// A record does not follow the one before it in its own batch.
    BrokenLink,
    /// A record's columns differ from its document.
    ForgedColumns,
    /// The machine began another journal, although it had one.
    NewJournal,
}

impl IncidentKind {
    /// Returns the name, for people and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gap => "gap",
            Self::Fork => "fork",
            Self::RewrittenPast => "rewritten-past",
            Self::OlderCopy => "older-copy",
            Self::ForgedHash => "forged-hash",
            Self::BrokenLink => "broken-link",
            Self::ForgedColumns => "forged-columns",
            Self::NewJournal => "new-journal",
        }
    }
}

/// A batch that does not continue what the hub has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainIncident {
    /// The kind.
    pub kind: IncidentKind,
    /// The first position that is wrong.
    pub sequence: u64,
    /// The reason in one line.
    pub reason: String,
}

/// A batch that continues what the hub has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRecords<'a> {
    /// The place before the first of them.
    pub after: Position,
    /// The records that the hub does not have yet, in order.
    pub records: &'a [SentRecord],
}

/// Returns the records that are new, or what is wrong with the batch.
pub fn judge_batch<'a>(
    known: &KnownJournal,
    batch: &'a Batch,
) -> Result<NewRecords<'a>, ChainIncident> {
    check_records(&batch.records)?;
    // The hub keeps nothing of a journal that it never heard of, so it begins where that does.
    let head = known.head.unwrap_or(batch.start);
    check_head(known, head, batch)?;
    let Some(first) = batch.records.first() else {
        return Ok(NewRecords { after: head, records: &[] });
    };
    if first.sequence > head.sequence.saturating_add(1) {
        let missing = head.sequence.saturating_add(1);
        return Err(incident(
            IncidentKind::Gap,
            missing,
            format!("records {missing} to {} are missing", first.sequence.saturating_sub(1)),
        ));
    }
    check_repeated(known, head, &batch.records)?;
    let repeated = head.sequence.saturating_add(1).saturating_sub(first.sequence);
    let repeated = usize::try_from(repeated).unwrap_or(usize::MAX).min(batch.records.len());
    let records = batch.records.get(repeated..).unwrap_or_default();
    match records.first() {
        Some(next) if next.previous != head.hash => Err(incident(
            IncidentKind::RewrittenPast,
            next.sequence,
            format!(
                "record {} does not build on the record {} that the hub has",
                next.sequence, head.sequence
            ),
        )),
        _ => Ok(NewRecords { after: head, records }),
    }
}

/// Checks that records follow each other and have the hashes of their documents.
fn check_records(records: &[SentRecord]) -> Result<(), ChainIncident> {
    for (record, next) in records.iter().zip(records.iter().skip(1)) {
        let expected = record.sequence.saturating_add(1);
        if next.sequence != expected {
            return Err(incident(
                IncidentKind::Gap,
                expected,
                format!("record {} comes after record {}", next.sequence, record.sequence),
            ));
        }
        if next.previous != record.hash {
            return Err(incident(
                IncidentKind::BrokenLink,
                next.sequence,
                format!("record {} does not follow the one before it", next.sequence),
            ));
        }
    }
    records.iter().try_for_each(check_document)
}

/// Checks what can be checked of one record: its hash and its columns.
fn check_document(record: &SentRecord) -> Result<(), ChainIncident> {
    let sequence = record.sequence;
    let Some(document) = record.document.as_deref().filter(|_| record.exact) else {
        return match record.exact {
            true => Err(incident(
                IncidentKind::ForgedHash,
                sequence,
                format!("record {sequence} claims to be exact and has no document"),
            )),
            false => Ok(()),
        };
    };
    let proof = record.proof.map(RecordProof::from);
    if hash_record(&record.previous, sequence, document.as_bytes(), proof.as_ref()) != record.hash {
        return Err(incident(
            IncidentKind::ForgedHash,
            sequence,
            format!("record {sequence} does not have the hash of its document"),
        ));
    }
    match find_contradiction(record, document) {
        None => Ok(()),
        Some(column) => Err(incident(
            IncidentKind::ForgedColumns,
            sequence,
            format!("the {column} of record {sequence} differs from its document"),
        )),
    }
}

/// Returns the column that differs from the document. The hash covers the document alone, so a
/// search by columns would otherwise find what no hash covers.
fn find_contradiction(record: &SentRecord, document: &str) -> Option<&'static str> {
    let Ok(Value::Object(members)) = serde_json::from_str(document) else {
        return Some("document");
    };
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    let verdict = members.get("decision").and_then(|decision| decision.get("verdict"));
    let verdict = verdict.and_then(Value::as_str);
    let at = members.get("at").and_then(Value::as_u64);
    let pairs = [
        ("id", Some(record.id.as_str()) == text("id")),
        ("kind", Some(record.kind.as_str()) == text("kind")),
        ("time", Some(record.at) == at),
        ("verdict", record.verdict.as_deref() == verdict),
    ];
    pairs.into_iter().find(|(_, same)| !same).map(|(name, _)| name)
}

/// Checks the newest record that the machine has.
fn check_head(known: &KnownJournal, head: Position, batch: &Batch) -> Result<(), ChainIncident> {
    let last = batch.records.last().map_or(0, |record| record.sequence);
    if batch.head.sequence < head.sequence || batch.head.sequence < last {
        let claimed = batch.head.sequence;
        return Err(incident(
            IncidentKind::OlderCopy,
            claimed,
            format!(
                "the machine's journal ends with record {claimed}, and the hub has record {}",
                head.sequence.max(last)
            ),
        ));
    }
    if known.head.is_some() && batch.start.sequence > head.sequence {
        let missing = head.sequence.saturating_add(1);
        return Err(incident(
            IncidentKind::Gap,
            missing,
            format!(
                "the machine has removed records {missing} to {} before it sent them",
                batch.start.sequence
            ),
        ));
    }
    if batch.head.sequence == head.sequence && batch.head.hash != head.hash {
        return Err(incident(
            IncidentKind::Fork,
            head.sequence,
            format!("the machine's record {} is another one than the hub has", head.sequence),
        ));
    }
    Ok(())
}

/// Checks records that the hub has already.
fn check_repeated(
    known: &KnownJournal,
    head: Position,
    records: &[SentRecord],
) -> Result<(), ChainIncident> {
    for record in records.iter().take_while(|record| record.sequence <= head.sequence) {
        let sequence = record.sequence;
        let has = |sequence: u64| match sequence == head.sequence {
            true => Some(head.hash),
            false => known.hashes.get(&sequence).copied(),
        };
        // Retention at the hub may have removed the hash; the head is never removed.
        if has(sequence).is_none_or(|hash| hash == record.hash) {
            continue;
        }
        let same_past =
            sequence.checked_sub(1).and_then(has).is_none_or(|hash| hash == record.previous);
        let kind = if same_past { IncidentKind::Fork } else { IncidentKind::RewrittenPast };
        let reason = format!("record {sequence} is another one than the hub has");
        return Err(incident(kind, sequence, reason));
    }
    Ok(())
}

const fn incident(kind: IncidentKind, sequence: u64, reason: String) -> ChainIncident {
    ChainIncident { kind, sequence, reason }
}

#[cfg(test)]
mod tests;
