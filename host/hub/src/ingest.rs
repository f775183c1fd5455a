//! A batch: judged against the journal's head and written with it in one transaction.
//!
//! The head's row is locked from before the judgement until the commit, so two replicas never write
//! the same record, and a batch is there whole or not at all. The answer leaves after the commit;
//! a hub that dies in between has the records, and recognises them when they come again.

use crate::activity::add_activity;
use crate::chain::{ChainIncident, IncidentKind, KnownJournal, NewRecords, judge_batch};
use crate::failure::Failure;
use crate::findings::note_traits;
use crate::incidents::{raise_incident, settle_gaps};
use crate::machines::{KnownMachine, check_texts, check_version, position_of};
use crate::service::Hub;
use crate::sessions::count_sessions;
use crate::words::collect_words;
use deadpool_postgres::Transaction;
use portcullis_fleet::protocol::{
    Acceptance, Batch, MOST_DOCUMENT, MOST_RECORDS, Position, RefusalKind, SentProof, SentRecord,
};
use portcullis_fleet::{Receipt, SignedReceipt};
use portcullis_store::Hash;
use std::collections::BTreeMap;

/// The most journals of one machine: each `portcullis recover` begins one.
const MOST_JOURNALS: i64 = 64;
const SECONDS_OF_DAY: i64 = 86_400;
/// The length of a journal's id, in hex digits.
const JOURNAL_DIGITS: usize = 32;

/// Takes the records of a batch that the hub does not have yet.
pub async fn take_batch(
    hub: &Hub,
    machine: &KnownMachine,
    batch: &Batch,
) -> Result<Acceptance, Failure> {
    check_form(machine, batch)?;
    let mut client = hub.database.connect().await?;
    let transaction = client.transaction().await?;
    let LockedJournal { known, activity_version } = lock_journal(&transaction, batch).await?;
    let new = match judge_batch(&known, batch) {
        Ok(new) => new,
        Err(incident) => {
            // The lock is given up first: nothing of the batch stays.
            transaction.rollback().await?;
            raise_incident(&client, &batch.machine, &batch.journal, &incident).await?;
            crate::report_line(&format!("{}: {}", batch.machine, incident.reason));
            return Err(Failure::of_incident(incident.reason, known.head));
        }
    };
    if known.head.is_none() {
        begin_journal(&transaction, batch).await?;
    }
    let taken = write_records(&transaction, batch, activity_version, &new).await?;
    transaction.commit().await?;
    Ok(accept(hub, batch, taken))
}

/// Checks everything that needs no database.
fn check_form(machine: &KnownMachine, batch: &Batch) -> Result<(), Failure> {
    check_version(batch.version)?;
    if batch.machine != machine.id() {
        let reason = "the batch names another machine than the certificate";
        return Err(Failure::refuse(RefusalKind::Foreign, reason));
    }
    let malformed = |reason: &str| Err(Failure::refuse(RefusalKind::Malformed, reason));
    let is_id = batch.journal.len() == JOURNAL_DIGITS
        && batch.journal.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase());
    if !is_id {
        return malformed("the journal's id is not of 32 hex digits");
    }
    if batch.start.sequence == 0 && batch.start != Position::default() {
        return malformed("a journal that begins with its first record begins after zeros");
    }
    if batch.records.len() > MOST_RECORDS {
        return malformed("the batch has too many records");
    }
    let positions = [batch.start.sequence, batch.head.sequence];
    let sequences = batch.records.iter().flat_map(|record| [record.sequence, record.at]);
    if positions.into_iter().chain(sequences).any(|number| i64::try_from(number).is_err()) {
        return malformed("a number is too large");
    }
    if batch.records.iter().any(|record| record.sequence == 0) {
        return malformed("records count from 1");
    }
    check_texts(&[&batch.portcullis])?;
    batch.records.iter().try_for_each(check_record)
}

fn check_record(record: &SentRecord) -> Result<(), Failure> {
    let optional = [&record.session, &record.agent, &record.verdict];
    let mut texts = vec![record.id.as_str(), &record.kind, &record.subject];
    texts.extend(optional.into_iter().flatten().map(String::as_str));
    check_texts(&texts)?;
    let document = record.document.as_deref().unwrap_or_default();
    if document.len() > MOST_DOCUMENT || document.contains('\0') {
        let reason = "a document is too large, or has a NUL";
        return Err(Failure::refuse(RefusalKind::Malformed, reason));
    }
    Ok(())
}

