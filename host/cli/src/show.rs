//! Records in readable form: a line for a list, a page for one review.

mod action;
mod decision;

pub use decision::explanation;

use crate::paint;
use crate::what_if_clean::WhatIfClean;
use portcullis_core::record::{
    Record, RecordKind, RecordedCheckpoint, RecordedRestore, RecordedShadow,
};
use portcullis_core::score::Verdict;
use portcullis_core::text::{counted, one_line};
use portcullis_review::timeline::words;
use portcullis_terminal::layout::{TextPage, list};

/// The most bytes of an action in a list.
const MOST_LINE: usize = 240;

/// Formats one line: the action and its outcome.
pub fn line(record: &Record) -> String {
    let what = one_line(&words::on_one_line(&record.summary), MOST_LINE);
    match record.kind {
        RecordKind::Review => {
            let decision = record.decision.as_ref();
            let verdict = decision.map_or(Verdict::Allow, |decision| decision.verdict);
            let risk = decision.map(|decision| decision.risk.to_string()).unwrap_or_default();
            format!("{} {}  {what}", paint::verdict(verdict, 6), paint::dim(format!("{risk:>4}")))
        }
        RecordKind::Outcome => {
            let failed = record
                .outcome
                .as_ref()
                .is_some_and(|outcome| outcome.status == portcullis_core::action::Status::Failed);
            let mark = if failed { paint::warn("failed") } else { paint::dim("ok    ") };
            format!("{mark}       {}", paint::dim(what))
        }
        RecordKind::Unreviewed => format!("{}   {what}", paint::bad("unreviewed")),
        RecordKind::Intervention => {
            format!("{} {}: {what}", paint::warn("intervention"), one_line(&record.subject, 40))
        }
        RecordKind::Fault => format!("{}        {what}", paint::bad("fault")),
        RecordKind::Exception => format!("{}    {what}", paint::warn("exception")),
        RecordKind::Feedback => format!("{}     {what}", paint::warn("feedback")),
        RecordKind::Session | RecordKind::Configuration => {
            format!("{}             {}", paint::dim(" "), paint::dim(what))
        }
    }
}

/// Formats everything about a record that a person may want to know, the most important first.
/// `recorded`: it is in the journal, so that a person can refer to it. `restorable`: what git could
/// change.
pub fn page(record: &Record, recorded: bool, restorable: Option<&WhatIfClean>) -> String {
    let mut page = TextPage::of_terminal();
    page.line(&format!(
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
    page.text(&format!(
        "session {session}{agent}{step}, {} of {}, mode {}",
        record.event, record.client, record.mode
    ));
    page.line("");
    page.indented(&one_line(&record.summary, 400));
    page.line("");
    if let Some(decided) = &record.decision {
        decision::write(&mut page, record, decided, recorded, restorable);
    }
    action::write(&mut page, record);
    decision::findings(&mut page, record);
    decision::uses(&mut page, record);
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
    list(page, "patterns", detections);
    if let Some(intervention) = &record.intervention {
        page.line("");
        page.text(&format!(
            "answers {} at level {}, score {}: {:?}",
            intervention.issue, intervention.level, intervention.score, intervention.outcome
        ));
        page.indented(&one_line(
            &serde_json::to_string(&intervention.response).unwrap_or_default(),
            2000,
        ));
        if let Some(restored) = &intervention.restored {
            page.text(&put_back(restored));
        }
    }
    if let Some(outcome) = &record.outcome {
        let code = outcome.exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
        page.line("");
        page.text(&format!("ended {}{code}, {}", outcome.status, counted(outcome.bytes, "byte")));
        if !outcome.error.is_empty() {
            page.indented(&one_line(&outcome.error, 1000));
        }
    }
    list(page, "checkpoint", record.checkpoint.iter().flat_map(checkpoint));
    list(page, "faults", record.faults.iter().map(ToString::to_string));
    let asked = record.plugins.iter().map(|plugin| {
        format!("{} {} ({}) fuel {}", plugin.name, plugin.version, plugin.digest, plugin.fuel)
    });
    list(page, "plugins asked", asked);
    list(page, "looking on", record.shadow.iter().map(looking_on));
    let logs = record
        .plugins
        .iter()
        .flat_map(|plugin| plugin.log.iter().map(move |line| format!("{}: {line}", plugin.name)));
    list(page, "plugin logs", logs);
    list(page, "masked", record.masked.iter().cloned());
    let details = record.details.iter().map(|(name, value)| match value {
        serde_json::Value::String(text) => format!("{name}: {text}"),
        value => format!("{name}: {value}"),
    });
    list(page, "details", details);
}

/// Describes the checkpoint of the action: its completeness, the changed paths, problems and
/// omissions.
fn checkpoint(kept: &RecordedCheckpoint) -> Vec<String> {
    let whole = if kept.complete { "complete" } else { "not complete" };
    let files = kept.files.map(|files| format!(", {}", counted(files, "file"))).unwrap_or_default();
    let changed = kept
        .changed
        .map(|changed| format!(", {} changed", counted(changed, "path")))
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
        (None, Some(undo)) => format!(
            "put back {}; undone by `portcullis checkpoint restore {undo}`",
            counted(restored.paths, "path")
        ),
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
