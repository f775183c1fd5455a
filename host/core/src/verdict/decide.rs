//! The decision: findings in, verdict and reasons out.
//!
//! [`decide_verdict`] is total, pure and monotone: one more finding, fault or gap never makes its
//! verdict more permissive. It does not check that a `modify` can be carried out:
//! [`settle_rewrites`] does that afterwards, since an offered rewrite is not a finding against the
//! action but a way to keep it.

use super::change::VerdictChange;
use crate::fault::Fault;
use crate::finding::Rewrite;
use crate::policy::DecisionPolicy;
use crate::review::{Attributed, Findings};
use crate::score::{RationalityLevel, RiskLevel, Score, Severity, Verdict};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The verdict on an action, with its reasons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The verdict.
    pub verdict: Verdict,
    /// The highest risk; zero when no plugin scored it.
    pub risk: Score,
    /// The level of that risk.
    pub risk_level: RiskLevel,
    /// The lowest rationality, if any plugin scored it.
    pub rationality: Option<Score>,
    /// The level of that rationality; high when no plugin scored it.
    pub rationality_level: RationalityLevel,
    /// The verdict of the matrix alone; earlier failures alone raise none to a warning.
    pub matrix: Verdict,
    /// The changes of the verdict after the matrix, in order.
    pub adjustments: Vec<Adjustment>,
    /// The reasons, the most important first.
    pub reasons: Vec<String>,
    /// The first reason, or a note that there is no objection.
    pub primary_reason: String,
    /// The decision in one sentence.
    pub explanation: String,
    /// The confidence in the decision, see [`mean_confidence`].
    pub confidence: Score,
    /// Safer alternatives.
    pub alternatives: Vec<String>,
    /// The rule whose critical violation stops the session.
    pub stops: Option<String>,
    /// The reason that no exception can lift the decision, if none can.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub beyond_exceptions: Option<String>,
    /// True if no action of this shape was reviewed earlier in the session.
    #[serde(default)]
    pub first_time: bool,
    /// The thresholds that the decision used.
    #[serde(default)]
    pub policy: DecisionPolicy,
}

impl Decision {
    /// Makes the verdict stricter for a cause that is not a finding: a rewrite that cannot be used,
    /// a session that was stopped. Never loosens it.
    pub fn tighten_to(&mut self, to: Verdict, cause: impl Into<String>) {
        if to > self.verdict {
            self.adjustments.push(Adjustment { cause: cause.into(), from: self.verdict, to });
            self.verdict = to;
        }
        self.explanation = explain(self.verdict, &self.primary_reason);
    }

    /// Applies a stricter demand. Never loosens the verdict.
    pub(crate) fn apply(&mut self, change: VerdictChange) {
        let VerdictChange { to, cause, reason, leads, alternative, beyond_exceptions } = change;
        let tightens = self.verdict < to;
        if beyond_exceptions.is_some() {
            self.beyond_exceptions = beyond_exceptions;
        }
        // The stop of a session can apply twice: before the interventions on this action and after
        // them.
        if !self.reasons.contains(&reason) {
            self.reasons.insert(0, reason.clone());
        }
        if leads || tightens {
            self.primary_reason = reason;
        }
        if let (true, Some(alternative)) = (tightens, alternative) {
            self.alternatives.insert(0, alternative);
        }
        self.tighten_to(to, cause);
    }

    /// Tightens the decision for a loss that cannot be undone. Never loosens the verdict.
    pub(crate) fn tighten_for_loss(&mut self, what: String, to: Verdict) {
        if self.verdict < to {
            self.primary_reason.clone_from(&what);
            self.reasons.insert(0, what);
        } else {
            self.reasons.push(what);
        }
        self.tighten_to(to, "it cannot be undone");
    }

    /// Checks that a person's exception can lift the decision: never if it is critical, protects
    /// the guard itself, or concerns an action of a stopped session. Faults can be lifted, since
    /// that is the way out when one keeps recurring.
    ///
    /// # Errors
    /// Fails with the reason that it cannot be lifted, worded as the end of a sentence.
    pub fn check_exceptable(&self) -> Result<(), &str> {
        let kept = if self.risk_level == RiskLevel::Critical {
            Some("its risk is critical")
        } else {
            None
        };
        match self.beyond_exceptions.as_deref().or(kept) {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }

    /// Lets the action run because a person allowed exactly this. The original decision is kept
    /// alongside.
    pub(crate) fn lift(&mut self, exception: &str, reason: String) {
        self.adjustments.push(Adjustment {
            cause: format!("{OF_EXCEPTION}{exception}"),
            from: self.verdict,
            to: Verdict::Allow,
        });
        self.verdict = Verdict::Allow;
        self.explanation.clone_from(&reason);
        self.primary_reason.clone_from(&reason);
        self.reasons.insert(0, reason);
    }
}

/// One change of the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adjustment {
    /// The cause: `critical side effect`, a rule's name, a fault's source, ...
    pub cause: String,
    /// The verdict before.
    pub from: Verdict,
    /// The verdict after.
    pub to: Verdict,
}

