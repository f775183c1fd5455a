//! Answers issues: the controller decides which intervention is due, a plugin words it, recovery
//! carries it out.

use super::{Run, record_plugins};
use crate::action::Context;
use crate::fault::{Fault, FaultKind};
use crate::finding::{Issue, Response, Situation};
use crate::incident;
use crate::intervene::{self, DueIntervention, InterventionKind};
use crate::ladder::LadderAnswer;
use crate::plugins::{Identity, PluginResponse, Plugins};
use crate::policy::Strategy;
use crate::quoting::QuotedPlugins;
use crate::record::{RecordKind, RecordedIntervention};
use crate::recover::{self, Recovery, RecoveryOutcome};
use crate::review::Findings;
use crate::verdict::Decision;

/// The outcome of an intervention that was due.
enum Answer {
    /// It, or one in its place, was given.
    Given(InterventionKind),
    /// It is guidance that the session does not hear now.
    Silenced,
    /// It and all milder ones are switched off, or nobody words them.
    Missing,
}

impl Run<'_, '_> {
    /// Answers the findings, in observe mode only for the record; `decision` is present before an
    /// action, not after it. Files are
    /// restored automatically only after it: an action that is about to run was planned on the
    /// files as they are.
    pub(super) fn respond(
        &mut self,
        findings: &Findings,
        decision: Option<&Decision>,
        context: &Context,
        step: u64,
    ) {
        if self.off() || self.state.session.stopped.is_some() {
            return;
        }
        self.state.session.enter_mode(self.observing());
        if !self.observing() {
            self.raise_session(findings, step);
        }
        // The step under review counts from its review on.
        let clock = self.state.session.totals.steps.saturating_add(u64::from(decision.is_some()));
        let mut issues = intervene::find_issues(findings, decision, step);
        issues.retain(|issue| !self.state.session.was_decided(issue));
        let policy = &self.settings.policy.interventions;
        let noted =
            intervene::note_issues(issues, &mut self.state.session, clock, self.now, policy);
        self.judged.extend(noted.judged);
        let mut said = None;
        for due in &noted.due {
            match self.answer(due, said, context, (step, decision.is_none())) {
                Answer::Given(kind) => said = said.max(Some(kind)),
                // Escalation goes on past an answer that nobody can give.
                Answer::Missing => self.note_issue(due),
                Answer::Silenced => {}
            }
        }
    }

    fn note_issue(&mut self, due: &DueIntervention) {
        self.state.session.note_issue(&due.issue.name, due.state.clone());
    }

    /// Raises the session for a detection of a pattern for which the policy wants that.
    fn raise_session(&mut self, findings: &Findings, step: u64) {
        let raising = &self.settings.policy.interventions.raising;
        let found = findings
            .detections
            .iter()
            .map(|found| &found.finding)
            .find(|found| raising.contains(&found.pattern));
        if let Some(found) = found {
            self.state.session.raise(&found.pattern, &found.summary, step);
        }
    }

    /// Asks the plugin that decides, if one is configured, and otherwise the strictest intervention
    /// that is due and available. Milder ones replace missing and disabled ones. `said` is the
    /// strictest answer to this event so far: guidance that is no stricter would only blur it.
    fn answer(
        &mut self,
        due: &DueIntervention,
        said: Option<InterventionKind>,
        context: &Context,
        (step, over): (u64, bool),
    ) -> Answer {
        let situation = self.situation(due, step);
        let policy = &self.settings.policy.interventions;
        let (mut wanted, mut chosen, mut faults) = (due.kind, false, Vec::new());
        let silent =
            |kind: InterventionKind| kind.is_guidance() && (due.quiet || said >= Some(kind));
        if let Some(decider) = policy
            .decider
            .as_deref()
            .filter(|_| policy.strategy == Strategy::Custom && !due.is_of_a_rule())
        {
            match self.ask(decider, None, due, &situation, context) {
                None => faults.push(Fault::from_host(
                    FaultKind::Configuration,
                    format!("there is no intervention `{decider}` to decide"),
                )),
                Some(answer) => match answer.result.as_ref().map(InterventionKind::of_response) {
                    // A worse issue must not be answered more mildly, so the decider's choice
                    // counts, and not the host's own, which may be milder.
                    Ok(kind) if !self.is_open(kind) => (wanted, chosen) = (kind, true),
                    Ok(kind) if silent(kind) => return Answer::Silenced,
                    Ok(kind) => {
                        let given = LadderAnswer::of_kind(kind);
                        return Answer::Given(self.carry_out(
                            (given, answer),
                            due,
                            (&situation, over),
                            faults,
                        ));
                    }
                    Err(fault) => faults.push(fault.clone()),
                },
            }
        }
        let mut missing = Answer::Missing;
        for given in self.list_candidates(due, wanted, chosen) {
            if silent(given.kind) {
                missing = Answer::Silenced;
                continue;
            }
            let usual = || {
                let chosen = policy.plugins.get(given.kind.as_str()).cloned();
                chosen.unwrap_or_else(|| given.kind.plugin_name())
            };
            let name = given.plugin.clone().unwrap_or_else(usual);
            if let Some(answer) = self.ask(&name, Some(given.kind), due, &situation, context) {
                return Answer::Given(self.carry_out(
                    (given, answer),
                    due,
                    (&situation, over),
                    faults,
                ));
            }
        }
        missing
    }

