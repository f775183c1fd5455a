//! Approvers: their requests, signed with the key that the orders name, and their answers.

use super::tell_machine;
use crate::failure::Failure;
use crate::service::Hub;
use crate::stored_orders::signed_number;
use deadpool_postgres::{GenericClient, Transaction};
use portcullis_bundle::{KeyId, PublicKey};
use portcullis_fleet::approvals::{
    AnswerError, ApprovalRules, ApproverKey, ApproverRequest, ApproverSigned, FleetAnswer,
    OrderedPasskey, PasskeyPage, SKEW, digest_question,
};
use portcullis_fleet::orders::Orders;
use portcullis_fleet::protocol::{AnswerReceipt, ApproverQuestions, OfferedQuestion, RefusalKind};
use std::time::{SystemTime, UNIX_EPOCH};

/// The most questions in a list.
const MOST: i64 = 200;

/// An approver, as the newest orders of a group name them.
struct KnownApprover {
    group: String,
    name: String,
    roles: Vec<String>,
    key: ApproverKey,
}

/// Stores the approvers that orders name, in the transaction that publishes them.
pub async fn insert_approvers(
    transaction: &Transaction<'_>,
    orders: &Orders,
) -> Result<(), Failure> {
    if orders.approvals.is_empty() {
        return Ok(());
    }
    let rules = ApprovalRules::parse_rules(&orders.approvals)
        .map_err(|error| Failure::refuse(RefusalKind::Malformed, error.to_string()))?;
    for approver in &rules.approvers {
        for key in approver.list_keys(rules.page.as_ref()) {
            let (id, key) = key.map_err(Failure::internal)?;
            let (pem, passkey, page) = match &key {
                ApproverKey::File(key) => (key.to_pem().map_err(Failure::internal)?, None, None),
                ApproverKey::Passkey(passkey, page) => {
                    let text = serde_json::to_string(passkey).map_err(Failure::internal)?;
                    (passkey.key.clone(), Some(text), Some(page.origin()))
                }
            };
            transaction
                .execute(
                    "INSERT INTO approvers (group_name, version, key, name, public_key, roles, \
                     passkey, page) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                    &[
                        &orders.group,
                        &signed_number(orders.version),
                        &id.to_string(),
                        &approver.name,
                        &pem,
                        &approver.roles,
                        &passkey,
                        &page,
                    ],
                )
                .await?;
        }
    }
    Ok(())
}

/// Returns the groups in whose newest orders a key is an approver's.
async fn find_approvers(
    client: &impl GenericClient,
    key: &KeyId,
) -> Result<Vec<KnownApprover>, Failure> {
    let rows = client
        .query(
            "SELECT group_name, name, roles, public_key, passkey, page FROM approvers a WHERE key = $1 \
             AND version = (SELECT max(version) FROM orders o WHERE o.group_name = a.group_name \
               AND share > 0 AND expires_at > now())",
            &[&key.to_string()],
        )
        .await?;
    let mut known = Vec::new();
    for row in &rows {
        let key = read_key(row.get(3), row.get(4), row.get(5))?;
        known.push(KnownApprover { group: row.get(0), name: row.get(1), roles: row.get(2), key });
    }
    if known.is_empty() {
        let reason = "the key is none of the approvers that the orders name";
        return Err(Failure::refuse(RefusalKind::Unidentified, reason));
    }
    Ok(known)
}

fn read_key(pem: &str, passkey: Option<&str>, page: Option<&str>) -> Result<ApproverKey, Failure> {
    let (Some(passkey), Some(page)) = (passkey, page) else {
        return PublicKey::from_pem(pem.trim()).map(ApproverKey::File).map_err(Failure::internal);
    };
    let passkey: OrderedPasskey = serde_json::from_str(passkey).map_err(Failure::internal)?;
    let page = PasskeyPage::parse_origin(page).map_err(Failure::internal)?;
    Ok(ApproverKey::Passkey(passkey, page))
}

fn refuse(error: &AnswerError) -> Failure {
    let kind = match error {
        AnswerError::Signature | AnswerError::Unlisted(_) | AnswerError::Passkey(_) => {
            RefusalKind::Unidentified
        }
        AnswerError::Foreign(_) | AnswerError::Role { .. } => RefusalKind::Foreign,
        AnswerError::Malformed(_) | AnswerError::Time | AnswerError::Key(_) => {
            RefusalKind::Malformed
        }
    };
    Failure::refuse(kind, error.to_string())
}