/// The begin of the cause of a change that a person's exception made; its id follows.
const OF_EXCEPTION: &str = "exception ";

impl Adjustment {
    /// Returns the id of the exception that made the change, if one did.
    #[must_use]
    pub fn exception_id(&self) -> Option<&str> {
        self.cause.strip_prefix(OF_EXCEPTION)
    }
}

/// Returns the verdict for the two levels together.
#[must_use]
pub const fn matrix_verdict(risk: RiskLevel, rationality: RationalityLevel) -> Verdict {
    use {RationalityLevel as R, RiskLevel as K};
    match (risk, rationality) {
        (K::Low, R::High | R::Medium) | (K::Medium, R::High) => Verdict::Allow,
        (K::Low, R::Low) | (K::Medium, R::Medium) | (K::High, R::High) => Verdict::Warn,
        (K::Medium, R::Low) | (K::High, R::Medium) => Verdict::Modify,
        (K::High, R::Low) | (K::Critical, _) => Verdict::Block,
    }
}

/// Decides on the findings. `first_time`: no action of this shape was reviewed earlier in the
/// session.
#[must_use]
pub fn decide_verdict(findings: &Findings, first_time: bool, policy: &DecisionPolicy) -> Decision {
    let risk = findings.risk().map_or(Score::ZERO, |risk| risk.finding.score);
    let rationality = findings.rationality().map(|(score, _)| score);
    let levels = (policy.risk.level_of(risk), policy.rationality.level_of(rationality));
    let verdict_at = |risk: Score| match policy.risk.is_negligible(risk) {
        true => Verdict::Allow,
        false => matrix_verdict(policy.risk.level_of(risk), levels.1),
    };
    // An action that failed before is no worse for it: that alone is nothing to warn of.
    let matrix = match (verdict_at(risk), verdict_at(findings.unrepeated_risk())) {
        (Verdict::Warn, Verdict::Allow) => Verdict::Allow,
        (matrix, _) => matrix,
    };
    let mut course = VerdictBuilder { verdict: matrix, adjustments: Vec::new() };
    adjust(&mut course, findings, policy.first_time && first_time && levels.0 < RiskLevel::High);
    let reasons = reasons(findings, policy, course.verdict);
    let primary_reason = reasons.first().cloned().unwrap_or_else(|| "no objections".into());
    Decision {
        verdict: course.verdict,
        risk,
        risk_level: levels.0,
        rationality,
        rationality_level: levels.1,
        matrix,
        explanation: explain(course.verdict, &primary_reason),
        adjustments: course.adjustments,
        primary_reason,
        reasons,
        confidence: mean_confidence(findings),
        alternatives: alternatives(findings),
        stops: findings
            .objections
            .iter()
            .find(|objection| {
                objection.severity == Severity::Critical && objection.verdict == Verdict::Block
            })
            .map(|objection| objection.rule.clone()),
        beyond_exceptions: beyond_exceptions(findings, levels.0),
        first_time,
        policy: *policy,
    }
}

/// Returns the reason that no exception can lift a decision on these findings, if none can.
fn beyond_exceptions(findings: &Findings, risk: RiskLevel) -> Option<String> {
    if let Some(own) = findings.objections.iter().find(|objection| objection.is_own()) {
        return Some(format!("the rule `{}` protects the guard itself", own.rule));
    }
    if let Some(rule) =
        findings.objections.iter().find(|objection| objection.severity == Severity::Critical)
    {
        return Some(format!("the rule `{}` finds it critical", rule.rule));
    }
    if let Some(effect) =
        findings.side_effects.iter().find(|effect| effect.finding.severity == Severity::Critical)
    {
        return Some(format!("its side effect{} is critical", on(&effect.finding.target)));
    }
    (risk == RiskLevel::Critical).then(|| "its risk is critical".to_owned())
}

/// The cause recorded when a warning becomes an allowance: the person is informed, the agent is
/// not.
pub(crate) const FIRST: &str = "first action of its kind";

/// A verdict while it is being decided, with its adjustments.
struct VerdictBuilder {
    verdict: Verdict,
    adjustments: Vec<Adjustment>,
}

impl VerdictBuilder {
    fn set(&mut self, to: Verdict, cause: impl Into<String>) {
        if to != self.verdict {
            self.adjustments.push(Adjustment { cause: cause.into(), from: self.verdict, to });
            self.verdict = to;
        }
    }

