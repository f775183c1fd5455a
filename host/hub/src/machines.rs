//! Machines: how they join, how they are recognised, and what an operator sees of them.
//!
//! A certificate counts only while the database has its digest, whatever stands in it. So the
//! authority's signature alone admits nobody, and a revocation counts with the next request.

use crate::authority::IssuedCertificate;
use crate::database::Database;
use crate::failure::Failure;
use crate::service::Hub;
use deadpool_postgres::{GenericClient, Transaction};
use portcullis_fleet::digest_secret;
use portcullis_fleet::protocol::{
    Admission, Farewell, JoinRequest, KnownHeads, MOST_TEXT, Position, RefusalKind, RenewRequest,
    VERSION,
};
use serde::Serialize;
use tokio_postgres::Row;

/// The number of random bytes in a machine's id.
const ID_BYTES: usize = 10;
/// The most journals that a machine asks about.
const MOST_HEADS: i64 = 64;

/// A machine that a request comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownMachine {
    id: String,
    group: String,
    orders_seen: Option<i64>,
    orders_refused: Option<String>,
}

impl KnownMachine {
    /// Returns its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the group that its labels name.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// Returns true if this is what it has said of its orders before.
    pub fn has_said(&self, seen: i64, refused: Option<&str>) -> bool {
        self.orders_seen == Some(seen) && self.orders_refused.as_deref() == refused
    }
}

/// A machine as an operator sees it.
#[derive(Debug, Serialize)]
pub struct MachineSummary {
    /// Its id.
    pub machine: String,
    /// The name that it gave itself.
    pub name: String,
    /// The labels of its token.
    pub labels: Vec<String>,
    /// The version of Portcullis on it.
    pub version: String,
    /// The detail that it sends; none before its first batch.
    pub detail: Option<String>,
    /// The time when it joined, in milliseconds since 1970.
    pub joined_at: i64,
    /// The time of its newest request.
    pub seen_at: i64,
    /// The time when it was revoked.
    pub revoked_at: Option<i64>,
    /// The reason.
    pub revoke_reason: Option<String>,
    /// Its journals.
    pub journals: i64,
    /// The records that the hub has of it.
    pub records: i64,
    /// Those of them whose document did not come as it was recorded.
    pub unproven: i64,
    /// The records that it has and the hub has not, as far as the hub knows.
    pub waiting: i64,
    /// Its incidents that are not settled.
    pub incidents: i64,
    /// Incidents that were not stored, since too many were open.
    pub incidents_omitted: i64,
    /// The newest version of the orders that it has; none if it has never asked for orders.
    pub orders: Option<i64>,
    /// The machine's reason for refusing the orders that it was offered last.
    pub orders_refused: Option<String>,
    /// The worst level of what `doctor` found on it, by its own report; none without a report.
    pub protection: Option<String>,
}

/// Exchanges a token for an identity.
pub async fn join_machine(hub: &Hub, request: &JoinRequest) -> Result<Admission, Failure> {
    check_version(request.version)?;
    check_texts(&[&request.name, &request.portcullis])?;
    let mut client = hub.database.connect().await?;
    let transaction = client.transaction().await?;
    let digest = digest_secret(&request.secret);
    let taken = transaction
        .query_opt(
            "UPDATE tokens SET uses_left = uses_left - 1 \
             WHERE digest = $1 AND uses_left > 0 AND expires_at > now() RETURNING token, labels",
            &[&digest.as_slice()],
        )
        .await?;
    let Some(taken) = taken else { return Err(explain_token(&transaction, &digest).await?) };
    let (token, labels): (String, Vec<String>) = (taken.get(0), taken.get(1));
    let mut id = [0; ID_BYTES];
    getrandom::fill(&mut id).map_err(Failure::internal)?;
    let machine = format!("m-{}", data_encoding::HEXLOWER.encode(&id));
    let issued = issue(hub, &machine, &request.request)?;
    transaction
        .execute(
            "INSERT INTO machines (machine, name, labels, token, version) \
             VALUES ($1, $2, $3, $4, $5)",
            &[&machine, &request.name, &labels, &token, &request.portcullis],
        )
        .await?;
    let times = store_certificate(&transaction, &machine, &issued).await?;
    transaction.commit().await?;
    admission(hub, machine, labels, issued, times)
}

