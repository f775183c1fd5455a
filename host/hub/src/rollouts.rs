//! Rollouts: versions of orders that reach a group in stages, go on by themselves, and stop when the
//! machines that have them fare worse.
//!
//! All state is in the database. Each replica looks at it again and again under one advisory lock,
//! so any of them moves a rollout on, and none of them twice. A rollout that stops publishes nothing
//! that the operator has not signed: at most the fallback that they signed with it.

pub mod judge;
pub mod tried;

use crate::activity::{ActivityCounts, KEPT_DAYS};
use crate::audit::{Act, NewEntry};
use crate::database::Database;
use crate::failure::Failure;
use crate::incidents::{raise_held_rollout, settle_held_rollout};
use crate::news::CHANNEL;
use crate::operator::Operator;
use crate::service::Hub;
use deadpool_postgres::{GenericClient, Transaction};
use judge::{Judgement, TrialCounts, judge_share, judge_trial};
use portcullis_fleet::rollout::{RolloutPlan, RolloutStage};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::Row;

/// The advisory lock: `roll` in ASCII.
const LOCK: i64 = 0x726f_6c6c;
/// The time between two looks at the rollouts.
const PERIOD: Duration = Duration::from_secs(1);
/// Looks between two removals of old counts.
const LOOKS: u32 = 3600;
/// The name of the hub itself in the events of a rollout.
const HUB: &str = "the hub";
/// The most events that are shown.
const MOST_EVENTS: i64 = 200;

/// A rollout as an operator sees it.
#[derive(Clone, Debug, Serialize)]
pub struct RolloutSummary {
    /// `running`, `paused`, `held`, `done` or `replaced`.
    pub state: String,
    /// The plan.
    pub plan: String,
    /// The stage, counted from 1.
    pub stage: i16,
    /// The time when the stage began, in milliseconds since 1970.
    pub stage_at: i64,
    /// The tolerated rise, in percent of the actions.
    pub tolerance: i16,
    /// The version that is published if the rollout stops.
    pub fallback: Option<i64>,
    /// The reason for its state; empty if there is none to tell.
    pub reason: String,
    /// The results of the machines that only try it.
    pub trial: TrialCounts,
    /// The actions under it.
    pub own: ActivityCounts,
    /// Those of the other machines since its first share.
    pub others: ActivityCounts,
    /// Those of its machines before.
    pub past: ActivityCounts,
}

/// Something that happened to a rollout.
#[derive(Clone, Debug, Serialize)]
pub struct RolloutEvent {
    /// The time, in milliseconds since 1970.
    pub at: i64,
    /// What happened.
    pub what: String,
    /// Who did it.
    pub by: String,
}

/// The outcome of a person's command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RolloutChange {
    /// It was done.
    Done,
    /// There is no rollout of that version.
    Missing,
    /// Its state does not allow it, for this reason.
    Refused(String),
}

/// A rollout that is not over.
struct OpenRollout {
    group: String,
    version: i64,
    plan: RolloutPlan,
    tolerance: u8,
    fallback: Option<i64>,
    state: String,
    stage: usize,
    /// The time that the stage has lasted.
    age: Duration,
    base: ActivityCounts,
    is_expired: bool,
}

impl OpenRollout {
    fn of_row(row: &Row) -> Result<Self, Failure> {
        let plan: String = row.get("plan");
        let number = |name: &str| -> i16 { row.get(name) };
        Ok(Self {
            group: row.get("group_name"),
            version: row.get("version"),
            plan: RolloutPlan::parse_plan(&plan).map_err(Failure::internal)?,
            tolerance: u8::try_from(number("tolerance")).unwrap_or(0),
            fallback: row.get("fallback"),
            state: row.get("state"),
            stage: usize::try_from(number("stage")).unwrap_or(0),
            age: Duration::from_millis(u64::try_from(row.get::<_, i64>("age")).unwrap_or(0)),
            base: ActivityCounts {
                actions: row.get("base_actions"),
                disturbed: row.get("base_disturbed"),
                faults: row.get("base_faults"),
            },
            is_expired: row.get("is_expired"),
        })
    }

    fn current(&self) -> Option<&RolloutStage> {
        self.plan.stages().get(self.stage)
    }
}

/// The columns of a rollout that [`OpenRollout`] reads.
const OPEN: &str = "SELECT r.*, (extract(epoch FROM now() - stage_at) * 1000)::bigint AS age, \
                    expires_at <= now() AS is_expired \
                    FROM rollouts r JOIN orders o USING (group_name, version)";

