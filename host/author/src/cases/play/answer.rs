//! Presents an issue to an intervention at the current point of the session.

use super::super::CaseIssue;
use super::super::finding::{self, CaseFinding};
use super::CaseRun;
use super::listener::AnswerObserver;
use anyhow::{Context as _, Result};
use portcullis_core::action::{Context, Limit};
use portcullis_core::fault::FaultKind;
use portcullis_core::finding::{Issue, PastIntervention, Situation};
use portcullis_core::intervene::{self, InterventionKind};
use portcullis_core::plugins::Plugins;
use portcullis_core::policy::IssueScale;
use portcullis_core::recover;
use portcullis_core::session::Session;

/// The most earlier interventions that one receives, as in a review.
const PAST: usize = 16;

impl CaseRun<'_> {
    /// Returns the plugin's answer. Limits that it sets are in force from then on, and it becomes
    /// an earlier intervention for the next one; a stop or a rollback does not change the course of
    /// the case.
    pub(super) fn answer(
        &mut self,
        put: &CaseIssue,
        agent: Option<&str>,
        observer: &AnswerObserver,
    ) -> Result<Vec<CaseFinding>> {
        let (step, mut context) =
            observer.surroundings.clone().context("the host asked no plugin about the call")?;
        in_force(&mut self.session.shared_session().limits, &put.limits);
        context.limits.clone_from(&self.session.shared_session().limits);
        let due = put.due.map(|kind| (intervene::DUE_KIND.to_owned(), kind.as_str().to_owned()));
        context.attributes.extend(due);
        let recent = self.session.recent_steps(agent);
        let issue = issue(put, step);
        let situation = situation(put, step, self.session.shared_session(), recent);
        let session = &self.session;
        let details = |step: u64| session.find_step(agent, step);
        self.reviewer.plugins.begin_review(self.at);
        for name in &self.beside {
            self.reviewer.plugins.intervene(name, &issue, &situation, &context, &details);
        }
        let answer = self
            .reviewer
            .plugins
            .intervene(&self.name, &issue, &situation, &context, &details)
            .context("the plugin is gone")?;
        let mut found = finding::of_response(&answer);
        if let Ok(response) = &answer.result {
            let session = self.session.shared_session();
            if let Err(problem) = recover::carry_out(response, &situation, false, session) {
                found.retain(CaseFinding::is_log);
                found.push(finding::of_fault(
                    None,
                    &answer.plugin.new_fault(FaultKind::BadValue, problem),
                ));
            }
            session.note_intervention(past(
                &issue.name,
                InterventionKind::of_response(response),
                step,
                &context,
            ));
        }
        Ok(found)
    }
}

fn issue(put: &CaseIssue, step: u64) -> Issue {
    Issue {
        name: put.name.clone(),
        severity: put.severity,
        confidence: put.confidence,
        impact: put.impact,
        first_step: put.first_step.unwrap_or(step),
        summary: put.summary.clone(),
        evidence: put.evidence.clone(),
        recurrences: put.recurrences,
    }
}

fn situation(put: &CaseIssue, step: u64, session: &Session, recent: Vec<String>) -> Situation {
    let score = put.score.unwrap_or_else(|| {
        IssueScale::default().score_issue(put.severity, put.confidence, put.impact, put.level)
    });
    let past = session.interventions.iter().rev().chain(&put.past).take(PAST).cloned();
    Situation {
        step,
        level: put.level,
        score,
        totals: session.totals,
        checkpoints: put.checkpoints.clone(),
        past: past.collect(),
        recent,
        templates: put.templates.clone(),
    }
}

fn past(issue: &str, kind: InterventionKind, step: u64, context: &Context) -> PastIntervention {
    PastIntervention {
        kind: kind.as_str().into(),
        issue: issue.to_owned(),
        step,
        at: context.now,
        effectiveness: None,
    }
}

/// Adds the limits of a case, which replace those of the same quantity.
fn in_force(limits: &mut Vec<Limit>, given: &[Limit]) {
    limits.retain(|limit| given.iter().all(|given| given.quantity != limit.quantity));
    limits.extend(given.iter().cloned());
}
