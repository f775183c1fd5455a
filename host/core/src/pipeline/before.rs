//! Before a tool runs: the review proper.

use super::Run;
use super::judge::Judged;
use crate::decide::{Adjustment, Settled, settle};
use crate::event::{Call, Ruling};
use crate::facts;
use crate::record::{RecordKind, RecordedFindings};
use crate::score::Verdict;
use crate::session::{NewStep, Pending};
use crate::text::{cut, fingerprint, one_line};
use serde_json::{Map, Value};

impl Run<'_, '_> {
    pub(super) fn before(&mut self, call: &Call) {
        let id = self.id(RecordKind::Review, 0);
        let mut judged = self.judge(call, id.clone(), true);
        if let Some(reason) = self.state.session.stopped.clone() {
            judged.decision.adjustments.push(Adjustment {
                cause: "the session was stopped".into(),
                from: judged.decision.verdict,
                to: Verdict::Block,
            });
            judged.decision.verdict = Verdict::Block;
            judged.decision.primary_reason = format!("this session was stopped: {reason}");
        }
        let run_as = self.settle(call, &mut judged);
        let step = self.add_step(&judged);
        self.remember(call, &judged, &id, step);
        let mut record = self.record(RecordKind::Review, &call.tool, summary(call, &judged));
        record.id.clone_from(&id);
        record.step = Some(step);
        record.call.clone_from(&call.id);
        record.action = Some(self.recorded(&judged.understood, run_as.as_ref()));
        record.decision = Some(judged.decision.clone());
        record.detections.clone_from(&judged.findings.detections);
        record.faults.clone_from(&judged.findings.faults);
        record.plugins.clone_from(&judged.plugins);
        record.masked = judged.understood.mask.placeholders().to_vec();
        record.findings = Some(RecordedFindings {
            risks: judged.findings.risks.clone(),
            rationalities: judged.findings.rationalities.clone(),
            side_effects: judged.findings.side_effects.clone(),
            objections: judged.findings.objections.clone(),
        });
        self.records.push(record);
        self.reply_to(&judged, run_as, &id);
        self.respond(&judged.findings, Some(&judged.decision), &judged.context, step);
        if let Some(reason) = self.state.session.stopped.clone().filter(|_| !self.observing()) {
            self.reply.ruling = Ruling::Stop(stopped(&reason));
            self.reply.person.push(stopped(&reason));
        }
    }

    /// Carries a `modify` out: the one rewrite, reviewed once more; else a person decides.
    fn settle(&mut self, call: &Call, judged: &mut Judged) -> Option<Map<String, Value>> {
        let why = match settle(&judged.decision, &judged.findings.offers) {
            Settled::Stands => return None,
            Settled::Ask(why) => why.to_owned(),
            Settled::Rewrite(offer) => {
                let offer = offer.clone();
                match crate::rewrite::apply(&offer.finding, &call.input, &judged.understood.mask) {
                    Err(problem) => format!("the safer form that `{}` offered cannot be used: {problem}", offer.plugin),
                    Ok(input) => match self.second_look(call, &input, judged) {
                        Ok(()) => {
                            judged.decision.alternatives.insert(0, cut(&offer.finding.explanation, 512));
                            return Some(input);
                        }
                        Err(problem) => problem,
                    },
                }
            }
        };
        judged.decision.adjustments.push(Adjustment { cause: why, from: Verdict::Modify, to: Verdict::Ask });
        judged.decision.verdict = Verdict::Ask;
        None
    }

    /// The rewrite must come out with no objection that would change or stop it again.
    fn second_look(&mut self, call: &Call, input: &Map<String, Value>, judged: &mut Judged) -> Result<(), String> {
        let rewritten = Call { id: call.id.clone(), tool: call.tool.clone(), input: input.clone() };
        let second = self.judge(&rewritten, judged.understood.action.id.clone(), false);
        judged.plugins.extend(second.plugins);
        if second.decision.verdict >= Verdict::Modify || second.decision.risk > judged.decision.risk {
            return Err(format!("the safer form that was offered is no better: {}", second.decision.primary_reason));
        }
        Ok(())
    }

