//! Orders: stored as an operator signed them, and handed to the machines of their group.
//!
//! A request for orders is held until there is something newer, so that orders arrive within
//! seconds; the database's notifications wake the replicas. A hub decides only when a machine gets
//! a version: it has no key with which to make one.

use crate::approvals::approvers::insert_approvers;
use crate::audit::{Act, NewEntry};
use crate::database::Database;
use crate::failure::Failure;
use crate::machines::{KnownMachine, check_texts, check_version};
use crate::news::{CHANNEL, OrdersNews, await_news};
use crate::operator::Operator;
use crate::orders_cache::GroupOrders;
use crate::rollouts::tried::note_trial;
use crate::rollouts::{
    RolloutSummary, begin_rollout, find_rollout, lock_rollouts, note_manual_share, replace_rollouts,
};
use crate::service::Hub;
use crate::stored_orders::{place_of, signed_number, signed_of, spread_of};
use deadpool_postgres::Transaction;
use portcullis_fleet::orders::{Orders, SignedOrders};
use portcullis_fleet::protocol::{LONGEST_WAIT, OrdersAnswer, OrdersRequest, RefusalKind};
use portcullis_fleet::rollout::RolloutPlan;
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::{IsolationLevel, Row};

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
    /// The version for whose rollout they are the fallback.
    pub fallback_of: Option<i64>,
    /// Their rollout, if they have one.
    pub rollout: Option<RolloutSummary>,
}

/// The result of publishing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Publication {
    /// They are published.
    Done,
    /// The group has this version, or a newer one, which is named.
    Older(i64),
}

/// Orders that an operator publishes.
#[derive(Clone, Copy, Debug)]
pub struct NewOrders<'a> {
    /// As they were signed.
    pub signed: &'a SignedOrders,
    /// Their content.
    pub orders: &'a Orders,
}

/// The way in which orders reach their group.
#[derive(Clone, Copy, Debug)]
pub enum Spread<'a> {
    /// A share in percent, which a person changes.
    Share(u8),
    /// Stages.
    Rollout {
        /// The stages.
        plan: &'a RolloutPlan,
        /// The rise that does not stop it, in percent of the actions.
        tolerance: u8,
        /// The orders of a later version that are published if it stops.
        fallback: Option<NewOrders<'a>>,
    },
}

/// Publishes orders. Older rollouts of their group are over then.
pub async fn publish_orders(
    database: &Database,
    new: NewOrders<'_>,
    spread: Spread<'_>,
    operator: &Operator,
) -> Result<Publication, Failure> {
    let mut client = database.connect().await?;
    let transaction = client.transaction().await?;
    lock_rollouts(&transaction).await?;
    // Two operators at once must not publish an older version after a newer one.
    transaction.execute("LOCK TABLE orders IN SHARE ROW EXCLUSIVE MODE", &[]).await?;
    let group = &new.orders.group;
    let newest = "SELECT max(version) FROM orders WHERE group_name = $1";
    let newest: Option<i64> = transaction.query_one(newest, &[group]).await?.get(0);
    let version = signed_number(new.orders.version);
    if let Some(newest) = newest.filter(|newest| *newest >= version) {
        return Ok(Publication::Older(newest));
    }
    let by = operator.name();
    let mut entry =
        NewEntry::of_act(Act::PublishOrders, group).with_detail("version", new.orders.version);
    replace_rollouts(&transaction, group, by).await?;
    match spread {
        Spread::Share(share) => {
            insert_orders(&transaction, new, share, by).await?;
            entry = entry.with_detail("share", share);
        }
        Spread::Rollout { plan, tolerance, fallback } => {
            insert_orders(&transaction, new, 0, by).await?;
            entry = entry.with_detail("rollout", plan.to_string());
            if let Some(fallback) = fallback {
                insert_orders(&transaction, fallback, 0, by).await?;
                entry = entry.with_detail("fallback", fallback.orders.version);
            }
            let fallback = fallback.map(|fallback| signed_number(fallback.orders.version));
            let named = (group.as_str(), version);
            begin_rollout(&transaction, named, plan, tolerance, fallback, by).await?;
        }
    }
    operator.record(&transaction, entry).await?;
    transaction.execute("SELECT pg_notify($1, $2)", &[&CHANNEL, group]).await?;
    transaction.commit().await?;
    Ok(Publication::Done)
}

async fn insert_orders(
    transaction: &Transaction<'_>,
    NewOrders { signed, orders }: NewOrders<'_>,
    share: u8,
    by: &str,
) -> Result<(), Failure> {
    transaction
        .execute(
            "INSERT INTO orders (group_name, version, document, signature, share, expires_at, \
             published_by) VALUES ($1, $2, $3, $4, $5, \
             to_timestamp($6::bigint / 1000.0), $7)",
            &[
                &orders.group,
                &signed_number(orders.version),
                &signed.orders,
                &signed.signature,
                &i16::from(share),
                &signed_number(orders.expires_at),
                &by,
            ],
        )
        .await?;
    insert_approvers(transaction, orders).await
}

