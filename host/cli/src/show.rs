//! Records in readable form: a line for a list, a page for one review.

mod action;
mod decision;

pub use decision::explanation_json;

use crate::paint;
use crate::spelling::spell_command;
use crate::what_if_clean::WhatIfClean;
use portcullis_core::action::Status;
use portcullis_core::limits::LimitUse;
use portcullis_core::pipeline::LIMITS_KEY;
use portcullis_core::record::{
    Record, RecordKind, RecordedCheckpoint, RecordedRestore, RecordedShadow,
};
use portcullis_core::recover::RecoveryOutcome;
use portcullis_core::score::Verdict;
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::timeline::words;
use portcullis_terminal::layout::{TextPage, add_list};

/// The most bytes of an action in a list.
const MOST_LINE: usize = 240;

/// Formats one line: the action and its outcome.
pub fn record_line(record: &Record) -> String {
    let what = one_line(&words::on_one_line(&record.summary), MOST_LINE);
    match record.kind {
        RecordKind::Review => {
            let decision = record.decision.as_ref();
            let verdict = decision.map_or(Verdict::Allow, |decision| decision.verdict);
            let risk = decision.map(|decision| decision.risk.to_string()).unwrap_or_default();
            format!(
                "{} {}  {what}",
                paint::paint_verdict(verdict, 6),
                paint::dim(format!("{risk:>4}"))
            )
        }
        RecordKind::Outcome => {
            let mark = match record.outcome.as_ref().map(|outcome| outcome.status) {
                Some(Status::Failed) => paint::warn("failed "),
                Some(Status::Refused) => paint::dim("refused"),
                _ => paint::dim("ok     "),
            };
            format!("{mark}      {}", paint::dim(what))
        }
        RecordKind::Unreviewed => format!("{}   {what}", paint::bad("unreviewed")),
        RecordKind::Intervention => {
            let observed = record
                .intervention
                .as_ref()
                .is_some_and(|done| done.outcome == RecoveryOutcome::Observed);
            let mark =
                if observed { paint::dim("observed    ") } else { paint::warn("intervention") };
            format!("{mark} {}: {what}", one_line(&record.subject, 40))
        }
        RecordKind::Fault => format!("{}        {what}", paint::bad("fault")),
        RecordKind::Exception => format!("{}    {what}", paint::warn("exception")),
        RecordKind::Feedback => format!("{}     {what}", paint::warn("feedback")),
        RecordKind::Authentication
            if record.details.get("outcome").is_some_and(|outcome| outcome != "used") =>
        {
            format!("{}      {what}", paint::warn("sign-in"))
        }
        RecordKind::Session | RecordKind::Configuration | RecordKind::Authentication => {
            format!("{}             {}", paint::dim(" "), paint::dim(what))
        }
    }
}

/// Formats everything about a record that a person may want to know, the most important first.
/// `recorded`: it is in the journal, so that a person can refer to it. `restorable`: what git could
/// change.
pub fn record_page(record: &Record, recorded: bool, restorable: Option<&WhatIfClean>) -> String {
    let mut page = TextPage::of_terminal();
    page.add_line(&format!(
        "{}  {}  {}",
        paint::bold(record.kind),
        record.id,
        paint::dim(format!("{} UTC", paint::time(record.at)))
    ));
    let agent = record
        .agent
        .as_deref()
        .map(|agent| format!(", subagent {}", one_line(agent, 64)))
        .unwrap_or_default();
    let step = record.step.map(|step| format!(", step {step}")).unwrap_or_default();
    let session = one_line(&record.session, 80);
    page.add_text(&format!(
        "session {session}{agent}{step}, {} of {}, mode {}",
        record.event, record.client, record.mode
    ));
    page.add_line("");
    page.add_indented(&one_line(&record.summary, 400));
    page.add_line("");
    if let Some(decided) = &record.decision {
        decision::write_decision(&mut page, record, decided, recorded, restorable);
    }
    action::write_action(&mut page, record);
    decision::write_findings(&mut page, record);
    decision::write_uses(&mut page, record);
    rest(&mut page, record);
    page.into_text()
}

