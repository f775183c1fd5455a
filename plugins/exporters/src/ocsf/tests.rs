use super::*;
use portcullis_plugin::audit_exporter::{Detected, RecordKind, Severity, Verdict};
use portcullis_plugin::testing;

fn rendered(record: &AuditRecord) -> Value {
    let rendered = Ocsf::render(&[], std::slice::from_ref(record), true).unwrap();
    assert_eq!(rendered.content_type, "application/x-ndjson");
    let text = String::from_utf8(rendered.bytes).unwrap();
    assert_eq!(text.matches('\n').count(), 1);
    serde_json::from_str(&text).unwrap()
}

fn with_document(kind: RecordKind, document: &str) -> AuditRecord {
    let mut record = testing::record(3);
    record.kind = kind;
    record.document = document.into();
    record.attributes =
        vec![("client", "an-agent").into(), ("host", "box").into(), ("journal", "0123").into()];
    record
}

#[test]
fn each_record_has_its_class() {
    let action = |operation: &str| format!(r#"{{"action":{{"operation":{operation}}}}}"#);
    let rows = [
        (RecordKind::Review, action(r#"{"shell":{"text":"ls"}}"#), 100_701),
        (RecordKind::Outcome, action(r#"{"file":{"path":"/a/b","access":"delete"}}"#), 100_104),
        (RecordKind::Review, action(r#"{"file":{"path":"/a/b","access":"search"}}"#), 100_199),
        (
            RecordKind::Review,
            action(r#"{"network":{"url":"https://x/","method":"post"}}"#),
            400_206,
        ),
        (RecordKind::Review, action(r#"{"network":{"url":"https://x/"}}"#), 400_203),
        (RecordKind::Review, action(r#"{"network":{"url":"no address"}}"#), 600_399),
        (RecordKind::Review, action(r#"{"tool":{"server":"s","name":"n"}}"#), 600_399),
        (RecordKind::Review, action(r#"{"other":"x"}"#), 600_399),
        (RecordKind::Unreviewed, "{}".into(), 600_399),
        (RecordKind::Session, r#"{"event":"SessionStart"}"#.into(), 600_203),
        (RecordKind::Session, r#"{"event":"Stop"}"#.into(), 600_299),
        (RecordKind::Configuration, "{}".into(), 600_208),
        (RecordKind::Fault, "nonsense".into(), 600_299),
        (RecordKind::Other("approval".into()), "[]".into(), 600_299),
        (
            RecordKind::Other("authentication".into()),
            r#"{"event":"exports.siem","details":{"credential":"credential:siem","outcome":"used"}}"#
                .into(),
            300_201,
        ),
        (RecordKind::Other("authentication".into()), "[]".into(), 300_201),
        (
            RecordKind::Intervention,
            r#"{"intervention":{"kind":"soft_correction"}}"#.into(),
            600_299,
        ),
        (RecordKind::Intervention, r#"{"intervention":{"kind":"emergency_stop"}}"#.into(), 200_501),
    ];
    for (kind, document, type_uid) in rows {
        let event = rendered(&with_document(kind, &document));
        assert_eq!(event["type_uid"], type_uid, "{document}");
        assert_eq!(event["class_uid"], type_uid / 100, "{document}");
        assert_eq!(event["category_uid"], type_uid / 100_000, "{document}");
        assert_eq!(event["raw_data"], document);
    }
    let mut record = with_document(RecordKind::Review, &action(r#"{"shell":{"text":"ls"}}"#));
    record.detections = [("loop", Severity::Medium), ("secret_egress", Severity::Critical)]
        .map(|(pattern, severity)| Detected {
            pattern: pattern.into(),
            severity,
            confidence: 900,
            impact: 500,
        })
        .to_vec();
    let event = rendered(&record);
    assert_eq!(event["type_uid"], 200_401);
    assert_eq!(event["finding_info"]["analytic"]["name"], "secret_egress");
    assert_eq!(event["severity"], "Critical");
}

#[test]
fn each_verdict_has_its_disposition() {
    for (verdict, mode, kind, expected, is_alert) in [
        (Verdict::Allow, "blocking", RecordKind::Review, (1, 1), false),
        (Verdict::Warn, "blocking", RecordKind::Review, (1, 19), false),
        (Verdict::Modify, "blocking", RecordKind::Review, (4, 11), false),
        (Verdict::Ask, "blocking", RecordKind::Review, (4, 14), true),
        (Verdict::Ask, "blocking", RecordKind::Outcome, (1, 8), true),
        (Verdict::Block, "blocking", RecordKind::Review, (2, 2), true),
        (Verdict::Block, "observe", RecordKind::Review, (3, 17), true),
    ] {
        let mut record = with_document(kind, &format!(r#"{{"mode":"{mode}"}}"#));
        record.decision.as_mut().unwrap().verdict = verdict;
        let event = rendered(&record);
        let found =
            (event["action_id"].as_u64().unwrap(), event["disposition_id"].as_u64().unwrap());
        assert_eq!(found, expected, "{verdict:?}");
        assert_eq!(event["is_alert"], is_alert, "{verdict:?}");
        assert!(event["metadata"]["profiles"].to_string().contains("security_control"));
    }
    let mut record = with_document(RecordKind::Session, "{}");
    record.decision = None;
    assert_eq!(rendered(&record).get("action_id"), None);
}

#[test]
fn the_chain_is_in_the_attestation() {
    let mut record = with_document(RecordKind::Review, "{}");
    let event = rendered(&record);
    assert_eq!(event["metadata"]["uid"], "0123-3");
    let expected = json!([{
        "uid": "record-3",
        "chain_uid": "0123",
        "authority_uid": "box",
        "fingerprint": { "algorithm_id": 99, "algorithm": ALGORITHM, "value": "1".repeat(64) },
        "prev_event": {
            "uid": "0123-2",
            "fingerprint": { "algorithm_id": 99, "algorithm": ALGORITHM, "value": "0".repeat(64) },
        },
    }]);
    assert_eq!(event["attestation_list"], expected);
    record.sequence = 1;
    assert_eq!(rendered(&record)["attestation_list"][0].get("prev_event"), None);
}