    /// Lists the answers that may be given, the strictest first: the one that is due, and milder
    /// ones for missing and disabled kinds. Of each kind, a plugin's own interventions in the
    /// pattern's row come before the usual one. `chosen` is true if the decider wanted that kind.
    fn list_candidates(
        &self,
        due: &DueIntervention,
        wanted: InterventionKind,
        chosen: bool,
    ) -> Vec<LadderAnswer> {
        let row = self.settings.policy.interventions.ladder_of(&due.issue.name);
        let own =
            due.plugin.clone().map(|plugin| LadderAnswer { kind: due.kind, plugin: Some(plugin) });
        let mut candidates: Vec<LadderAnswer> =
            own.into_iter().filter(|answer| answer.kind == wanted).collect();
        // Limits stand in for a missing answer only in a row that has them. The decider is bound to
        // no row: it may set limits for a milder issue, so a worse one must not get less.
        let throttling = InterventionKind::ResourceThrottling;
        let fits =
            |kind: &InterventionKind| chosen || *kind != throttling || row.kinds().contains(kind);
        for kind in wanted.and_milder().filter(fits) {
            let of_kind = row.answers().iter().filter(|answer| answer.kind == kind);
            let own = of_kind.filter(|answer| answer.plugin.is_some() && kind < wanted);
            candidates.extend(own.cloned());
            // A plugin's own intervention is switched off by leaving it out of the ladders.
            candidates.extend(self.is_open(kind).then(|| LadderAnswer::of_kind(kind)));
        }
        candidates
    }

    /// Asks one plugin for an answer of the kind that is due; none for the plugin that decides on it.
    /// A plugin in shadow mode gives no answer; the configuration refuses it anyway.
    fn ask(
        &mut self,
        plugin: &str,
        kind: Option<InterventionKind>,
        due: &DueIntervention,
        situation: &Situation,
        context: &Context,
    ) -> Option<PluginResponse<Response>> {
        let mut context = context.clone();
        context
            .attributes
            .extend(kind.map(|kind| (intervene::DUE_KIND.to_owned(), kind.as_str().to_owned())));
        QuotedPlugins(self.ports.plugins)
            .intervene(plugin, &due.issue, situation, &context, self.ports.details)
            .filter(|answer| !answer.plugin.shadow)
    }

    fn is_open(&self, kind: InterventionKind) -> bool {
        !self.settings.policy.interventions.disabled.iter().any(|name| name == kind.as_str())
    }

    fn carry_out(
        &mut self,
        (given, answer): (LadderAnswer, PluginResponse<Response>),
        due: &DueIntervention,
        (situation, over): (&Situation, bool),
        mut faults: Vec<Fault>,
    ) -> InterventionKind {
        self.note_issue(due);
        let kind = given.kind;
        let plugins = record_plugins(std::slice::from_ref(&answer));
        let beyond = intervene::is_beyond_retries(
            &due.issue,
            &self.state.session,
            &self.settings.policy.interventions,
        );
        let result = answer.result.and_then(|response| {
            // The operator gave the plugin a place among the answers, and not a free choice.
            let found = InterventionKind::of_response(&response);
            let fits = found <= kind || found.is_guidance() && kind.is_guidance();
            if fits || given.plugin.is_none() {
                Ok(response)
            } else {
                Err(too_strict(&answer.plugin, found, kind))
            }
        });
        let response = result.unwrap_or_else(|fault| {
            faults.push(fault);
            self.fallback_response(kind, &due.issue)
        });
        // In observe mode the answer is worked out on a copy.
        let mut observed = self.observing().then(|| self.state.session.clone());
        let session = observed.as_mut().unwrap_or(&mut self.state.session);
        let (recovery, response) = match recover::carry_out(&response, situation, beyond, session) {
            Ok(recovery) => (recovery, response),
            Err(problem) => {
                let stand_in = self.fallback_response(kind, &due.issue);
                faults.push(answer.plugin.new_fault(FaultKind::BadValue, problem));
                let session = observed.as_mut().unwrap_or(&mut self.state.session);
                let recovery = recover::carry_out(&stand_in, situation, beyond, session);
                // A fallback names no checkpoint, so carrying it out does not fail.
                (recovery.unwrap_or_else(|_| nothing()), stand_in)
            }
        };
        let id = self.id(RecordKind::Intervention, self.records.len());
        let (recovery, restored) = if observed.is_some() {
            (Recovery { outcome: RecoveryOutcome::Observed, ..nothing() }, None)
        } else {
            self.restore_checkpoint(recovery, &response, (situation, over))
        };
        self.take_over(&recovery, &due.issue, &id);
        self.state.session.note_intervention(intervene::remember_intervention(
            due,
            &given,
            situation.step,
            self.now,
        ));
        let mut record = self.record(
            RecordKind::Intervention,
            &given.name(),
            crate::text::one_line(&due.issue.summary, 240),
        );
        record.step = Some(situation.step);
        record.plugins = plugins;
        record.faults = faults;
        record.intervention = Some(RecordedIntervention {
            kind: given.name(),
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
    fn fallback_response(&self, kind: InterventionKind, issue: &Issue) -> Response {
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
        if let Some(why) = &recovery.hold {
            self.state.session.held = Some(crate::text::one_line(why, 512));
        }
        if recovery.stop.is_some() {
            self.state.session.stop_for(issue, id);
        }
    }
}

/// Returns the fault of a plugin whose answer is stricter than its place in the ladder.
fn too_strict(plugin: &Identity, found: InterventionKind, place: InterventionKind) -> Fault {
    let what = format!("it answers with `{found}`, which is stricter than its place, `{place}`");
    plugin.new_fault(FaultKind::BadValue, what)
}

const fn nothing() -> Recovery {
    Recovery {
        outcome: RecoveryOutcome::Wait,
        agent: Vec::new(),
        person: Vec::new(),
        stop: None,
        hold: None,
    }
}
