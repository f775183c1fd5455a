//! Hears what each plugin of a bundle says, and counts: what it alone would have objected to.

use super::subjects::Subject;
use crate::runtime::Ear;
use portcullis_core::action::{Action, Context};
use portcullis_core::decide::decide;
use portcullis_core::finding::{Assessment, Report, Response};
use portcullis_core::plugins::{Answer, Identity};
use portcullis_core::policy::DecisionPolicy;
use portcullis_core::record::Record;
use portcullis_core::review::Findings;
use portcullis_core::score::Verdict;
use portcullis_engine::Watched;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What is heard of all plugins of a bundle.
pub struct Listener {
    policy: DecisionPolicy,
    heard: BTreeMap<String, Heard>,
    /// Who objected since somebody asked last.
    objecting: BTreeSet<String>,
}

/// What is heard of one plugin.
#[derive(Debug, Default)]
pub struct Heard {
    /// How often it failed, by kind.
    pub faults: BTreeMap<String, u64>,
    /// The first fault, in words.
    pub first_fault: Option<String>,
    /// The fuel of each call.
    pub fuel: Vec<u64>,
    /// The time of each call.
    pub times: Vec<Duration>,
    /// The most memory of a call, in bytes.
    pub memory: u64,
}

impl Listener {
    pub fn of(subjects: &[Subject], policy: DecisionPolicy) -> Self {
        let heard = |subject: &Subject| (subject.pinned.name.clone(), Heard::default());
        Self { policy, heard: subjects.iter().map(heard).collect(), objecting: BTreeSet::new() }
    }

    /// Takes the faults that the records of an event tell of.
    pub fn records(&mut self, records: &[Record]) {
        for fault in records.iter().flat_map(|record| &record.faults) {
            let Some(heard) = self.heard.get_mut(&fault.source) else { continue };
            *heard.faults.entry(fault.kind.as_str().to_owned()).or_default() += 1;
            heard.first_fault.get_or_insert_with(|| fault.detail.clone());
        }
    }

    /// Takes what calls cost.
    pub fn calls(&mut self, calls: impl IntoIterator<Item = Watched>) {
        for call in calls {
            let Some(heard) = self.heard.get_mut(&call.plugin) else { continue };
            heard.fuel.push(call.cost.fuel);
            heard.times.push(call.cost.running);
            heard.memory = heard.memory.max(u64::try_from(call.cost.memory_bytes).unwrap_or(u64::MAX));
        }
    }

    /// Who objected since this was asked last.
    pub fn objecting(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.objecting)
    }

    /// What was heard of a plugin.
    pub fn heard(&self, name: &str) -> Option<&Heard> {
        self.heard.get(name)
    }

    fn is_own(&self, plugin: &Identity) -> bool {
        self.heard.contains_key(&plugin.name)
    }
}

impl Ear for Listener {
    fn assessed(&mut self, answers: &[Answer<Assessment>]) {
        for answer in answers {
            if !self.is_own(&answer.plugin) || answer.result.is_err() {
                continue;
            }
            let mut findings = Findings::default();
            findings.assessed(vec![answer.clone()]);
            findings.faults.clear();
            if decide(&findings, false, &self.policy).verdict > Verdict::Allow {
                self.objecting.insert(answer.plugin.name.clone());
            }
        }
    }

    fn detected(&mut self, _: &Action, _: &Context, answers: &[Answer<Report>]) {
        for answer in answers {
            if self.is_own(&answer.plugin) && answer.result.as_ref().is_ok_and(|report| !report.detections.is_empty()) {
                self.objecting.insert(answer.plugin.name.clone());
            }
        }
    }

    fn intervened(&mut self, _: &Answer<Response>) {}
}
