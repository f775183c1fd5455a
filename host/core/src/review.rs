//! Combining what the plugins said of one action.
//!
//! Plugins of one stage are independent: risk is the highest, rationality the lowest, effects the
//! union, verdict the strictest, and each names who said it. An answer that cannot be is a fault of
//! its plugin. This module combines; it decides nothing.

use crate::action::{Assessed, Coverage, Facts};
use crate::fault::{Fault, FaultKind};
use crate::finding::{Assessment, Detection, FactorKind, Report, Rewrite, SideEffect};
use crate::plugins::{Answer, Identity};
use crate::score::{Score, Severity, Verdict};
use crate::text::one_line;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything that was found about one action.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Each plugin's risk.
    pub risks: Vec<Named<crate::finding::Risk>>,
    /// Each plugin's rationality.
    pub rationalities: Vec<Named<crate::finding::Rationality>>,
    /// All side effects, once.
    pub side_effects: Vec<Named<SideEffect>>,
    /// All objections of rules, and of the host itself.
    pub objections: Vec<Objection>,
    /// Rewrites that rules offer.
    pub offers: Vec<Named<Rewrite>>,
    /// Dangerous forms: labels.
    pub forms: Vec<String>,
    /// What was not understood; empty when all was.
    pub gaps: Vec<String>,
    /// Patterns that were detected before the action ran.
    pub detections: Vec<Named<Detection>>,
    /// What went wrong.
    pub faults: Vec<Fault>,
}

/// A finding and the plugin that it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Named<T> {
    /// The plugin.
    pub plugin: String,
    /// What it said.
    pub finding: T,
}

/// A rule's objection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Objection {
    /// The plugin, or [`OWN`].
    pub source: String,
    /// The rule.
    pub rule: String,
    /// Warn or stricter.
    pub verdict: Verdict,
    /// How bad; critical stops the session.
    pub severity: Severity,
    /// Why.
    pub reason: String,
    /// What could be done instead.
    pub alternatives: Vec<String>,
    /// It offered a rewrite.
    pub rewrite: bool,
}

/// The source of the host's own objections. A plugin of that name gains nothing but that no exception
/// lifts what it objects to.
pub const OWN: &str = "portcullis";

impl Objection {
    /// It is the host's own.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.source == OWN
    }
}

/// The most detections in one report.
const MOST_DETECTIONS: usize = 16;
/// The most bytes of a pattern's own state.
const MOST_STATE: usize = 64 * 1024;
/// The most bytes of a pattern's name.
const MOST_NAME: usize = 128;
/// Begins the names of issues that the host itself makes of a rule's violation: they stop the session.
pub const RULE: &str = "rule:";

/// Why a detection cannot be, if it cannot.
fn impossible(detection: &Detection, newest: u64) -> Option<String> {
    let name = one_line(&detection.pattern, 64);
    if detection.pattern.is_empty() || detection.pattern.len() > MOST_NAME {
        return Some(format!("the pattern's name `{name}` must have 1 to {MOST_NAME} bytes"));
    }
    if detection.pattern.starts_with(RULE) {
        return Some(format!("the pattern `{name}` is named as a rule's violation: only the host names those"));
    }
    let first = detection.first_step;
    (first > newest).then(|| format!("the pattern `{name}` began at step {first}, which is still to come after {newest}"))
}

impl Findings {
    /// The start: what the facts alone say.
    #[must_use]
    pub fn of_facts(facts: &Facts) -> Self {
        let gaps = match facts.coverage {
            Coverage::Full => Vec::new(),
            Coverage::Partial if facts.gaps.is_empty() => vec!["a part of it".to_owned()],
            Coverage::Partial => facts.gaps.clone(),
        };
        Self { forms: facts.forms.iter().map(|form| form.label.clone()).collect(), gaps, ..Self::default() }
    }

    /// Adds what was found elsewhere on the same action.
    pub fn join(&mut self, other: Self) {
        let Self { risks, rationalities, side_effects, objections, offers, forms, gaps, detections, faults } = other;
        self.risks.extend(risks);
        self.rationalities.extend(rationalities);
        for effect in side_effects {
            if !self.side_effects.iter().any(|known| known.finding == effect.finding) {
                self.side_effects.push(effect);
            }
        }
        self.objections.extend(objections);
        self.offers.extend(offers);
        for form in forms {
            if !self.forms.contains(&form) {
                self.forms.push(form);
            }
        }
        self.gaps.extend(gaps);
        self.detections.extend(detections);
        self.faults.extend(faults);
    }

    /// Adds what the risk-calculators said; returns it in brief for the stages after them. Answers of
    /// plugins that run in shadow are recorded elsewhere and do not come here.
    pub fn assessed(&mut self, answers: Vec<Answer<Assessment>>) -> Vec<Assessed> {
        answers.into_iter().filter_map(|answer| self.assessment(answer)).collect()
    }

