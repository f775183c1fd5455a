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
    /// The plugin, or `host`.
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
                self.faults
                    .push(plugin.fault(FaultKind::BadValue, format!("the rule `{}` answered allow: a rule can only object", ruling.rule)));
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

    /// Adds what the patterns said, and keeps their new states.
    pub fn detected(&mut self, answers: Vec<Answer<Report>>, states: &mut BTreeMap<String, Vec<u8>>) {
        for answer in answers {
            let report = match answer.result {
                Ok(report) => report,
                Err(fault) => {
                    self.faults.push(fault);
                    continue;
                }
            };
            if let Some(state) = report.state {
                states.insert(answer.plugin.name.clone(), state);
            }
            let named = |finding| Named { plugin: answer.plugin.name.clone(), finding };
            self.detections.extend(report.detections.into_iter().map(named));
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
