//! The commands of `portcullis hub orders`.

use crate::database::Database;
use crate::folder::read_config;
use crate::operator::Operator;
use crate::orders::{
    NewOrders, Publication, Spread, change_share, find_orders, list_orders, publish_orders,
};
use crate::output;
use crate::process::{explain_failure, start_runtime};
use crate::rollouts::{RolloutChange, list_events, pause_rollout, resume_rollout};
use anyhow::{Context, Result, anyhow};
use portcullis_core::known_failure::{HintedFailure, KnownFailure};
use portcullis_core::text::one_line;
use portcullis_fleet::hub_command::{
    ListArguments, OrdersCommand, PauseArguments, PublishArguments, ResumeArguments,
    ShareArguments, ShowArguments,
};
use portcullis_fleet::orders::{Orders, SignedOrders};
use portcullis_fs::{Links, read_file};
use portcullis_terminal::paint;
use serde_json::json;
use std::path::Path;

/// The most bytes of a file with signed orders.
const MOST_FILE: u64 = 1 << 20;

/// Runs a command.
pub fn run_orders(command: &OrdersCommand) -> Result<()> {
    match command {
        OrdersCommand::Publish(arguments) => publish(arguments),
        OrdersCommand::Share(arguments) => share(arguments),
        OrdersCommand::Pause(arguments) => pause(arguments),
        OrdersCommand::Resume(arguments) => resume(arguments),
        OrdersCommand::List(arguments) => show_all(arguments),
        OrdersCommand::Show(arguments) => show(arguments),
    }
}

fn publish(arguments: &PublishArguments) -> Result<()> {
    let config = read_config(&arguments.folder)?;
    let PublishArguments { file, share, rollout, tolerance, json, .. } = arguments;
    let (signed, orders) = read_signed(file)?;
    let fallback = arguments.fallback.as_deref().map(read_signed).transpose()?;
    if let Some((_, fallback)) = &fallback {
        check_fallback(&orders, fallback)?;
    }
    let spread = match rollout {
        None => Spread::Share(*share),
        Some(plan) => Spread::Rollout {
            plan,
            tolerance: *tolerance,
            fallback: fallback.as_ref().map(|(signed, orders)| NewOrders { signed, orders }),
        },
    };
    let database = Database::configure(&config)?;
    let operator = Operator::of_folder(&arguments.folder)?;
    let published = start_runtime()?.block_on(async {
        database.prepare_tables().await?;
        let new = NewOrders { signed: &signed, orders: &orders };
        publish_orders(&database, new, spread, &operator).await.map_err(explain_failure)
    })?;
    let (group, version) = (&orders.group, orders.version);
    if let Publication::Older(newest) = published {
        let message = format!("the group `{group}` has version {newest} already");
        let hint = format!("sign these orders as version {} or later", newest.saturating_add(1));
        return Err(anyhow!(HintedFailure::new(message, hint)));
    }
    let text = match (rollout, json) {
        (None, true) => json!({ "group": group, "version": version, "share": share }).to_string(),
        (Some(plan), true) => json!({
            "group": group, "version": version, "rollout": plan.to_string(),
            "tolerance": tolerance, "fallback": fallback.map(|(_, orders)| orders.version),
        })
        .to_string(),
        (None, false) => {
            format!(
                "published version {version} for {share} % of the machines of the group `{group}`"
            )
        }
        (Some(plan), false) => format!(
            "published version {version} for the group `{group}`: {plan}; `portcullis hub orders \
             list` shows how it goes"
        ),
    };
    paint::print_wrapped(&format!("{text}\n"), 0);
    Ok(())
}

/// Checks that orders can take the place of those of a rollout: machines go only to a later version.
fn check_fallback(orders: &Orders, fallback: &Orders) -> Result<()> {
    let refuse = |message: &str, hint: &str| Err(anyhow!(HintedFailure::new(message, hint)));
    if fallback.group != orders.group {
        return refuse("the fallback is for another group", "sign it for the same group");
    }
    if fallback.version <= orders.version {
        return refuse(
            "the fallback does not have a later version, and no machine goes back",
            "sign the former content as a version after the one that is rolled out",
        );
    }
    if fallback.expires_at < orders.expires_at {
        return refuse("the fallback expires earlier than the orders", "sign it for longer");
    }
    Ok(())
}

/// Reads signed orders. Only machines know the key that counts, so the signature is theirs to check.
fn read_signed(file: &Path) -> Result<(SignedOrders, Orders)> {
    let shown = file.display();
    let bytes = read_file(file, MOST_FILE, Links::Follow)
        .map_err(|error| anyhow!("{error}"))
        .with_context(|| format!("cannot read `{shown}`"))?;
    let Some(bytes) = bytes else {
        let missing = KnownFailure::NotFound(format!("there is no `{shown}`"));
        let hint = "`portcullis fleet sign` makes it";
        return Err(anyhow!(HintedFailure::new(missing.to_string(), hint)).context(missing));
    };
    let signed = serde_json::from_slice::<SignedOrders>(&bytes).map_err(|_| {
        anyhow!(HintedFailure::new(
            format!("`{shown}` does not hold signed orders"),
            "`portcullis fleet sign` signs them",
        ))
    })?;
    let orders = signed.read_unverified().with_context(|| format!("`{shown}` cannot be used"))?;
    Ok((signed, orders))
}

