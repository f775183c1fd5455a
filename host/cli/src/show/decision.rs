//! A decision and its derivation: the matrix, the changes to the verdict, and what would have to
//! differ.

use crate::paint;
use crate::spelling::spell_command;
use crate::what_if_clean::WhatIfClean;
use portcullis_core::counterfactual::{
    Counterfactual, FindingChange, find_counterfactuals, recorded_findings,
};
use portcullis_core::finding::{Evidence, SideEffectKind};
use portcullis_core::record::Record;
use portcullis_core::score::{RationalityLevel, RiskLevel, Score, Verdict};
use portcullis_core::text::{count_noun, list_lines, one_line};
use portcullis_core::verdict::{Decision, matrix_verdict};
use portcullis_terminal::layout::{TextPage, add_list};
use serde_json::{Value, json};

/// Writes the decision itself. `recorded`: a person can refer to its record.
pub fn write_decision(
    page: &mut TextPage,
    record: &Record,
    decision: &Decision,
    in_journal: bool,
    restorable: Option<&WhatIfClean>,
) {
    page.add_line(&paint::paint_verdict(decision.verdict, 0));
    list_lines(&decision.explanation, 1024).lines().for_each(|line| page.add_indented(line));
    page.add_line("");
    let rationality =
        decision.rationality.map_or_else(|| "not scored".to_owned(), |score| score.to_string());
    page.add_text(&format!(
        "risk {} ({}), rationality {rationality} ({}), confidence {}",
        decision.risk, decision.risk_level, decision.rationality_level, decision.confidence
    ));
    page.add_line("");
    table(page, decision);
    changes(page, decision);
    add_list(page, "why", decision.reasons.iter().cloned());
    add_list(page, "instead", decision.alternatives.iter().cloned());
    add_list(
        page,
        "for another decision",
        differently(record, decision, in_journal, restorable).into_iter(),
    );
}

/// Writes the matrix with the deciding cell in brackets, and the start of each level.
fn table(page: &mut TextPage, decision: &Decision) {
    let (risk, rationality) = (decision.policy.risk, decision.policy.rationality);
    let columns = [RationalityLevel::High, RationalityLevel::Medium, RationalityLevel::Low];
    let (high, medium) =
        (format!("high {}", rationality.high), format!("medium {}", rationality.medium));
    page.add_line(&paint::dim(format!("  {:<19}{high:<14}{medium:<14}low", "risk \\ rationality")));
    let negligible = risk.is_negligible(decision.risk);
    for (level, from) in [
        (RiskLevel::Low, None),
        (RiskLevel::Medium, Some(risk.medium)),
        (RiskLevel::High, Some(risk.high)),
        (RiskLevel::Critical, Some(risk.critical)),
    ] {
        let name = from.map_or_else(|| level.to_string(), |from: Score| format!("{level} {from}"));
        let cells: Vec<String> =
            columns.iter().map(|column| cell(decision, level, *column, negligible)).collect();
        page.add_line(format!("  {name:<18}{}", cells.concat()).trim_end());
    }
    if negligible {
        page.add_indented(&format!(
            "below {} risk is negligible: allowed unless a rule, a pattern or a fault objects",
            risk.negligible
        ));
    }
}

fn cell(
    decision: &Decision,
    risk: RiskLevel,
    rationality: RationalityLevel,
    negligible: bool,
) -> String {
    let says = matrix_verdict(risk, rationality);
    if negligible || (decision.risk_level, decision.rationality_level) != (risk, rationality) {
        return format!(" {:<13}", says.as_str());
    }
    let marked = format!("[{says}]");
    format!("{}{}", paint::bold(&marked), " ".repeat(14_usize.saturating_sub(marked.len())))
}

