//! Hears what the plugin says in a session, and what the session told it.

use super::super::finding::{self, Finding};
use crate::runtime::Ear;
use portcullis_core::action::{Action, Context};
use portcullis_core::fault::Fault;
use portcullis_core::finding::{Assessment, Report, Response};
use portcullis_core::plugins::Answer;

/// Hears one plugin.
#[derive(Default)]
pub(super) struct Listener {
    pub(super) name: String,
    /// Before the call, or after it ended.
    pub(super) when: &'static str,
    /// The call was assessed: what follows is about a safer form of it.
    assessed: bool,
    pub(super) findings: Vec<Finding>,
    /// The step under review, and what surrounded it when plugins were asked last.
    pub(super) surroundings: Option<(u64, Context)>,
}

impl Listener {
    pub(super) fn of(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// What the host refused of a response: it has its place.
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

impl Ear for Listener {
    fn assessed(&mut self, answers: &[Answer<Assessment>]) {
        if !std::mem::replace(&mut self.assessed, true) {
            let own = answers.iter().filter(|answer| answer.plugin.name == self.name);
            self.findings.extend(own.flat_map(|answer| finding::of_assessment(self.when, answer)));
        }
    }

    fn detected(&mut self, action: &Action, context: &Context, answers: &[Answer<Report>]) {
        let own = answers.iter().filter(|answer| answer.plugin.name == self.name);
        self.findings.extend(own.flat_map(|answer| finding::of_report(self.when, answer)));
        self.surroundings = Some((action.step, context.clone()));
    }

    fn intervened(&mut self, answer: &Answer<Response>) {
        if answer.plugin.name == self.name {
            self.findings.extend(finding::of_response(answer));
        }
    }
}
