//! Orders: stored as an operator signed them, and handed to the machines of their group.
//!
//! A request for orders is held until there is something newer, so that orders arrive within
//! seconds; the database's notifications wake the replicas. A hub decides only when a machine gets
//! a version: it has no key with which to make one.

use crate::audit::{Act, NewEntry};
use crate::database::Database;
use crate::failure::Failure;
use crate::machines::{KnownMachine, check_texts, check_version};
use crate::news::{OrdersNews, await_news};
use crate::operator::Operator;
use crate::service::Hub;
use portcullis_fleet::orders::{GROUP_LABEL, Orders, SignedOrders, group_of};
use portcullis_fleet::protocol::{LONGEST_WAIT, OrdersAnswer, OrdersRequest, RefusalKind};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::Row;

/// The channel of the database's notifications; each one carries a group.
pub const CHANNEL: &str = "portcullis_orders";
/// The most published orders in a list.
const MOST: i64 = 1000;

/// The time between two attempts to follow the database's notifications.
const RECONNECT: Duration = Duration::from_secs(3);
/// The time over which machines are spread that are woken by the same orders.
const SPREAD: Duration = Duration::from_millis(500);

/// Published orders as an operator sees them.
#[derive(Debug, Serialize)]
pub struct OrdersSummary {
    /// The group.
    pub group: String,
    /// The version.
    pub version: i64,
    /// The part of the group's machines that gets it, in percent.
    pub share: i16,
    /// The time when they expire, in milliseconds since 1970.
    pub expires_at: i64,
    /// The time when they were published.
    pub published_at: i64,
    /// The person who published them.
    pub published_by: String,
    /// The machines of the group that have this version.
    pub machines: i64,
    /// The machines of the group that have not left and are not revoked.
    pub members: i64,
}

/// The result of publishing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Publication {
    /// They are published.
    Done,
    /// The group has this version, or a newer one, which is named.
    Older(i64),
}

/// Publishes orders.
pub async fn publish_orders(
    database: &Database,
    signed: &SignedOrders,
    orders: &Orders,
    share: u8,
    operator: &Operator,
) -> Result<Publication, Failure> {
    let mut client = database.connect().await?;
    let transaction = client.transaction().await?;
    // Two operators at once must not publish an older version after a newer one.
    transaction.execute("LOCK TABLE orders IN SHARE ROW EXCLUSIVE MODE", &[]).await?;
    let newest = "SELECT max(version) FROM orders WHERE group_name = $1";
    let newest: Option<i64> = transaction.query_one(newest, &[&orders.group]).await?.get(0);
    let version = signed_number(orders.version);
    if let Some(newest) = newest.filter(|newest| *newest >= version) {
        return Ok(Publication::Older(newest));
    }
    transaction
        .execute(
            "INSERT INTO orders (group_name, version, document, signature, share, expires_at, \
             published_by) VALUES ($1, $2, $3, $4, $5, \
             to_timestamp($6::bigint / 1000.0), $7)",
            &[
                &orders.group,
                &version,
                &signed.orders,
                &signed.signature,
                &i16::from(share),
                &signed_number(orders.expires_at),
                &operator.name(),
            ],
        )
        .await?;
    let entry = NewEntry::of_act(Act::PublishOrders, &orders.group)
        .with_detail("version", orders.version)
        .with_detail("share", share);
    operator.record(&transaction, entry).await?;
    transaction.execute("SELECT pg_notify($1, $2)", &[&CHANNEL, &orders.group]).await?;
    transaction.commit().await?;
    Ok(Publication::Done)
}

/// Changes the part of a group's machines that gets a version; returns false if there is none.
pub async fn change_share(
    database: &Database,
    group: &str,
    version: u32,
    share: u8,
    operator: &Operator,
) -> Result<bool, Failure> {
    let mut client = database.connect().await?;
    let transaction = client.transaction().await?;
    let changed = transaction
        .execute(
            "WITH changed AS (UPDATE orders SET share = $3 WHERE group_name = $1 AND version = $2 \
             RETURNING group_name) SELECT pg_notify($4, group_name) FROM changed",
            &[&group, &i64::from(version), &i16::from(share), &CHANNEL],
        )
        .await?;
    if changed > 0 {
        let entry = NewEntry::of_act(Act::ChangeShare, group)
            .with_detail("version", version)
            .with_detail("share", share);
        operator.record(&transaction, entry).await?;
    }
    transaction.commit().await?;
    Ok(changed > 0)
}

/// Returns published orders, those of one group together, the newest first.
pub async fn list_orders(database: &Database) -> Result<Vec<OrdersSummary>, Failure> {
    let client = database.connect().await?;
    let rows = client
        .query(
            "WITH members AS (SELECT coalesce((SELECT substr(label, length($2) + 2) \
               FROM unnest(labels) label WHERE starts_with(label, $2 || '=') LIMIT 1), $3) AS group_name, \
               orders_seen FROM machines WHERE revoked_at IS NULL) \
             SELECT group_name, version, share, (extract(epoch FROM expires_at) * 1000)::bigint, \
             (extract(epoch FROM published_at) * 1000)::bigint, published_by, \
             (SELECT count(*) FROM members m WHERE m.group_name = o.group_name \
               AND m.orders_seen = o.version), \
             (SELECT count(*) FROM members m WHERE m.group_name = o.group_name) \
             FROM orders o ORDER BY group_name, version DESC LIMIT $1",
            &[&MOST, &GROUP_LABEL, &portcullis_fleet::orders::DEFAULT_GROUP],
        )
        .await?;
    let summary = |row: &Row| OrdersSummary {
        group: row.get(0),
        version: row.get(1),
        share: row.get(2),
        expires_at: row.get(3),
        published_at: row.get(4),
        published_by: row.get(5),
        machines: row.get(6),
        members: row.get(7),
    };
    Ok(rows.iter().map(summary).collect())
}