/// The journal of a batch, whose row is locked.
struct LockedJournal {
    known: KnownJournal,
    /// The orders under which the machine's newest record was made.
    activity_version: i64,
}

/// Locks the rows of journal and machine, and reads what a judgement needs.
async fn lock_journal(
    transaction: &Transaction<'_>,
    batch: &Batch,
) -> Result<LockedJournal, Failure> {
    let statement = transaction
        .prepare_cached(
            "SELECT head_sequence, head_hash, activity_version \
             FROM machines m LEFT JOIN (SELECT * FROM journals \
               WHERE machine = $1 AND journal = $2 FOR UPDATE) j USING (machine) \
             WHERE machine = $1 FOR NO KEY UPDATE OF m",
        )
        .await?;
    let row = transaction.query_one(&statement, &[&batch.machine, &batch.journal]).await?;
    let activity_version = row.get(2);
    if row.get::<_, Option<i64>>(0).is_none() {
        return Ok(LockedJournal { known: KnownJournal::default(), activity_version });
    }
    let head = position_of(&row, 0)?;
    let first = batch.records.first().map_or(u64::MAX, |record| record.sequence);
    let hashes = match first <= head.sequence {
        true => find_hashes(transaction, batch, first.saturating_sub(1)).await?,
        false => BTreeMap::new(),
    };
    Ok(LockedJournal { known: KnownJournal { head: Some(head), hashes }, activity_version })
}

/// Returns the hashes that the hub has of the records from a sequence on, as many as a batch has at
/// most. Only the days on which these were stored are read.
async fn find_hashes(
    transaction: &Transaction<'_>,
    batch: &Batch,
    from: u64,
) -> Result<BTreeMap<u64, Hash>, Failure> {
    let (machine, journal) = (&batch.machine, &batch.journal);
    let from = signed(from);
    let through =
        from.saturating_add(i64::try_from(MOST_RECORDS).unwrap_or(i64::MAX)).saturating_add(1);
    let days = "SELECT extract(epoch FROM min(day)::timestamp)::bigint, \
                extract(epoch FROM max(day)::timestamp)::bigint FROM journal_days \
                WHERE machine = $1 AND journal = $2 AND first_sequence <= $4 \
                AND last_sequence >= $3";
    let days = transaction.query_one(days, &[machine, journal, &from, &through]).await?;
    let (Some(first), Some(last)) = (days.get::<_, Option<i64>>(0), days.get::<_, Option<i64>>(1))
    else {
        return Ok(BTreeMap::new());
    };
    let end = last.saturating_add(SECONDS_OF_DAY);
    let rows = transaction
        .query(
            "SELECT sequence, hash FROM records WHERE machine = $1 AND journal = $2 \
             AND sequence BETWEEN $3 AND $4 AND stored_at >= to_timestamp($5::bigint::float8) \
             AND stored_at < to_timestamp($6::bigint::float8)",
            &[machine, journal, &from, &through, &first, &end],
        )
        .await?;
    let mut hashes = BTreeMap::new();
    for row in rows {
        let known = position_of(&row, 0)?;
        hashes.insert(known.sequence, known.hash);
    }
    Ok(hashes)
}

/// The place in the journal after the commit, and the database's time.
struct Taken {
    head: Position,
    at: i64,
    /// True if the hub has a record of the journal.
    has_records: bool,
}

