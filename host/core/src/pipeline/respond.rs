//! Answering issues: the controller says what is due, a plugin words it, recovery carries it out.

use super::{Run, taken_down};
use crate::action::Context;
use crate::decide::Decision;
use crate::fault::FaultKind;
use crate::finding::{Issue, Response, Situation};
use crate::intervene::{self, Due, Kind};
use crate::plugins::Plugins;
use crate::record::{RecordKind, RecordedIntervention};
use crate::recover::{self, Recovery};
use crate::review::Findings;
use crate::voice::Heard;

impl Run<'_, '_> {
    /// Answers what was found; `decision` is there before an action, not after it.
    pub(super) fn respond(&mut self, findings: &Findings, decision: Option<&Decision>, context: &Context, step: u64) {
        if self.observing() || self.state.session.stopped.is_some() {
            return;
        }
        // The step under review counts from its review on.
        let clock = self.state.session.totals.steps.saturating_add(u64::from(decision.is_some()));
        for issue in intervene::issues(findings, decision, step) {
            let policy = &self.settings.policy.interventions;
            if let Some(due) = intervene::due(issue, &mut self.state.session, clock, self.now, policy) {
                self.answer(&due, context, step);
            }
        }
    }

    /// Asks for the sternest intervention that is due and there; milder ones stand in for missing ones.
    fn answer(&mut self, due: &Due, context: &Context, step: u64) {
        let situation = self.situation(due, step);
        for kind in due.kind.and_milder() {
            let guidance = kind < Kind::ResourceThrottling;
            if self.settings.policy.interventions.disabled.iter().any(|name| name == kind.as_str()) || (guidance && due.quiet) {
                continue;
            }
            let answer = Heard(self.ports.plugins).intervene(&kind.plugin(), &due.issue, &situation, context);
            // One that looks on answers nothing; the configuration refuses it anyway.
            let Some(answer) = answer.filter(|answer| !answer.plugin.shadow) else { continue };
            let plugins = taken_down(std::slice::from_ref(&answer));
            let (fault, response) = match answer.result {
                Ok(response) => (None, response),
                Err(fault) => (Some(fault), self.stand_in(kind, &due.issue)),
            };
            let (recovery, response, fault) = match recover::carry_out(&response, &situation, &mut self.state.session) {
                Ok(recovery) => (recovery, response, fault),
                Err(problem) => {
                    let stand_in = self.stand_in(kind, &due.issue);
                    let fault = Some(answer.plugin.fault(FaultKind::BadValue, problem));
                    let recovery = recover::carry_out(&stand_in, &situation, &mut self.state.session);
                    (recovery.unwrap_or_else(|_| nothing()), stand_in, fault)
                }
            };
            self.take_over(&recovery, &due.issue);
            self.state.session.intervened(intervene::past(due, kind, step, self.now));
            let mut record = self.record(RecordKind::Intervention, kind.as_str(), crate::text::one_line(&due.issue.summary, 240));
            record.step = Some(step);
            record.plugins = plugins;
            record.faults.extend(fault);
            record.intervention = Some(RecordedIntervention {
                kind: kind.as_str().into(),
                issue: due.issue.name.clone(),
                level: due.level,
                score: due.score,
                outcome: recovery.outcome,
                response,
            });
            self.records.push(record);
            return;
        }
    }

    /// What is said when an intervention's plugin failed: a fault of wording must not cost the answer.
    fn stand_in(&self, kind: Kind, issue: &Issue) -> Response {
        let message = format!("{} (noticed: {})", issue.summary, issue.name);
        if kind == Kind::EmergencyStop {
            Response::Stop { message, report: crate::finding::StopReport::default() }
        } else {
            Response::Guide(crate::finding::Guidance { messages: vec![message], ..Default::default() })
        }
    }

    fn situation(&self, due: &Due, step: u64) -> Situation {
        let policy = &self.settings.policy.interventions;
        Situation {
            step,
            level: due.level,
            score: due.score,
            totals: self.state.session.totals,
            checkpoints: Vec::new(),
            past: self.state.session.interventions.iter().rev().take(16).cloned().collect(),
            recent: self.state.agent.recent.iter().cloned().collect(),
            templates: policy.templates.iter().map(|(issue, text)| (issue.clone(), text.clone())).collect(),
        }
    }

    fn take_over(&mut self, recovery: &Recovery, issue: &Issue) {
        let said = |text: &String| format!("Portcullis: {text}");
        self.reply.agent.extend(recovery.agent.iter().map(said));
        self.reply.person.extend(recovery.person.iter().map(said));
        if recovery.stop.is_some() {
            self.state.session.stopped = Some(crate::text::one_line(&issue.summary, 512));
        }
    }
}

const fn nothing() -> Recovery {
    Recovery { outcome: recover::Outcome::Wait, agent: Vec::new(), person: Vec::new(), stop: None }
}