/// Returns the questions that wait for whoever signed the request.
pub async fn list_questions(
    hub: &Hub,
    signed: &ApproverSigned,
) -> Result<ApproverQuestions, Failure> {
    let client = hub.database.connect().await?;
    let known = find_approvers(&client, &signed.key).await?;
    let Some(first) = known.first() else { return Ok(ApproverQuestions::default()) };
    let request = signed.verify_request(&first.key).map_err(|error| refuse(&error))?;
    check_request(hub, &request)?;
    let mut questions = Vec::new();
    for approver in &known {
        let rows = client
            .query(
                "SELECT document, name, roles, allowed_by, \
                 extract(epoch FROM expires_at - now())::bigint \
                 FROM approval_questions JOIN machines USING (machine) \
                 WHERE group_name = $1 AND roles && $2 AND ended_at IS NULL AND expires_at > now() \
                 AND revoked_at IS NULL ORDER BY received_at, machine, question LIMIT $3",
                &[&approver.group, &approver.roles, &MOST],
            )
            .await?;
        questions.extend(rows.iter().map(|row| OfferedQuestion {
            text: row.get(0),
            machine_name: row.get(1),
            group: approver.group.clone(),
            roles: row.get(2),
            allowed_by: row.get(3),
            left_seconds: u32::try_from(row.get::<_, i64>(4)).unwrap_or(0),
        }));
    }
    Ok(ApproverQuestions { questions })
}

/// Checks that a request is for this hub, and not an old one that comes again.
fn check_request(hub: &Hub, request: &ApproverRequest) -> Result<(), Failure> {
    let same = |url: &str| url.trim_end_matches('/').to_owned();
    if same(&request.hub) != same(&hub.url) {
        let reason = format!("the request is for another hub than {}", hub.url);
        return Err(Failure::refuse(RefusalKind::Foreign, reason));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    if now.abs_diff(request.at) > SKEW {
        let reason = "the request is not of now: compare the clocks";
        return Err(Failure::refuse(RefusalKind::Malformed, reason));
    }
    Ok(())
}

/// Takes an answer that an approver gave from a terminal, once.
pub async fn take_answer(hub: &Hub, signed: &ApproverSigned) -> Result<AnswerReceipt, Failure> {
    if signed.passkey.is_some() {
        let reason = "answers by passkey are given on the hub's page";
        return Err(Failure::refuse(RefusalKind::Foreign, reason));
    }
    let mut client = hub.database.connect().await?;
    let transaction = client.transaction().await?;
    let answer = store_answer(&transaction, signed).await?;
    transaction.commit().await?;
    Ok(AnswerReceipt { machine: answer.machine, question: answer.question })
}

/// Stores an approver's answer, once, and tells the machine. The machine checks it again, and
/// believes only that.
pub async fn store_answer(
    transaction: &Transaction<'_>,
    signed: &ApproverSigned,
) -> Result<FleetAnswer, Failure> {
    let known = find_approvers(transaction, &signed.key).await?;
    let gone = || Failure::refuse(RefusalKind::NotFound, "no action waits under that id any more");
    // Whoever signed nothing learns nothing of what waits.
    let verify = |approver: &KnownApprover| signed.verify_answer(&approver.key);
    let answer = match (known.iter().find_map(|approver| verify(approver).ok()), known.first()) {
        (Some(answer), _) => answer,
        (None, Some(first)) => verify(first).map_err(|error| refuse(&error))?,
        (None, None) => return Err(gone()),
    };
    let row = transaction
        .query_opt(
            "SELECT group_name, document, roles FROM approval_questions WHERE machine = $1 \
             AND question = $2 AND ended_at IS NULL AND expires_at > now()",
            &[&answer.machine, &answer.question],
        )
        .await?
        .ok_or_else(gone)?;
    let (group, text, roles): (String, String, Vec<String>) = (row.get(0), row.get(1), row.get(2));
    let approver = known.iter().find(|approver| approver.group == group);
    let may = approver.filter(|approver| approver.roles.iter().any(|role| roles.contains(role)));
    let Some(approver) = may else {
        let reason = "this approver may not answer for that machine by now";
        return Err(Failure::refuse(RefusalKind::Foreign, reason));
    };
    // The orders of another group may name the same key for another page.
    verify(approver).map_err(|error| refuse(&error))?;
    if digest_question(&text) != answer.digest {
        let reason = "the answer is for another action than the machine asks about";
        return Err(Failure::refuse(RefusalKind::Foreign, reason));
    }
    let passkey = signed.passkey.as_ref().map(serde_json::to_string).transpose();
    let inserted = transaction
        .execute(
            "INSERT INTO approval_answers \
             (machine, question, key, approver, answer, signature, allows, passkey) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
            &[
                &answer.machine,
                &answer.question,
                &signed.key.to_string(),
                &approver.name,
                &signed.text,
                &signed.signature,
                &answer.allows,
                &passkey.map_err(Failure::internal)?,
            ],
        )
        .await?;
    if inserted == 0 {
        let reason = "this approver has answered already";
        return Err(Failure::refuse(RefusalKind::Foreign, reason));
    }
    tell_machine(transaction, &answer.machine).await?;
    Ok(answer)
}
