//! Plugins that look on: they are asked and their answers recorded, but nothing that they say counts.
//!
//! What they would have made of an action is the decision on all that counts and on their answer alone, each
//! by itself. Neither replies nor other plugins nor the session learn anything of it; a pattern that looks on
//! keeps its own state, so that it sees what it would see.

use super::taken_down;
use crate::decide::{Decision, decide};
use crate::finding::{Assessment, Report};
use crate::plugins::Answer;
use crate::policy::DecisionPolicy;
use crate::record::{RecordedPlugin, RecordedShadow};
use crate::review::Findings;
use std::collections::BTreeMap;

/// The most bytes of a reason in a record.
const MOST_REASON: usize = 1024;

/// What one of them said.
pub(super) struct Onlooker {
    plugin: Option<RecordedPlugin>,
    findings: Findings,
}

/// The answers that count, and those of plugins that look on.
pub(super) fn apart<T>(answers: Vec<Answer<T>>) -> (Vec<Answer<T>>, Vec<Answer<T>>) {
    answers.into_iter().partition(|answer| !answer.plugin.shadow)
}

impl Onlooker {
    pub(super) fn assessed(answer: Answer<Assessment>) -> Self {
        let plugin = taken_down(std::slice::from_ref(&answer)).pop();
        let mut findings = Findings::default();
        findings.assessed(vec![answer]);
        Self { plugin, findings }
    }

    pub(super) fn detected(answer: Answer<Report>, states: &mut BTreeMap<String, Vec<u8>>, newest: u64) -> Self {
        let plugin = taken_down(std::slice::from_ref(&answer)).pop();
        let mut findings = Findings::default();
        findings.detected(vec![answer], states, newest);
        Self { plugin, findings }
    }

    /// For the record of a decision that was made without it.
    pub(super) fn beside(
        self,
        counted: &Findings,
        decision: &Decision,
        first_time: bool,
        policy: &DecisionPolicy,
    ) -> Option<RecordedShadow> {
        let mut together = counted.clone();
        together.join(self.findings.clone());
        let would = decide(&together, first_time, policy);
        let shadow = self.alone()?;
        let reason = (would.verdict > decision.verdict).then(|| crate::text::cut(&would.primary_reason, MOST_REASON));
        Some(RecordedShadow { actual: Some(decision.verdict), would: Some(would.verdict), reason, ..shadow })
    }

    /// For the record of an event on which nothing is decided.
    pub(super) fn alone(self) -> Option<RecordedShadow> {
        let Findings { detections, faults, .. } = self.findings;
        Some(RecordedShadow {
            plugin: self.plugin?,
            actual: None,
            would: None,
            reason: None,
            detections: detections.into_iter().map(|named| named.finding.pattern).collect(),
            faults,
        })
    }
}