/// Writes the new records and the new head. The statements go to the database one behind the other
/// without waiting for each answer.
async fn write_records(
    transaction: &Transaction<'_>,
    batch: &Batch,
    activity_version: i64,
    new: &NewRecords<'_>,
) -> Result<Taken, Failure> {
    let (machine, records) = (&batch.machine, new.records);
    let head = records
        .last()
        .map_or(new.after, |record| Position { sequence: record.sequence, hash: record.hash });
    let (stored, active, counted, noted, day, gaps, described, taken) = tokio::join!(
        insert_records(transaction, batch, records),
        add_activity(transaction, machine, activity_version, records),
        count_sessions(transaction, machine, records),
        note_traits(transaction, machine, records),
        note_day(transaction, batch, records),
        settle_gaps(transaction, machine, &batch.journal, signed(head.sequence)),
        describe_machine(transaction, batch),
        move_head(transaction, batch, head, records),
    );
    let results = [stored, active, counted, noted, day, gaps, described];
    let mut failures: Vec<Failure> = results.into_iter().filter_map(Result::err).collect();
    match taken {
        Ok(taken) if failures.is_empty() => return Ok(taken),
        Ok(_) => {}
        Err(failure) => failures.push(failure),
    }
    let unknown = || Failure::internal("a statement failed without a reason");
    Err(Failure::find_cause(failures).unwrap_or_else(unknown))
}

/// Moves the head of the journal.
async fn move_head(
    transaction: &Transaction<'_>,
    batch: &Batch,
    head: Position,
    records: &[SentRecord],
) -> Result<Taken, Failure> {
    let unproven = records.iter().filter(|record| !record.exact).count();
    let statement = transaction
        .prepare_cached(
            "UPDATE journals SET head_sequence = $3, head_hash = $4, claimed_sequence = $5, \
             records = records + $6, unproven = unproven + $7, \
             grown_at = CASE WHEN $6 > 0 THEN now() ELSE grown_at END \
             WHERE machine = $1 AND journal = $2 \
             RETURNING (extract(epoch FROM now()) * 1000)::bigint, records",
        )
        .await?;
    let row = transaction
        .query_one(
            &statement,
            &[
                &batch.machine,
                &batch.journal,
                &signed(head.sequence),
                &head.hash.as_slice(),
                &signed(batch.head.sequence),
                &i64::try_from(records.len()).unwrap_or(i64::MAX),
                &i64::try_from(unproven).unwrap_or(i64::MAX),
            ],
        )
        .await?;
    Ok(Taken { head, at: row.get(0), has_records: row.get::<_, i64>(1) > 0 })
}

/// Notes the day on which records are stored, by the same time as theirs.
async fn note_day(
    transaction: &Transaction<'_>,
    batch: &Batch,
    records: &[SentRecord],
) -> Result<(), Failure> {
    let (Some(first), Some(last)) = (records.first(), records.last()) else { return Ok(()) };
    let statement = transaction
        .prepare_cached(
            "INSERT INTO journal_days (machine, journal, day, first_sequence, last_sequence) \
             VALUES ($1, $2, (now() AT TIME ZONE 'UTC')::date, $3, $4) \
             ON CONFLICT (machine, journal, day) DO UPDATE SET last_sequence = $4",
        )
        .await?;
    let (first, last) = (signed(first.sequence), signed(last.sequence));
    transaction.execute(&statement, &[&batch.machine, &batch.journal, &first, &last]).await?;
    Ok(())
}

/// Notes what the machine says of itself, if it has changed.
async fn describe_machine(transaction: &Transaction<'_>, batch: &Batch) -> Result<(), Failure> {
    let statement = transaction
        .prepare_cached(
            "UPDATE machines SET version = $2, detail = $3 WHERE machine = $1 \
             AND (version, detail) IS DISTINCT FROM ($2, $3)",
        )
        .await?;
    let detail = batch.detail.as_str();
    transaction.execute(&statement, &[&batch.machine, &batch.portcullis, &detail]).await?;
    Ok(())
}

