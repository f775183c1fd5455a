//! Handles an event after a tool ran: its outcome joins the history, patterns look again, and calls
//! that bypassed the review are found.

use super::Run;
use super::before::{short, stopped, summary};
use super::judge::{MOST_OUTPUT, ParsedCall, Phase, masked_result, retained_part};
use super::shadow::ShadowFindings;
use crate::action::{Outcome, Status};
use crate::event::{Call, CallEnd, CallResult, Disposition};
use crate::mask::Mask;
use crate::record::RecordKind;
use crate::review::Findings;
use crate::score::{Score, Verdict};
use crate::session::{NewStep, Pending};
use crate::text::{fingerprint_error, hash_parts};

/// The most placeholders that the agent is informed of.
const MOST_SHOWN: usize = 5;
/// The most bytes of an error that are kept.
const MOST_ERROR: usize = 4 * 1024;

impl Run<'_, '_> {
    pub(super) fn after(&mut self, call: &Call, result: &CallResult) {
        let id = self.id(RecordKind::Outcome, 0);
        let understood = self.understand(call, id, Phase::After(Some(result)));
        self.note_secrets(&understood.mask, result);
        let key =
            call.id.as_deref().map_or(understood.action.facts.identity, |id| hash_parts(&[id]));
        let pending = self.state.agent.end_call(key);
        let reviewed = pending.is_some()
            || call.id.as_deref().is_some_and(|id| self.state.agent.knows_call(id));
        let step = match &pending {
            Some(pending) => pending.step,
            None => self.add_unreviewed(&understood, if reviewed { "ended" } else { "unreviewed" }),
        };
        // A blocked call that ran all the same bypassed the review, so its outcome counts as
        // unreviewed.
        let blocked =
            pending.is_some() && !result.end.is_before_begin() && self.ran_after_all(step);
        let kind = if reviewed && !blocked { RecordKind::Outcome } else { RecordKind::Unreviewed };
        let (review, note) = pending.map(|pending| (pending.review, pending.note)).unzip();
        self.reply.agent.extend(note.flatten());
        if let Some(id) = call.id.as_deref().filter(|_| !reviewed) {
            // The batch that it belongs to reports it once more.
            self.state.agent.saw_call(id);
        }
        self.finish(understood, step, kind, call, (review, result.end));
        self.mask_result(result);
        self.replace_reply_if_stopped();
    }

    /// Remembers the secrets that a result shows.
    fn note_secrets(&mut self, mask: &Mask, result: &CallResult) {
        // The call's mask covers its result too: without a secret in it, a second search finds
        // none.
        if !mask.is_empty() {
            let shown = self.settings.masker.build_mask(&[retained_part(&result.output)]);
            self.state.session.secrets.note_secrets(&shown, self.settings.masker);
        }
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
            "This result has {} in place of its secrets: the value itself is not for you to see. Do not write a \
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
        // Its review counted no files, since a refused step was not expected to run.
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
            // A call with an event of its own is in the batch too.
            if known {
                continue;
            }
            self.unreviewed(call, Some(result));
        }
        self.replace_reply_if_stopped();
    }

    /// Records a call while the reviewer is off, only so that its outcome has something to join.
    pub(super) fn unjudged(&mut self, call: &Call) {
        let id = self.id(RecordKind::Unreviewed, 0);
        let understood = self.understand(call, id.clone(), Phase::After(None));
        let step = self.add_unreviewed(&understood, "unreviewed");
        let key =
            call.id.as_deref().map_or(understood.action.facts.identity, |id| hash_parts(&[id]));
        if let Some(id) = &call.id {
            self.state.agent.saw_call(id);
        }
        self.state.agent.start_call(Pending { key, step, review: id.clone(), note: None });
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
        let end = result.map(|result| result.end).unwrap_or_default();
        self.finish(understood, step, RecordKind::Unreviewed, call, (None, end));
    }

    /// Stops the rest of a stopped session: the message's other calls, and the main loop if the
    /// stop happened in a subagent.
    pub(super) fn replace_reply_if_stopped(&mut self) {
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
            status: match result.end {
                CallEnd::Refused if result.failed => Status::Refused,
                _ if result.failed => Status::Failed,
                _ => Status::Ok,
            },
            exit_code: exit_code(&result.error),
            error: mask.cut_text(retained_part(&result.error), MOST_ERROR),
            output: mask.cut_text(retained_part(&result.output), MOST_OUTPUT),
            duration_ms: result.duration_ms,
            bytes: (result.output.len() + result.error.len()) as u64,
            tokens: result.tokens,
        }
    }

    /// Adds a step for a call without a review, so that the patterns still see it.
    pub(super) fn add_unreviewed(&mut self, understood: &ParsedCall, what: &str) -> u64 {
        self.note_files(understood);
        let action = &understood.action;
        let effects = self.weigh_effects(&action.facts);
        self.state.agent.add_note(format!("{what} {}", summary(action)));
        if action.outcome.as_ref().is_none_or(|outcome| outcome.status == Status::Ok) {
            self.count_files(
                effects.iter().filter(|(effect, _)| effect.counts_as_write()).count() as u64
            );
        }
        self.state.agent.add_step(&NewStep {
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
        (review, end): (Option<String>, CallEnd),
    ) {
        let outcome = understood.action.outcome.clone();
        if let Some(outcome) = &outcome {
            // An end that a person or the client caused is not an error of the agent to be
            // repeated.
            let own_error = outcome.status == Status::Failed && end == CallEnd::Finished;
            let error = if own_error { fingerprint_error(&outcome.error) } else { 0 };
            let output = if outcome.output.is_empty() { 0 } else { hash_parts(&[&outcome.output]) };
            self.state.agent.finish_step(step, outcome, (error, output), end);
            if outcome.status != Status::Refused {
                self.state.session.refused_steps.retain(|refused| refused.index != step);
                // A command that failed may have done a part of what it should.
                let facts = &understood.action.facts;
                self.state.session.note_lasting(step, &short(&understood.action), facts);
            }
            self.state.agent.totals.count_outcome(outcome);
            self.state.session.totals.count_outcome(outcome);
            let reviewed = self.state.agent.steps.iter().rev().find(|known| known.index == step);
            let reviewed = reviewed.map(|known| known.at);
            self.state.session.use_resources(&self.state.agent, outcome);
            if let Some(reviewed) = reviewed {
                self.state.session.pass_wait(reviewed, self.before_this, outcome);
            }
        }
        understood.action.step = step;
        let context = self.context(&understood.action);
        let mut findings = Findings::default();
        let (plugins, onlookers) = self.detect(&understood.action, &context, &mut findings);
        if !findings.detections.is_empty() {
            self.state.session.calm_steps = 0;
        }
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
