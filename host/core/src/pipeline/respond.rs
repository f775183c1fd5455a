//! Answers issues: the controller decides which intervention is due, a plugin words it, recovery
//! carries it out.

use super::{Run, record_plugins};
use crate::action::Context;
use crate::fault::{Fault, FaultKind};
use crate::finding::{Issue, Response, Situation};
use crate::incident;
use crate::intervene::{self, DueIntervention, InterventionKind};
use crate::plugins::{PluginResponse, Plugins};
use crate::policy::Strategy;
use crate::quoting::QuotedPlugins;
use crate::record::{RecordKind, RecordedIntervention};
use crate::recover::{self, Recovery};
use crate::review::Findings;
use crate::verdict::Decision;

impl Run<'_, '_> {
    /// Answers the findings; `decision` is present before an action, not after it. Files are
    /// restored automatically only after it: an action that is about to run was planned on the
    /// files as they are.
    pub(super) fn respond(
        &mut self,
        findings: &Findings,
        decision: Option<&Decision>,
        context: &Context,
        step: u64,
    ) {
        if self.observing() || self.state.session.stopped.is_some() {
            return;
        }
        // The step under review counts from its review on.
        let clock = self.state.session.totals.steps.saturating_add(u64::from(decision.is_some()));
        let mut issues = intervene::issues(findings, decision, step);
        issues.retain(|issue| !self.state.session.was_decided(issue));
        let policy = &self.settings.policy.interventions;
        let noted =
            intervene::note_issues(issues, &mut self.state.session, clock, self.now, policy);
        self.judged.extend(noted.judged);
        let mut said = None;
        for due in &noted.due {
            said = said.max(self.answer(due, said, context, (step, decision.is_none())));
        }
    }

    /// Asks the plugin that decides, if one is configured, and otherwise the strictest intervention
    /// that is due and available. Milder ones replace missing ones. `said` is the strictest answer
    /// to this event so far: guidance that is no stricter would only blur it. Returns the kind of
    /// the answer, if one was given.
    fn answer(
        &mut self,
        due: &DueIntervention,
        said: Option<InterventionKind>,
        context: &Context,
        (step, over): (u64, bool),
    ) -> Option<InterventionKind> {
        let situation = self.situation(due, step);
        let policy = &self.settings.policy.interventions;
        let mut faults = Vec::new();
        let silent =
            |kind: InterventionKind| kind.is_guidance() && (due.quiet || said >= Some(kind));
        if let Some(decider) = policy
            .decider
            .as_deref()
            .filter(|_| policy.strategy == Strategy::Custom && !due.is_of_a_rule())
        {
            match self.ask(decider, due, &situation, context) {
                None => faults.push(Fault::host(
                    FaultKind::Configuration,
                    format!("there is no intervention `{decider}` to decide"),
                )),
                Some(answer) => match answer.result.as_ref().map(InterventionKind::of) {
                    Ok(kind) if silent(kind) => return None,
                    Ok(kind) if self.is_open(kind) => {
                        return Some(self.carry_out(
                            (kind, answer),
                            due,
                            (&situation, over),
                            faults,
                        ));
                    }
                    Ok(_) => {}
                    Err(fault) => faults.push(fault.clone()),
                },
            }
        }
        for kind in due.kind.and_milder() {
            if !self.is_open(kind) || silent(kind) {
                continue;
            }
            let name = policy.plugins.get(kind.as_str()).cloned().unwrap_or_else(|| kind.plugin());
            if let Some(answer) = self.ask(&name, due, &situation, context) {
                return Some(self.carry_out((kind, answer), due, (&situation, over), faults));
            }
        }
        None
    }

    /// Asks one plugin. A plugin in shadow mode gives no answer; the configuration refuses it
    /// anyway.
    fn ask(
        &mut self,
        plugin: &str,
        due: &DueIntervention,
        situation: &Situation,
        context: &Context,
    ) -> Option<PluginResponse<Response>> {
        QuotedPlugins(self.ports.plugins)
            .intervene(plugin, &due.issue, situation, context)
            .filter(|answer| !answer.plugin.shadow)
    }

    fn is_open(&self, kind: InterventionKind) -> bool {
        !self.settings.policy.interventions.disabled.iter().any(|name| name == kind.as_str())
    }