/// Issues the next certificate of a machine. The current one counts until the new one is used, so
/// that a lost answer costs nothing.
pub async fn renew_certificate(
    hub: &Hub,
    machine: &KnownMachine,
    request: &RenewRequest,
) -> Result<Admission, Failure> {
    check_version(request.version)?;
    check_texts(&[&request.portcullis])?;
    let issued = issue(hub, machine.id(), &request.request)?;
    let mut client = hub.database.connect().await?;
    let transaction = client.transaction().await?;
    let row = transaction
        .query_one(
            "UPDATE machines SET version = $2 WHERE machine = $1 RETURNING labels",
            &[&machine.id(), &request.portcullis],
        )
        .await?;
    // Certificates that were asked for and never used would pile up.
    transaction
        .execute(
            "DELETE FROM certificates WHERE machine = $1 AND used_at IS NULL",
            &[&machine.id()],
        )
        .await?;
    let times = store_certificate(&transaction, machine.id(), &issued).await?;
    transaction.commit().await?;
    admission(hub, machine.id().to_owned(), row.get(0), issued, times)
}

/// Returns the machine whose certificate has this digest.
pub async fn recognise_machine(
    hub: &Hub,
    digest: Option<[u8; 32]>,
) -> Result<KnownMachine, Failure> {
    let Some(digest) = digest else {
        let reason = "this needs the certificate of a machine that joined";
        return Err(Failure::refuse(RefusalKind::Unidentified, reason));
    };
    let client = hub.database.connect().await?;
    let statement = client
        .prepare_cached(
            "SELECT machine, revoked_at IS NOT NULL, revoke_reason, used_at IS NULL, \
             group_of(labels), orders_seen, orders_refused \
             FROM certificates JOIN machines USING (machine) \
             WHERE digest = $1 AND expires_at > now()",
        )
        .await?;
    let found = client.query_opt(&statement, &[&digest.as_slice()]).await?;
    let Some(found) = found else {
        let reason = "the certificate is unknown, was replaced or has ended: join again";
        return Err(Failure::refuse(RefusalKind::Unknown, reason));
    };
    let machine: String = found.get(0);
    if found.get(1) {
        let reason: Option<String> = found.get(2);
        return Err(Failure::refuse(
            RefusalKind::Revoked,
            format!("the machine was revoked: {}", reason.unwrap_or_default()),
        ));
    }
    if found.get(3) {
        // From its first use on, a certificate replaces those before it.
        client
            .execute(
                "WITH used AS (UPDATE certificates SET used_at = now() WHERE digest = $1 \
                 RETURNING machine) \
                 DELETE FROM certificates USING used \
                 WHERE certificates.machine = used.machine AND digest <> $1 \
                 AND used_at IS NOT NULL",
                &[&digest.as_slice()],
            )
            .await?;
    }
    hub.seen.add_machine(&machine);
    Ok(KnownMachine {
        id: machine,
        group: found.get(4),
        orders_seen: found.get(5),
        orders_refused: found.get(6),
    })
}

/// Returns how far the hub has a machine's journals.
pub async fn list_heads(hub: &Hub, machine: &KnownMachine) -> Result<KnownHeads, Failure> {
    let client = hub.database.connect().await?;
    let rows = client
        .query(
            "SELECT journal, head_sequence, head_hash FROM journals WHERE machine = $1 \
             ORDER BY begun_at DESC, journal LIMIT $2",
            &[&machine.id(), &MOST_HEADS],
        )
        .await?;
    let heads = rows.iter().map(|row| Ok((row.get(0), position_of(row, 1)?)));
    Ok(KnownHeads { heads: heads.collect::<Result<_, Failure>>()? })
}

