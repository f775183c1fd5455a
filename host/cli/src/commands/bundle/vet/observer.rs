//! Observes the plugins of a bundle during an evaluation and counts the actions that each alone
//! would have objected to.

use super::subjects::Subject;
use portcullis_core::action::{Action, Context};
use portcullis_core::finding::{Assessment, Report, Response};
use portcullis_core::plugins::{Identity, PluginResponse};
use portcullis_core::policy::DecisionPolicy;
use portcullis_core::record::Record;
use portcullis_core::review::Findings;
use portcullis_core::score::Verdict;
use portcullis_core::verdict::decide_verdict;
use portcullis_engine::ObservedCall;
use portcullis_review::reviewer::PluginObserver;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The observations of all plugins of a bundle.
pub struct BundleObserver {
    policy: DecisionPolicy,
    observations: BTreeMap<String, PluginObservations>,
    /// Plugins that objected since the last call of [`Self::take_objecting`].
    objecting: BTreeSet<String>,
}

/// The observations of one plugin.
#[derive(Debug, Default)]
pub struct PluginObservations {
    /// The number of faults, by kind.
    pub faults: BTreeMap<String, u64>,
    /// The first fault, in words.
    pub first_fault: Option<String>,
    /// The fuel of each call.
    pub fuel: Vec<u64>,
    /// The time of each call.
    pub times: Vec<Duration>,
    /// The peak memory of a call, in bytes.
    pub memory: u64,
}

impl BundleObserver {
    pub fn for_subjects(subjects: &[Subject], policy: DecisionPolicy) -> Self {
        let observations =
            |subject: &Subject| (subject.pinned.name.clone(), PluginObservations::default());
        Self {
            policy,
            observations: subjects.iter().map(observations).collect(),
            objecting: BTreeSet::new(),
        }
    }

    /// Adds the faults from the records of an event.
    pub fn add_records(&mut self, records: &[Record]) {
        for fault in records.iter().flat_map(|record| &record.faults) {
            let Some(observations) = self.observations.get_mut(&fault.source) else { continue };
            *observations.faults.entry(fault.kind.as_str().to_owned()).or_default() += 1;
            observations.first_fault.get_or_insert_with(|| fault.detail.clone());
        }
    }

    /// Adds the costs of calls.
    pub fn add_calls(&mut self, calls: impl IntoIterator<Item = ObservedCall>) {
        for call in calls {
            let Some(observations) = self.observations.get_mut(&call.plugin) else { continue };
            observations.fuel.push(call.cost.fuel);
            observations.times.push(call.cost.running);
            observations.memory =
                observations.memory.max(u64::try_from(call.cost.memory_bytes).unwrap_or(u64::MAX));
        }
    }

    /// Returns and resets the plugins that objected since the last call.
    pub fn take_objecting(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.objecting)
    }

    /// Returns the observations of a plugin.
    pub fn observations_of(&self, name: &str) -> Option<&PluginObservations> {
        self.observations.get(name)
    }

    fn is_own(&self, plugin: &Identity) -> bool {
        self.observations.contains_key(&plugin.name)
    }
}

impl PluginObserver for BundleObserver {
    fn assessed(&mut self, answers: &[PluginResponse<Assessment>]) {
        for answer in answers {
            if !self.is_own(&answer.plugin) || answer.result.is_err() {
                continue;
            }
            let mut findings = Findings::default();
            findings.add_assessments(vec![answer.clone()]);
            // Faults are counted by themselves.
            findings.faults.clear();
            if decide_verdict(&findings, false, &self.policy).verdict > Verdict::Allow {
                self.objecting.insert(answer.plugin.name.clone());
            }
        }
    }

    fn detected(&mut self, _: &Action, _: &Context, answers: &[PluginResponse<Report>]) {
        for answer in answers {
            if self.is_own(&answer.plugin)
                && answer.result.as_ref().is_ok_and(|report| !report.detections.is_empty())
            {
                self.objecting.insert(answer.plugin.name.clone());
            }
        }
    }

    fn intervened(&mut self, _: &PluginResponse<Response>) {}
}