    fn carry_out(
        &mut self,
        (kind, answer): (InterventionKind, PluginResponse<Response>),
        due: &DueIntervention,
        (situation, over): (&Situation, bool),
        mut faults: Vec<Fault>,
    ) -> InterventionKind {
        let plugins = record_plugins(std::slice::from_ref(&answer));
        let beyond = intervene::is_beyond_retries(
            &due.issue,
            &self.state.session,
            &self.settings.policy.interventions,
        );
        let response = answer.result.unwrap_or_else(|fault| {
            faults.push(fault);
            self.stand_in(kind, &due.issue)
        });
        let (recovery, response) =
            match recover::carry_out(&response, situation, beyond, &mut self.state.session) {
                Ok(recovery) => (recovery, response),
                Err(problem) => {
                    let stand_in = self.stand_in(kind, &due.issue);
                    faults.push(answer.plugin.fault(FaultKind::BadValue, problem));
                    let recovery =
                        recover::carry_out(&stand_in, situation, beyond, &mut self.state.session);
                    (recovery.unwrap_or_else(|_| nothing()), stand_in)
                }
            };
        let id = self.id(RecordKind::Intervention, self.records.len());
        let (recovery, restored) = self.go_back(recovery, &response, over);
        self.take_over(&recovery, &due.issue, &id);
        self.state.session.intervened(intervene::remember_intervention(
            due,
            kind,
            situation.step,
            self.now,
        ));
        let mut record = self.record(
            RecordKind::Intervention,
            kind.as_str(),
            crate::text::one_line(&due.issue.summary, 240),
        );
        record.step = Some(situation.step);
        record.plugins = plugins;
        record.faults = faults;
        record.intervention = Some(RecordedIntervention {
            kind: kind.as_str().into(),
            issue: due.issue.name.clone(),
            level: due.level,
            score: due.score,
            outcome: recovery.outcome,
            response,
            restored,
        });
        if recovery.stop.is_some() {
            let state = incident::stop_state(&self.state.session, &due.issue);
            record
                .details
                .insert(incident::STATE.into(), serde_json::to_value(state).unwrap_or_default());
        }
        self.records.push(record);
        kind
    }

    /// Returns the fallback response if an intervention's plugin failed: a fault of wording must
    /// not cost the answer.
    fn stand_in(&self, kind: InterventionKind, issue: &Issue) -> Response {
        let message = format!("{} (noticed: {})", issue.summary, issue.name);
        if kind == InterventionKind::EmergencyStop {
            Response::Stop { message, report: crate::finding::StopReport::default() }
        } else {
            Response::Guide(crate::finding::Guidance {
                messages: vec![message],
                ..Default::default()
            })
        }
    }

    fn situation(&self, due: &DueIntervention, step: u64) -> Situation {
        let policy = &self.settings.policy.interventions;
        let may_go_back =
            due.kind >= InterventionKind::CheckpointRollback || policy.strategy == Strategy::Custom;
        Situation {
            step,
            level: due.level,
            score: due.score,
            totals: self.state.session.totals,
            checkpoints: if may_go_back { self.checkpoints() } else { Vec::new() },
            past: self.state.session.interventions.iter().rev().take(16).cloned().collect(),
            recent: self.state.agent.recent.iter().cloned().collect(),
            templates: policy
                .templates
                .iter()
                .map(|(issue, text)| (issue.clone(), text.clone()))
                .collect(),
        }
    }

    fn take_over(&mut self, recovery: &Recovery, issue: &Issue, id: &str) {
        let said = |text: &String| format!("Portcullis: {text}");
        self.reply.agent.extend(recovery.agent.iter().map(said));
        self.reply.person.extend(recovery.person.iter().map(said));
        if recovery.outcome == recover::RecoveryOutcome::Restore && recovery.hold.is_none() {
            self.state.session.restart_usage();
        }
        if let Some(why) = &recovery.hold {
            self.state.session.held = Some(crate::text::one_line(why, 512));
        }
        if recovery.stop.is_some() {
            self.state.session.stop(issue, id);
        }
    }
}

const fn nothing() -> Recovery {
    Recovery {
        outcome: recover::RecoveryOutcome::Wait,
        agent: Vec::new(),
        person: Vec::new(),
        stop: None,
        hold: None,
    }
}
