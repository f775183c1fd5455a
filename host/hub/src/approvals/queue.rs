//! The questions that wait, as the hub's page shows them, and the newest answers.

use crate::failure::Failure;
use deadpool_postgres::GenericClient;
use portcullis_fleet::approvals::{FleetQuestion, digest_question};
use tokio_postgres::Row;

/// The most questions on the page, and the most answers.
const MOST: i64 = 50;
const MOST_GIVEN: i64 = 20;
/// The most questions of one machine on the page, so that it hides none of the others.
const MOST_OF_MACHINE: i64 = 3;
/// The most bytes of questions on the page.
const MOST_TEXT: usize = 2 << 20;

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
    /// The digest of the text, which a device signs. It is made of the text that is shown: whoever
    /// can write the database alone must not get a signature for another one.
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
const QUEUED: &str = "SELECT q.machine, m.name, q.group_name, q.question, q.document, \
    q.roles, q.allowed_by, extract(epoch FROM q.expires_at - now())::bigint, \
    ARRAY(SELECT p.credential FROM passkeys p JOIN approvers a USING (key) \
      WHERE p.person = $1 AND a.passkey IS NOT NULL AND a.group_name = q.group_name \
      AND a.roles && q.roles AND a.version = (SELECT max(version) FROM orders o \
        WHERE o.group_name = q.group_name AND share > 0 AND o.expires_at > now())) \
      AS credentials, \
    EXISTS (SELECT FROM approval_answers g JOIN passkeys p USING (key) \
      WHERE g.machine = q.machine AND g.question = q.question AND p.person = $1), \
    q.received_at, row_number() OVER (PARTITION BY q.machine ORDER BY q.received_at, q.question) \
      AS place, count(*) OVER () AS waiting \
    FROM approval_questions q JOIN machines m ON m.machine = q.machine \
    WHERE q.ended_at IS NULL AND q.expires_at > now() AND m.revoked_at IS NULL";

/// The questions that wait.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// Those that fit the page: first those that the person who looks may answer, of each the oldest
    /// first.
    pub questions: Vec<QueuedQuestion>,
    /// The number of the others.
    pub others: usize,
}

/// Returns the questions that wait.
pub async fn list_queue(client: &impl GenericClient, person: &str) -> Result<Queue, Failure> {
    let sql = format!(
        "SELECT * FROM ({QUEUED}) AS queued WHERE place <= $2 \
         ORDER BY credentials = '{{}}', received_at, machine, question LIMIT $3"
    );
    let rows = client.query(&sql, &[&person, &MOST_OF_MACHINE, &MOST]).await?;
    let waiting = rows.first().map_or(0, |row| row.get::<_, i64>("waiting"));
    let mut questions = Vec::new();
    let mut bytes = 0;
    for question in rows.iter().filter_map(read_queued) {
        bytes += question.text.len();
        if bytes > MOST_TEXT {
            break;
        }
        questions.push(question);
    }
    let others = usize::try_from(waiting).unwrap_or(0).saturating_sub(questions.len());
    Ok(Queue { questions, others })
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
    Ok(row.as_ref().and_then(read_queued))
}

/// Returns a question; `None` if its text is another question's.
fn read_queued(row: &Row) -> Option<QueuedQuestion> {
    let (machine, question, text): (String, String, String) = (row.get(0), row.get(3), row.get(4));
    // A text of a later version is shown as one that is not understood.
    if let Ok(said) = FleetQuestion::parse_text(&text)
        && (said.machine != machine || said.question != question)
    {
        return None;
    }
    Some(QueuedQuestion {
        machine,
        name: row.get(1),
        group: row.get(2),
        question,
        digest: digest_question(&text),
        text,
        roles: row.get(5),
        allowed_by: row.get(6),
        left_seconds: row.get(7),
        credentials: row.get(8),
        has_answered: row.get(9),
    })
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
