//! Messages to webhooks about questions: written in the transaction of the step that they name, and
//! sent by any replica until the webhook has taken them.
//!
//! A replica takes a message for longer than an attempt lasts. If it dies meanwhile, another one sends
//! the message again: a webhook gets each at least once, and knows a repeat by its id. A message whose
//! question is over is not sent any more.

use crate::failure::Failure;
use crate::folder::QuestionWebhook;
use crate::service::Hub;
use deadpool_postgres::{GenericClient, Transaction};
use portcullis_core::text::one_line;
use portcullis_credentials::CredentialSource;
use portcullis_fleet::HubCredentials;
use portcullis_fleet::approvals::FleetQuestion;
use portcullis_notify::{Address, Channel, Notification, NotificationSeverity};
use portcullis_notify::{DeliveryFailure, Next, Sender, Topic, Webhook};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::Semaphore;

/// The time between two looks at what is due.
const PERIOD: Duration = Duration::from_millis(500);
/// The time for one attempt.
const PATIENCE: Duration = Duration::from_secs(20);
/// The seconds for which a replica has a message to itself, which is longer than an attempt.
const LEASE: i32 = 45;
/// The messages that one replica sends at once.
const MOST_AT_ONCE: usize = 16;
/// The most attempts.
const MOST_ATTEMPTS: i32 = 10;
/// The seconds before the second attempt; each further one waits twice as long, up to the most.
const FIRST_WAIT: u64 = 2;
const LONGEST_WAIT: u64 = 120;
/// The most bytes of a failure.
const MOST_FAILURE: usize = 300;

/// A question that a role is asked from now on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewQuestion {
    machine: String,
    question: String,
    group: String,
    name: String,
    role: String,
    tool: String,
    summary: String,
    why: String,
    /// The time of the step, in milliseconds since 1970: a message is the same at each attempt.
    at: u64,
}

/// The messages of one webhook, counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookState {
    /// The host of its address.
    pub host: String,
    /// Messages that it has taken.
    pub sent: i64,
    /// Messages that wait for an attempt.
    pub waiting: i64,
    /// Messages that it never took.
    pub given_up: i64,
    /// The attempts that failed.
    pub failed_attempts: i64,
    /// The newest failure.
    pub failure: Option<String>,
}

/// A message that this replica has to itself for a time.
struct TakenMessage {
    message: i64,
    webhook: String,
    document: String,
    attempts: i32,
}

impl NewQuestion {
    /// Returns what a message says of a question; `name` is the machine's own.
    pub fn of_question(question: &FleetQuestion, group: &str, name: &str, role: &str) -> Self {
        let text = |path: &str| {
            let found = question.asked.pointer(path).and_then(|value| value.as_str());
            found.unwrap_or_default().to_owned()
        };
        Self {
            machine: question.machine.clone(),
            question: question.question.clone(),
            group: group.to_owned(),
            name: name.to_owned(),
            role: role.to_owned(),
            tool: text("/tool"),
            summary: text("/summary"),
            why: text("/reasons/0"),
            at: now_ms(),
        }
    }

    fn to_notification(&self, page: Option<&str>) -> Notification {
        let id = format!("{}/{}", self.machine, self.question);
        let (name, role) = (one_line(&self.name, 64), one_line(&self.role, 64));
        let mut commands = vec![
            format!("portcullis fleet approvals show {id} --key approver.key"),
            format!("portcullis fleet approvals allow {id} --key approver.key"),
            format!("portcullis fleet approvals deny {id} --key approver.key"),
        ];
        commands.extend(page.map(|page| format!("{page}/approvals")));
        Notification {
            id: format!("{id}/{role}"),
            at: self.at,
            topic: Topic::Approval,
            severity: NotificationSeverity::Warning,
            title: format!("`{name}` asks `{role}` about {}", one_line(&self.tool, 40)),
            session: String::new(),
            project: format!("group {}", self.group),
            what: self.summary.clone(),
            why: self.why.clone(),
            commands,
        }
    }
}