fn share(arguments: &ShareArguments) -> Result<()> {
    let database = Database::configure(&read_config(&arguments.folder)?)?;
    let ShareArguments { group, version, percent, json, .. } = arguments;
    let operator = Operator::of_folder(&arguments.folder)?;
    let changed = change_share(&database, group, *version, *percent, &operator);
    if !start_runtime()?.block_on(changed).map_err(explain_failure)? {
        return Err(no_orders(group, Some(*version)));
    }
    let text = if *json {
        json!({ "group": group, "version": version, "share": percent }).to_string()
    } else {
        format!("version {version} is for {percent} % of the machines of the group `{group}` now")
    };
    paint::print_text(&format!("{text}\n"));
    Ok(())
}

fn pause(arguments: &PauseArguments) -> Result<()> {
    let database = Database::configure(&read_config(&arguments.folder)?)?;
    let PauseArguments { group, version, json, .. } = arguments;
    let operator = Operator::of_folder(&arguments.folder)?;
    let changed = pause_rollout(&database, group, *version, &operator);
    let changed = start_runtime()?.block_on(changed).map_err(explain_failure)?;
    let text = format!("the rollout of version {version} for the group `{group}` keeps its stage");
    report_change(changed, (group, *version), "paused", &text, *json)
}

fn resume(arguments: &ResumeArguments) -> Result<()> {
    let database = Database::configure(&read_config(&arguments.folder)?)?;
    let ResumeArguments { group, version, tolerance, json, .. } = arguments;
    let operator = Operator::of_folder(&arguments.folder)?;
    let changed = resume_rollout(&database, group, *version, *tolerance, &operator);
    let changed = start_runtime()?.block_on(changed).map_err(explain_failure)?;
    let text = format!(
        "the rollout of version {version} for the group `{group}` goes on; its stage begins again"
    );
    report_change(changed, (group, *version), "running", &text, *json)
}

fn report_change(
    change: RolloutChange,
    (group, version): (&str, u32),
    state: &str,
    text: &str,
    as_json: bool,
) -> Result<()> {
    match change {
        RolloutChange::Done if as_json => {
            let done = json!({ "group": group, "version": version, "state": state });
            paint::print_text(&format!("{done}\n"));
            Ok(())
        }
        RolloutChange::Done => {
            paint::print_text(&format!("{text}\n"));
            Ok(())
        }
        RolloutChange::Missing => {
            let group = one_line(group, 64);
            let what = format!("version {version} of the group `{group}` has no rollout");
            let missing = KnownFailure::NotFound(what);
            let hint = "`portcullis hub orders list` shows the rollouts";
            Err(anyhow!(HintedFailure::new(missing.to_string(), hint)).context(missing))
        }
        RolloutChange::Refused(why) => Err(anyhow!(HintedFailure::new(
            format!("the rollout of version {version} stays as it is: {why}"),
            "publish newer orders to change what machines have",
        ))),
    }
}

fn show_all(arguments: &ListArguments) -> Result<()> {
    let database = Database::configure(&read_config(&arguments.folder)?)?;
    let orders = start_runtime()?.block_on(list_orders(&database)).map_err(explain_failure)?;
    output::print_orders(&orders, arguments.json);
    Ok(())
}

fn show(arguments: &ShowArguments) -> Result<()> {
    let database = Database::configure(&read_config(&arguments.folder)?)?;
    let ShowArguments { group, version, json, .. } = arguments;
    let runtime = start_runtime()?;
    let found = find_orders(&database, group, *version);
    let signed = runtime
        .block_on(found)
        .map_err(explain_failure)?
        .ok_or_else(|| no_orders(group, *version))?;
    if *json {
        paint::print_text(&format!("{}\n", serde_json::to_string(&signed)?));
        return Ok(());
    }
    let orders = signed.read_unverified()?;
    output::print_document(&orders);
    let version = crate::stored_orders::signed_number(orders.version);
    let events = list_events(&database, group, version);
    output::print_events(&runtime.block_on(events).map_err(explain_failure)?);
    Ok(())
}

fn no_orders(group: &str, version: Option<u32>) -> anyhow::Error {
    let group = one_line(group, 64);
    let what = version.map_or("no orders".to_owned(), |version| format!("no version {version}"));
    let missing = KnownFailure::NotFound(format!("the group `{group}` has {what}"));
    let hint = "`portcullis hub orders list` lists what was published";
    anyhow!(HintedFailure::new(missing.to_string(), hint)).context(missing)
}
