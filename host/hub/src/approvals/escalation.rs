//! Questions that nobody has answered for some time go to further roles, and webhooks are told of
//! each step.

use super::messages::{NewQuestion, queue_messages};
use crate::failure::Failure;
use crate::service::Hub;
use portcullis_fleet::approvals::FleetQuestion;
use std::sync::Arc;
use std::time::Duration;

/// The time between two looks at the questions.
const PERIOD: Duration = Duration::from_secs(1);
/// Looks between two removals of old questions.
const LOOKS: u32 = 3600;
/// The days for which questions and answers are kept; the machines' journals keep them longer.
const KEPT_DAYS: i32 = 30;

/// Looks at the questions again and again, until the process ends.
pub async fn keep_approvals(hub: Arc<Hub>) {
    let mut looks: u32 = 0;
    loop {
        if let Err(failure) = escalate(&hub).await {
            let log = failure.log().unwrap_or_default();
            crate::report_line(&format!("cannot look at the approvals: {log}"));
        }
        if looks.is_multiple_of(LOOKS) && forget_questions(&hub).await.is_err() {
            crate::report_line("cannot remove old approvals");
        }
        looks = looks.wrapping_add(1);
        tokio::time::sleep(PERIOD).await;
    }
}

/// Lets the next role answer questions whose time for that has come.
async fn escalate(hub: &Hub) -> Result<(), Failure> {
    let mut client = hub.database.connect().await?;
    let transaction = client.transaction().await?;
    let rows = transaction
        .query(
            "UPDATE approval_questions q SET roles = roles || later_roles[escalated + 1], \
             escalated = escalated + 1 FROM machines m WHERE m.machine = q.machine \
             AND ended_at IS NULL AND expires_at > now() \
             AND later_at[escalated + 1] <= now() \
             RETURNING document, group_name, name, later_roles[escalated]",
            &[],
        )
        .await?;
    for row in &rows {
        let (document, group, name): (String, String, String) =
            (row.get(0), row.get(1), row.get(2));
        let role: String = row.get(3);
        if let Ok(question) = FleetQuestion::parse_text(&document) {
            let new = NewQuestion::of_question(&question, &group, &name, &role);
            queue_messages(&transaction, &hub.webhooks, &new).await?;
        }
    }
    Ok(transaction.commit().await?)
}

async fn forget_questions(hub: &Hub) -> Result<(), Failure> {
    let client = hub.database.connect().await?;
    let delete =
        "DELETE FROM approval_questions WHERE received_at < now() - make_interval(days => $1)";
    client.execute(delete, &[&KEPT_DAYS]).await?;
    Ok(())
}
