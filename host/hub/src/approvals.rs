//! The questions of machines, and the answers on their way back.
//!
//! The hub is a queue: a machine words a question, an approver signs an answer to exactly that text,
//! and the machine checks it. The hub checks too, so that mistakes show early; nothing depends on it.

pub mod approvers;
pub mod escalation;
pub mod messages;
pub mod queue;

use crate::failure::Failure;
use crate::machines::{KnownMachine, check_texts, check_version};
use crate::news::{CHANNEL, await_news};

use crate::service::Hub;
use deadpool_postgres::{GenericClient, Transaction};
use messages::{NewQuestion, queue_messages};
use portcullis_fleet::approvals::{
    ApprovalRules, ApproverSigned, FleetQuestion, MOST_QUESTION, digest_question,
};
use portcullis_fleet::orders::Orders;
use portcullis_fleet::protocol::{
    ApprovalsAnswer, ApprovalsRequest, LONGEST_WAIT, MOST_QUESTIONS, RefusalKind, WaitingQuestion,
};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The longest time that a question waits, in seconds.
const LONGEST_QUESTION: u32 = 60 * 60;

/// Returns the name under which a machine's held requests hear of answers. A group cannot have it.
pub fn news_of(machine: &str) -> String {
    format!("answers:{machine}")
}

/// Takes note of the actions that wait on a machine, and returns the answers that it does not have
/// yet; waits for them as long as it asks.
pub async fn answer_approvals(
    hub: &Hub,
    machine: &KnownMachine,
    request: &ApprovalsRequest,
) -> Result<ApprovalsAnswer, Failure> {
    check_version(request.version)?;
    let questions = check_questions(machine, request)?;
    let wait = Duration::from_secs(request.wait_seconds.into()).min(LONGEST_WAIT);
    let end = Instant::now() + wait;
    // Before the first look: an answer that is given after it is not missed.
    let mut news = hub.news.subscribe();
    let missing = note_questions(hub, machine, request, &questions).await?;
    let own = news_of(machine.id());
    loop {
        let answers = list_answers(hub, machine, &request.waiting).await?;
        let answer = ApprovalsAnswer { answers, missing: missing.clone() };
        if !answer.answers.is_empty() || !answer.missing.is_empty() || request.waiting.is_empty() {
            return Ok(answer);
        }
        match timeout_at(end, await_news(&mut news, &own)).await {
            Ok(true) => {}
            Ok(false) | Err(_) => return Ok(answer),
        }
    }
}

/// Checks everything that needs no database; returns the questions whose text is there.
fn check_questions(
    machine: &KnownMachine,
    request: &ApprovalsRequest,
) -> Result<Vec<FleetQuestion>, Failure> {
    let malformed = |reason: &str| Failure::refuse(RefusalKind::Malformed, reason);
    if request.waiting.len() > MOST_QUESTIONS {
        return Err(malformed("too many actions wait"));
    }
    let mut questions = Vec::new();
    for waiting in &request.waiting {
        check_texts(&[&waiting.question])?;
        for name in &waiting.allowed_by {
            check_texts(&[name])?;
        }
        if waiting.question.is_empty() || waiting.left_seconds > LONGEST_QUESTION {
            return Err(malformed("a question has no id, or waits too long"));
        }
        let Some(text) = &waiting.text else { continue };
        if text.len() > MOST_QUESTION || text.contains('\0') {
            return Err(malformed("a question is too large, or has a NUL"));
        }
        let question = FleetQuestion::parse_text(text).map_err(|why| malformed(&why))?;
        if question.machine != machine.id() || question.question != waiting.question {
            let reason = "the question names another machine, or another id";
            return Err(Failure::refuse(RefusalKind::Foreign, reason));
        }
        questions.push(question);
    }
    Ok(questions)
}

/// Stores new questions, and ends those that wait no longer. Returns the ids of those whose text the
/// hub does not have.
async fn note_questions(
    hub: &Hub,
    machine: &KnownMachine,
    request: &ApprovalsRequest,
    questions: &[FleetQuestion],
) -> Result<Vec<String>, Failure> {
    let mut client = hub.database.connect().await?;
    let transaction = client.transaction().await?;
    let waiting: Vec<&str> = request.waiting.iter().map(|one| one.question.as_str()).collect();
    transaction
        .execute(
            "UPDATE approval_questions SET ended_at = now() WHERE machine = $1 \
             AND ended_at IS NULL AND NOT question = ANY($2)",
            &[&machine.id(), &waiting],
        )
        .await?;
    if !questions.is_empty() {
        let (group, name, rules) = read_rules(&transaction, machine).await?;
        for question in questions {
            let of = |one: &&WaitingQuestion| one.question == question.question;
            let Some(waiting) = request.waiting.iter().find(of) else { continue };
            let text = waiting.text.as_deref().unwrap_or_default();
            let named = (group.as_str(), text);
            let left = waiting.left_seconds;
            if insert_question(&transaction, question, named, left, rules.as_ref()).await? {
                let new = NewQuestion::of_question(question, &group, &name, &question.role);
                queue_messages(&transaction, &hub.webhooks, &new).await?;
            }
        }
    }
    for one in request.waiting.iter().filter(|one| !one.allowed_by.is_empty()) {
        transaction
            .execute(
                "UPDATE approval_questions SET allowed_by = $3 \
                 WHERE machine = $1 AND question = $2 AND allowed_by <> $3",
                &[&machine.id(), &one.question, &one.allowed_by],
            )
            .await?;
    }
    let known = transaction
        .query(
            "SELECT question FROM approval_questions WHERE machine = $1 AND question = ANY($2)",
            &[&machine.id(), &waiting],
        )
        .await?;
    transaction.commit().await?;
    let known: Vec<String> = known.iter().map(|row| row.get(0)).collect();
    let missing = waiting.iter().filter(|id| !known.iter().any(|known| known == *id));
    Ok(missing.map(|id| (*id).to_owned()).collect())
}

