//! The part of a record that leaves the machine.
//!
//! Documents were masked before they were recorded. A later version may find a secret that an
//! earlier one did not, so each document is searched again; one with a find is masked and loses its
//! proof: the hub can follow the chain over it, but not recompute its hash.

use crate::protocol::{MOST_DOCUMENT, MOST_TEXT, SentDetail, SentProof, SentRecord};
use portcullis_core::mask::Masker;
use portcullis_core::text::floor_boundary;
use portcullis_store::StoredRecord;
use serde_json::{Map, Value};

/// The members of a document that a summary keeps.
const SUMMARY: &[&str] = &["version", "client", "event", "summary", "mode", "detections", "faults"];
/// The members of a decision that a summary keeps.
const DECISION: &[&str] = &["verdict", "risk", "rationality", "confidence", "reasons"];

/// Returns the record as it is sent. It is exact if the hub can recompute its hash.
#[must_use]
pub fn reduce_record(stored: &StoredRecord, detail: SentDetail, masker: &Masker) -> SentRecord {
    let record = &stored.record;
    let (document, exact) = match detail {
        SentDetail::Full => full_document(&record.document, masker),
        SentDetail::Summary => (summary_document(&record.document, masker), false),
        SentDetail::Outline => (None, false),
    };
    // The hash is that of the document before it was erased.
    let exact = exact && stored.erased_at.is_none();
    SentRecord {
        sequence: stored.sequence,
        previous: stored.previous,
        hash: stored.hash,
        id: cut_text(&record.id),
        at: record.at,
        kind: cut_text(&record.kind),
        session: stored.session.as_deref().map(cut_text),
        agent: stored.agent.as_deref().map(cut_text),
        subject: cut_text(&masker.mask_text(&record.subject)),
        verdict: record.verdict.as_deref().map(cut_text),
        document,
        exact,
        proof: stored.proof.filter(|_| exact).map(SentProof::from),
    }
}

fn full_document(document: &str, masker: &Masker) -> (Option<String>, bool) {
    if document.len() > MOST_DOCUMENT {
        return (summary_document(document, masker), false);
    }
    let Ok(mut value) = serde_json::from_str::<Value>(document) else { return (None, false) };
    if mask_value(&mut value, masker) {
        return (Some(value.to_string()), false);
    }
    (Some(document.to_owned()), true)
}

fn summary_document(document: &str, masker: &Masker) -> Option<String> {
    let Ok(Value::Object(mut members)) = serde_json::from_str::<Value>(document) else {
        return None;
    };
    let mut kept = keep_members(&mut members, SUMMARY);
    if let Some(Value::Object(mut decision)) = members.remove("decision") {
        kept.insert("decision".into(), Value::Object(keep_members(&mut decision, DECISION)));
    }
    let mut kept = Value::Object(kept);
    mask_value(&mut kept, masker);
    let text = kept.to_string();
    (text.len() <= MOST_DOCUMENT).then_some(text)
}

fn keep_members(members: &mut Map<String, Value>, names: &[&str]) -> Map<String, Value> {
    names.iter().filter_map(|name| Some(((*name).to_owned(), members.remove(*name)?))).collect()
}

/// Masks all texts of a value, names included; returns true if one had a secret.
fn mask_value(value: &mut Value, masker: &Masker) -> bool {
    match value {
        Value::String(text) => {
            let found = !masker.find_secrets(text).is_empty();
            if found {
                *text = masker.mask_text(text);
            }
            found
        }
        Value::Array(items) => {
            items.iter_mut().fold(false, |found, item| mask_value(item, masker) | found)
        }
        Value::Object(members) => {
            let mut found = false;
            let names: Vec<String> = members.keys().cloned().collect();
            for name in names {
                if !masker.find_secrets(&name).is_empty()
                    && let Some(member) = members.remove(&name)
                {
                    members.insert(masker.mask_text(&name), member);
                    found = true;
                }
            }
            members.values_mut().fold(found, |found, member| mask_value(member, masker) | found)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn cut_text(text: &str) -> String {
    let end = floor_boundary(text, MOST_TEXT);
    text.get(..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::mask::MaskPolicy;
    use portcullis_store::NewRecord;

    const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

    fn stored(document: &str) -> StoredRecord {
        let record = NewRecord {
            id: "r".into(),
            at: 1,
            kind: "review".into(),
            subject: "Bash".into(),
            verdict: Some("allow".into()),
            document: document.into(),
            ..NewRecord::default()
        };
        StoredRecord::chain_after(None, Some("s".into()), None, record)
    }

    #[test]
    fn each_level_sends_its_part() {
        let masker = Masker::new([1; 32], &MaskPolicy::default());
        let plain = r#"{"summary":"lists files","action":{"parameters":"ls /home"},"decision":{"verdict":"allow","findings":"many"}}"#;
        let secret = format!(r#"{{"summary":"prints {TOKEN}","action":{{"parameters":"x"}}}}"#);
        let short = r#"{"summary":"lists files","decision":{"verdict":"allow"}}"#;
        for (document, detail, sent, exact) in [
            (plain, SentDetail::Full, Some(plain), true),
            (plain, SentDetail::Summary, Some(short), false),
            (plain, SentDetail::Outline, None, false),
            ("no JSON", SentDetail::Full, None, false),
        ] {
            let reduced = reduce_record(&stored(document), detail, &masker);
            assert_eq!((reduced.document.as_deref(), reduced.exact), (sent, exact), "{detail:?}");
            assert_eq!(reduced.hash, stored(document).hash);
        }
        for (_, detail) in SentDetail::ALL {
            let reduced = reduce_record(&stored(&secret), detail, &masker);
            assert!(!reduced.exact);
            let shown = serde_json::to_string(&reduced).unwrap();
            assert!(!shown.contains(TOKEN), "{shown}");
        }
    }
}