/// Writes the messages about a question to all webhooks that want them.
pub async fn queue_messages(
    transaction: &Transaction<'_>,
    webhooks: &[QuestionWebhook],
    question: &NewQuestion,
) -> Result<(), Failure> {
    let wants = |webhook: &&QuestionWebhook| {
        webhook.roles.is_empty() || webhook.roles.contains(&question.role)
    };
    let document = serde_json::to_string(question).map_err(Failure::internal)?;
    for webhook in webhooks.iter().filter(wants) {
        transaction
            .execute(
                "INSERT INTO webhook_messages (webhook, machine, question, role, document) \
                 VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
                &[
                    &name_webhook(webhook),
                    &question.machine,
                    &question.question,
                    &question.role,
                    &document,
                ],
            )
            .await?;
    }
    Ok(())
}

/// Sends what is due again and again, until the process ends.
pub async fn keep_messages(hub: Arc<Hub>) {
    let places = Arc::new(Semaphore::new(MOST_AT_ONCE));
    loop {
        match take_due(&hub, places.available_permits()).await {
            Ok(taken) => {
                for message in taken {
                    let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
                    let hub = Arc::clone(&hub);
                    tokio::spawn(async move {
                        if let Err(failure) = send_taken(&hub, message).await {
                            failure.report();
                        }
                        drop(place);
                    });
                }
            }
            Err(failure) => {
                let log = failure.log().unwrap_or_default();
                crate::report_line(&format!("cannot look at the messages to webhooks: {log}"));
            }
        }
        tokio::time::sleep(PERIOD).await;
    }
}

/// Takes messages that are due, and gives up those about questions that are over.
async fn take_due(hub: &Hub, most: usize) -> Result<Vec<TakenMessage>, Failure> {
    let client = hub.database.connect().await?;
    client
        .execute(
            "UPDATE webhook_messages m SET given_up_at = now(), \
             failure = coalesce(failure || '; ', '') || 'the question is over' \
             FROM approval_questions q WHERE (q.machine, q.question) = (m.machine, m.question) \
             AND sent_at IS NULL AND given_up_at IS NULL AND due_at <= now() \
             AND (q.ended_at IS NOT NULL OR q.expires_at <= now())",
            &[],
        )
        .await?;
    let most = i64::try_from(most).unwrap_or(0);
    // The others are those of replicas with another configuration.
    let own: Vec<String> = hub.webhooks.iter().map(name_webhook).collect();
    let rows = client
        .query(
            "UPDATE webhook_messages SET attempts = attempts + 1, \
             due_at = now() + make_interval(secs => $2::integer) WHERE message IN \
             (SELECT message FROM webhook_messages WHERE sent_at IS NULL AND given_up_at IS NULL \
              AND due_at <= now() AND webhook = ANY($3) ORDER BY due_at, message LIMIT $1 \
              FOR UPDATE SKIP LOCKED) \
             RETURNING message, webhook, document, attempts",
            &[&most, &LEASE, &own],
        )
        .await?;
    let taken = |row: &tokio_postgres::Row| TakenMessage {
        message: row.get(0),
        webhook: row.get(1),
        document: row.get(2),
        attempts: row.get(3),
    };
    Ok(rows.iter().map(taken).collect())
}

async fn send_taken(hub: &Hub, taken: TakenMessage) -> Result<(), Failure> {
    let webhook = hub.webhooks.iter().find(|webhook| name_webhook(webhook) == taken.webhook);
    let question: Option<NewQuestion> = serde_json::from_str(&taken.document).ok();
    let (Some(webhook), Some(question)) = (webhook.cloned(), question) else {
        return give_up(hub, taken.message, "its webhook is in the configuration no more").await;
    };
    let message = question.to_notification(hub.page.as_deref());
    let folder = hub.folder.clone();
    let sending = tokio::task::spawn_blocking(move || send_message(&folder, &webhook, &message));
    let failed = match sending.await {
        Ok(Ok(())) => {
            let done = "UPDATE webhook_messages SET sent_at = now() WHERE message = $1";
            hub.database.connect().await?.execute(done, &[&taken.message]).await?;
            return Ok(());
        }
        Ok(Err(failed)) => failed,
        Err(error) => return Err(Failure::internal(error)),
    };
    let what = one_line(&failed.to_string(), MOST_FAILURE);
    crate::report_line(&format!("a webhook was not told (attempt {}): {what}", taken.attempts));
    let wait = match failed.next {
        Next::Retry(least) if taken.attempts < MOST_ATTEMPTS => {
            wait_before(taken.attempts).max(least.unwrap_or_default())
        }
        _ => return give_up(hub, taken.message, &what).await,
    };
    hub.database
        .connect()
        .await?
        .execute(
            "UPDATE webhook_messages SET due_at = now() + make_interval(secs => $2::integer), \
             failure = $3 WHERE message = $1",
            &[&taken.message, &i32::try_from(wait.as_secs()).unwrap_or(i32::MAX), &what],
        )
        .await?;
    Ok(())
}