/// Lets a machine leave: its certificates count no more, and its records stay.
pub async fn leave_fleet(hub: &Hub, machine: &KnownMachine) -> Result<Farewell, Failure> {
    let client = hub.database.connect().await?;
    revoke_machine(&client, machine.id(), "the machine has left the fleet").await?;
    let sum = "SELECT coalesce(sum(records), 0)::bigint FROM journals WHERE machine = $1";
    let records: i64 = client.query_one(sum, &[&machine.id()]).await?.get(0);
    Ok(Farewell { records: u64::try_from(records).unwrap_or(0) })
}

/// Revokes a machine; returns false if there is none of that id. One that was revoked before keeps
/// its reason.
pub async fn revoke_machine(
    client: &impl GenericClient,
    machine: &str,
    reason: &str,
) -> Result<bool, Failure> {
    let changed = client
        .execute(
            "UPDATE machines SET revoke_reason = CASE WHEN revoked_at IS NULL THEN $2 \
             ELSE revoke_reason END, revoked_at = coalesce(revoked_at, now()) WHERE machine = $1",
            &[&machine, &reason],
        )
        .await?;
    Ok(changed > 0)
}

/// Returns all machines, those with open incidents first, then the one that was seen last.
pub async fn list_machines(database: &Database) -> Result<Vec<MachineSummary>, Failure> {
    search_machines(database, "", 0, u32::MAX).await
}

/// Returns the machines whose name, id, version or labels hold a text, in the order of the list and
/// from a place on.
pub async fn search_machines(
    database: &Database,
    text: &str,
    skipped: u32,
    most: u32,
) -> Result<Vec<MachineSummary>, Failure> {
    let client = database.connect_reading().await?;
    let sql = format!(
        "{SUMMARIES} WHERE $1 = '' OR position(lower($1) IN lower(concat_ws(' ', m.name, m.machine, \
         m.version, array_to_string(m.labels, ' ')))) > 0 \
         ORDER BY i.incidents > 0 DESC, m.seen_at DESC, m.machine LIMIT $2 OFFSET $3"
    );
    let rows = client.query(&sql, &[&text, &i64::from(most), &i64::from(skipped)]).await?;
    Ok(rows.iter().map(summary_of_row).collect())
}

/// Returns a machine.
pub async fn find_machine(
    database: &Database,
    machine: &str,
) -> Result<Option<MachineSummary>, Failure> {
    let client = database.connect().await?;
    let sql = format!("{SUMMARIES} WHERE m.machine = $1");
    Ok(client.query_opt(&sql, &[&machine]).await?.as_ref().map(summary_of_row))
}

/// The beginning of each query for machines as people see them.
const SUMMARIES: &str = "SELECT m.machine, m.name, m.labels, m.version, m.detail, \
    (extract(epoch FROM m.joined_at) * 1000)::bigint, \
    (extract(epoch FROM m.seen_at) * 1000)::bigint, \
    (extract(epoch FROM m.revoked_at) * 1000)::bigint, m.revoke_reason, \
    j.journals, j.records, j.unproven, j.waiting, i.incidents, m.incidents_omitted, \
    m.orders_seen, m.orders_refused, m.protection \
    FROM machines m \
    CROSS JOIN LATERAL (SELECT count(*) AS journals, \
      coalesce(sum(records), 0)::bigint AS records, \
      coalesce(sum(unproven), 0)::bigint AS unproven, \
      coalesce(sum(claimed_sequence - head_sequence), 0)::bigint AS waiting \
      FROM journals WHERE machine = m.machine) j \
    CROSS JOIN LATERAL (SELECT count(*) AS incidents FROM incidents \
      WHERE machine = m.machine AND settled_at IS NULL) i";

fn summary_of_row(row: &Row) -> MachineSummary {
    MachineSummary {
        machine: row.get(0),
        name: row.get(1),
        labels: row.get(2),
        version: row.get(3),
        detail: row.get(4),
        joined_at: row.get(5),
        seen_at: row.get(6),
        revoked_at: row.get(7),
        revoke_reason: row.get(8),
        journals: row.get(9),
        records: row.get(10),
        unproven: row.get(11),
        waiting: row.get(12),
        incidents: row.get(13),
        incidents_omitted: row.get(14),
        orders: row.get(15),
        orders_refused: row.get(16),
        protection: row.get(17),
    }
}

