//! The output for operators: lists as lines or as JSON. Names and reasons come from machines, so
//! control characters and what deceives a reader are spelled out.

use crate::incidents::IncidentSummary;
use crate::machines::MachineSummary;
use crate::orders::OrdersSummary;
use crate::rollouts::{RolloutEvent, RolloutSummary};
use portcullis_core::text::{count_noun, one_line};
use portcullis_fleet::orders::{AfterExpiry, Orders};
use portcullis_terminal::paint;
use serde_json::json;

/// The most characters of a text from a machine.
const MOST: usize = 200;
/// The indent of what a list says below an entry.
const INDENT: usize = 4;

/// Prints the machines.
pub fn print_machines(machines: &[MachineSummary], as_json: bool) {
    if as_json {
        paint::print_text(&format!("{}\n", json!({ "machines": machines })));
        return;
    }
    if machines.is_empty() {
        let hint = "no machine has joined: `portcullis hub token create` makes a token for one\n";
        paint::print_text(hint);
    }
    for machine in machines {
        let labels = machine.labels.join(", ");
        let name = one_line(&machine.name, 64);
        let head = format!("{}  {name}  {labels}", paint::bold(&machine.machine));
        paint::print_text(&format!("{}\n", head.trim_end()));
        paint::print_wrapped(&format!("{:INDENT$}{}\n", "", machine_line(machine)), INDENT);
        if machine.incidents > 0 {
            let count = count_noun(machine.incidents.unsigned_abs(), "incident");
            let line = format!("{count}: `portcullis hub incidents` shows them");
            paint::print_text(&format!("{:INDENT$}{}\n", "", paint::bad(line)));
        }
        if machine.incidents_omitted > 0 {
            let count = count_noun(machine.incidents_omitted.unsigned_abs(), "further incident");
            let line = format!("{count} not stored, since too many are open");
            paint::print_text(&format!("{:INDENT$}{}\n", "", paint::bad(line)));
        }
        if let Some(reason) = &machine.orders_refused {
            let line = format!("refuses its orders: {}", one_line(reason, MOST));
            paint::print_wrapped(&format!("{:INDENT$}{}\n", "", paint::bad(line)), INDENT);
        }
        if let Some(at) = machine.revoked_at {
            let why = one_line(machine.revoke_reason.as_deref().unwrap_or_default(), MOST);
            let line = format!("revoked {} UTC: {why}", time(at));
            paint::print_wrapped(&format!("{:INDENT$}{}\n", "", paint::warn(line)), INDENT);
        }
    }
}

fn machine_line(machine: &MachineSummary) -> String {
    let mut facts = vec![
        format!("seen {} UTC", time(machine.seen_at)),
        format!("version {}", one_line(&machine.version, 32)),
        count_noun(machine.records.unsigned_abs(), "record"),
    ];
    if machine.unproven > 0 {
        facts.push(format!("{} without their whole document", machine.unproven));
    }
    if machine.waiting > 0 {
        facts.push(format!("{} not sent yet", machine.waiting));
    }
    match machine.orders {
        None => {}
        Some(0) => facts.push("no orders yet".to_owned()),
        Some(version) => facts.push(format!("orders {version}")),
    }
    if let Some(detail) = &machine.detail {
        facts.push(format!("sends {detail}"));
    }
    if let Some(level @ ("warning" | "problem")) = machine.protection.as_deref() {
        facts.push(format!("its doctor reports a {level}"));
    }
    facts.join(", ")
}

/// Prints the incidents.
pub fn print_incidents(incidents: &[IncidentSummary], as_json: bool) {
    if as_json {
        paint::print_text(&format!("{}\n", json!({ "incidents": incidents })));
        return;
    }
    if incidents.is_empty() {
        paint::print_text("no incidents\n");
    }
    for incident in incidents {
        let kind = match incident.settled_at {
            None => paint::bad(&incident.kind),
            Some(_) => paint::dim(format!("{} (settled)", incident.kind)),
        };
        let name = one_line(&incident.name, 64);
        let about = match incident.group {
            Some(_) => format!("group {name}"),
            None => format!("{}  {name}", incident.machine),
        };
        paint::print_text(&format!("#{}  {kind}  {about}\n", incident.incident));
        let times =
            if incident.times == 1 { String::new() } else { format!(", {} times", incident.times) };
        let place = match incident.group {
            Some(_) => format!("version {} of its orders", incident.sequence),
            None => {
                let journal = one_line(&incident.journal, 32);
                format!("journal {journal}, record {}", incident.sequence)
            }
        };
        let line = format!(
            "{:INDENT$}{}; {place}, {} UTC{times}\n",
            "",
            one_line(&incident.reason, MOST),
            time(incident.last_at),
        );
        paint::print_wrapped(&line, INDENT);
        if let (Some(by), Some(reason)) = (&incident.settled_by, &incident.settle_reason) {
            let when = match incident.settled_at {
                Some(at) => format!("settled by {} {} UTC", one_line(by, 128), time(at)),
                None => format!("was settled by {}, and came again", one_line(by, 128)),
            };
            let line = format!("{:INDENT$}{when}: {}\n", "", one_line(reason, MOST));
            paint::print_wrapped(&line, INDENT);
        }
    }
}