    fn at_least(&mut self, least: Verdict, cause: impl Into<String>) {
        self.set(self.verdict.max(least), cause);
    }
}

fn adjust(course: &mut VerdictBuilder, findings: &Findings, may_relax: bool) {
    if let Some(effect) =
        findings.side_effects.iter().find(|effect| effect.finding.severity == Severity::Critical)
    {
        course.at_least(
            Verdict::Block,
            format!("critical side effect{}", on(&effect.finding.target)),
        );
    }
    if !findings.gaps.is_empty() {
        course.at_least(Verdict::Warn, "partial coverage");
    }
    // Anything may follow past a limit: the readable part proves nothing about it.
    if !findings.limits.is_empty() {
        course.at_least(Verdict::Ask, "a limit was exceeded");
    }
    if course.verdict == Verdict::Warn
        && let Some(form) = findings.forms.first()
    {
        course.set(Verdict::Modify, format!("dangerous form: {form}"));
    }
    // The relief needs a review without any finding, so that one more finding never loosens the
    // verdict.
    let clean = findings.objections.is_empty()
        && findings.detections.is_empty()
        && findings.forms.is_empty()
        && findings.faults.is_empty()
        && findings.gaps.is_empty()
        && findings.limits.is_empty();
    if may_relax && clean && course.verdict == Verdict::Warn {
        course.set(Verdict::Allow, FIRST);
    }
    for objection in &findings.objections {
        course.at_least(
            objection.verdict,
            format!("rule `{}` of `{}`", objection.rule, objection.source),
        );
    }
    for fault in &findings.faults {
        course.at_least(
            fault.policy.to_verdict(),
            format!("fault of `{}`: {}", fault.source, fault.kind),
        );
    }
}

