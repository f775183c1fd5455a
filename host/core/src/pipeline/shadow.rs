//! Plugins in shadow mode: they are asked and their answers recorded, but nothing that they say
//! counts.
//!
//! The result that each would have led to is the decision on everything that counts plus its answer
//! alone. Replies, other plugins and the session get no information from it. A pattern in shadow
//! mode keeps its own state, so that it sees the same as in normal mode.

use super::record_plugins;
use crate::finding::{Assessment, Report};
use crate::plugins::PluginResponse;
use crate::policy::DecisionPolicy;
use crate::record::{RecordedPlugin, RecordedShadow};
use crate::review::Findings;
use crate::verdict::{Decision, decide_verdict};
use std::collections::BTreeMap;

/// The most bytes of a reason in a record.
const MOST_REASON: usize = 1024;

/// The answer of one of them.
pub(super) struct ShadowFindings {
    plugin: Option<RecordedPlugin>,
    findings: Findings,
}

/// Separates the answers that count from those of plugins in shadow mode.
pub(super) fn split_shadow<T>(
    answers: Vec<PluginResponse<T>>,
) -> (Vec<PluginResponse<T>>, Vec<PluginResponse<T>>) {
    answers.into_iter().partition(|answer| !answer.plugin.shadow)
}

impl ShadowFindings {
    pub(super) fn assessed(answer: PluginResponse<Assessment>) -> Self {
        let plugin = record_plugins(std::slice::from_ref(&answer)).pop();
        let mut findings = Findings::default();
        findings.add_assessments(vec![answer]);
        Self { plugin, findings }
    }

    pub(super) fn detected(
        answer: PluginResponse<Report>,
        states: &mut BTreeMap<String, Vec<u8>>,
        newest: u64,
    ) -> Self {
        let plugin = record_plugins(std::slice::from_ref(&answer)).pop();
        let mut findings = Findings::default();
        findings.add_detections(vec![answer], states, newest);
        Self { plugin, findings }
    }

    /// Returns the entry for the record of a decision that was made without it.
    pub(super) fn record_beside(
        self,
        counted: &Findings,
        decision: &Decision,
        first_time: bool,
        policy: &DecisionPolicy,
    ) -> Option<RecordedShadow> {
        let mut together = counted.clone();
        together.join_findings(self.findings.clone());
        let would = decide_verdict(&together, first_time, policy);
        let shadow = self.record_alone()?;
        let reason = (would.verdict > decision.verdict)
            .then(|| crate::text::cut_text(&would.primary_reason, MOST_REASON));
        Some(RecordedShadow {
            actual: Some(decision.verdict),
            would: Some(would.verdict),
            reason,
            ..shadow
        })
    }

    /// Returns the entry for the record of an event without a decision.
    pub(super) fn record_alone(self) -> Option<RecordedShadow> {
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