    fn add_step(&mut self, judged: &Judged) -> u64 {
        let action = &judged.understood.action;
        let effects: Vec<_> = action.facts.effects.iter().map(|effect| (effect.clone(), facts::outside(effect, &action.facts))).collect();
        let held = if self.observing() { Verdict::Allow } else { judged.decision.verdict };
        let step = NewStep {
            at: self.now,
            intent: action.intent,
            verdict: held,
            shape: action.facts.shape,
            identity: action.facts.identity,
            risk: judged.decision.risk,
            alignment: judged.findings.alignment(),
            effects: &effects,
            prompt: self.state.session.prompts,
        };
        let index = self.state.agent.add(&step);
        self.state.agent.totals.decided(judged.decision.verdict);
        self.state.session.totals.decided(judged.decision.verdict);
        if runs(held) {
            let files = effects.iter().filter(|(effect, _)| effect.kind.changes_files()).count() as u64;
            self.state.session.use_files(files);
            self.state.agent.totals.files += files;
            self.state.session.totals.files += files;
        }
        index
    }

    fn remember(&mut self, call: &Call, judged: &Judged, review: &str, step: u64) {
        if let Some(id) = &call.id {
            self.state.agent.saw_call(id);
        }
        let key = call.id.as_deref().map_or(judged.understood.action.facts.identity, |id| fingerprint(&[id]));
        if self.observing() || runs(judged.decision.verdict) {
            self.state.agent.start(Pending { key, step, review: review.to_owned() });
        }
        let line = format!("{} {}", judged.decision.verdict, summary(call, judged));
        self.state.agent.note(line);
    }

    fn reply_to(&mut self, judged: &Judged, run_as: Option<Map<String, Value>>, id: &str) {
        if self.observing() {
            return;
        }
        let decision = &judged.decision;
        let tail = format!("(review {id}; a person can see more with `portcullis explain {id}`)");
        let why = sentence(&decision.primary_reason);
        match (decision.verdict, run_as) {
            (Verdict::Allow, _) => {}
            (Verdict::Warn, _) => {
                self.reply.agent.push(format!(
                    "Portcullis let `{}` run with a warning: {why}{} {tail}",
                    call_name(judged),
                    instead(judged)
                ));
                self.reply.person.push(format!("Portcullis warns about `{}`: {why} {tail}", call_name(judged)));
            }
            (Verdict::Modify, Some(input)) => {
                let what = decision.alternatives.first().cloned().unwrap_or_default();
                let text = format!("Portcullis changed `{}` before it ran: {} Why: {why} {tail}", call_name(judged), sentence(&what));
                self.reply.agent.push(text.clone());
                self.reply.person.push(text);
                self.reply.ruling = Ruling::Rewrite(input);
            }
            (Verdict::Modify | Verdict::Ask, _) => {
                self.reply.ruling = Ruling::Ask(format!("Portcullis needs a person to decide: {why}{} {tail}", instead(judged)));
            }
            (Verdict::Block, _) => {
                let text = format!("Portcullis blocked this: {why}{} {tail}", instead(judged));
                self.reply.person.push(text.clone());
                self.reply.ruling = Ruling::Refuse(text);
            }
        }
    }
}

/// Whether an action with that verdict runs.
const fn runs(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Allow | Verdict::Warn | Verdict::Modify)
}

pub(super) fn stopped(reason: &str) -> String {
    format!("Portcullis stopped this session: {} Start a new session to go on.", sentence(reason))
}

fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}

fn instead(judged: &Judged) -> String {
    let alternatives: Vec<&str> = judged.decision.alternatives.iter().take(3).map(String::as_str).collect();
    if alternatives.is_empty() { String::new() } else { format!(" Instead: {}", sentence(&alternatives.join("; "))) }
}

/// The call in a few words.
fn call_name(judged: &Judged) -> String {
    one_line(&short(&judged.understood.action), 120)
}

/// The call in one line, masked.
fn summary(call: &Call, judged: &Judged) -> String {
    one_line(&format!("{}: {}", call.tool, short(&judged.understood.action)), 240)
}

pub(super) fn short(action: &crate::action::Action) -> String {
    use crate::action::Operation;
    match &action.operation {
        Operation::Shell(shell) => shell.text.clone(),
        Operation::File(file) => file.path.clone(),
        Operation::Network(request) if request.url.is_empty() => request.body.clone().unwrap_or_default(),
        Operation::Network(request) => request.url.clone(),
        Operation::Message(message) => format!("to {}", message.recipient),
        Operation::Tool(tool) => tool.name.clone(),
        Operation::Other(text) => text.clone(),
    }
}
