//! Records as people read them: a line for a list, a page for one review.

use crate::paint;
use portcullis_core::decide::Decision;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::score::Verdict;
use portcullis_core::text::{lines, one_line};
use std::fmt::Write;

/// One line: what it was and what became of it.
pub fn line(record: &Record) -> String {
    let what = one_line(&record.summary, 96);
    match record.kind {
        RecordKind::Review => {
            let decision = record.decision.as_ref();
            let verdict = decision.map_or(Verdict::Allow, |decision| decision.verdict);
            let risk = decision.map(|decision| decision.risk.to_string()).unwrap_or_default();
            format!("{} {}  {what}", paint::verdict(verdict, 6), paint::dim(format!("{risk:>4}")))
        }
        RecordKind::Outcome => {
            let failed = record.outcome.as_ref().is_some_and(|outcome| outcome.status == portcullis_core::action::Status::Failed);
            let mark = if failed { paint::warn("failed") } else { paint::dim("ok    ") };
            format!("{mark}       {}", paint::dim(what))
        }
        RecordKind::Unreviewed => format!("{}   {what}", paint::bad("unreviewed")),
        RecordKind::Intervention => format!("{} {}: {what}", paint::warn("intervention"), one_line(&record.subject, 40)),
        RecordKind::Fault => format!("{}        {what}", paint::bad("fault")),
        RecordKind::Exception => format!("{}    {what}", paint::warn("exception")),
        RecordKind::Session | RecordKind::Configuration => format!("{}             {}", paint::dim(" "), paint::dim(what)),
    }
}

/// Everything about a record that a person may want to know, the weightiest first.
pub fn page(record: &Record) -> String {
    let mut page = String::new();
    let _ = writeln!(page, "{}  {}  {}", paint::bold(record.kind), record.id, paint::dim(format!("{} UTC", paint::time(record.at))));
    let agent = record.agent.as_deref().map(|agent| format!(", subagent {}", one_line(agent, 64))).unwrap_or_default();
    let step = record.step.map(|step| format!(", step {step}")).unwrap_or_default();
    let _ = writeln!(
        page,
        "session {}{agent}{step}, {} of {}, mode {}",
        one_line(&record.session, 80),
        record.event,
        record.client,
        record.mode
    );
    let _ = writeln!(page, "\n  {}\n", one_line(&record.summary, 400));
    if let Some(decision) = &record.decision {
        page.push_str(&decided(decision));
    }
    page.push_str(&findings(record));
    page.push_str(&action(record));
    page.push_str(&rest(record));
    page
}

/// A decision with the way that led to it.
pub fn decided(decision: &Decision) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}  {}", paint::verdict(decision.verdict, 0), lines(&decision.explanation, 1024));
    let rationality = decision.rationality.map_or_else(|| "not scored".to_owned(), |score| score.to_string());
    let _ = writeln!(
        text,
        "  risk {} ({}), rationality {rationality} ({}): the matrix says {}; confidence {}",
        decision.risk, decision.risk_level, decision.rationality_level, decision.matrix, decision.confidence
    );
    for change in &decision.adjustments {
        let _ = writeln!(text, "  {} -> {}  because: {}", change.from, change.to, one_line(&change.cause, 300));
    }
    list(&mut text, "why", decision.reasons.iter().map(String::as_str));
    list(&mut text, "instead", decision.alternatives.iter().map(String::as_str));
    text
}

fn findings(record: &Record) -> String {
    let mut text = String::new();
    let Some(findings) = &record.findings else { return text };
    for named in &findings.risks {
        let factors =
            named.finding.factors.iter().map(|factor| format!("{} +{} {}", factor.id, factor.weight, one_line(&factor.reason, 160)));
        let factors: Vec<String> = factors.collect();
        list(&mut text, &format!("risk {} by {}", named.finding.score, one_line(&named.plugin, 64)), factors.iter().map(String::as_str));
    }
    for named in &findings.rationalities {
        let said = &named.finding;
        let parts = [
            ("alignment", said.alignment),
            ("progression", said.progression),
            ("efficiency", said.efficiency),
            ("completeness", said.completeness),
        ];
        let parts: Vec<String> = parts.iter().filter_map(|(name, score)| Some(format!("{name} {}", (*score)?))).collect();
        let heading = format!("rationality by {}: {}", one_line(&named.plugin, 64), parts.join(", "));
        list(&mut text, &heading, said.issues.iter().chain(&said.suggestions).map(String::as_str));
        if said.issues.is_empty() && said.suggestions.is_empty() {
            let _ = writeln!(text, "\n{heading}");
        }
    }
    let rules: Vec<String> =
        findings.objections.iter().map(|objection| format!("{} ({}): {}", objection.rule, objection.verdict, objection.reason)).collect();
    list(&mut text, "rules", rules.iter().map(String::as_str));
    let effects: Vec<String> = findings
        .side_effects
        .iter()
        .map(|named| {
            let effect = &named.finding;
            let back = if effect.reversible { "can be undone" } else { "cannot be undone" };
            format!("{:?} {} ({}, {back})", effect.kind, effect.target, effect.severity)
        })
        .collect();
    list(&mut text, "side effects", effects.iter().map(String::as_str));
    text
}

