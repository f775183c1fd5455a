//! Combines the answers of the plugins about one action.
//!
//! Plugins of one stage are independent: the highest risk, the lowest rationality, the union of
//! effects and the strictest verdict count, and each names its plugin. An invalid answer is a fault
//! of its plugin. This module combines answers; it decides nothing.

use crate::action::{Assessed, Coverage, Facts};
use crate::fault::{Fault, FaultKind};
use crate::finding::{Assessment, Detection, FactorKind, Report, Rewrite, SideEffect};
use crate::plugins::{Identity, PluginResponse};
use crate::score::{Score, Severity, Verdict};
use crate::text::one_line;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All findings about one action.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Each plugin's risk.
    pub risks: Vec<Attributed<crate::finding::Risk>>,
    /// Each plugin's rationality.
    pub rationalities: Vec<Attributed<crate::finding::Rationality>>,
    /// All side effects, without duplicates.
    pub side_effects: Vec<Attributed<SideEffect>>,
    /// All objections of rules, and of the host itself.
    pub objections: Vec<Objection>,
    /// Rewrites that rules offer.
    pub offers: Vec<Attributed<Rewrite>>,
    /// Labels of dangerous forms.
    pub forms: Vec<String>,
    /// The parts that were not understood; empty if all were.
    pub gaps: Vec<String>,
    /// The limits that were exceeded, so part of the action was not examined.
    pub limits: Vec<String>,
    /// Patterns that were detected before the action ran.
    pub detections: Vec<Attributed<Detection>>,
    /// The faults.
    pub faults: Vec<Fault>,
}

/// A finding and its plugin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attributed<T> {
    /// The plugin.
    pub plugin: String,
    /// The plugin's finding.
    pub finding: T,
}

/// A rule's objection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Objection {
    /// The plugin, or [`OWN`].
    pub source: String,
    /// The rule.
    pub rule: String,
    /// The verdict, at least warn.
    pub verdict: Verdict,
    /// The severity; critical stops the session.
    pub severity: Severity,
    /// The reason.
    pub reason: String,
    /// Safer alternatives.
    pub alternatives: Vec<String>,
    /// True if the rule offered a rewrite.
    pub rewrite: bool,
}

/// The source of the host's own objections. A plugin that takes this name gains nothing, except
/// that no exception lifts its objections.
pub const OWN: &str = "portcullis";

impl Objection {
    /// Returns true if it is the host's own.
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
/// The prefix of the names of issues that the host itself creates for a rule's violation; they stop
/// the session.
pub const RULE: &str = "rule:";

/// Returns the reason that a detection is invalid, if it is.
fn impossible(detection: &Detection, newest: u64) -> Option<String> {
    let name = one_line(&detection.pattern, 64);
    if detection.pattern.is_empty() || detection.pattern.len() > MOST_NAME {
        return Some(format!("the pattern's name `{name}` must have 1 to {MOST_NAME} bytes"));
    }
    if detection.pattern.starts_with(RULE) {
        return Some(format!(
            "the pattern `{name}` is named as a rule's violation: only the host names those"
        ));
    }
    let first = detection.first_step;
    (first > newest).then(|| {
        format!("the pattern `{name}` began at step {first}, which is later than {newest}")
    })
}

impl Findings {
    /// Creates findings from the facts alone.
    #[must_use]
    pub fn of_facts(facts: &Facts) -> Self {
        let gaps = match facts.coverage {
            Coverage::Full => Vec::new(),
            Coverage::Partial if facts.gaps.is_empty() && facts.limits.is_empty() => {
                vec!["a part of it".to_owned()]
            }
            Coverage::Partial => facts.gaps.clone(),
        };
        Self {
            forms: facts.forms.iter().map(|form| form.label.clone()).collect(),
            gaps,
            limits: facts.limits.clone(),
            ..Self::default()
        }
    }

    /// Adds findings from another source about the same action.
    pub fn join_findings(&mut self, other: Self) {
        let Self {
            risks,
            rationalities,
            side_effects,
            objections,
            offers,
            forms,
            gaps,
            limits,
            detections,
            faults,
        } = other;
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
        self.limits.extend(limits);
        self.detections.extend(detections);
        self.faults.extend(faults);
    }

    /// Adds the risk-calculators' answers and returns them in brief for later stages. Answers of
    /// plugins in shadow mode are recorded elsewhere and must not be passed here.
    pub fn add_assessments(&mut self, answers: Vec<PluginResponse<Assessment>>) -> Vec<Assessed> {
        answers.into_iter().filter_map(|answer| self.assessment(answer)).collect()
    }

