//! Handles an event after a tool ran: its outcome joins the history, patterns look again, and calls
//! that bypassed the review are found.

use super::Run;
use super::before::{stopped, summary};
use super::judge::{MOST_OUTPUT, ParsedCall, Phase, masked_result, retained_part};
use super::shadow::ShadowFindings;
use crate::action::{Outcome, Status};
use crate::event::{Call, CallResult, Disposition};
use crate::facts;
use crate::mask::Mask;
use crate::record::RecordKind;
use crate::review::Findings;
use crate::score::{Score, Verdict};
use crate::session::{NewStep, Pending};
use crate::text::{fingerprint, normalise_error};

/// The most placeholders that the agent is informed of.
const MOST_SHOWN: usize = 5;
/// The most bytes of an error that are kept.
const MOST_ERROR: usize = 4 * 1024;

impl Run<'_, '_> {
    pub(super) fn after(&mut self, call: &Call, result: &CallResult) {
        let id = self.id(RecordKind::Outcome, 0);
        let understood = self.understand(call, id, Phase::After(Some(result)));
        let key =
            call.id.as_deref().map_or(understood.action.facts.identity, |id| fingerprint(&[id]));
        let pending = self.state.agent.end(key);
        let reviewed = pending.is_some()
            || call.id.as_deref().is_some_and(|id| self.state.agent.knows_call(id));
        let step = match &pending {
            Some(pending) => pending.step,
            None => self.add_unreviewed(&understood, if reviewed { "ended" } else { "unreviewed" }),
        };
        let blocked = pending.is_some() && self.ran_after_all(step);
        let kind = if reviewed && !blocked { RecordKind::Outcome } else { RecordKind::Unreviewed };
        let (review, note) = pending.map(|pending| (pending.review, pending.note)).unzip();
        self.reply.agent.extend(note.flatten());
        if let Some(id) = call.id.as_deref().filter(|_| !reviewed) {
            // The batch that it belongs to reports it once more.
            self.state.agent.saw_call(id);
        }
        self.finish(understood, step, kind, call, review);
        self.mask_result(result);
        self.stop_if_stopped();
    }

    /// Masks the secrets in a result before the agent sees it, if the policy says so; the client
    /// keeps the original.
    fn mask_result(&mut self, result: &CallResult) {
        if !self.settings.policy.mask_results || self.observing() {
            return;
        }
        let Some((shown, placeholders)) = masked_result(&result.shown, self.settings.masker) else {
            return;
        };
        self.reply.result = Some(shown);
        self.reply.agent.push(format!(
            "This result is shown with {} in place of what is secret in it: the value itself is not for you to see. Do not write a \
             placeholder into a file; where the value is needed, let a program read it, or ask the person.",
            listed(&placeholders)
        ));
        if let Some(record) = self.records.iter_mut().find(|record| record.outcome.is_some()) {
            record.details.insert("shown_masked".into(), placeholders.into());
        }
    }

    /// Counts the files of a step that was refused but has an outcome. Returns true if it was
    /// blocked, which no person can have lifted.
    fn ran_after_all(&mut self, step: u64) -> bool {
        let Some(step) =
            self.state.agent.steps.iter().rev().find(|known| known.index == step).copied()
        else {
            return false;
        };
        if step.status == Status::Refused {
            self.count_files(u64::from(step.files));
        }
        step.verdict == Verdict::Block
    }

    /// Handles calls without an event of their own: they ran, or were refused by the client,
    /// without a review.
    pub(super) fn after_batch(&mut self, calls: &[(Call, CallResult)]) {
        for (call, result) in calls {
            let known = call.id.as_deref().is_some_and(|id| self.state.agent.knows_call(id));
            if known {
                continue;
            }
            self.unreviewed(call, Some(result));
        }
        self.stop_if_stopped();
    }

    /// Records a call while the reviewer is off, only so that its outcome has something to join.
    pub(super) fn unjudged(&mut self, call: &Call) {
        let id = self.id(RecordKind::Unreviewed, 0);
        let understood = self.understand(call, id.clone(), Phase::After(None));
        let step = self.add_unreviewed(&understood, "unreviewed");
        let key =
            call.id.as_deref().map_or(understood.action.facts.identity, |id| fingerprint(&[id]));
        if let Some(id) = &call.id {
            self.state.agent.saw_call(id);
        }
        self.state.agent.start(Pending { key, step, review: id.clone(), note: None });
        let mut record = self.record(
            RecordKind::Unreviewed,
            &understood.action.tool,
            summary(&understood.action),
        );
        record.id = id;
        record.step = Some(step);
        record.call.clone_from(&call.id);
        record.action = Some(self.recorded(&understood, None));
        record.faults.extend(understood.fault.clone());
        record.masked = understood.mask.placeholders();
        record.details.insert("reviewer".into(), "off".into());
        self.records.push(record);
    }