fn changes(page: &mut TextPage, decision: &Decision) {
    if decision.adjustments.is_empty() {
        return;
    }
    page.add_heading(&format!("from {} to {}", decision.matrix, decision.verdict));
    for change in &decision.adjustments {
        page.add_wrapped(
            "  - ",
            "    ",
            &format!("{} -> {}: {}", change.from, change.to, one_line(&change.cause, 300)),
        );
    }
}

/// Describes what would have to differ, as text.
fn differently(
    record: &Record,
    decision: &Decision,
    in_journal: bool,
    restorable: Option<&WhatIfClean>,
) -> Vec<String> {
    let Some((findings, _)) = recorded_findings(record) else {
        let why = "the record does not hold all that it was decided on (`audit.level` says how much it holds)";
        return if decision.verdict > Verdict::Allow { vec![why.to_owned()] } else { Vec::new() };
    };
    let mut said: Vec<String> =
        find_counterfactuals(&findings, decision).iter().map(statement).collect();
    said.extend(restorable.map(|found| {
        let paths: Vec<String> = found
            .paths
            .iter()
            .take(MOST_PATHS)
            .map(|path| format!("`{}`", one_line(path, 200)))
            .collect();
        let more = if found.paths.len() > MOST_PATHS { ", and more," } else { "" };
        let verb = if found.paths.len() == 1 { "were" } else { "were all" };
        format!("if {}{more} {verb} clean in git: {}", paths.join(", "), found.verdict)
    }));
    if decision.verdict > Verdict::Allow {
        said.push(match decision.check_exceptable() {
            Ok(()) if in_journal => {
                let command = spell_command(&format!("allow {}", record.id));
                format!("a person can allow exactly this: `{command}`")
            }
            Ok(()) => {
                let command = spell_command("allow");
                format!("a person can allow exactly this with `{command}`, once it is recorded")
            }
            Err(why) => format!("no exception can lift it: {why}"),
        });
    }
    said
}

fn statement(found: &Counterfactual) -> String {
    let changes: Vec<String> = found.changes.iter().map(in_words).collect();
    let verdict = match found.verdict {
        Verdict::Modify => "modify, or ask where no safer form is known",
        verdict => verdict.as_str(),
    };
    format!("{}: {verdict}", changes.join(", and "))
}

/// The most paths that a statement names.
const MOST_PATHS: usize = 3;

fn in_words(change: &FindingChange) -> String {
    match change {
        FindingChange::WithoutRule { source, rule } => {
            format!("without the rule `{rule}` of `{source}`")
        }
        FindingChange::WithoutForm(form) => format!("without the dangerous form `{form}`"),
        FindingChange::NotCritical(target) if target.is_empty() => {
            "if its side effect were not critical".to_owned()
        }
        FindingChange::NotCritical(target) => {
            format!("if the effect on `{target}` were not critical")
        }
        FindingChange::Understood => "if all of it were understood".to_owned(),
        FindingChange::WithoutFault(source) => format!("if `{source}` had not failed"),
        FindingChange::RiskBelow(score) => format!("with a risk below {score}"),
        FindingChange::RationalityFrom(score) => format!("with a rationality of {score} or more"),
        FindingChange::FirstOfItsKind => {
            "as the first action of its kind in the session, with no pattern noticed".to_owned()
        }
        FindingChange::SeenBefore => {
            "when an action of its kind was reviewed in the session before".to_owned()
        }
    }
}

/// Returns what a page shows in addition to the record, for scripts.
pub fn explanation_json(record: &Record, restorable: Option<&WhatIfClean>) -> Value {
    let Some(decision) = &record.decision else { return Value::Null };
    let levels = (decision.risk_level, decision.rationality_level);
    let differently =
        recorded_findings(record).map(|(findings, _)| find_counterfactuals(&findings, decision));
    let exception = match decision.check_exceptable() {
        _ if decision.verdict == Verdict::Allow => Value::Null,
        Ok(()) => {
            let command = spell_command(&format!("allow {}", record.id));
            json!({ "possible": true, "command": command })
        }
        Err(why) => json!({ "possible": false, "why": why }),
    };
    json!({
        "cell": { "risk": levels.0, "rationality": levels.1, "says": matrix_verdict(levels.0, levels.1), "negligible": decision.policy.risk.is_negligible(decision.risk) },
        "differently": differently,
        "clean_in_git": restorable,
        "exception": exception,
    })
}