fn action(record: &Record) -> String {
    let mut text = String::new();
    let Some(action) = &record.action else { return text };
    let _ = writeln!(text, "\nas received (masked)\n  {}", one_line(&action.parameters, 2000));
    if let Some(run_as) = &action.run_as {
        let _ = writeln!(text, "as run\n  {}", one_line(run_as, 2000));
    }
    let facts = &action.facts;
    let effects: Vec<String> = facts
        .effects
        .iter()
        .map(|effect| {
            let path = effect.path.and_then(|index| facts.paths.get(index as usize));
            let place = path.map(|path| {
                format!("  [{}, {}, git {}{}]", path.scope, path.entry, path.git, if path.restorable { ", restorable" } else { "" })
            });
            let more = if effect.recursive { " and all below" } else { "" };
            format!(
                "{} {}{more}{}{}",
                effect.kind.as_str(),
                effect.target,
                if effect.certain { "" } else { " (not certain)" },
                place.unwrap_or_default()
            )
        })
        .collect();
    list(&mut text, "what it does", effects.iter().map(String::as_str));
    let forms: Vec<String> = facts.forms.iter().map(|form| format!("{} (+{}): {}", form.id, form.weight, form.label)).collect();
    list(&mut text, "dangerous forms", forms.iter().map(String::as_str));
    list(&mut text, "not understood", facts.gaps.iter().map(String::as_str));
    text
}

fn rest(record: &Record) -> String {
    let mut text = String::new();
    let detections: Vec<String> = record
        .detections
        .iter()
        .map(|named| {
            format!(
                "{} ({}, confidence {}, impact {}): {}",
                named.finding.pattern, named.finding.severity, named.finding.confidence, named.finding.impact, named.finding.summary
            )
        })
        .collect();
    list(&mut text, "patterns", detections.iter().map(String::as_str));
    if let Some(intervention) = &record.intervention {
        let _ = writeln!(
            text,
            "\nanswers {} at level {}, score {}: {:?}",
            intervention.issue, intervention.level, intervention.score, intervention.outcome
        );
        let _ = writeln!(text, "  {}", one_line(&serde_json::to_string(&intervention.response).unwrap_or_default(), 2000));
    }
    if let Some(outcome) = &record.outcome {
        let code = outcome.exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
        let _ = writeln!(text, "\nended {}{code}, {} bytes", outcome.status, outcome.bytes);
        if !outcome.error.is_empty() {
            let _ = writeln!(text, "  {}", one_line(&outcome.error, 1000));
        }
    }
    let faults: Vec<String> = record.faults.iter().map(ToString::to_string).collect();
    list(&mut text, "faults", faults.iter().map(String::as_str));
    let plugins: Vec<String> = record
        .plugins
        .iter()
        .map(|plugin| format!("{} {} ({}) fuel {}", plugin.name, plugin.version, plugin.digest, plugin.fuel))
        .collect();
    list(&mut text, "plugins asked", plugins.iter().map(String::as_str));
    let logs: Vec<String> =
        record.plugins.iter().flat_map(|plugin| plugin.log.iter().map(move |line| format!("{}: {line}", plugin.name))).collect();
    list(&mut text, "plugin logs", logs.iter().map(String::as_str));
    list(&mut text, "masked", record.masked.iter().map(String::as_str));
    text
}

fn list<'a>(text: &mut String, heading: &str, items: impl Iterator<Item = &'a str>) {
    let mut first = true;
    for item in items {
        if first {
            let _ = writeln!(text, "\n{heading}");
            first = false;
        }
        let _ = writeln!(text, "  - {}", one_line(item, 600));
    }
}
