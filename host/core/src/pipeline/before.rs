//! Before a tool runs: the review proper.

use super::Run;
use super::judge::Judged;
use crate::action::{Action, Facts, Operation};
use crate::decide::{FIRST, Settled, settle};
use crate::event::{Call, Ruling};
use crate::exceptions::Exception;
use crate::facts;
use crate::policy::Mode;
use crate::quarantine;
use crate::record::{Moved, Record, RecordKind, RecordedFindings};
use crate::score::{Score, Verdict};
use crate::session::{NewStep, Pending};
use crate::terms;
use crate::text::{cut, fingerprint, lines, one_line};
use serde_json::{Map, Value};

impl<'s> Run<'s, '_> {
    pub(super) fn before(&mut self, call: &Call) {
        if self.off() {
            return self.unjudged(call);
        }
        let id = self.id(RecordKind::Review, 0);
        let mut judged = self.judge(call, id.clone(), true);
        let stopped = self.refuse_if_stopped(&mut judged);
        self.wait_if_held(&mut judged);
        self.keep_terms(&mut judged);
        judged.provisional = !stopped && self.comes_first(judged.decision.risk);
        let mut rewritten = self.settle(call, &mut judged);
        let exception = self.except(&mut judged);
        if exception.is_some() || judged.provisional {
            rewritten = None;
        }
        let runs_as = rewritten.as_ref().map(|rewritten| &rewritten.second.facts);
        let kept = self.keep(call, &mut judged, runs_as, exception.is_some());
        let step = self.state.agent.next_step;
        self.state.agent.note(line(&judged));
        self.reply_to(&judged, rewritten.as_ref(), &id);
        self.respond(&judged.findings, Some(&judged.decision), &judged.context, step);
        self.stop_if_stopped();
        // What a pattern stops before it runs does not run, whatever was decided on it alone.
        if judged.decision.verdict < Verdict::Block && self.refuse_if_stopped(&mut judged) && !self.observing() {
            rewritten = None;
            self.state.agent.recent.pop_back();
            self.state.agent.note(line(&judged));
        }
        if let Some(exception) = exception.filter(|exception| exception.once && judged.decision.verdict == Verdict::Allow)
            && !self.observing()
        {
            self.spent.push(exception.id.clone());
        }
        self.add_step(&judged);
        self.remember(call, &judged, rewritten.as_ref(), &id, step);
        let (run_as, second) = rewritten.filter(|_| !self.observing()).map(|rewritten| (rewritten.input, rewritten.second)).unzip();
        let quarantined = second.map(|second: Second| second.quarantined).unwrap_or_default();
        let record = self.review_record(call, &judged, exception, run_as.as_ref(), step);
        let record = Record { id, checkpoint: kept, quarantined, ..record };
        // The review comes first, whatever answered it.
        self.records.insert(0, record);
    }

    /// The record of a review, under an id of its kind.
    fn review_record(
        &self,
        call: &Call,
        judged: &Judged,
        exception: Option<&Exception>,
        run_as: Option<&Map<String, Value>>,
        step: u64,
    ) -> Record {
        let mut record = self.record(RecordKind::Review, &judged.understood.action.tool, summary(&judged.understood.action));
        record.step = Some(step);
        record.call.clone_from(&call.id);
        if let Some(exception) = exception {
            record.details.insert("exception".into(), exception.id.clone().into());
        }
        if judged.provisional {
            record.details.insert("provisional".into(), true.into());
        }
        record.action = Some(self.recorded(&judged.understood, run_as));
        record.decision = Some(judged.decision.clone());
        record.detections.clone_from(&judged.findings.detections);
        record.faults.clone_from(&judged.findings.faults);
        record.plugins.clone_from(&judged.plugins);
        record.shadow.clone_from(&judged.shadow);
        record.masked = judged.understood.mask.placeholders();
        record.findings = Some(RecordedFindings {
            risks: judged.findings.risks.clone(),
            rationalities: judged.findings.rationalities.clone(),
            side_effects: judged.findings.side_effects.clone(),
            objections: judged.findings.objections.clone(),
        });
        record
    }

    /// Whether an action of that risk is answered before its review is done.
    fn comes_first(&self, risk: Score) -> bool {
        self.settings.policy.mode == Mode::Async && risk < self.settings.policy.async_threshold
    }

    /// Lets an action run that a person allowed, or says why that does not count. One that lasts goes
    /// before one that would be used up.
    fn except(&self, judged: &mut Judged) -> Option<&'s Exception> {
        if judged.decision.verdict == Verdict::Allow {
            return None;
        }
        let action = &judged.understood.action;
        let covers = |exception: &&Exception| exception.covers(action, &self.place.cwd, &self.event.session, self.now);
        let exception = self.settings.exceptions.iter().filter(covers).min_by_key(|exception| exception.once)?;
        if let Err(why) = judged.decision.exceptable() {
            let note = format!("the exception `{}` does not count here: {why}", exception.id);
            judged.note = format!(" Also, {}", sentence(&note));
            judged.decision.reasons.push(note);
            return None;
        }
        let spite = match judged.findings.faults.len() {
            0 => String::new(),
            1 => ", in spite of a fault of the review itself".into(),
            faults => format!(", in spite of {faults} faults of the review itself"),
        };
        let words = one_line(&exception.reason, 256);
        judged.decision.lift(&exception.id, format!("a person allowed exactly this (exception `{}`: {words}){spite}", exception.id));
        Some(exception)
    }

    /// In a session that is held for a person nothing is changed without one; what only looks goes on.
    fn wait_if_held(&self, judged: &mut Judged) {
        let looks = terms::looks(&judged.understood.action.facts);
        let Some(reason) = self.state.session.held.as_ref().filter(|_| !looks) else { return };
        let reason = format!("this session is held until the person's next prompt: {reason}");
        judged.decision.reasons.insert(0, reason.clone());
        if judged.decision.verdict < Verdict::Ask {
            judged.decision.primary_reason = reason;
        }
        judged.decision.tighten(Verdict::Ask, "the session is held for a person");
    }

    /// A session that a person let go on after a stop goes on on their terms.
    fn keep_terms(&self, judged: &mut Judged) {
        let facts = &judged.understood.action.facts;
        let terms = self.state.session.terms().filter(|_| self.state.session.stopped.is_none());
        let Some((terms, demand)) = terms.and_then(|terms| Some((terms, terms::demand(terms, facts)?))) else { return };
        let decision = &mut judged.decision;
        if decision.verdict < demand.verdict {
            decision.primary_reason.clone_from(&demand.reason);
            decision.alternatives.insert(0, demand.instead.to_owned());
        }
        decision.reasons.insert(0, demand.reason);
        decision.tighten(demand.verdict, format!("terms of the session: {terms}"));
    }

    /// In a stopped session nothing runs any more; says whether it was stopped.
    fn refuse_if_stopped(&self, judged: &mut Judged) -> bool {
        let Some(reason) = &self.state.session.stopped else { return false };
        let decision = &mut judged.decision;
        let reason = format!("this session was stopped: {reason}");
        decision.beyond_exceptions = Some("the session was stopped".into());
        if decision.primary_reason != reason {
            decision.reasons.insert(0, reason.clone());
            decision.primary_reason = reason;
        }
        decision.tighten(Verdict::Block, "the session was stopped");
        true
    }

    /// Carries a `modify` out: the one rewrite, reviewed once more; else a person decides.
    fn settle(&mut self, call: &Call, judged: &mut Judged) -> Option<Rewritten> {
        let why = match settle(&judged.decision, &judged.findings.offers) {
            Settled::Stands => return None,
            Settled::Ask(why) => why.to_owned(),
            Settled::Rewrite(offer) => {
                let offer = offer.clone();
                match crate::rewrite::apply(&offer.finding, &call.input, &judged.understood.mask) {
                    Err(problem) => format!("the safer form that `{}` offered cannot be used: {problem}", offer.plugin),
                    Ok(input) => match self.second_look(call, &input, judged) {
                        Ok(second) => {
                            judged.decision.alternatives.insert(0, cut(&offer.finding.explanation, 512));
                            return Some(Rewritten { input, second });
                        }
                        Err(problem) => problem,
                    },
                }
            }
        };
        judged.decision.tighten(Verdict::Ask, why);
        None
    }

    /// The rewrite must come out with no objection that would change or stop it again, and must not
    /// show what was masked. Gives what was found about it.
    fn second_look(&mut self, call: &Call, input: &Map<String, Value>, judged: &mut Judged) -> Result<Second, String> {
        if self.uncovers(input, &judged.understood.mask) {
            return Err("the safer form that was offered would show a masked value".into());
        }
        let rewritten = Call { id: call.id.clone(), tool: call.tool.clone(), input: input.clone() };
        let id = judged.understood.action.id.clone();
        let second = self.judge(&rewritten, id.clone(), false);
        judged.plugins.extend(second.plugins);
        judged.findings.faults.extend(second.findings.faults);
        if second.decision.verdict >= Verdict::Modify || second.decision.risk > judged.decision.risk {
            return Err(format!("the safer form that was offered is no better: {}", second.decision.primary_reason));
        }
        let action = second.understood.action;
        Ok(Second { quarantined: quarantine::moves(&action.operation, &id), facts: action.facts })
    }

    fn add_step(&mut self, judged: &Judged) {
        let action = &judged.understood.action;
        let effects: Vec<_> = action.facts.effects.iter().map(|effect| (effect.clone(), facts::outside(effect, &action.facts))).collect();
        let held = if self.observing() || judged.provisional { Verdict::Allow } else { judged.decision.verdict };
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
        self.state.agent.add(&step);
        self.state.agent.totals.decided(judged.decision.verdict);
        self.state.session.totals.decided(judged.decision.verdict);
        if runs(held) {
            self.count_files(effects.iter().filter(|(effect, _)| effect.kind.changes_files()).count() as u64);
        }
    }

    /// Counts files that are written or deleted, against their limit too.
    pub(super) fn count_files(&mut self, files: u64) {
        self.state.session.use_files(files);
        for totals in [&mut self.state.agent.totals, &mut self.state.session.totals] {
            totals.files = totals.files.saturating_add(files);
        }
    }

    /// Keeps what the call's outcome is joined by. Refused calls are kept too: a person may let one run
    /// that was asked about, and one that runs although it was blocked must be noticed.
    fn remember(&mut self, call: &Call, judged: &Judged, rewritten: Option<&Rewritten>, review: &str, step: u64) {
        if let Some(id) = &call.id {
            self.state.agent.saw_call(id);
        }
        let identity = rewritten.map_or(judged.understood.action.facts.identity, |rewritten| rewritten.second.facts.identity);
        let key = call.id.as_deref().map_or(identity, |id| fingerprint(&[id]));
        // The client takes a rewrite alone: what is to be said of it is said with the outcome.
        let note =
            matches!(self.reply.ruling, Ruling::Rewrite(_)).then(|| cut(&std::mem::take(&mut self.reply.agent).join("\n"), MOST_NOTE));
        self.state.agent.start(Pending { key, step, review: review.to_owned(), note });
    }

    fn reply_to(&mut self, judged: &Judged, rewritten: Option<&Rewritten>, id: &str) {
        if self.observing() {
            return;
        }
        let decision = &judged.decision;
        let tail = format!("(review {id}; a person can see more with `portcullis explain {id}`)");
        let why = sentence(&lines(&decision.primary_reason, MOST_WHY)) + &judged.note;
        match (decision.verdict, rewritten) {
            (Verdict::Modify | Verdict::Ask | Verdict::Block, _) if judged.provisional => {
                let text = format!(
                    "Portcullis objects to `{}`, which ran before its review was done: {why}{} {tail}",
                    call_name(judged),
                    instead(judged)
                );
                self.reply.agent.push(text.clone());
                self.reply.person.push(text);
            }
            (Verdict::Allow, _) if decision.adjustments.iter().any(|change| change.cause == FIRST) => {
                self.reply.person.push(format!("Portcullis notes `{}`, the first of its kind here: {why} {tail}", call_name(judged)));
            }
            (Verdict::Allow, _) if judged.decision.adjustments.iter().any(|change| change.from > change.to && change.cause != FIRST) => {
                self.reply.person.push(format!("Portcullis let `{}` run: {why} {tail}", call_name(judged)));
            }
            (Verdict::Allow, _) => {}
            (Verdict::Warn, _) => {
                self.reply.agent.push(format!(
                    "Portcullis let `{}` run with a warning: {why}{} {tail}",
                    call_name(judged),
                    instead(judged)
                ));
                self.reply.person.push(format!("Portcullis warns about `{}`: {why} {tail}", call_name(judged)));
            }
            (Verdict::Modify, Some(rewritten)) => {
                let what = decision.alternatives.first().cloned().unwrap_or_default();
                let text = format!("Portcullis changed `{}` before it ran: {} Why: {why} {tail}", call_name(judged), sentence(&what));
                self.reply.agent.push(text.clone());
                self.reply.person.push(text);
                self.reply.ruling = Ruling::Rewrite(rewritten.input.clone());
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

/// A call's new parameters, and what was found about the call that they make.
struct Rewritten {
    input: Map<String, Value>,
    second: Second,
}

/// What a second look found about a rewritten call.
struct Second {
    facts: Facts,
    quarantined: Vec<Moved>,
}

/// The most bytes of a reason in a reply, so that what comes after it is not cut off.
const MOST_WHY: usize = 2048;
/// The most bytes that are kept to be said with a rewritten call's outcome.
const MOST_NOTE: usize = 4096;
/// The most bytes of one alternative in a reply.
const MOST_INSTEAD: usize = 512;

/// The decision and the call in one line.
fn line(judged: &Judged) -> String {
    format!("{} {}", judged.decision.verdict, summary(&judged.understood.action))
}

/// Whether an action with that verdict runs.
const fn runs(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Allow | Verdict::Warn | Verdict::Modify)
}

/// Why the session ended, and the way on; the incident is not known where an older version stopped it.
pub(super) fn stopped(reason: &str, incident: Option<&str>) -> String {
    let way = incident.map(|id| format!(", or see `portcullis incident show {id}` for a person's ways to let this one go on"));
    format!("Portcullis stopped this session: {} Start a new session to go on{}.", sentence(reason), way.unwrap_or_default())
}

pub(super) fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}

fn instead(judged: &Judged) -> String {
    let alternatives: Vec<String> = judged.decision.alternatives.iter().take(3).map(|text| lines(text, MOST_INSTEAD)).collect();
    if alternatives.is_empty() { String::new() } else { format!(" Instead: {}", sentence(&alternatives.join("; "))) }
}

/// The call in a few words.
fn call_name(judged: &Judged) -> String {
    one_line(&short(&judged.understood.action), 120)
}

/// The call in one line, masked.
pub(super) fn summary(action: &Action) -> String {
    one_line(&format!("{}: {}", action.tool, short(action)), 240)
}

fn short(action: &Action) -> String {
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
