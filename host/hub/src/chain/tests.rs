//! Every way in which a batch can differ from a journal that grew honestly.

use super::*;
use portcullis_fleet::protocol::{SentDetail, SentProof, VERSION};

/// Records `from..=to` of a journal; those from `fork` on are others.
fn records(from: u64, to: u64, fork: u64) -> Vec<SentRecord> {
    let mut previous = [0; 32];
    let mut all = Vec::new();
    for sequence in 1..=to {
        let id = if sequence >= fork { "other" } else { "own" };
        let document = format!(r#"{{"id":"{id}{sequence}","at":{sequence},"kind":"session"}}"#);
        // Every other one is encrypted on its machine.
        let proof = SentProof { salt: [9; 32], stored: [8; 32] };
        let proof = sequence.is_multiple_of(2).then_some(proof);
        let record_proof = proof.map(RecordProof::from);
        let hash = hash_record(&previous, sequence, document.as_bytes(), record_proof.as_ref());
        all.push(SentRecord {
            sequence,
            previous,
            hash,
            id: format!("{id}{sequence}"),
            at: sequence,
            kind: "session".into(),
            session: None,
            agent: None,
            subject: "s".into(),
            verdict: None,
            document: Some(document),
            exact: true,
            proof,
        });
        previous = hash;
    }
    all.split_off(usize::try_from(from - 1).unwrap())
}

const NEVER: u64 = u64::MAX;

fn batch(from: u64, to: u64, fork: u64) -> Batch {
    let records = records(from, to, fork);
    let last = records.last().unwrap();
    Batch {
        version: VERSION,
        machine: "m".into(),
        journal: "j".into(),
        portcullis: "1".into(),
        start: Position::default(),
        head: Position { sequence: last.sequence, hash: last.hash },
        detail: SentDetail::Full,
        records,
    }
}

/// The hub's knowledge after records `1..=to`.
fn known(to: u64) -> KnownJournal {
    let all = records(1, to, NEVER);
    let last = all.last().unwrap();
    KnownJournal {
        head: Some(Position { sequence: last.sequence, hash: last.hash }),
        hashes: all.iter().map(|record| (record.sequence, record.hash)).collect(),
    }
}

fn verdict(known: &KnownJournal, batch: &Batch) -> Result<(u64, usize), (&'static str, u64)> {
    judge_batch(known, batch)
        .map(|new| (new.after.sequence, new.records.len()))
        .map_err(|incident| (incident.kind.as_str(), incident.sequence))
}

#[test]
fn honest_batches_are_taken_once() {
    let pruned = || Batch { start: known(3).head.unwrap(), ..batch(4, 6, NEVER) };
    let empty = || Batch { records: Vec::new(), ..batch(1, 5, NEVER) };
    for (name, known, batch, taken) in [
        ("the first", KnownJournal::default(), batch(1, 5, NEVER), (0, 5)),
        ("the first of a pruned journal", KnownJournal::default(), pruned(), (3, 3)),
        ("the next", known(5), batch(6, 9, NEVER), (5, 4)),
        ("a repeat", known(5), batch(1, 5, NEVER), (5, 0)),
        (
            "a late repeat",
            known(5),
            Batch { head: batch(1, 5, NEVER).head, ..batch(2, 3, NEVER) },
            (5, 0),
        ),
        ("half a repeat", known(5), batch(3, 8, NEVER), (5, 3)),
        ("a head alone", known(5), empty(), (5, 0)),
        (
            "a head alone, of a new journal",
            KnownJournal::default(),
            Batch { records: Vec::new(), ..batch(1, 5, NEVER) },
            (0, 0),
        ),
    ] {
        assert_eq!(verdict(&known, &batch), Ok(taken), "{name}");
    }
}

#[test]
fn each_difference_is_an_incident_of_its_kind() {
    let change = |index: usize, change: fn(&mut SentRecord)| {
        let mut batch = batch(6, 9, NEVER);
        change(&mut batch.records[index]);
        batch
    };
    let without = |index: usize| {
        let mut batch = batch(6, 9, NEVER);
        batch.records.remove(index);
        batch
    };
    let swapped = || {
        let mut batch = batch(6, 9, NEVER);
        batch.records.swap(1, 2);
        batch
    };
    let head_of = |to: u64, fork: u64| batch(1, to, fork).head;
    for (name, batch, kind, sequence) in [
        ("records were left out before it", batch(7, 9, NEVER), "gap", 6),
        ("a record was left out", without(1), "gap", 7),
        ("records came in another order", swapped(), "gap", 7),
        (
            "retention removed records too early",
            Batch { start: head_of(7, NEVER), ..batch(8, 9, NEVER) },
            "gap",
            6,
        ),
        ("the newest record is another one", batch(5, 7, 5), "fork", 5),
        ("an older record is another one", batch(3, 7, 3), "fork", 3),
        (
            "the head alone is another one",
            Batch { records: vec![], head: head_of(5, 5), ..batch(1, 5, NEVER) },
            "fork",
            5,
        ),
        ("the past is another one", batch(6, 9, 2), "rewritten-past", 6),
        ("the past of a repeat is another one", batch(4, 7, 2), "rewritten-past", 4),
        (
            "the journal ends earlier",
            Batch { records: vec![], ..batch(1, 3, NEVER) },
            "older-copy",
            3,
        ),
        ("an older copy goes on", batch(3, 4, 4), "older-copy", 4),
        (
            "its head is behind its records",
            Batch { head: head_of(7, NEVER), ..batch(6, 9, NEVER) },
            "older-copy",
            7,
        ),
        ("a hash", change(1, |record| record.hash[0] ^= 1), "broken-link", 8),
        ("the last hash", change(3, |record| record.hash[0] ^= 1), "forged-hash", 9),
        ("a link", change(2, |record| record.previous[0] ^= 1), "broken-link", 8),
        ("a document", change(1, |record| record.document = Some("{}".into())), "forged-hash", 7),
        ("no document", change(1, |record| record.document = None), "forged-hash", 7),
        (
            "a proof",
            change(2, |record| record.proof.as_mut().unwrap().salt[0] ^= 1),
            "forged-hash",
            8,
        ),
        (
            "the ciphertext",
            change(2, |record| record.proof.as_mut().unwrap().stored[0] ^= 1),
            "forged-hash",
            8,
        ),
        ("no proof", change(2, |record| record.proof = None), "forged-hash", 8),
        (
            "a proof too many",
            change(1, |record| record.proof = Some(SentProof { salt: [9; 32], stored: [8; 32] })),
            "forged-hash",
            7,
        ),
        ("an id", change(1, |record| record.id.push('x')), "forged-columns", 7),
        ("a time", change(1, |record| record.at += 1), "forged-columns", 7),
        ("a kind", change(1, |record| record.kind = "fault".into()), "forged-columns", 7),
        (
            "a verdict",
            change(1, |record| record.verdict = Some("allow".into())),
            "forged-columns",
            7,
        ),
    ] {
        assert_eq!(verdict(&known(5), &batch), Err((kind, sequence)), "{name}");
    }
}

#[test]
fn without_documents_the_links_still_count() {
    let mut batch = batch(6, 9, NEVER);
    for record in &mut batch.records {
        (record.document, record.exact) = (None, false);
    }
    assert_eq!(verdict(&known(5), &batch), Ok((5, 4)));
    batch.records[2].previous[0] ^= 1;
    assert_eq!(verdict(&known(5), &batch), Err(("broken-link", 8)));
}

#[test]
fn hashes_that_the_hub_removed_are_not_compared_and_the_head_is() {
    let forgetful = KnownJournal { hashes: BTreeMap::new(), ..known(5) };
    assert_eq!(verdict(&forgetful, &batch(3, 7, NEVER)), Ok((5, 2)));
    assert_eq!(verdict(&forgetful, &batch(3, 7, 3)), Err(("fork", 5)));
    assert_eq!(verdict(&forgetful, &batch(3, 7, 5)), Err(("fork", 5)));
}