/// Waits until nobody else changes rollouts, until the end of the transaction. What changes the table
/// of orders takes it first, so that nobody waits for another in a circle.
pub async fn lock_rollouts(transaction: &Transaction<'_>) -> Result<(), Failure> {
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    Ok(())
}

/// Begins the rollout of orders that are published in the same transaction with a share of 0. Older
/// ones of the group are over then.
pub async fn begin_rollout(
    transaction: &Transaction<'_>,
    (group, version): (&str, i64),
    plan: &RolloutPlan,
    tolerance: u8,
    fallback: Option<i64>,
    by: &str,
) -> Result<(), Failure> {
    transaction
        .execute(
            "INSERT INTO rollouts (group_name, version, plan, tolerance, fallback, state) \
             VALUES ($1, $2, $3, $4, $5, 'running')",
            &[&group, &version, &plan.to_string(), &i16::from(tolerance), &fallback],
        )
        .await?;
    let what = format!("began: {plan}, with a tolerance of {tolerance} points");
    add_event(transaction, group, version, &what, by).await?;
    enter_stage(transaction, group, version, plan, 0).await
}

/// Ends the open rollouts of a group, since newer orders are published in the same transaction.
pub async fn replace_rollouts(
    transaction: &Transaction<'_>,
    group: &str,
    by: &str,
) -> Result<(), Failure> {
    let rows = transaction
        .query(
            "UPDATE rollouts SET state = 'replaced', trial_share = 0 WHERE group_name = $1 \
             AND state IN ('running', 'paused', 'held') RETURNING version",
            &[&group],
        )
        .await?;
    for row in &rows {
        add_event(transaction, group, row.get(0), "was replaced by newer orders", by).await?;
    }
    Ok(())
}

/// Lets a stage take effect. A last one without a time ends the rollout.
async fn enter_stage(
    client: &impl GenericClient,
    group: &str,
    version: i64,
    plan: &RolloutPlan,
    index: usize,
) -> Result<(), Failure> {
    let Some(stage) = plan.stages().get(index) else { return Ok(()) };
    let percent = i16::from(stage.percent);
    let (share, trial) = if stage.is_shadow { (0, percent) } else { (percent, 0) };
    let state = if stage.time.is_none() { "done" } else { "running" };
    client
        .execute(
            "UPDATE rollouts SET stage = $3, stage_at = now(), trial_share = $4, state = $5, \
             shares_at = CASE WHEN $4 = 0::smallint THEN coalesce(shares_at, now()) END, \
             base_actions = 0, base_disturbed = 0, base_faults = 0, reason = '' \
             WHERE group_name = $1 AND version = $2",
            &[&group, &version, &i16::try_from(index).unwrap_or(i16::MAX), &trial, &state],
        )
        .await?;
    set_share(client, group, version, share).await?;
    let number = index + 1;
    let what = match state {
        "done" => format!("stage {number} ({stage}) is the last one: it is done"),
        _ => format!("stage {number} ({stage}) began"),
    };
    add_event(client, group, version, &what, HUB).await
}

async fn set_share(
    client: &impl GenericClient,
    group: &str,
    version: i64,
    share: i16,
) -> Result<(), Failure> {
    let update = "UPDATE orders SET share = $3 WHERE group_name = $1 AND version = $2";
    client.execute(update, &[&group, &version, &share]).await?;
    client.execute("SELECT pg_notify($1, $2)", &[&CHANNEL, &group]).await?;
    Ok(())
}

async fn add_event(
    client: &impl GenericClient,
    group: &str,
    version: i64,
    what: &str,
    by: &str,
) -> Result<(), Failure> {
    client
        .execute(
            "INSERT INTO rollout_events (group_name, version, what, by_whom) VALUES ($1, $2, $3, $4)",
            &[&group, &version, &what, &by],
        )
        .await?;
    Ok(())
}

/// Moves rollouts on, until the process ends.
pub async fn keep_rollouts(hub: Arc<Hub>) {
    let mut looks: u32 = 0;
    loop {
        match step_rollouts(&hub.database).await {
            Ok(lines) => lines.iter().for_each(|line| crate::report_line(line)),
            Err(failure) => {
                let log = failure.log().unwrap_or_default();
                crate::report_line(&format!("cannot look at the rollouts: {log}"));
            }
        }
        if looks.is_multiple_of(LOOKS) && forget_activity(&hub.database).await.is_err() {
            crate::report_line("cannot remove old counts");
        }
        looks = looks.wrapping_add(1);
        tokio::time::sleep(PERIOD).await;
    }
}

