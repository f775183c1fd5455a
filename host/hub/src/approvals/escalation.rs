//! Questions that nobody has answered for some time go to further roles, and webhooks are told of
//! each step.
//!
//! A message is sent by the replica that took the step, once: one that dies in between sends none.

use crate::failure::Failure;
use crate::folder::QuestionWebhook;
use crate::service::Hub;
use portcullis_core::text::one_line;
use portcullis_fleet::approvals::FleetQuestion;
use portcullis_notify::{Address, Channel, CredentialSource, Notification, NotificationSeverity};
use portcullis_notify::{Sender, Topic, Webhook};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The time between two looks at the questions.
const PERIOD: Duration = Duration::from_secs(1);
/// The time for one message.
const PATIENCE: Duration = Duration::from_secs(20);
/// Looks between two removals of old questions.
const LOOKS: u32 = 3600;
/// The days for which questions and answers are kept; the machines' journals keep them longer.
const KEPT_DAYS: i32 = 30;

/// A question that a role is asked from now on.
#[derive(Clone, Debug)]
pub struct NewQuestion {
    machine: String,
    question: String,
    group: String,
    name: String,
    role: String,
    tool: String,
    summary: String,
    why: String,
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
        }
    }

    fn to_notification(&self) -> Notification {
        let id = format!("{}/{}", self.machine, self.question);
        let (name, role) = (one_line(&self.name, 64), one_line(&self.role, 64));
        Notification {
            id: format!("{id}/{role}"),
            at: now_ms(),
            topic: Topic::Approval,
            severity: NotificationSeverity::Warning,
            title: format!("`{name}` asks `{role}` about {}", one_line(&self.tool, 40)),
            session: String::new(),
            project: format!("group {}", self.group),
            what: self.summary.clone(),
            why: self.why.clone(),
            commands: vec![
                format!("portcullis fleet approvals show {id} --key approver.key"),
                format!("portcullis fleet approvals allow {id} --key approver.key"),
                format!("portcullis fleet approvals deny {id} --key approver.key"),
            ],
        }
    }
}

/// Looks at the questions again and again, until the process ends.
pub async fn keep_approvals(hub: Arc<Hub>) {
    let mut looks: u32 = 0;
    loop {
        match escalate(&hub).await {
            Ok(escalated) => tell_webhooks(&hub, escalated),
            Err(failure) => {
                let log = failure.log().unwrap_or_default();
                crate::report_line(&format!("cannot look at the approvals: {log}"));
            }
        }
        if looks.is_multiple_of(LOOKS) && forget_questions(&hub).await.is_err() {
            crate::report_line("cannot remove old approvals");
        }
        looks = looks.wrapping_add(1);
        tokio::time::sleep(PERIOD).await;
    }
}

/// Lets the next role answer questions whose time for that has come.
async fn escalate(hub: &Hub) -> Result<Vec<NewQuestion>, Failure> {
    let client = hub.database.connect().await?;
    let rows = client
        .query(
            "UPDATE approval_questions q SET roles = roles || later_roles[escalated + 1], \
             escalated = escalated + 1 FROM machines m WHERE m.machine = q.machine \
             AND ended_at IS NULL AND expires_at > now() \
             AND later_at[escalated + 1] <= now() \
             RETURNING document, group_name, name, later_roles[escalated]",
            &[],
        )
        .await?;
    let mut escalated = Vec::new();
    for row in &rows {
        let (document, group, name): (String, String, String) =
            (row.get(0), row.get(1), row.get(2));
        let role: String = row.get(3);
        if let Ok(question) = FleetQuestion::parse_text(&document) {
            escalated.push(NewQuestion::of_question(&question, &group, &name, &role));
        }
    }
    Ok(escalated)
}

async fn forget_questions(hub: &Hub) -> Result<(), Failure> {
    let client = hub.database.connect().await?;
    let delete =
        "DELETE FROM approval_questions WHERE received_at < now() - make_interval(days => $1)";
    client.execute(delete, &[&KEPT_DAYS]).await?;
    Ok(())
}

/// Tells the webhooks of questions, without waiting for them.
pub fn tell_webhooks(hub: &Arc<Hub>, questions: Vec<NewQuestion>) {
    for question in questions {
        let wants = |webhook: &&QuestionWebhook| {
            webhook.roles.is_empty() || webhook.roles.contains(&question.role)
        };
        for webhook in hub.webhooks.iter().filter(wants) {
            let (webhook, message) = (webhook.clone(), question.to_notification());
            tokio::task::spawn_blocking(move || send_message(&webhook, &message));
        }
    }
}

fn send_message(webhook: &QuestionWebhook, message: &Notification) {
    let channel = Channel::Webhook(Webhook {
        url: Address::Open(webhook.url.clone()),
        proxy: None,
        bearer: webhook.bearer_file.clone().map(CredentialSource::File),
        authorities: webhook.authorities.clone(),
    });
    let sender = Sender::new(|name| std::env::var_os(name));
    if let Err(failure) = sender.send_message(&channel, message, Instant::now() + PATIENCE) {
        crate::report_line(&one_line(&format!("a webhook was not told: {failure}"), 400));
    }
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