    fn assessment(&mut self, answer: Answer<Assessment>) -> Option<Assessed> {
        let plugin = answer.plugin;
        let assessment = match answer.result {
            Ok(assessment) => assessment,
            Err(fault) => {
                self.faults.push(fault);
                return None;
            }
        };
        let mut brief = Assessed {
            plugin: plugin.name.clone(),
            risk: assessment.risk.as_ref().map(|risk| risk.score),
            rationality: assessment.rationality.as_ref().and_then(crate::finding::Rationality::score),
            alignment: assessment.rationality.as_ref().and_then(|rationality| rationality.alignment),
            verdict: Verdict::Allow,
            rules: Vec::new(),
        };
        let name = |plugin: &Identity| plugin.name.clone();
        if let Some(risk) = assessment.risk {
            let labels = risk.factors.iter().filter(|factor| factor.kind == FactorKind::Form).map(|factor| factor.reason.clone());
            for label in labels {
                if !self.forms.contains(&label) {
                    self.forms.push(label);
                }
            }
            self.risks.push(Named { plugin: name(&plugin), finding: risk });
        }
        if let Some(rationality) = assessment.rationality {
            self.rationalities.push(Named { plugin: name(&plugin), finding: rationality });
        }
        for effect in assessment.side_effects.unwrap_or_default() {
            if !self.side_effects.iter().any(|known| known.finding == effect) {
                self.side_effects.push(Named { plugin: name(&plugin), finding: effect });
            }
        }
        for ruling in assessment.rulings {
            if ruling.verdict == Verdict::Allow {
                self.faults.push(plugin.fault(
                    FaultKind::BadValue,
                    format!("the rule `{}` answered allow: a rule can only object", one_line(&ruling.rule, 128)),
                ));
                continue;
            }
            brief.verdict = brief.verdict.max(ruling.verdict);
            brief.rules.push(ruling.rule.clone());
            self.objections.push(Objection {
                source: name(&plugin),
                rule: ruling.rule,
                verdict: ruling.verdict,
                severity: ruling.severity,
                reason: ruling.reason,
                alternatives: ruling.alternatives,
                rewrite: ruling.rewrite.is_some(),
            });
            if let Some(rewrite) = ruling.rewrite {
                self.offers.push(Named { plugin: name(&plugin), finding: rewrite });
            }
        }
        Some(brief)
    }

    /// Adds what the patterns said, and keeps their new states. `newest` is the session's newest step.
    pub fn detected(&mut self, answers: Vec<Answer<Report>>, states: &mut BTreeMap<String, Vec<u8>>, newest: u64) {
        for answer in answers {
            match answer.result {
                Ok(report) => self.report(&answer.plugin, report, states, newest),
                Err(fault) => self.faults.push(fault),
            }
        }
    }

    /// A part that cannot be is a fault; the other parts count all the same.
    fn report(&mut self, plugin: &Identity, report: Report, states: &mut BTreeMap<String, Vec<u8>>, newest: u64) {
        match report.state {
            Some(state) if state.len() > MOST_STATE => {
                let detail = format!("its state has {} bytes; at most {MOST_STATE} are kept", state.len());
                self.faults.push(plugin.fault(FaultKind::OutputTooLarge, detail));
            }
            Some(state) => drop(states.insert(plugin.name.clone(), state)),
            None => {}
        }
        let count = report.detections.len();
        if count > MOST_DETECTIONS {
            let detail = format!("it reports {count} detections; at most {MOST_DETECTIONS} are taken");
            self.faults.push(plugin.fault(FaultKind::OutputTooLarge, detail));
        }
        for finding in report.detections.into_iter().take(MOST_DETECTIONS) {
            match impossible(&finding, newest) {
                Some(problem) => self.faults.push(plugin.fault(FaultKind::BadValue, problem)),
                None => self.detections.push(Named { plugin: plugin.name.clone(), finding }),
            }
        }
    }

    /// The highest risk; none when nobody scored it.
    #[must_use]
    pub fn risk(&self) -> Option<&Named<crate::finding::Risk>> {
        // The first of equals, so that the answer does not depend on more plugins agreeing.
        self.risks.iter().rev().max_by_key(|risk| risk.finding.score)
    }

    /// The lowest rationality among those that were scored.
    #[must_use]
    pub fn rationality(&self) -> Option<(Score, &Named<crate::finding::Rationality>)> {
        self.rationalities.iter().filter_map(|named| Some((named.finding.score()?, named))).min_by_key(|(score, _)| *score)
    }

    /// The goal alignment that belongs to the lowest rationality.
    #[must_use]
    pub fn alignment(&self) -> Option<Score> {
        self.rationalities.iter().filter_map(|named| named.finding.alignment).min()
    }
}