fn rest(page: &mut TextPage, record: &Record) {
    let detections = record.detections.iter().map(|named| {
        format!(
            "{} ({}, confidence {}, impact {}, since step {}): {}",
            named.finding.pattern,
            named.finding.severity,
            named.finding.confidence,
            named.finding.impact,
            named.finding.first_step,
            named.finding.summary
        )
    });
    add_list(page, "patterns", detections);
    if let Some(intervention) = &record.intervention {
        page.add_line("");
        page.add_text(&format!(
            "{} {} at level {}, score {}: {:?}",
            if intervention.outcome == RecoveryOutcome::Observed {
                "would have answered"
            } else {
                "answers"
            },
            intervention.issue,
            intervention.level,
            intervention.score,
            intervention.outcome
        ));
        page.add_indented(&one_line(
            &serde_json::to_string(&intervention.response).unwrap_or_default(),
            2000,
        ));
        if let Some(restored) = &intervention.restored {
            page.add_text(&put_back(restored));
            add_list(page, "still done", restored.still_done.iter().cloned());
            add_list(page, "limits of the checkpoint", restored.limits.iter().cloned());
        }
    }
    if let Some(outcome) = &record.outcome {
        let code = outcome.exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
        page.add_line("");
        page.add_text(&format!(
            "ended {}{code}, {}",
            outcome.status,
            count_noun(outcome.bytes, "byte")
        ));
        if !outcome.error.is_empty() {
            page.add_indented(&one_line(&outcome.error, 1000));
        }
    }
    add_list(page, "checkpoint", record.checkpoint.iter().flat_map(checkpoint));
    add_list(page, "faults", record.faults.iter().map(ToString::to_string));
    let asked = record.plugins.iter().map(|plugin| {
        format!("{} {} ({}) fuel {}", plugin.name, plugin.version, plugin.digest, plugin.fuel)
    });
    add_list(page, "plugins asked", asked);
    add_list(page, "looking on", record.shadow.iter().map(looking_on));
    let logs = record
        .plugins
        .iter()
        .flat_map(|plugin| plugin.log.iter().map(move |line| format!("{}: {line}", plugin.name)));
    add_list(page, "plugin logs", logs);
    add_list(page, "masked", record.masked.iter().cloned());
    let details = record.details.iter().map(|(name, value)| match value {
        serde_json::Value::String(text) => format!("{name}: {text}"),
        value => match list_limits(name, value) {
            Some(limits) => format!("{name}: {limits}"),
            None => format!("{name}: {value}"),
        },
    });
    add_list(page, "details", details);
}

/// Formats the limits that a record holds; none if this detail is another one.
fn list_limits(name: &str, value: &serde_json::Value) -> Option<String> {
    let limits = Some(value).filter(|_| name == LIMITS_KEY)?;
    let limits: Vec<LimitUse> = serde_json::from_value(limits.clone()).ok()?;
    Some(limits.iter().map(LimitUse::describe_briefly).collect::<Vec<_>>().join(", "))
}

/// Describes the checkpoint of the action: its completeness, the changed paths, problems and
/// omissions.
fn checkpoint(kept: &RecordedCheckpoint) -> Vec<String> {
    let whole = if kept.complete { "complete" } else { "not complete" };
    let files =
        kept.files.map(|files| format!(", {}", count_noun(files, "file"))).unwrap_or_default();
    let changed = kept
        .changed
        .map(|changed| format!(", {} changed", count_noun(changed, "path")))
        .unwrap_or_default();
    let id = kept.id.as_deref().map_or_else(
        || "none".to_owned(),
        |id| format!("{}, {whole}{files}{changed}", one_line(id, 128)),
    );
    let problem = kept.problem.iter().map(|problem| format!("problem: {problem}"));
    let lost = kept.irreversible.iter().map(|what| format!("cannot be undone: {what}"));
    let counts =
        kept.left_out_counts.iter().map(|(why, count)| format!("left out, {why}: {count}"));
    let named = kept.left_out.iter().map(|one| format!("left out: {} ({})", one.path, one.why));
    std::iter::once(id).chain(lost).chain(problem).chain(counts).chain(named).collect()
}

/// Describes what an intervention restored automatically.
fn put_back(restored: &RecordedRestore) -> String {
    match (&restored.problem, &restored.undo) {
        (Some(problem), _) => format!("nothing was put back: {problem}"),
        (None, None) => "nothing had to be put back".to_owned(),
        (None, Some(undo)) => {
            let missing = match restored.not_restored {
                0 => String::new(),
                missing => format!(", not {}", count_noun(missing, "other path")),
            };
            let paths = count_noun(restored.paths, "path");
            let command = spell_command(&format!("checkpoint restore {undo}"));
            format!("put back {paths}{missing}; undone by `{command}`")
        }
    }
}

/// Describes what a plugin in shadow mode would have done.
fn looking_on(shadow: &RecordedShadow) -> String {
    let plugin = &shadow.plugin;
    let would = shadow.would.map(|would| format!(" would have it {would}")).unwrap_or_default();
    let why = shadow.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let detected: Vec<String> =
        shadow.detections.iter().map(|pattern| format!("; detected {pattern}")).collect();
    let faults: Vec<String> = shadow.faults.iter().map(|fault| format!("; {fault}")).collect();
    format!(
        "{} {} ({}) fuel {}{would}{why}{}{}",
        plugin.name,
        plugin.version,
        plugin.digest,
        plugin.fuel,
        detected.concat(),
        faults.concat()
    )
}
