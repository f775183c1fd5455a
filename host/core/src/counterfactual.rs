//! Counterfactuals: changes to the findings that lead to another decision, each decided on again.
//!
//! No statement is guessed: the findings are changed, [`decide_verdict`] runs on them, and its
//! result is reported. The action itself is not examined again, so anything more that a plugin
//! might say about a changed action is not considered. This module only computes statements; others
//! put them into words.

use crate::finding::FactorKind;
use crate::record::Record;
use crate::review::Findings;
use crate::score::{Score, Severity, Verdict};
use crate::verdict::{Decision, decide_verdict};
use serde::{Deserialize, Serialize};

/// One difference in the findings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingChange {
    /// A rule does not object.
    WithoutRule {
        /// The plugin.
        source: String,
        /// The rule.
        rule: String,
    },
    /// The action lacks that dangerous form and the risk that the form added.
    WithoutForm(String),
    /// No critical side effect on that target: it could be undone, or hit less.
    NotCritical(String),
    /// All of it is understood.
    Understood,
    /// A plugin does not fail.
    WithoutFault(String),
    /// Every risk is below this score.
    RiskBelow(Score),
    /// Every rationality is at least this score.
    RationalityFrom(Score),
    /// No pattern is detected, and it is the first action of its kind in the session.
    FirstOfItsKind,
    /// An action of its kind was already reviewed in the session.
    SeenBefore,
}

/// The verdict that some changes would lead to together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counterfactual {
    /// The changes; all of them are needed.
    pub changes: Vec<FindingChange>,
    /// The resulting verdict. A `modify` for which nobody offers a safer form becomes `ask`.
    pub verdict: Verdict,
}

/// The most changes that are tried together.
const MOST_TOGETHER: usize = 24;

/// Returns every single change that leads to another verdict, and, if no single one is enough to
/// allow the action, the changes that are needed together.
#[must_use]
pub fn find_counterfactuals(findings: &Findings, decision: &Decision) -> Vec<Counterfactual> {
    let again = |changes: &[FindingChange]| decide_again(findings, decision, changes);
    let base = again(&[]);
    let candidates = candidates(findings, decision);
    let mut found: Vec<Counterfactual> = Vec::new();
    for change in &candidates {
        let verdict = again(std::slice::from_ref(change));
        // A larger threshold step that leads to the same verdict adds nothing.
        let same = |known: &&Counterfactual| {
            known.verdict == verdict && known.changes.iter().all(|known| known.is_like(change))
        };
        if verdict != base && !found.iter().any(|known| same(&known)) {
            found.push(Counterfactual { changes: vec![change.clone()], verdict });
        }
    }
    if base > Verdict::Allow && !found.iter().any(|single| single.verdict == Verdict::Allow) {
        found.extend(together(&candidates, again));
    }
    found
}

/// Decides again with those changes, under the same conditions as the original decision.
#[must_use]
pub fn decide_again(
    findings: &Findings,
    decision: &Decision,
    changes: &[FindingChange],
) -> Verdict {
    let (mut changed, mut first_time) = (findings.clone(), decision.first_time);
    for change in changes {
        change.apply_to(&mut changed, &mut first_time);
    }
    decide_verdict(&changed, first_time, &decision.policy).verdict
}

/// Returns the findings that a review's record was decided on. Returns `None` if the record does
/// not hold them in full, because of its level of detail or because something other than the
/// findings influenced the decision.
#[must_use]
pub fn recorded_findings(record: &Record) -> Option<(Findings, &Decision)> {
    let (action, decision, said) =
        (record.action.as_ref()?, record.decision.as_ref()?, record.findings.as_ref()?);
    let mut findings = Findings::of_facts(&action.facts);
    for factor in said
        .risks
        .iter()
        .flat_map(|risk| &risk.finding.factors)
        .filter(|factor| factor.kind == FactorKind::Form)
    {
        if !findings.forms.contains(&factor.reason) {
            findings.forms.push(factor.reason.clone());
        }
    }
    findings.risks.clone_from(&said.risks);
    findings.rationalities.clone_from(&said.rationalities);
    findings.side_effects.clone_from(&said.side_effects);
    findings.objections.clone_from(&said.objections);
    findings.detections.clone_from(&record.detections);
    findings.faults.clone_from(&record.faults);
    let again = decide_verdict(&findings, decision.first_time, &decision.policy);
    let same =
        again.matrix == decision.matrix && decision.adjustments.starts_with(&again.adjustments);
    same.then_some((findings, decision))
}