    /// Handles a call that ran, or was refused by the client, without a review.
    pub(super) fn unreviewed(&mut self, call: &Call, result: Option<&CallResult>) {
        let id = self.id(RecordKind::Unreviewed, self.records.len());
        let understood = self.understand(call, id, Phase::After(result));
        let step = self.add_unreviewed(&understood, "unreviewed");
        if let Some(id) = &call.id {
            self.state.agent.saw_call(id);
        }
        self.finish(understood, step, RecordKind::Unreviewed, call, None);
    }

    /// Stops the rest of a stopped session: the message's other calls, and the main loop if the
    /// stop happened in a subagent.
    pub(super) fn stop_if_stopped(&mut self) {
        if let Some(reason) = self.state.session.stopped.clone().filter(|_| !self.observing()) {
            self.stop(&reason);
        }
    }

    /// Ends the session. The client shows the person only this message, so it contains everything,
    /// once.
    pub(super) fn stop(&mut self, reason: &str) {
        let text =
            stopped(reason, self.state.session.stop.as_ref().map(|stop| stop.incident.as_str()));
        self.reply.person.retain(|said| !said.contains(reason));
        self.reply.person.insert(0, text.clone());
        self.reply.ruling = Disposition::Stop(text);
    }

    /// Returns the outcome of a call, masked.
    pub(super) fn outcome(&self, result: &CallResult, mask: &Mask) -> Outcome {
        Outcome {
            at: self.now,
            status: if result.failed { Status::Failed } else { Status::Ok },
            exit_code: exit_code(&result.error),
            error: mask.cut(retained_part(&result.error), MOST_ERROR),
            output: mask.cut(retained_part(&result.output), MOST_OUTPUT),
            duration_ms: result.duration_ms,
            bytes: (result.output.len() + result.error.len()) as u64,
            tokens: result.tokens,
        }
    }

    /// Adds a step for a call without a review, so that the patterns still see it.
    pub(super) fn add_unreviewed(&mut self, understood: &ParsedCall, what: &str) -> u64 {
        let action = &understood.action;
        let effects: Vec<_> = action
            .facts
            .effects
            .iter()
            .map(|effect| (effect.clone(), facts::is_outside_scope(effect, &action.facts)))
            .collect();
        self.state.agent.note(format!("{what} {}", summary(action)));
        if action.outcome.as_ref().is_none_or(|outcome| outcome.status == Status::Ok) {
            self.count_files(
                effects.iter().filter(|(effect, _)| effect.kind.changes_files()).count() as u64,
            );
        }
        self.state.agent.add(&NewStep {
            at: self.now,
            intent: action.intent,
            verdict: Verdict::Allow,
            shape: action.facts.shape,
            identity: action.facts.identity,
            risk: Score::ZERO,
            alignment: None,
            effects: &effects,
            prompt: self.state.session.prompts,
        })
    }

    fn finish(
        &mut self,
        mut understood: ParsedCall,
        step: u64,
        kind: RecordKind,
        call: &Call,
        review: Option<String>,
    ) {
        let outcome = understood.action.outcome.clone();
        if let Some(outcome) = &outcome {
            let error = if outcome.status == Status::Failed {
                fingerprint(&[&normalise_error(&outcome.error)])
            } else {
                0
            };
            let output =
                if outcome.output.is_empty() { 0 } else { fingerprint(&[&outcome.output]) };
            self.state.agent.finish(step, outcome, error, output);
            self.state.agent.totals.ended(outcome);
            self.state.session.totals.ended(outcome);
            self.state.session.use_resources(outcome);
        }
        understood.action.step = step;
        let context = self.context(&understood.action);
        let mut findings = Findings::default();
        let (plugins, onlookers) = self.detect(&understood.action, &context, &mut findings);
        let mut record = self.record(kind, &understood.action.tool, summary(&understood.action));
        record.step = Some(step);
        record.call.clone_from(&call.id);
        record.outcome = outcome;
        record.detections.clone_from(&findings.detections);
        record.faults.extend(understood.fault.clone());
        record.faults.extend(findings.faults.iter().cloned());
        record.plugins = plugins;
        record.shadow = onlookers.into_iter().filter_map(ShadowFindings::record_alone).collect();
        record.masked = understood.mask.placeholders();
        if review.is_none() || kind == RecordKind::Unreviewed {
            record.action = Some(self.recorded(&understood, None));
        }
        if let Some(review) = review {
            record.details.insert("review".into(), review.into());
        }
        self.records.push(record);
        self.respond(&findings, None, &context, step);
    }
}

/// Lists some of them by name, and says that there are more.
fn listed(placeholders: &[String]) -> String {
    let shown: Vec<String> = placeholders
        .iter()
        .take(MOST_SHOWN)
        .map(|placeholder| format!("`{placeholder}`"))
        .collect();
    let more = if placeholders.len() > MOST_SHOWN { " and others" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// Parses the exit code from a failed command's error that begins with `Exit code N`.
fn exit_code(error: &str) -> Option<i32> {
    error.strip_prefix("Exit code ")?.split_whitespace().next()?.parse().ok()
}