/// Returns the time before the attempt after that many.
fn wait_before(attempts: i32) -> Duration {
    let doubled = u32::try_from(attempts.saturating_sub(1)).unwrap_or(0).min(16);
    Duration::from_secs((FIRST_WAIT << doubled).min(LONGEST_WAIT))
}

async fn give_up(hub: &Hub, message: i64, why: &str) -> Result<(), Failure> {
    let update = "UPDATE webhook_messages SET given_up_at = now(), failure = $2 WHERE message = $1";
    hub.database.connect().await?.execute(update, &[&message, &why]).await?;
    Ok(())
}

fn send_message(
    folder: &Path,
    webhook: &QuestionWebhook,
    message: &Notification,
) -> Result<(), DeliveryFailure> {
    let channel = Channel::Webhook(Webhook {
        url: match CredentialSource::parse(&webhook.url, |path| PathBuf::from(path)) {
            Some(source) => Address::Secret(source),
            None => Address::Open(webhook.url.clone()),
        },
        proxy: None,
        bearer: webhook.bearer.as_ref().map(|bearer| bearer.source().clone()),
        authorities: webhook.authorities.clone(),
    });
    let credentials = HubCredentials::new(folder, "webhook.bearer");
    let sender = Sender::new(&credentials);
    sender.send_message(&channel, message, Instant::now() + PATIENCE).map(drop)
}

/// Returns the name under which the database knows a webhook.
fn name_webhook(webhook: &QuestionWebhook) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(webhook.url.as_bytes()))
}

/// Returns the configured webhooks with what became of their messages.
pub async fn list_webhooks(
    client: &impl GenericClient,
    webhooks: &[QuestionWebhook],
) -> Result<Vec<WebhookState>, Failure> {
    let rows = client
        .query(
            "SELECT webhook, count(sent_at), count(*) FILTER (WHERE sent_at IS NULL \
             AND given_up_at IS NULL), count(given_up_at), \
             coalesce(sum(attempts - CASE WHEN sent_at IS NULL THEN 0 ELSE 1 END), 0)::bigint, \
             (array_agg(failure ORDER BY made_at DESC) FILTER (WHERE failure IS NOT NULL))[1] \
             FROM webhook_messages GROUP BY webhook",
            &[],
        )
        .await?;
    let state = |webhook: &QuestionWebhook| {
        let name = name_webhook(webhook);
        let row = rows.iter().find(|row| row.get::<_, &str>(0) == name);
        let count = |index: usize| row.map_or(0, |row| row.get::<_, i64>(index));
        WebhookState {
            host: host_of_webhook(&webhook.url),
            sent: count(1),
            waiting: count(2),
            given_up: count(3),
            failed_attempts: count(4),
            failure: row.and_then(|row| row.get(5)),
        }
    };
    Ok(webhooks.iter().map(state).collect())
}

/// Returns the host of an address: the rest may be a secret.
fn host_of_webhook(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    one_line(host.rsplit('@').next().unwrap_or_default(), 128)
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_come_less_and_less_often() {
        let waits: Vec<u64> = (1..=10).map(|attempts| wait_before(attempts).as_secs()).collect();
        assert_eq!(waits, [2, 4, 8, 16, 32, 64, 120, 120, 120, 120]);
    }

    #[test]
    fn a_webhook_is_shown_without_its_secret() {
        for (url, host) in [
            ("https://hooks.example/services/T0/secret", "hooks.example"),
            ("https://hooks.example?token=secret", "hooks.example"),
            ("http://127.0.0.1:9/", "127.0.0.1:9"),
            ("https://user:secret@hooks.example/", "hooks.example"),
        ] {
            assert_eq!(host_of_webhook(url), host, "{url}");
        }
    }
}
