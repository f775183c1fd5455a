//! The questions that wait, as the hub's page shows them, and the newest answers.

use crate::failure::Failure;
use deadpool_postgres::GenericClient;
use tokio_postgres::Row;

/// The most questions on the page, and the most answers.
const MOST: i64 = 50;
const MOST_GIVEN: i64 = 20;

/// A question that waits.
#[derive(Clone, Debug)]
pub struct QueuedQuestion {
    /// The machine.
    pub machine: String,
    /// The machine's own name.
    pub name: String,
    /// The machine's group.
    pub group: String,
    /// The id of the approval on the machine.
    pub question: String,
    /// The question's text.
    pub text: String,
    /// The digest of the text.
    pub digest: String,
    /// The roles that may answer by now.
    pub roles: Vec<String>,
    /// The people who have allowed it, where several have to.
    pub allowed_by: Vec<String>,
    /// The seconds for which it still waits.
    pub left_seconds: i64,
    /// The credentials of the person who looks that may answer by now.
    pub credentials: Vec<String>,
    /// True if the person who looks has answered with a passkey.
    pub has_answered: bool,
}

/// An answer that was passed on.
#[derive(Clone, Debug)]
pub struct GivenAnswer {
    /// The machine.
    pub machine: String,
    /// The machine's own name.
    pub name: String,
    /// The approver, as the orders name them.
    pub approver: String,
    /// True if it allows.
    pub allows: bool,
    /// True if a passkey signed it.
    pub by_passkey: bool,
    /// The time, in milliseconds since 1970.
    pub given_at: i64,
}

/// The columns of a question that waits; `$1` is the person who looks.
const QUEUED: &str = "SELECT q.machine, m.name, q.group_name, q.question, q.document, q.digest, \
    q.roles, q.allowed_by, extract(epoch FROM q.expires_at - now())::bigint, \
    ARRAY(SELECT p.credential FROM passkeys p JOIN approvers a USING (key) \
      WHERE p.person = $1 AND a.passkey IS NOT NULL AND a.group_name = q.group_name \
      AND a.roles && q.roles AND a.version = (SELECT max(version) FROM orders o \
        WHERE o.group_name = q.group_name AND share > 0 AND o.expires_at > now())), \
    EXISTS (SELECT FROM approval_answers g JOIN passkeys p USING (key) \
      WHERE g.machine = q.machine AND g.question = q.question AND p.person = $1) \
    FROM approval_questions q JOIN machines m ON m.machine = q.machine \
    WHERE q.ended_at IS NULL AND q.expires_at > now() AND m.revoked_at IS NULL";

/// Returns the questions that wait, the oldest first.
pub async fn list_queue(
    client: &impl GenericClient,
    person: &str,
) -> Result<Vec<QueuedQuestion>, Failure> {
    let sql = format!("{QUEUED} ORDER BY q.received_at, q.machine, q.question LIMIT $2");
    let rows = client.query(&sql, &[&person, &MOST]).await?;
    Ok(rows.iter().map(read_queued).collect())
}

/// Returns one question, if it still waits.
pub async fn find_queued(
    client: &impl GenericClient,
    person: &str,
    machine: &str,
    question: &str,
) -> Result<Option<QueuedQuestion>, Failure> {
    let sql = format!("{QUEUED} AND q.machine = $2 AND q.question = $3");
    let row = client.query_opt(&sql, &[&person, &machine, &question]).await?;
    Ok(row.as_ref().map(read_queued))
}

fn read_queued(row: &Row) -> QueuedQuestion {
    QueuedQuestion {
        machine: row.get(0),
        name: row.get(1),
        group: row.get(2),
        question: row.get(3),
        text: row.get(4),
        digest: row.get(5),
        roles: row.get(6),
        allowed_by: row.get(7),
        left_seconds: row.get(8),
        credentials: row.get(9),
        has_answered: row.get(10),
    }
}

/// Returns the newest answers, the newest first.
pub async fn list_given(client: &impl GenericClient) -> Result<Vec<GivenAnswer>, Failure> {
    let rows = client
        .query(
            "SELECT machine, name, approver, allows, passkey IS NOT NULL, \
             (extract(epoch FROM given_at) * 1000)::bigint FROM approval_answers \
             JOIN machines USING (machine) ORDER BY given_at DESC, machine, question LIMIT $1",
            &[&MOST_GIVEN],
        )
        .await?;
    let given = |row: &Row| GivenAnswer {
        machine: row.get(0),
        name: row.get(1),
        approver: row.get(2),
        allows: row.get(3),
        by_passkey: row.get(4),
        given_at: row.get(5),
    };
    Ok(rows.iter().map(given).collect())
}