/// Changes the part of a group's machines that gets a version, which pauses its rollout; returns
/// false if there is no such version.
pub async fn change_share(
    database: &Database,
    group: &str,
    version: u32,
    share: u8,
    operator: &Operator,
) -> Result<bool, Failure> {
    let mut client = database.connect().await?;
    let transaction = client.transaction().await?;
    lock_rollouts(&transaction).await?;
    let version = i64::from(version);
    let update = "UPDATE orders SET share = $3 WHERE group_name = $1 AND version = $2";
    let changed = transaction.execute(update, &[&group, &version, &i16::from(share)]).await?;
    note_manual_share(&transaction, group, version, share, operator.name()).await?;
    if changed > 0 {
        let entry = NewEntry::of_act(Act::ChangeShare, group)
            .with_detail("version", version)
            .with_detail("share", share);
        operator.record(&transaction, entry).await?;
    }
    transaction.execute("SELECT pg_notify($1, $2)", &[&CHANNEL, &group]).await?;
    transaction.commit().await?;
    Ok(changed > 0)
}

/// Returns published orders, those of one group together, the newest first.
pub async fn list_orders(database: &Database) -> Result<Vec<OrdersSummary>, Failure> {
    let mut client = database.connect().await?;
    // A rollout goes on meanwhile: shares and states are those of one moment.
    let transaction = client
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()
        .await?;
    let rows = transaction
        .query(
            "WITH members AS (SELECT group_of(labels) AS group_name, orders_seen \
               FROM machines WHERE revoked_at IS NULL) \
             SELECT group_name, version, share, (extract(epoch FROM expires_at) * 1000)::bigint, \
             (extract(epoch FROM published_at) * 1000)::bigint, published_by, \
             (SELECT count(*) FROM members m WHERE m.group_name = o.group_name \
               AND m.orders_seen = o.version), \
             (SELECT count(*) FROM members m WHERE m.group_name = o.group_name), \
             (SELECT r.version FROM rollouts r WHERE r.group_name = o.group_name \
               AND r.fallback = o.version LIMIT 1) AS fallback_of \
             FROM orders o ORDER BY group_name, version DESC LIMIT $1",
            &[&MOST],
        )
        .await?;
    let mut all = Vec::with_capacity(rows.len());
    for row in &rows {
        let (group, version): (String, i64) = (row.get(0), row.get(1));
        let rollout = find_rollout(&transaction, &group, version).await?;
        all.push(OrdersSummary { rollout, ..summarise(row) });
    }
    Ok(all)
}

fn summarise(row: &Row) -> OrdersSummary {
    OrdersSummary {
        group: row.get(0),
        version: row.get(1),
        share: row.get(2),
        expires_at: row.get(3),
        published_at: row.get(4),
        published_by: row.get(5),
        machines: row.get(6),
        members: row.get(7),
        fallback_of: row.get(8),
        rollout: None,
    }
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
    if !machine.has_said(seen, request.refused.as_deref()) {
        if wait.is_zero() {
            note_orders(hub, machine, seen, request.refused.as_deref()).await?;
        } else {
            // All machines of a group say so at the same moment.
            hub.seen.add_orders(machine.id(), seen, request.refused.clone());
        }
    }
    let (group, place) = (machine.group(), place_of(machine.id()));
    let tries = request.trial.map_or(0, |trial| signed_number(trial.version));
    if let Some(report) = &request.trial {
        note_trial(&hub.database, machine, group, report).await?;
    }
    loop {
        let of_group = if wait.is_zero() {
            // A request that does not wait is not told of news, so its orders are read now.
            Arc::new(GroupOrders::read(&hub.database, group).await?)
        } else {
            hub.orders.find_orders(&hub.database, group).await?
        };
        let offered = of_group.trial_for(place, seen);
        let trial = offered.map(|(version, _)| version);
        let is_news = trial.unwrap_or(0) != tries;
        let answer = OrdersAnswer {
            orders: of_group.newest_for(place, seen).cloned(),
            trial: trial.and_then(|version| u64::try_from(version).ok()),
            trial_orders: offered.filter(|_| is_news).map(|(_, signed)| signed.clone()),
        };
        if answer.orders.is_some() || is_news {
            return Ok(answer);
        }
        match timeout_at(end, await_news(&mut news, group)).await {
            // A thousand machines must not ask the database at the same moment.
            Ok(true) => tokio::time::sleep(SPREAD * spread_of(machine.id()) / 100).await,
            Ok(false) | Err(_) => return Ok(answer),
        }
    }
}

/// Tells held requests what the database notifies, until the process ends. A connection that is
/// lost is made again, and everybody looks then.
pub async fn follow_news(hub: Arc<Hub>) {
    loop {
        let tell = |group: Option<String>| {
            // Before anybody looks again.
            hub.orders.note_news();
            // Nobody may be waiting.
            let _nobody = hub.news.send(group.map_or(OrdersNews::Any, OrdersNews::Group));
        };
        if let Err(error) = hub.database.follow_channel(CHANNEL, tell).await {
            crate::report_line(&format!("cannot follow the database's notifications: {error:#}"));
        }
        tokio::time::sleep(RECONNECT).await;
    }
}

/// Notes what the machine says of its orders.
async fn note_orders(
    hub: &Hub,
    machine: &KnownMachine,
    seen: i64,
    refused: Option<&str>,
) -> Result<(), Failure> {
    let client = hub.database.connect().await?;
    let update = "UPDATE machines SET orders_seen = $2, orders_refused = $3 WHERE machine = $1";
    let statement = client.prepare_cached(update).await?;
    client.execute(&statement, &[&machine.id(), &seen, &refused]).await?;
    Ok(())
}