/// Begins a journal. A second one of a machine is an incident, though its records are taken: who
/// has the machine's key could otherwise leave an old journal behind unseen.
async fn begin_journal(transaction: &Transaction<'_>, batch: &Batch) -> Result<(), Failure> {
    let count = "SELECT count(*) FROM journals WHERE machine = $1";
    let others: i64 = transaction.query_one(count, &[&batch.machine]).await?.get(0);
    if others >= MOST_JOURNALS {
        let reason = "the machine has begun too many journals: let it leave and join again";
        return Err(Failure::refuse(RefusalKind::Malformed, reason));
    }
    let inserted = transaction
        .execute(
            "INSERT INTO journals (machine, journal, start_sequence, start_hash, head_sequence, \
             head_hash, claimed_sequence) VALUES ($1, $2, $3, $4, $3, $4, $3) \
             ON CONFLICT DO NOTHING",
            &[
                &batch.machine,
                &batch.journal,
                &signed(batch.start.sequence),
                &batch.start.hash.as_slice(),
            ],
        )
        .await?;
    if inserted == 0 {
        // Another replica has begun it since: what was judged here is old.
        return Err(Failure::busy("another request of the machine is being written"));
    }
    if others > 0 {
        let incident = ChainIncident {
            kind: IncidentKind::NewJournal,
            sequence: batch.start.sequence,
            reason: format!(
                "the machine began journal {} beside {others} of its own",
                batch.journal
            ),
        };
        raise_incident(transaction, &batch.machine, &batch.journal, &incident).await?;
    }
    Ok(())
}

async fn insert_records(
    transaction: &Transaction<'_>,
    batch: &Batch,
    records: &[SentRecord],
) -> Result<(), Failure> {
    if records.is_empty() {
        return Ok(());
    }
    let numbers = |of: fn(&SentRecord) -> u64| -> Vec<i64> {
        records.iter().map(|record| signed(of(record))).collect()
    };
    let statement = transaction
        .prepare_cached(
            "INSERT INTO records (machine, journal, sequence, previous, hash, at, id, kind, \
             session, agent, subject, verdict, document, exact, words, salt, stored) \
             SELECT $1, $2, sequence, previous, hash, at, id, kind, session, agent, subject, verdict, \
             document, exact, array_to_tsvector(string_to_array(words, ' ')), salt, stored \
             FROM unnest($3::bigint[], $4::bytea[], $5::bytea[], $6::bigint[], \
             $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], \
             $13::text[], $14::boolean[], $15::text[], $16::bytea[], $17::bytea[]) AS new (sequence, previous, hash, at, id, \
             kind, session, agent, subject, verdict, document, exact, words, salt, stored)",
        )
        .await?;
    let hashes = |of: fn(&SentRecord) -> &Hash| -> Vec<&[u8]> {
        records.iter().map(|record| of(record).as_slice()).collect()
    };
    let texts = |of: fn(&SentRecord) -> Option<&String>| -> Vec<Option<&str>> {
        records.iter().map(|record| of(record).map(String::as_str)).collect()
    };
    let proofs = |of: fn(&SentProof) -> &Hash| -> Vec<Option<&[u8]>> {
        records
            .iter()
            .map(|record| record.proof.as_ref().map(|proof| of(proof).as_slice()))
            .collect()
    };
    let exact: Vec<bool> = records.iter().map(|record| record.exact).collect();
    let words: Vec<String> = records.iter().map(collect_words).collect();
    transaction
        .execute(
            &statement,
            &[
                &batch.machine,
                &batch.journal,
                &numbers(|record| record.sequence),
                &hashes(|record| &record.previous),
                &hashes(|record| &record.hash),
                &numbers(|record| record.at),
                &texts(|record| Some(&record.id)),
                &texts(|record| Some(&record.kind)),
                &texts(|record| record.session.as_ref()),
                &texts(|record| record.agent.as_ref()),
                &texts(|record| Some(&record.subject)),
                &texts(|record| record.verdict.as_ref()),
                &texts(|record| record.document.as_ref()),
                &exact,
                &words,
                &proofs(|proof| &proof.salt),
                &proofs(|proof| &proof.stored),
            ],
        )
        .await?;
    Ok(())
}

fn accept(hub: &Hub, batch: &Batch, taken: Taken) -> Acceptance {
    let receipt = Receipt {
        machine: batch.machine.clone(),
        journal: batch.journal.clone(),
        sequence: taken.head.sequence,
        hash: taken.head.hash,
        at: u64::try_from(taken.at).unwrap_or(0),
    };
    let receipt = SignedReceipt::sign_receipt(&receipt, &hub.receipt_key);
    let receipt = taken.has_records.then_some(receipt);
    Acceptance { accepted_through: taken.head.sequence, receipt }
}

/// Converts a number that [`check_form`] has found to fit.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
