//! Records of the journal in the form that audit exporters get.

use anyhow::{Context, Result};
use portcullis_core::finding::{AuditDecision, AuditDetection, AuditFault, AuditRecord};
use portcullis_core::record::Record;
use portcullis_store::{StoredRecord, to_hex};

/// The number of records that an exporter gets in one call.
pub const BATCH: usize = 100;

/// Converts a stored record to the form that exporters get.
///
/// # Errors
/// Fails if this version did not write the document.
pub fn for_exporter(stored: &StoredRecord) -> Result<AuditRecord> {
    let document = &stored.record.document;
    let record: Record =
        serde_json::from_str(document).with_context(|| format!("record {}", stored.sequence))?;
    let mut attributes = vec![("event".into(), record.event), ("client".into(), record.client)];
    if let Some(proof) = &stored.proof {
        attributes.push(("salt".into(), to_hex(&proof.salt)));
        attributes.push(("stored".into(), to_hex(&proof.stored)));
    }
    if let Some(at) = stored.erased_at {
        attributes.push(("erased_at".into(), at.to_string()));
    }
    Ok(AuditRecord {
        sequence: stored.sequence,
        id: record.id,
        at: record.at,
        kind: record.kind.as_str().into(),
        session: record.session,
        agent: record.agent,
        subject: record.subject,
        summary: record.summary,
        decision: record.decision.map(|decision| AuditDecision {
            verdict: decision.verdict,
            risk: decision.risk,
            rationality: decision.rationality,
            confidence: decision.confidence,
            reasons: decision.reasons,
            sources: record
                .findings
                .iter()
                .flat_map(|findings| findings.objections.iter())
                .map(|objection| format!("{}/{}", objection.source, objection.rule))
                .collect(),
        }),
        detections: record
            .detections
            .into_iter()
            .map(|named| AuditDetection {
                pattern: named.finding.pattern,
                severity: named.finding.severity,
                confidence: named.finding.confidence,
                impact: named.finding.impact,
            })
            .collect(),
        faults: record
            .faults
            .into_iter()
            .map(|fault| AuditFault {
                source: fault.source,
                name: fault.kind.as_str().into(),
                detail: fault.detail,
            })
            .collect(),
        previous: to_hex(&stored.previous),
        hash: to_hex(&stored.hash),
        document: document.clone(),
        attributes,
    })
}