async fn forget_activity(database: &Database) -> Result<(), Failure> {
    let client = database.connect().await?;
    let delete = "DELETE FROM activity WHERE hour < now() - make_interval(days => $1)";
    client.execute(delete, &[&KEPT_DAYS]).await?;
    Ok(())
}

/// Looks at all open rollouts once, unless another replica does; returns lines for the log.
async fn step_rollouts(database: &Database) -> Result<Vec<String>, Failure> {
    let mut client = database.connect().await?;
    let any = "SELECT EXISTS (SELECT FROM rollouts WHERE state IN ('running', 'paused'))";
    if !client.query_one(any, &[]).await?.get::<_, bool>(0) {
        return Ok(Vec::new());
    }
    let transaction = client.transaction().await?;
    let locked = transaction.query_one("SELECT pg_try_advisory_xact_lock($1)", &[&LOCK]).await?;
    if !locked.get::<_, bool>(0) {
        return Ok(Vec::new());
    }
    let open = format!("{OPEN} WHERE state IN ('running', 'paused') FOR UPDATE OF r");
    let mut lines = Vec::new();
    for row in transaction.query(&open, &[]).await? {
        lines.extend(step_rollout(&transaction, &OpenRollout::of_row(&row)?).await?);
    }
    transaction.commit().await?;
    Ok(lines)
}

/// Moves one rollout on, holds it, or leaves it.
async fn step_rollout(
    transaction: &Transaction<'_>,
    rollout: &OpenRollout,
) -> Result<Option<String>, Failure> {
    let OpenRollout { group, version, plan, stage: index, .. } = rollout;
    let Some(stage) = rollout.current() else { return Ok(None) };
    if rollout.is_expired {
        return hold_rollout(transaction, rollout, "the orders have expired").await.map(Some);
    }
    let judgement = if stage.is_shadow {
        let counts = count_trial(transaction, group, *version).await?;
        let since = TrialCounts {
            actions: counts.actions - rollout.base.actions,
            stricter: counts.stricter - rollout.base.disturbed,
            faults: counts.faults - rollout.base.faults,
            ..counts
        };
        judge_trial(since, rollout.tolerance)
    } else {
        let [own, others, past] = count_shares(transaction, group, *version).await?;
        let since = ActivityCounts {
            actions: own.actions - rollout.base.actions,
            disturbed: own.disturbed - rollout.base.disturbed,
            faults: own.faults - rollout.base.faults,
        };
        judge_share(since, others, past, rollout.tolerance)
    };
    match judgement {
        Judgement::Worse(reason) => hold_rollout(transaction, rollout, &reason).await.map(Some),
        Judgement::Fine
            if rollout.state == "running" && stage.time.is_some_and(|time| rollout.age >= time) =>
        {
            if index + 1 < plan.stages().len() {
                enter_stage(transaction, group, *version, plan, index + 1).await?;
            } else {
                let update = "UPDATE rollouts SET state = 'done' \
                              WHERE group_name = $1 AND version = $2";
                transaction.execute(update, &[group, version]).await?;
                add_event(transaction, group, *version, "is done", HUB).await?;
            }
            Ok(Some(format!("the rollout of version {version} for `{group}` went on")))
        }
        Judgement::Fine | Judgement::TooFew => Ok(None),
    }
}

/// Stops a rollout, and publishes its fallback if machines have its version and there is one.
async fn hold_rollout(
    transaction: &Transaction<'_>,
    rollout: &OpenRollout,
    reason: &str,
) -> Result<String, Failure> {
    let OpenRollout { group, version, .. } = rollout;
    transaction
        .execute(
            "UPDATE rollouts SET state = 'held', trial_share = 0, reason = $3 \
             WHERE group_name = $1 AND version = $2",
            &[group, version, &reason],
        )
        .await?;
    set_share(transaction, group, *version, 0).await?;
    add_event(transaction, group, *version, &format!("was held: {reason}"), HUB).await?;
    raise_held_rollout(transaction, group, *version, reason).await?;
    let mut line = format!("the rollout of version {version} for `{group}` was held: {reason}");
    let is_tried = rollout.current().is_some_and(|stage| stage.is_shadow);
    if let Some(fallback) = rollout.fallback.filter(|_| !is_tried) {
        set_share(transaction, group, fallback, 100).await?;
        let what = format!("its fallback, version {fallback}, was published");
        add_event(transaction, group, *version, &what, HUB).await?;
        line.push_str(&format!("; {what}"));
    }
    Ok(line)
}