/// Prints published orders.
pub fn print_orders(orders: &[OrdersSummary], as_json: bool) {
    if as_json {
        paint::print_text(&format!("{}\n", json!({ "orders": orders })));
        return;
    }
    if orders.is_empty() {
        paint::print_text("no orders were published\n");
    }
    for one in orders {
        let head = format!("{} {}", one_line(&one.group, 64), one.version);
        let line = format!(
            "{}  for {} % of the machines, {} of {} have it; published {} UTC by {}, expires {} \
             UTC\n",
            paint::bold(head),
            one.share,
            one.machines,
            one.members,
            time(one.published_at),
            one_line(&one.published_by, 128),
            time(one.expires_at),
        );
        paint::print_wrapped(&line, INDENT);
        if let Some(version) = one.fallback_of {
            let line = format!("the fallback of the rollout of version {version}");
            paint::print_text(&format!("{:INDENT$}{line}\n", ""));
        }
        if let Some(rollout) = &one.rollout {
            print_rollout(rollout);
        }
    }
}

fn print_rollout(rollout: &RolloutSummary) {
    let RolloutSummary { state, plan, stage, tolerance, trial, own, .. } = rollout;
    let shown = match state.as_str() {
        "held" => paint::bad(state.clone()).to_string(),
        _ => state.clone(),
    };
    let fallback = rollout.fallback.map(|version| format!(", fallback {version}"));
    let mut lines = vec![format!(
        "rollout {plan}: {shown} at stage {stage} since {} UTC; tolerance {tolerance} points{}",
        time(rollout.stage_at),
        fallback.unwrap_or_default()
    )];
    if !rollout.reason.is_empty() {
        lines.push(paint::bad(one_line(&rollout.reason, MOST)).to_string());
    }
    if trial.actions > 0 {
        lines.push(format!(
            "tried on {}: {} stricter, {} milder, {} with a fault",
            count_noun(trial.actions.unsigned_abs(), "action"),
            trial.stricter,
            trial.milder,
            trial.faults
        ));
    }
    if own.actions > 0 {
        let sides = [("under it", own), ("others", &rollout.others), ("before", &rollout.past)];
        let shown = sides.map(|(name, counts)| {
            format!(
                "{name} {} with {} disturbed and {}",
                count_noun(counts.actions.unsigned_abs(), "action"),
                counts.disturbed,
                count_noun(counts.faults.unsigned_abs(), "fault")
            )
        });
        lines.push(shown.join("; "));
    }
    for line in lines {
        paint::print_wrapped(&format!("{:INDENT$}{line}\n", ""), INDENT);
    }
}

/// Prints what happened to a rollout.
pub fn print_events(events: &[RolloutEvent]) {
    if events.is_empty() {
        return;
    }
    paint::print_text(&format!("\n{}\n", paint::bold("rollout")));
    for event in events {
        let (what, by) = (one_line(&event.what, MOST), one_line(&event.by, 128));
        let line = format!("{:INDENT$}{} UTC: {what} ({by})\n", "", time(event.at));
        paint::print_wrapped(&line, INDENT);
    }
}

/// Prints a document of orders.
pub fn print_document(orders: &Orders) {
    let after = match orders.after_expiry {
        AfterExpiry::Keep => "they stay in force",
        AfterExpiry::Own => "each machine's own configuration holds",
        AfterExpiry::Block => "every action is refused",
    };
    paint::print_text(&format!(
        "group {}, version {}\nfrom {} UTC until {} UTC; after that, {after}\n",
        orders.group,
        orders.version,
        paint::time(orders.not_before),
        paint::time(orders.expires_at),
    ));
    for (name, text) in
        [("configuration", &orders.configuration), ("trust", &orders.trust), ("lock", &orders.lock)]
    {
        if text.is_empty() {
            continue;
        }
        paint::print_text(&format!("\n{}\n", paint::bold(name)));
        for line in text.lines() {
            paint::print_text(&format!("{:INDENT$}{}\n", "", one_line(line, 1000)));
        }
    }
}

/// Formats a time of the database.
pub fn time(at: i64) -> impl std::fmt::Display {
    paint::time(u64::try_from(at).unwrap_or(0))
}