/// Returns the position in a row: its sequence, and its hash in the next column.
pub fn position_of(row: &Row, column: usize) -> Result<Position, Failure> {
    let sequence: i64 = row.get(column);
    let hash: Vec<u8> = row.get(column.saturating_add(1));
    let damaged = || Failure::internal("the database holds a position that is none");
    Ok(Position {
        sequence: u64::try_from(sequence).map_err(|_| damaged())?,
        hash: hash.try_into().map_err(|_| damaged())?,
    })
}

/// Refuses a message of another version.
pub fn check_version(version: u32) -> Result<(), Failure> {
    if version == VERSION {
        return Ok(());
    }
    let reason = format!("this hub speaks version {VERSION}, and the machine version {version}");
    Err(Failure::refuse(RefusalKind::Malformed, reason))
}

/// Refuses texts that a column cannot hold.
pub fn check_texts(texts: &[&str]) -> Result<(), Failure> {
    let fits = |text: &&str| text.len() <= MOST_TEXT && !text.contains('\0');
    if texts.iter().all(fits) {
        return Ok(());
    }
    let reason = format!("a text has more than {MOST_TEXT} bytes, or a NUL");
    Err(Failure::refuse(RefusalKind::Malformed, reason))
}

/// Returns why a token does not count. Only who has its secret gets here with more than "unknown".
async fn explain_token(
    transaction: &Transaction<'_>,
    digest: &[u8; 32],
) -> Result<Failure, Failure> {
    let found = transaction
        .query_opt("SELECT uses_left > 0 FROM tokens WHERE digest = $1", &[&digest.as_slice()])
        .await?;
    let reason = match found.map(|row| row.get(0)) {
        None => "the token is unknown: it is of another hub, or was mistyped",
        Some(false) => {
            "the token is used up: create another one with `portcullis hub token create`"
        }
        Some(true) => {
            "the token has expired: create another one with `portcullis hub token create`"
        }
    };
    Ok(Failure::refuse(RefusalKind::Token, reason))
}

fn issue(hub: &Hub, machine: &str, request: &str) -> Result<IssuedCertificate, Failure> {
    hub.authority
        .issue_machine(machine, request, hub.certificate_days)
        .map_err(|error| Failure::refuse(RefusalKind::Malformed, error.to_string()))
}

/// Stores a certificate; returns when it was issued and when it ends.
async fn store_certificate(
    transaction: &Transaction<'_>,
    machine: &str,
    issued: &IssuedCertificate,
) -> Result<(i64, i64), Failure> {
    let row = transaction
        .query_one(
            "INSERT INTO certificates (digest, machine, issued_at, expires_at) \
             VALUES ($1, $2, clock_timestamp(), clock_timestamp() + $3::bigint * interval '1 second') \
             RETURNING (extract(epoch FROM issued_at) * 1000)::bigint, \
             (extract(epoch FROM expires_at) * 1000)::bigint",
            &[&issued.digest.as_slice(), &machine, &issued.seconds],
        )
        .await?;
    Ok((row.get(0), row.get(1)))
}

fn admission(
    hub: &Hub,
    machine: String,
    labels: Vec<String>,
    issued: IssuedCertificate,
    (issued_at, expires_at): (i64, i64),
) -> Result<Admission, Failure> {
    let split = |label: String| match label.split_once('=') {
        Some((name, value)) => (name.to_owned(), value.to_owned()),
        None => (label, String::new()),
    };
    Ok(Admission {
        machine,
        labels: labels.into_iter().map(split).collect(),
        certificate: issued.pem,
        issued_at: u64::try_from(issued_at).unwrap_or(0),
        expires_at: u64::try_from(expires_at).unwrap_or(0),
        receipt_key: hub.receipt_key.public().to_pem().map_err(Failure::internal)?,
    })
}