    fn assessment(&mut self, answer: PluginResponse<Assessment>) -> Option<Assessed> {
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
            rationality: assessment
                .rationality
                .as_ref()
                .and_then(crate::finding::Rationality::score),
            alignment: assessment
                .rationality
                .as_ref()
                .and_then(|rationality| rationality.alignment),
            verdict: Verdict::Allow,
            rules: Vec::new(),
        };
        let name = |plugin: &Identity| plugin.name.clone();
        if let Some(risk) = assessment.risk {
            let labels = risk
                .factors
                .iter()
                .filter(|factor| factor.kind == FactorKind::Form)
                .map(|factor| factor.reason.clone());
            for label in labels {
                if !self.forms.contains(&label) {
                    self.forms.push(label);
                }
            }
            self.risks.push(Attributed { plugin: name(&plugin), finding: risk });
        }
        if let Some(rationality) = assessment.rationality {
            self.rationalities.push(Attributed { plugin: name(&plugin), finding: rationality });
        }
        for effect in assessment.side_effects.unwrap_or_default() {
            if !self.side_effects.iter().any(|known| known.finding == effect) {
                self.side_effects.push(Attributed { plugin: name(&plugin), finding: effect });
            }
        }
        for ruling in assessment.rulings {
            if ruling.verdict == Verdict::Allow {
                self.faults.push(plugin.new_fault(
                    FaultKind::BadValue,
                    format!(
                        "the rule `{}` answered allow: a rule can only object",
                        one_line(&ruling.rule, 128)
                    ),
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
                self.offers.push(Attributed { plugin: name(&plugin), finding: rewrite });
            }
        }
        Some(brief)
    }

    /// Adds the patterns' answers and keeps their new states. `newest` is the session's newest
    /// step.
    pub fn add_detections(
        &mut self,
        answers: Vec<PluginResponse<Report>>,
        states: &mut BTreeMap<String, Vec<u8>>,
        newest: u64,
    ) {
        for answer in answers {
            match answer.result {
                Ok(report) => self.report(&answer.plugin, report, states, newest),
                Err(fault) => self.faults.push(fault),
            }
        }
    }

    /// Adds one report. An invalid part is a fault; the other parts still count.
    fn report(
        &mut self,
        plugin: &Identity,
        report: Report,
        states: &mut BTreeMap<String, Vec<u8>>,
        newest: u64,
    ) {
        match report.state {
            Some(state) if state.len() > MOST_STATE => {
                let detail =
                    format!("its state has {} bytes; at most {MOST_STATE} are kept", state.len());
                self.faults.push(plugin.new_fault(FaultKind::OutputTooLarge, detail));
            }
            Some(state) => drop(states.insert(plugin.name.clone(), state)),
            None => {}
        }
        let count = report.detections.len();
        if count > MOST_DETECTIONS {
            let detail =
                format!("it reports {count} detections; at most {MOST_DETECTIONS} are taken");
            self.faults.push(plugin.new_fault(FaultKind::OutputTooLarge, detail));
        }
        for finding in report.detections.into_iter().take(MOST_DETECTIONS) {
            match impossible(&finding, newest) {
                Some(problem) => self.faults.push(plugin.new_fault(FaultKind::BadValue, problem)),
                None => self.detections.push(Attributed { plugin: plugin.name.clone(), finding }),
            }
        }
    }

    /// Returns the highest risk; none if no plugin scored it.
    #[must_use]
    pub fn risk(&self) -> Option<&Attributed<crate::finding::Risk>> {
        // The first of equals, so that further plugins with the same score do not change the
        // answer.
        self.risks.iter().rev().max_by_key(|risk| risk.finding.score)
    }

    /// Returns the highest risk without what earlier failures add to it.
    #[must_use]
    pub fn unrepeated_risk(&self) -> Score {
        let unrepeated = |risk: &crate::finding::Risk| {
            let sum = |repeated: bool| {
                risk.factors
                    .iter()
                    .filter(|factor| (factor.kind == FactorKind::Repetition) == repeated)
                    .fold(0_u16, |sum, factor| sum.saturating_add(factor.weight.get()))
            };
            let score = risk.score.get();
            // A ceiling may have cut the sum.
            match sum(true) {
                0 => risk.score,
                added => Score::new(score.saturating_sub(added).max(sum(false)).min(score)),
            }
        };
        self.risks.iter().map(|risk| unrepeated(&risk.finding)).max().unwrap_or(Score::ZERO)
    }

    /// Returns the lowest rationality among those that were scored.
    #[must_use]
    pub fn rationality(&self) -> Option<(Score, &Attributed<crate::finding::Rationality>)> {
        self.rationalities
            .iter()
            .filter_map(|named| Some((named.finding.score()?, named)))
            .min_by_key(|(score, _)| *score)
    }

    /// Returns the goal alignment that belongs to the lowest rationality.
    #[must_use]
    pub fn alignment(&self) -> Option<Score> {
        self.rationalities.iter().filter_map(|named| named.finding.alignment).min()
    }
}
