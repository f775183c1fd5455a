//! Observes a plugin's answers in a session, and the context that it was given.

use super::super::finding::{self, CaseFinding};
use portcullis_core::action::{Action, Context};
use portcullis_core::fault::Fault;
use portcullis_core::finding::{Assessment, Report, Response};
use portcullis_core::plugins::PluginResponse;
use portcullis_review::reviewer::PluginObserver;

/// An observer of one plugin.
#[derive(Default)]
pub(super) struct AnswerObserver {
    pub(super) name: String,
    /// The moment: before the call, or after it ended.
    pub(super) when: &'static str,
    /// True once the call was assessed: any later assessment is of a safer form of it.
    assessed: bool,
    pub(super) findings: Vec<CaseFinding>,
    /// The step under review, and the context of the last call of a plugin.
    pub(super) surroundings: Option<(u64, Context)>,
}

impl AnswerObserver {
    pub(super) fn of(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Records the host's rejection of a response in its place.
    pub(super) fn refused(&mut self, fault: &Fault) {
        let fault = finding::of_fault(None, fault);
        if self.findings.contains(&fault) {
            return;
        }
        match self.findings.iter_mut().rev().find(|finding| finding.0.contains_key("response")) {
            Some(response) => *response = fault,
            None => self.findings.push(fault),
        }
    }
}

impl PluginObserver for AnswerObserver {
    fn assessed(&mut self, answers: &[PluginResponse<Assessment>]) {
        if !std::mem::replace(&mut self.assessed, true) {
            let own = answers.iter().filter(|answer| answer.plugin.name == self.name);
            self.findings.extend(own.flat_map(|answer| finding::of_assessment(self.when, answer)));
        }
    }

    fn detected(&mut self, action: &Action, context: &Context, answers: &[PluginResponse<Report>]) {
        let own = answers.iter().filter(|answer| answer.plugin.name == self.name);
        self.findings.extend(own.flat_map(|answer| finding::of_report(self.when, answer)));
        self.surroundings = Some((action.step, context.clone()));
    }

    fn intervened(&mut self, answer: &PluginResponse<Response>) {
        if answer.plugin.name == self.name {
            self.findings.extend(finding::of_response(answer));
        }
    }
}
