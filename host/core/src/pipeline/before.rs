//! Handles an event before a tool runs: the review proper.

use super::Run;
use super::judge::{CallReview, ParsedCall};
use super::scripts::{new_code, overwritten_path, written_modules};
use crate::action::{Action, Coverage, Facts, Operation};
use crate::event::{Call, Disposition};
use crate::exceptions::Exception;
use crate::observe::Observations;
use crate::policy::Mode;
use crate::quarantine;
use crate::record::{MovedEntry, Record, RecordKind, RecordedFindings};
use crate::rewrite::Preconditions;
use crate::score::{Score, Verdict};
use crate::session::{NewStep, Pending};
use crate::text::{cut_text, hash_parts, list_lines, one_line};
use crate::verdict::{self, FIRST, RewriteOutcome, settle_rewrites};
use serde_json::{Map, Value};

impl<'s> Run<'s, '_> {
    pub(super) fn before(&mut self, call: &Call) {
        if self.off() {
            return self.unjudged(call);
        }
        let id = self.id(RecordKind::Review, 0);
        let mut judged = self.judge(call, id.clone(), true);
        // The order of the adjustments from here on is policy; the table in `verdict` explains it.
        verdict::adjust_to_session(
            &mut judged.decision,
            &self.state.session,
            &judged.understood.action.facts,
        );
        let understood = &judged.understood;
        let cwd = &self.place.cwd;
        let new = new_code(&understood.files, &understood.observed, cwd);
        verdict::ask_about_new_code(&mut judged.decision, &self.state.session, &new);
        judged.provisional = self.state.session.stopped.is_none()
            && self.state.session.raised.is_none()
            && judged.findings.limits.is_empty()
            && self.is_answered_first(judged.decision.risk);
        let mut rewritten = self.settle_modify(call, &mut judged);
        let exception = self.apply_exception(&mut judged);
        // An excepted action runs as the person saw it, and a provisional one runs already.
        if exception.is_some() || judged.provisional {
            rewritten = None;
        }
        let runs_as = rewritten.as_ref().map(|rewritten| &rewritten.second.facts);
        let before_loss = judged.decision.verdict;
        let kept = self.take_checkpoint(call, &mut judged, runs_as, exception.is_some());
        // A person may also have allowed what is asked about only because of the loss.
        let exception = exception.or_else(|| {
            (before_loss == Verdict::Allow).then(|| self.apply_exception(&mut judged)).flatten()
        });
        let step = self.state.agent.next_step;
        self.state.agent.add_note(line(&judged));
        self.reply_to(&judged, rewritten.as_ref(), &id);
        self.respond(&judged.findings, Some(&judged.decision), &judged.context, step);
        self.state.session.note_announced();
        self.restore_limits(step, !judged.findings.detections.is_empty());
        self.replace_reply_if_stopped();
        // An action that a pattern stops before it runs does not run, regardless of the decision on
        // it alone.
        if judged.decision.verdict < Verdict::Block
            && self.refuse_if_stopped_now(&mut judged)
            && !self.observing()
        {
            rewritten = None;
            // The newest note names the milder verdict of the same action.
            self.state.agent.recent.pop_back();
            self.state.agent.add_note(line(&judged));
        }
        if let Disposition::Stop(text) = &mut self.reply.ruling {
            text.push_str(&judged.note);
        }
        // Only an exception that let the action run is used up.
        if let Some(exception) = exception
            .filter(|exception| exception.once && judged.decision.verdict == Verdict::Allow)
            && !self.observing()
        {
            self.spent.push(exception.id.clone());
        }
        if judged.decision.verdict < Verdict::Block {
            self.note_files(&judged.understood);
        }
        // A person may refuse one that is asked about: then it makes nothing.
        if judged.decision.verdict < Verdict::Ask {
            self.state.session.own_files.note_action(&judged.understood.action);
        }
        if judged.decision.verdict >= Verdict::Ask {
            self.state.session.note_refused(&line(&judged), self.event.agent.as_deref());
        }
        self.add_step(&judged);
        self.store_pending_call(call, &judged, rewritten.as_ref(), &id, step);
        let (run_as, second) = rewritten
            .filter(|_| !self.observing())
            .map(|rewritten| (rewritten.input, rewritten.second))
            .unzip();
        let quarantined = second.map(|second: SecondReview| second.quarantined).unwrap_or_default();
        let record = self.review_record(call, &judged, exception, run_as.as_ref(), step);
        let record = Record { id, checkpoint: kept, quarantined, ..record };
        // The review's record comes first, before those of its answers.
        self.records.insert(0, record);
    }

    /// Creates the record of a review, under an id of its kind.
    fn review_record(
        &self,
        call: &Call,
        judged: &CallReview,
        exception: Option<&Exception>,
        run_as: Option<&Map<String, Value>>,
        step: u64,
    ) -> Record {
        let mut record = self.record(
            RecordKind::Review,
            &judged.understood.action.tool,
            summary(&judged.understood.action),
        );
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

    /// Returns true if an action of that risk is answered before its review is done.
    fn is_answered_first(&self, risk: Score) -> bool {
        self.settings.policy.mode == Mode::Async && risk < self.settings.policy.async_threshold
    }

    /// Lets an action run that a person allowed, or reports the reason that the exception does not
    /// apply. A lasting exception takes precedence over one that would be used up.
    fn apply_exception(&self, judged: &mut CallReview) -> Option<&'s Exception> {
        if judged.decision.verdict == Verdict::Allow {
            return None;
        }
        let action = &judged.understood.action;
        let covers = |exception: &&Exception| {
            exception.covers_action(action, &self.place.cwd, &self.event.session, self.now)
        };
        let exception = self
            .settings
            .exceptions
            .iter()
            .filter(covers)
            .min_by_key(|exception| exception.once)?;
        if let Err(note) = verdict::lift_by_exception(
            &mut judged.decision,
            exception,
            judged.findings.faults.len(),
        ) {
            judged.note.push_str(&format!(" Also, {}", sentence(&note)));
            return None;
        }
        Some(exception)
    }

    /// Blocks the action if an intervention on it stopped the session; returns true if the session
    /// is stopped.
    fn refuse_if_stopped_now(&self, judged: &mut CallReview) -> bool {
        let change = verdict::refuse_in_stopped_session(
            &self.state.session,
            &judged.understood.action.facts,
        );
        let stopped = change.is_some();
        change.into_iter().for_each(|change| judged.decision.apply(change));
        stopped
    }

    /// Carries out a `modify`: the one rewrite, reviewed again; otherwise a person decides.
    fn settle_modify(&mut self, call: &Call, judged: &mut CallReview) -> Option<RewriteReview> {
        let why = match settle_rewrites(&judged.decision, &judged.findings.offers) {
            RewriteOutcome::Unchanged => return None,
            RewriteOutcome::Ask(why) => why.to_owned(),
            RewriteOutcome::Rewrite(offer) => {
                let offer = offer.clone();
                match crate::rewrite::apply_rewrite(
                    &offer.finding,
                    &call.input,
                    &judged.understood.mask,
                ) {
                    Err(problem) => format!(
                        "the safer form that `{}` offered cannot be used: {problem}",
                        offer.plugin
                    ),
                    Ok(input) => match self.review_rewrite(call, &input, judged) {
                        Ok(second) => {
                            judged
                                .decision
                                .alternatives
                                .insert(0, cut_text(&offer.finding.explanation, 512));
                            return Some(RewriteReview { input, second });
                        }
                        Err(problem) => problem,
                    },
                }
            }
        };
        judged.decision.tighten_to(Verdict::Ask, why);
        None
    }

    /// Reviews the rewrite again. It must have no objection that would change or stop it again, and
    /// must not reveal masked text. Returns the findings about it.
    fn review_rewrite(
        &mut self,
        call: &Call,
        input: &Map<String, Value>,
        judged: &mut CallReview,
    ) -> Result<SecondReview, String> {
        if self.reveals_secret(input, &judged.understood.mask) {
            return Err("the safer form that was offered would show a masked value".into());
        }
        let rewritten = Call { id: call.id.clone(), tool: call.tool.clone(), input: input.clone() };
        let id = judged.understood.action.id.clone();
        let second = self.judge(&rewritten, id.clone(), false);
        judged.plugins.extend(second.plugins);
        judged.findings.faults.extend(second.findings.faults);
        if second.decision.verdict >= Verdict::Modify || second.decision.risk > judged.decision.risk
        {
            return Err(format!(
                "the safer rewrite still scores as too risky: {}",
                second.decision.primary_reason
            ));
        }
        let action = second.understood.action;
        self.check_preconditions(&action, judged)?;
        Ok(SecondReview {
            quarantined: quarantine::find_moves(&action.operation, &id),
            facts: action.facts,
        })
    }

    /// Checks that the workspace meets the rewrite's requirements. The observations go into the
    /// record, like all others.
    fn check_preconditions(
        &mut self,
        action: &Action,
        judged: &mut CallReview,
    ) -> Result<(), String> {
        let ground = Preconditions::of(&judged.understood.action, action, &self.place.roots);
        let queries = ground.queries();
        let seen =
            if queries.is_empty() { Observations::new() } else { (self.ports.observe)(&queries) };
        let problem = ground.problem(&seen);
        let asked =
            seen.into_iter().filter(|(path, _)| queries.iter().any(|query| query.key() == *path));
        for (path, found) in asked {
            judged.understood.observed.entry(path).or_insert(found);
        }
        problem.map_or(Ok(()), |problem| {
            Err(format!("the safer form that was offered cannot be used: {problem}"))
        })
    }

    fn add_step(&mut self, judged: &CallReview) {
        let action = &judged.understood.action;
        let effects = self.weigh_effects(&action.facts);
        // Such an action runs despite its verdict, so no pattern may take it for refused.
        let held = if self.observing() || judged.provisional {
            Verdict::Allow
        } else {
            judged.decision.verdict
        };
        let step = NewStep {
            at: self.now,
            intent: action.intent,
            verdict: held,
            shape: action.facts.shape,
            identity: action.facts.identity,
            risk: judged.decision.risk,
            // A goal cannot be compared with an action that was not understood.
            alignment: judged
                .findings
                .alignment()
                .filter(|_| action.facts.coverage == Coverage::Full),
            effects: &effects,
            prompt: self.state.session.prompts,
        };
        self.state.agent.add_step(&step);
        self.state.session.share_step(self.state.agent.steps.back());
        self.state.agent.totals.count_verdict(judged.decision.verdict);
        self.state.session.totals.count_verdict(judged.decision.verdict);
        if runs(held) {
            self.count_files(
                effects.iter().filter(|(effect, _)| effect.counts_as_write()).count() as u64
            );
        }
    }

    /// Remembers what the files hold that the action writes.
    pub(super) fn note_files(&mut self, understood: &ParsedCall) {
        let ledger = &mut self.state.session.files;
        ledger.note_files(&understood.files.leaves);
        self.state.session.mounts.note_mounts(&understood.files.mounts);
        let ledger = &mut self.state.session.files;
        if let Some(path) = overwritten_path(&understood.action) {
            ledger.forget_file(path);
        }
        for path in written_modules(&understood.action.facts) {
            ledger.note_written(path);
        }
    }

    /// Counts files that are written or deleted, including against their limit.
    pub(super) fn count_files(&mut self, files: u64) {
        self.state.session.use_files(files);
        for totals in [&mut self.state.agent.totals, &mut self.state.session.totals] {
            totals.files = totals.files.saturating_add(files);
        }
    }

    /// Stores the data that joins the call to its outcome. Refused calls are stored too: a person
    /// may let one run that was asked about, and one that runs although it was blocked must be
    /// noticed.
    fn store_pending_call(
        &mut self,
        call: &Call,
        judged: &CallReview,
        rewritten: Option<&RewriteReview>,
        review: &str,
        step: u64,
    ) {
        if let Some(id) = &call.id {
            self.state.agent.saw_call(id);
        }
        let identity = rewritten.map_or(judged.understood.action.facts.identity, |rewritten| {
            rewritten.second.facts.identity
        });
        // A call without an id is found again by its parameters: its outcome has those of the
        // rewrite.
        let key = call.id.as_deref().map_or(identity, |id| hash_parts(&[id]));
        // A client accepts a rewrite only without text, and some accept no text at all before a
        // tool: these messages are delivered with the outcome.
        let late = match self.reply.ruling {
            Disposition::Rewrite(_) => true,
            Disposition::None => self.drops_early_notes() && !self.reply.agent.is_empty(),
            Disposition::Ask(_) | Disposition::Refuse(_) | Disposition::Stop(_) => false,
        };
        let note =
            late.then(|| cut_text(&std::mem::take(&mut self.reply.agent).join("\n"), MOST_NOTE));
        self.state.agent.start_call(Pending { key, step, review: review.to_owned(), note });
    }

    fn drops_early_notes(&self) -> bool {
        let mut clients = self.place.clients.iter();
        clients.any(|client| client.name == self.event.client && client.drops_early_notes)
    }

    fn reply_to(&mut self, judged: &CallReview, rewritten: Option<&RewriteReview>, id: &str) {
        if self.observing() {
            return;
        }
        let decision = &judged.decision;
        let tail = format!("(review {id}; a person can see more with `portcullis explain {id}`)");
        let why = sentence(&list_lines(&decision.primary_reason, MOST_WHY)) + &judged.note;
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
            (Verdict::Allow, _)
                if decision.adjustments.iter().any(|change| change.cause == FIRST) =>
            {
                self.reply.person.push(format!(
                    "Portcullis notes `{}`, the first of its kind here: {why} {tail}",
                    call_name(judged)
                ));
            }
            (Verdict::Allow, _)
                if judged
                    .decision
                    .adjustments
                    .iter()
                    .any(|change| change.from > change.to && change.cause != FIRST) =>
            {
                self.reply
                    .person
                    .push(format!("Portcullis let `{}` run: {why} {tail}", call_name(judged)));
            }
            (Verdict::Allow, _) => {}
            (Verdict::Warn, _) => {
                self.reply.agent.push(format!(
                    "Portcullis let `{}` run with a warning: {why}{} {tail}",
                    call_name(judged),
                    instead(judged)
                ));
                self.reply
                    .person
                    .push(format!("Portcullis warns about `{}`: {why} {tail}", call_name(judged)));
            }
            (Verdict::Modify, Some(rewritten)) => {
                let what = decision.alternatives.first().cloned().unwrap_or_default();
                let text = format!(
                    "Portcullis changed `{}` before it ran: {} Why: {why} {tail}",
                    call_name(judged),
                    sentence(&what)
                );
                self.reply.agent.push(text.clone());
                self.reply.person.push(text);
                self.reply.ruling = Disposition::Rewrite(rewritten.input.clone());
            }
            (Verdict::Modify | Verdict::Ask, _) => {
                self.reply.ruling = Disposition::Ask(format!(
                    "Portcullis needs a person to decide: {why}{} {tail}",
                    instead(judged)
                ));
            }
            (Verdict::Block, _) => {
                let text = format!("Portcullis blocked this: {why}{} {tail}", instead(judged));
                self.reply.person.push(text.clone());
                self.reply.ruling = Disposition::Refuse(text);
            }
        }
    }
}