/// Stores a question; returns false if it is there already.
async fn insert_question(
    transaction: &Transaction<'_>,
    question: &FleetQuestion,
    (group, text): (&str, &str),
    left_seconds: u32,
    rules: Option<&ApprovalRules>,
) -> Result<bool, Failure> {
    let mut later: Vec<(i32, String)> = rules
        .into_iter()
        .flat_map(|rules| &rules.escalations)
        .map(|later| (i32::try_from(later.after_seconds).unwrap_or(i32::MAX), later.role.clone()))
        .collect();
    later.sort();
    let (after, roles): (Vec<i32>, Vec<String>) = later.into_iter().unzip();
    let left = f64::from(left_seconds);
    let inserted = transaction
        .execute(
            "INSERT INTO approval_questions (machine, question, group_name, document, digest, \
             roles, later_roles, later_at, expires_at) \
             SELECT $1, $2, $3, $4, $5, ARRAY[$6::text], $7::text[], \
             ARRAY(SELECT now() + make_interval(secs => after) FROM unnest($8::integer[]) after), \
             now() + make_interval(secs => $9::double precision) ON CONFLICT DO NOTHING",
            &[
                &question.machine,
                &question.question,
                &group,
                &text,
                &digest_question(text),
                &question.role,
                &roles,
                &after,
                &left,
            ],
        )
        .await?;
    Ok(inserted > 0)
}

/// Returns the group and the name of a machine, with the rules of the newest orders of its group: a
/// machine says later than it asks which orders it has taken.
async fn read_rules(
    client: &impl GenericClient,
    machine: &KnownMachine,
) -> Result<(String, String, Option<ApprovalRules>), Failure> {
    let row = client
        .query_one(
            "SELECT group_of(labels), name, (SELECT document FROM orders o \
             WHERE o.group_name = group_of(m.labels) AND share > 0 AND expires_at > now() \
             ORDER BY version DESC LIMIT 1) FROM machines m WHERE machine = $1",
            &[&machine.id()],
        )
        .await?;
    let document: Option<String> = row.get(2);
    let orders = document.and_then(|text| serde_json::from_str::<Orders>(&text).ok());
    let rules = orders.and_then(|orders| ApprovalRules::parse_rules(&orders.approvals).ok());
    Ok((row.get(0), row.get(1), rules))
}

/// Returns the answers to questions that a machine does not have yet.
async fn list_answers(
    hub: &Hub,
    machine: &KnownMachine,
    waiting: &[WaitingQuestion],
) -> Result<Vec<ApproverSigned>, Failure> {
    if waiting.is_empty() {
        return Ok(Vec::new());
    }
    let questions: Vec<&str> = waiting.iter().map(|one| one.question.as_str()).collect();
    let client = hub.database.connect().await?;
    let rows = client
        .query(
            "SELECT question, key, answer, signature, passkey FROM approval_answers \
             WHERE machine = $1 AND question = ANY($2) ORDER BY given_at, key",
            &[&machine.id(), &questions],
        )
        .await?;
    let mut answers = Vec::new();
    for row in &rows {
        let (question, key): (String, String) = (row.get(0), row.get(1));
        let Ok(key) = serde_json::from_value(key.into()) else { continue };
        let of = |one: &&WaitingQuestion| one.question == question;
        if waiting.iter().find(of).is_some_and(|one| !one.answered.contains(&key)) {
            let passkey: Option<&str> = row.get(4);
            let passkey = passkey.and_then(|passkey| serde_json::from_str(passkey).ok());
            let (text, signature) = (row.get(2), row.get(3));
            answers.push(ApproverSigned { text, key, signature, passkey });
        }
    }
    Ok(answers)
}

/// Tells a machine's held requests that there is an answer.
pub async fn tell_machine(client: &impl GenericClient, machine: &str) -> Result<(), Failure> {
    client.execute("SELECT pg_notify($1, $2)", &[&CHANNEL, &news_of(machine)]).await?;
    Ok(())
}