/// Keeps a rollout at its stage; it is still watched.
pub async fn pause_rollout(
    database: &Database,
    group: &str,
    version: u32,
    operator: &Operator,
) -> Result<RolloutChange, Failure> {
    let mut client = database.connect().await?;
    let transaction = client.transaction().await?;
    let version = i64::from(version);
    let Some(rollout) = lock_rollout(&transaction, group, version).await? else {
        return Ok(RolloutChange::Missing);
    };
    if rollout.state != "running" {
        return Ok(RolloutChange::Refused(format!("it is {}", rollout.state)));
    }
    let update = "UPDATE rollouts SET state = 'paused' WHERE group_name = $1 AND version = $2";
    transaction.execute(update, &[&group, &version]).await?;
    add_event(&transaction, group, version, "was paused", operator.name()).await?;
    let entry = NewEntry::of_act(Act::PauseRollout, group).with_detail("version", version);
    operator.record(&transaction, entry).await?;
    transaction.commit().await?;
    Ok(RolloutChange::Done)
}

/// Lets a rollout go on: its stage begins again, and only what comes from now on is judged.
pub async fn resume_rollout(
    database: &Database,
    group: &str,
    version: u32,
    tolerance: Option<u8>,
    operator: &Operator,
) -> Result<RolloutChange, Failure> {
    let mut client = database.connect().await?;
    let transaction = client.transaction().await?;
    let version = i64::from(version);
    let Some(rollout) = lock_rollout(&transaction, group, version).await? else {
        return Ok(RolloutChange::Missing);
    };
    if !matches!(rollout.state.as_str(), "paused" | "held") {
        return Ok(RolloutChange::Refused(format!("it is {}", rollout.state)));
    }
    if rollout.is_expired {
        return Ok(RolloutChange::Refused("its orders have expired".into()));
    }
    if is_overtaken(&transaction, &rollout).await? {
        let why = "its fallback is published, and machines never go back".to_owned();
        return Ok(RolloutChange::Refused(why));
    }
    let is_shadow = rollout.current().is_some_and(|stage| stage.is_shadow);
    let tolerance = tolerance.unwrap_or(rollout.tolerance);
    settle_held_rollout(&transaction, group, version, operator.name()).await?;
    enter_stage(&transaction, group, version, &rollout.plan, rollout.stage).await?;
    let trial = count_trial(&transaction, group, version).await?;
    let [own, ..] = count_shares(&transaction, group, version).await?;
    let (actions, disturbed, faults) = match is_shadow {
        true => (trial.actions, trial.stricter, trial.faults),
        false => (own.actions, own.disturbed, own.faults),
    };
    transaction
        .execute(
            "UPDATE rollouts SET tolerance = $3, base_actions = $4, base_disturbed = $5, \
             base_faults = $6 WHERE group_name = $1 AND version = $2",
            &[&group, &version, &i16::from(tolerance), &actions, &disturbed, &faults],
        )
        .await?;
    let what = format!("was let go on, with a tolerance of {tolerance} points");
    add_event(&transaction, group, version, &what, operator.name()).await?;
    let entry = NewEntry::of_act(Act::ResumeRollout, group)
        .with_detail("version", version)
        .with_detail("tolerance", tolerance);
    operator.record(&transaction, entry).await?;
    transaction.commit().await?;
    Ok(RolloutChange::Done)
}

/// Pauses a rollout whose share a person sets.
pub async fn note_manual_share(
    client: &impl GenericClient,
    group: &str,
    version: i64,
    share: u8,
    by: &str,
) -> Result<(), Failure> {
    let changed = client
        .execute(
            "UPDATE rollouts SET state = CASE state WHEN 'running' THEN 'paused' ELSE state END, \
             trial_share = 0, shares_at = coalesce(shares_at, now()) \
             WHERE group_name = $1 AND version = $2 AND state IN ('running', 'paused', 'held')",
            &[&group, &version],
        )
        .await?;
    if changed > 0 {
        let what = format!("its share was set to {share} %, which pauses it");
        add_event(client, group, version, &what, by).await?;
    }
    Ok(())
}

async fn lock_rollout(
    transaction: &Transaction<'_>,
    group: &str,
    version: i64,
) -> Result<Option<OpenRollout>, Failure> {
    lock_rollouts(transaction).await?;
    let one = format!("{OPEN} WHERE r.group_name = $1 AND r.version = $2 FOR UPDATE OF r");
    let row = transaction.query_opt(&one, &[&group, &version]).await?;
    row.as_ref().map(OpenRollout::of_row).transpose()
}