/// Writes the findings of each plugin.
pub fn write_findings(page: &mut TextPage, record: &Record) {
    let Some(findings) = &record.findings else { return };
    for named in &findings.risks {
        let factors = named.finding.factors.iter().map(|factor| {
            let sign =
                if factor.kind == portcullis_core::finding::FactorKind::Base { ' ' } else { '+' };
            format!(
                "{sign}{} {} ({}): {}{}",
                factor.weight,
                factor.id,
                factor.kind,
                factor.reason,
                evidence(&factor.evidence)
            )
        });
        add_list(page, &format!("risk {} by {}", named.finding.score, named.plugin), factors);
    }
    for named in &findings.rationalities {
        let said = &named.finding;
        let parts = [
            ("alignment", said.alignment),
            ("progression", said.progression),
            ("efficiency", said.efficiency),
            ("completeness", said.completeness),
        ];
        let parts = parts.iter().map(|(name, score)| {
            score.map_or_else(|| format!("{name}: not scored"), |score| format!("{name}: {score}"))
        });
        let more = said
            .issues
            .iter()
            .map(|issue| format!("issue: {issue}"))
            .chain(said.suggestions.iter().map(|text| format!("suggestion: {text}")));
        let score = said.score().map_or_else(|| "not scored".to_owned(), |score| score.to_string());
        add_list(page, &format!("rationality {score} by {}", named.plugin), parts.chain(more));
    }
    let rules = findings.objections.iter().map(|objection| {
        let rewrite = if objection.rewrite { ", offers a safer form" } else { "" };
        format!(
            "{} of {} ({}, {}{rewrite}): {}",
            objection.rule,
            objection.source,
            objection.verdict,
            objection.severity,
            objection.reason
        )
    });
    add_list(page, "rules", rules);
    let effects = findings.side_effects.iter().map(|named| {
        let effect = &named.finding;
        let back = if effect.reversible { "can be undone" } else { "cannot be undone" };
        let softer =
            effect.mitigation.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
        format!("{} {} ({}, {back}){softer}", kind(&effect.kind), effect.target, effect.severity)
    });
    add_list(page, "side effects", effects);
}

/// Writes how plugins used their grants.
pub fn write_uses(page: &mut TextPage, record: &Record) {
    for plugin in &record.plugins {
        let uses = plugin.uses.iter().map(|used| {
            let times =
                if used.count == 1 { String::new() } else { format!(", {} times", used.count) };
            let bytes = if used.bytes == 0 {
                String::new()
            } else {
                format!(", {}", count_noun(used.bytes, "byte"))
            };
            let refused =
                used.refused.as_deref().map(|why| format!(": refused, {why}")).unwrap_or_default();
            format!("{}: `{}`{times}{bytes}{refused}", used.grant, used.what)
        });
        add_list(page, &format!("grants used by {}", plugin.name), uses);
    }
}

fn evidence(evidence: &[Evidence]) -> String {
    let shown: Vec<String> = evidence
        .iter()
        .take(4)
        .map(|item| format!("{} {}", item.kind, one_line(&item.value, 80)))
        .collect();
    if shown.is_empty() { String::new() } else { format!(" [{}]", shown.join("; ")) }
}

fn kind(kind: &SideEffectKind) -> &str {
    match kind {
        SideEffectKind::FileWrite => "file write",
        SideEffectKind::FileDeletion => "file deletion",
        SideEffectKind::SystemChange => "system change",
        SideEffectKind::Process => "process",
        SideEffectKind::Network => "network",
        SideEffectKind::ResourceUse => "resource use",
        SideEffectKind::Other(name) => name,
    }
}