fn reasons(findings: &Findings, policy: &DecisionPolicy, verdict: Verdict) -> Vec<String> {
    let risk = findings.risk().map_or(Score::ZERO, |risk| risk.finding.score);
    let rationality = findings.rationality().map(|(score, _)| score);
    let mut reasons: Vec<String> = Vec::new();
    let mut objections: Vec<_> = findings.objections.iter().collect();
    // Whoever removes the root folder loses more than our key: the gravest loss is named first.
    objections.sort_by_key(|objection| Reverse((objection.verdict, objection.severity)));
    // Objections that decided come first; those that only accompany a stricter decision come last.
    let (deciding, adding): (Vec<_>, Vec<_>) =
        objections.into_iter().partition(|objection| objection.verdict >= verdict);
    reasons.extend(deciding.iter().map(|objection| objection.reason.clone()));
    if risk > policy.risk.named {
        let factors = findings.risk().map(|risk| {
            risk.finding
                .factors
                .iter()
                .map(|factor| factor.reason.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        });
        reasons.push(format!(
            "High risk action: {}",
            factors.filter(|factors| !factors.is_empty()).unwrap_or_else(|| format!("risk {risk}"))
        ));
    }
    if let Some((score, low)) =
        findings.rationality().filter(|(score, _)| *score < policy.rationality.medium)
    {
        let issues = low.finding.issues.join(", ");
        let very = if score < policy.rationality.low {
            format!(" (score {score})")
        } else {
            String::new()
        };
        reasons.push(match issues.as_str() {
            "" => format!("Low rationality: score {score}"),
            issues => format!("Low rationality: {issues}{very}"),
        });
    }
    let effects: Vec<String> = findings
        .side_effects
        .iter()
        .filter(|effect| effect.finding.severity >= Severity::High)
        .map(|effect| describe(&effect.finding))
        .collect();
    if !effects.is_empty() {
        reasons.push(format!("Side effects: {}", effects.join("; ")));
    }
    reasons.extend(adding.iter().map(|objection| objection.reason.clone()));
    reasons.extend(findings.limits.iter().map(|limit| format!("Not read to its end: {limit}")));
    reasons.extend(findings.gaps.iter().map(|gap| format!("Not understood: {gap}")));
    reasons.extend(findings.detections.iter().map(|detection| detection.finding.summary.clone()));
    reasons.extend(findings.faults.iter().map(Fault::to_string));
    if reasons.is_empty()
        && (policy.risk.level_of(risk) > RiskLevel::Low
            || policy.rationality.level_of(rationality) < RationalityLevel::High)
    {
        reasons.push(format!(
            "risk {risk}{}",
            rationality.map(|score| format!(", rationality {score}")).unwrap_or_default()
        ));
    }
    reasons
}

fn describe(effect: &crate::finding::SideEffect) -> String {
    let kind = match &effect.kind {
        crate::finding::SideEffectKind::FileWrite => "writes",
        crate::finding::SideEffectKind::FileDeletion => "deletes",
        crate::finding::SideEffectKind::SystemChange => "changes the system:",
        crate::finding::SideEffectKind::Process => "affects the process",
        crate::finding::SideEffectKind::Network => "contacts",
        crate::finding::SideEffectKind::ResourceUse => "uses up",
        crate::finding::SideEffectKind::Other(kind) => match kind.as_str() {
            "persistence" => "makes something start later:",
            "privilege" => "acts with more power:",
            "evasion" => "hides traces or leaves a protection out:",
            kind => kind,
        },
    };
    let target =
        if effect.target.is_empty() { String::new() } else { format!(" `{}`", effect.target) };
    format!(
        "{}{target}{}",
        if target.is_empty() { kind.trim_end_matches(':') } else { kind },
        if effect.reversible { "" } else { " (cannot be undone)" }
    )
}

/// Formats a target for a sentence; some effects have none.
fn on(target: &str) -> String {
    if target.is_empty() { String::new() } else { format!(" on `{target}`") }
}

fn explain(verdict: Verdict, primary: &str) -> String {
    match verdict {
        Verdict::Allow => "No objection".into(),
        Verdict::Warn => format!("No objection, with a warning: {primary}"),
        Verdict::Modify => format!("It may run only in a safer form: {primary}"),
        Verdict::Ask => format!("A person has to decide: {primary}"),
        Verdict::Block => format!("It must not run: {primary}"),
    }
}

/// Returns 1.00, less .30 when not everything was understood, .15 for each fault (at most .45) and
/// .10 when no plugin could score rationality; at least .10.
#[must_use]
pub fn mean_confidence(findings: &Findings) -> Score {
    let gaps = if findings.gaps.is_empty() && findings.limits.is_empty() { 0 } else { 300 };
    let faults =
        u16::try_from(findings.faults.len()).unwrap_or(u16::MAX).saturating_mul(150).min(450);
    let rationality = if findings.rationality().is_some() { 0 } else { 100 };
    Score::new(
        1000_u16.saturating_sub(gaps).saturating_sub(faults).saturating_sub(rationality).max(100),
    )
}

fn alternatives(findings: &Findings) -> Vec<String> {
    let rules = findings.objections.iter().flat_map(|objection| objection.alternatives.iter());
    let mitigations = findings
        .side_effects
        .iter()
        .filter(|effect| effect.finding.severity >= Severity::High)
        .filter_map(|effect| effect.finding.mitigation.as_ref());
    let suggestions =
        findings.rationality().into_iter().flat_map(|(_, low)| low.finding.suggestions.iter());
    let mut all: Vec<String> = Vec::new();
    for text in rules.chain(mitigations).chain(suggestions) {
        if all.len() < 8 && !all.iter().any(|known| is_same_advice(known, text)) {
            all.push(text.clone());
        }
    }
    all
}

/// Words that carry no advice of their own.
const FILLERS: &[&str] =
    &["a", "an", "and", "it", "of", "or", "that", "the", "them", "then", "this", "to"];

/// Returns true if two texts give the same advice: plugins know nothing of each other, and word it
/// in their own way. What stands in backticks has to be the same.
fn is_same_advice(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let quoted = |text: &str| -> Vec<String> {
        text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let (one_words, other_words) = (advice_words(one), advice_words(other));
    let shared = one_words.intersection(&other_words).count();
    let fewest = one_words.len().min(other_words.len());
    quoted(one) == quoted(other) && fewest > 0 && shared * 5 > fewest * 4
}

fn advice_words(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty() && !FILLERS.contains(&word.as_str()))
        .collect()
}

/// The outcome of settling a `modify`.
#[derive(Clone, Debug, PartialEq)]
pub enum RewriteOutcome<'a> {
    /// The decision is unchanged.
    Unchanged,
    /// It runs with this rewrite.
    Rewrite(&'a Attributed<Rewrite>),
    /// No plugin offered a rewrite, or several differ: a person decides. Holds the reason.
    Ask(&'static str),
}

/// Settles a `modify`: exactly one rewrite, or a person decides.
#[must_use]
pub fn settle_rewrites<'a>(
    decision: &Decision,
    offers: &'a [Attributed<Rewrite>],
) -> RewriteOutcome<'a> {
    if decision.verdict != Verdict::Modify {
        return RewriteOutcome::Unchanged;
    }
    let Some(first) = offers.first() else { return RewriteOutcome::Ask("no safer form is known") };
    // Plugins explain the same edits in different words: these are one offer.
    if offers.iter().any(|offer| offer.finding.edits != first.finding.edits) {
        return RewriteOutcome::Ask("two safer forms are offered and they differ");
    }
    RewriteOutcome::Rewrite(first)
}