/// Returns published orders; without a version the newest of the group.
pub async fn find_orders(
    database: &Database,
    group: &str,
    version: Option<u32>,
) -> Result<Option<SignedOrders>, Failure> {
    let client = database.connect().await?;
    let row = client
        .query_opt(
            "SELECT document, signature FROM orders WHERE group_name = $1 \
             AND ($2::bigint IS NULL OR version = $2) ORDER BY version DESC LIMIT 1",
            &[&group, &version.map(i64::from)],
        )
        .await?;
    Ok(row.map(|row| signed_of(&row)))
}

/// Returns the orders that a machine does not have yet; waits for them as long as it asks.
pub async fn answer_orders(
    hub: &Hub,
    machine: &KnownMachine,
    request: &OrdersRequest,
) -> Result<OrdersAnswer, Failure> {
    check_version(request.version)?;
    check_texts(&[request.refused.as_deref().unwrap_or_default()])?;
    let Ok(seen) = i64::try_from(request.seen) else {
        return Err(Failure::refuse(RefusalKind::Malformed, "a number is too large"));
    };
    let wait = Duration::from_secs(request.wait_seconds.into()).min(LONGEST_WAIT);
    let end = Instant::now() + wait;
    // Before the first look: what is published after it is not missed.
    let mut news = hub.news.subscribe();
    let group = note_machine(hub, machine, seen, request.refused.as_deref()).await?;
    loop {
        let found = newest_for(hub, machine, &group, seen).await?;
        if found.is_some() {
            return Ok(OrdersAnswer { orders: found });
        }
        match timeout_at(end, await_news(&mut news, &group)).await {
            // A thousand machines must not ask the database at the same moment.
            Ok(true) => tokio::time::sleep(SPREAD * spread_of(machine.id()) / 100).await,
            Ok(false) | Err(_) => return Ok(OrdersAnswer { orders: None }),
        }
    }
}

/// Tells held requests what the database notifies, until the process ends. A connection that is
/// lost is made again, and everybody looks then.
pub async fn follow_news(hub: Arc<Hub>) {
    loop {
        let tell = |group: Option<String>| {
            // Nobody may be waiting.
            let _nobody = hub.news.send(group.map_or(OrdersNews::Any, OrdersNews::Group));
        };
        if let Err(error) = hub.database.follow_channel(CHANNEL, tell).await {
            crate::report_line(&format!("cannot follow the database's notifications: {error:#}"));
        }
        tokio::time::sleep(RECONNECT).await;
    }
}

/// Notes what the machine says of its orders, and returns its group.
async fn note_machine(
    hub: &Hub,
    machine: &KnownMachine,
    seen: i64,
    refused: Option<&str>,
) -> Result<String, Failure> {
    let client = hub.database.connect().await?;
    let row = client
        .query_one(
            "SELECT labels, (orders_seen, orders_refused) IS DISTINCT FROM ($2, $3) \
             FROM machines WHERE machine = $1",
            &[&machine.id(), &seen, &refused],
        )
        .await?;
    // Each machine asks again and again, and mostly says the same.
    if row.get(1) {
        client
            .execute(
                "UPDATE machines SET orders_seen = $2, orders_refused = $3 WHERE machine = $1",
                &[&machine.id(), &seen, &refused],
            )
            .await?;
    }
    let labels: Vec<String> = row.get(0);
    let split = |label: &String| {
        label.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    let labels: Vec<(String, String)> = labels.iter().filter_map(split).collect();
    Ok(group_of(&labels).to_owned())
}

/// Returns the newest orders of a group that are newer than `seen` and for this machine.
async fn newest_for(
    hub: &Hub,
    machine: &KnownMachine,
    group: &str,
    seen: i64,
) -> Result<Option<SignedOrders>, Failure> {
    let client = hub.database.connect().await?;
    let row = client
        .query_opt(
            "SELECT document, signature FROM orders WHERE group_name = $1 AND version > $2 \
             AND share > $3 AND expires_at > now() ORDER BY version DESC LIMIT 1",
            &[&group, &seen, &place_of(machine.id())],
        )
        .await?;
    Ok(row.map(|row| signed_of(&row)))
}

/// Returns a machine's place in every rollout, from 0 to 99: those with a place below the share get
/// a version. It is the same for each version, so a greater share keeps the machines of a smaller.
fn place_of(machine: &str) -> i16 {
    i16::try_from(spread_of(machine)).unwrap_or(0)
}

fn spread_of(machine: &str) -> u32 {
    let digest = Sha256::digest(machine.as_bytes());
    digest.iter().take(4).fold(0_u32, |sum, byte| (sum << 8) | u32::from(*byte)) % 100
}

fn signed_of(row: &Row) -> SignedOrders {
    SignedOrders { orders: row.get(0), signature: row.get(1) }
}

/// Converts a number that the document's form has found to fit.
fn signed_number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_spread_over_all_places() {
        let mut places = [0_u32; 100];
        for number in 0..10_000 {
            let place = usize::try_from(place_of(&format!("m-{number}"))).unwrap();
            places[place] += 1;
        }
        assert!(places.iter().all(|count| (50..200).contains(count)), "{places:?}");
        assert_eq!(place_of("m-1"), place_of("m-1"));
    }
}