fn candidates(findings: &Findings, decision: &Decision) -> Vec<FindingChange> {
    let mut all: Vec<FindingChange> = Vec::new();
    let mut add = |change: FindingChange| {
        if !all.contains(&change) {
            all.push(change);
        }
    };
    for objection in &findings.objections {
        add(FindingChange::WithoutRule {
            source: objection.source.clone(),
            rule: objection.rule.clone(),
        });
    }
    for form in &findings.forms {
        add(FindingChange::WithoutForm(form.clone()));
    }
    for effect in
        findings.side_effects.iter().filter(|effect| effect.finding.severity == Severity::Critical)
    {
        add(FindingChange::NotCritical(effect.finding.target.clone()));
    }
    if !findings.gaps.is_empty() || !findings.limits.is_empty() {
        add(FindingChange::Understood);
    }
    for fault in &findings.faults {
        add(FindingChange::WithoutFault(fault.source.clone()));
    }
    let risk = decision.policy.risk;
    for threshold in [risk.critical, risk.high, risk.medium, risk.negligible] {
        if decision.risk >= threshold && threshold > Score::ZERO {
            add(FindingChange::RiskBelow(threshold));
        }
    }
    let rationality = decision.policy.rationality;
    for threshold in [rationality.medium, rationality.high] {
        if decision.rationality.is_some_and(|score| score < threshold) {
            add(FindingChange::RationalityFrom(threshold));
        }
    }
    if !decision.first_time || !findings.detections.is_empty() {
        add(FindingChange::FirstOfItsKind);
    }
    if decision.first_time {
        add(FindingChange::SeenBefore);
    }
    all
}

/// Returns the fewest changes that are needed together to allow the action, chosen by dropping from
/// the back of the list those that are not needed.
fn together(
    candidates: &[FindingChange],
    again: impl Fn(&[FindingChange]) -> Verdict,
) -> Option<Counterfactual> {
    // Within one kind of threshold the largest step is enough; a change that makes the decision
    // stricter does not help.
    let mut needed: Vec<FindingChange> = candidates
        .iter()
        .filter(|change| **change != FindingChange::SeenBefore)
        .take(MOST_TOGETHER)
        .cloned()
        .collect();
    if again(&needed) != Verdict::Allow {
        return None;
    }
    for change in needed.clone().iter().rev() {
        let rest: Vec<FindingChange> =
            needed.iter().filter(|other| *other != change).cloned().collect();
        if again(&rest) == Verdict::Allow {
            needed = rest;
        }
    }
    Some(Counterfactual { changes: needed, verdict: Verdict::Allow })
}

impl FindingChange {
    /// Returns true if both move the same threshold.
    const fn is_like(&self, other: &Self) -> bool {
        matches!(
            (self, other),
            (Self::RiskBelow(_), Self::RiskBelow(_))
                | (Self::RationalityFrom(_), Self::RationalityFrom(_))
        )
    }

    /// Applies the change to the findings.
    pub fn apply_to(&self, findings: &mut Findings, first_time: &mut bool) {
        match self {
            Self::WithoutRule { source, rule } => {
                findings
                    .objections
                    .retain(|objection| (&objection.source, &objection.rule) != (source, rule));
            }
            Self::WithoutForm(form) => without_form(findings, form),
            Self::NotCritical(target) => {
                let hit = findings
                    .side_effects
                    .iter_mut()
                    .filter(|effect| effect.finding.target == *target);
                hit.for_each(|effect| {
                    effect.finding.severity = effect.finding.severity.min(Severity::High)
                });
            }
            Self::Understood => {
                findings.gaps.clear();
                findings.limits.clear();
            }
            Self::WithoutFault(source) => findings.faults.retain(|fault| fault.source != *source),
            Self::RiskBelow(threshold) => {
                let most = Score::new(threshold.get().saturating_sub(1));
                findings
                    .risks
                    .iter_mut()
                    .for_each(|risk| risk.finding.score = risk.finding.score.min(most));
            }
            Self::RationalityFrom(threshold) => {
                for named in &mut findings.rationalities {
                    let said = &mut named.finding;
                    let parts = [
                        &mut said.alignment,
                        &mut said.progression,
                        &mut said.efficiency,
                        &mut said.completeness,
                    ];
                    parts.into_iter().flatten().for_each(|part| *part = (*part).max(*threshold));
                }
            }
            Self::FirstOfItsKind => {
                findings.detections.clear();
                *first_time = true;
            }
            Self::SeenBefore => *first_time = false,
        }
    }
}

/// Removes a form. The form also occurs in the risk as a factor, with its own weight.
fn without_form(findings: &mut Findings, form: &str) {
    findings.forms.retain(|known| known != form);
    for risk in findings.risks.iter_mut().map(|named| &mut named.finding) {
        let is_form = |factor: &crate::finding::Factor| {
            factor.kind == FactorKind::Form && factor.reason == form
        };
        let weight: u16 = risk
            .factors
            .iter()
            .filter(|factor| is_form(factor))
            .map(|factor| factor.weight.get())
            .sum();
        risk.score = Score::new(risk.score.get().saturating_sub(weight));
        risk.factors.retain(|factor| !is_form(factor));
    }
}