/// A call's new parameters, and the findings about the call with them.
struct RewriteReview {
    input: Map<String, Value>,
    second: SecondReview,
}

/// The findings of the second review, of a rewritten call.
struct SecondReview {
    facts: Facts,
    quarantined: Vec<MovedEntry>,
}

/// The most bytes of a reason in a reply, so that the text after it is not cut off.
const MOST_WHY: usize = 2048;
/// The most bytes that are kept for delivery with a rewritten call's outcome.
const MOST_NOTE: usize = 4096;
/// The most bytes of one alternative in a reply.
const MOST_INSTEAD: usize = 512;

/// Formats the decision and the call in one line.
fn line(judged: &CallReview) -> String {
    format!("{} {}", judged.decision.verdict, summary(&judged.understood.action))
}

/// Returns true if an action with that verdict runs.
const fn runs(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Allow | Verdict::Warn | Verdict::Modify)
}

/// Describes the reason that the session ended, and how to continue; the incident is unknown if an
/// older version stopped the session.
pub(super) fn stopped(reason: &str, incident: Option<&str>) -> String {
    let way = incident.map(|id| {
        format!(
            ", or see `portcullis incident show {id}` for a person's ways to let this one go on"
        )
    });
    format!(
        "Portcullis stopped this session: {} Start a new session to go on{}.",
        sentence(reason),
        way.unwrap_or_default()
    )
}

pub(super) fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}

fn instead(judged: &CallReview) -> String {
    let alternatives: Vec<String> = judged
        .decision
        .alternatives
        .iter()
        .take(3)
        .map(|text| list_lines(text, MOST_INSTEAD))
        .collect();
    if alternatives.is_empty() {
        String::new()
    } else {
        format!(" Instead: {}", sentence(&alternatives.join("; ")))
    }
}

/// Names the call in a few words.
fn call_name(judged: &CallReview) -> String {
    one_line(&short(&judged.understood.action), 120)
}

/// Describes the call in one line, masked.
pub(super) fn summary(action: &Action) -> String {
    one_line(&format!("{}: {}", action.tool, short(action)), 240)
}

/// Returns an action's command, path or address.
pub(super) fn short(action: &Action) -> String {
    match &action.operation {
        Operation::Shell(shell) => shell.text.clone(),
        Operation::File(file) => file.path.clone(),
        Operation::Network(request) if request.url.is_empty() => {
            request.body.clone().unwrap_or_default()
        }
        Operation::Network(request) => request.url.clone(),
        Operation::Message(message) => format!("to {}", message.recipient),
        Operation::Tool(tool) => tool.name.clone(),
        Operation::Other(text) => text.clone(),
    }
}