/// Returns true if the fallback of a rollout is published.
async fn is_overtaken(
    transaction: &Transaction<'_>,
    rollout: &OpenRollout,
) -> Result<bool, Failure> {
    let select = "SELECT EXISTS (SELECT FROM orders WHERE group_name = $1 AND version = $2 \
                  AND share > 0)";
    let row = transaction.query_one(select, &[&rollout.group, &rollout.fallback]).await?;
    Ok(row.get(0))
}

/// Returns the rollout of a version, if it has one.
pub async fn find_rollout(
    client: &impl GenericClient,
    group: &str,
    version: i64,
) -> Result<Option<RolloutSummary>, Failure> {
    let select = "SELECT state, plan, stage, (extract(epoch FROM stage_at) * 1000)::bigint, \
                  tolerance, fallback, reason FROM rollouts WHERE group_name = $1 AND version = $2";
    let Some(row) = client.query_opt(select, &[&group, &version]).await? else { return Ok(None) };
    let [own, others, past] = count_shares(client, group, version).await?;
    Ok(Some(RolloutSummary {
        state: row.get(0),
        plan: row.get(1),
        stage: row.get::<_, i16>(2).saturating_add(1),
        stage_at: row.get(3),
        tolerance: row.get(4),
        fallback: row.get(5),
        reason: row.get(6),
        trial: count_trial(client, group, version).await?,
        own,
        others,
        past,
    }))
}

/// Returns what happened to the rollout of a version, the oldest first.
pub async fn list_events(
    database: &Database,
    group: &str,
    version: i64,
) -> Result<Vec<RolloutEvent>, Failure> {
    let client = database.connect().await?;
    let select = "SELECT (extract(epoch FROM at) * 1000)::bigint, what, by_whom FROM rollout_events \
                  WHERE group_name = $1 AND version = $2 ORDER BY event LIMIT $3";
    let rows = client.query(select, &[&group, &version, &MOST_EVENTS]).await?;
    let event = |row: &Row| RolloutEvent { at: row.get(0), what: row.get(1), by: row.get(2) };
    Ok(rows.iter().map(event).collect())
}

async fn count_trial(
    client: &impl GenericClient,
    group: &str,
    version: i64,
) -> Result<TrialCounts, Failure> {
    let select = "SELECT coalesce(sum(actions), 0)::bigint, coalesce(sum(stricter), 0)::bigint, \
                  coalesce(sum(milder), 0)::bigint, coalesce(sum(faults), 0)::bigint \
                  FROM rollout_trials WHERE group_name = $1 AND version = $2";
    let row = client.query_one(select, &[&group, &version]).await?;
    Ok(TrialCounts {
        actions: row.get(0),
        stricter: row.get(1),
        milder: row.get(2),
        faults: row.get(3),
    })
}

/// Counts the actions under a version, those of the group's other machines since its first share, and
/// those of its machines before it.
async fn count_shares(
    client: &impl GenericClient,
    group: &str,
    version: i64,
) -> Result<[ActivityCounts; 3], Failure> {
    let rows = client
        .query(
            "WITH own AS (SELECT DISTINCT machine FROM activity JOIN machines m USING (machine) \
               WHERE orders_version = $2 AND group_of(m.labels) = $1), \
             counted AS (SELECT a.actions, a.disturbed, a.faults, CASE \
               WHEN o.machine IS NULL THEN 1 WHEN a.orders_version = $2 THEN 0 ELSE 2 END AS side \
               FROM activity a JOIN machines m USING (machine) LEFT JOIN own o USING (machine) \
               WHERE group_of(m.labels) = $1 AND a.orders_version <= $2 \
               AND (o.machine IS NOT NULL OR hour >= (SELECT date_trunc('hour', shares_at) \
                 FROM rollouts WHERE group_name = $1 AND version = $2))) \
             SELECT side, coalesce(sum(actions), 0)::bigint, coalesce(sum(disturbed), 0)::bigint, \
             coalesce(sum(faults), 0)::bigint FROM counted GROUP BY side",
            &[&group, &version],
        )
        .await?;
    let mut sides = [ActivityCounts::default(); 3];
    for row in rows {
        let side = usize::try_from(row.get::<_, i32>(0)).unwrap_or(0);
        if let Some(counts) = sides.get_mut(side) {
            *counts =
                ActivityCounts { actions: row.get(1), disturbed: row.get(2), faults: row.get(3) };
        }
    }
    Ok(sides)
}
