//! `portcullis approvals allow` and `deny`.

use super::{AnswerArguments, Approval, page};
use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::spelling::spell_commands_in;
use crate::{interactive, paint};
use portcullis_config::clock::now_ms;
use portcullis_core::text::one_line;
use portcullis_review::answers::{self, AnswerResult, Answerer, PersonAnswer, PersonDecision};
use portcullis_store::{ApprovalState, Store};
use serde_json::json;
use std::thread;
use std::time::{Duration, Instant};

/// The time in which the process that waits takes up a permission.
const PATIENCE: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(50);

/// Answers an approval as a person at a terminal.
pub(super) fn run_answer(
    arguments: &AnswerArguments,
    decision: PersonDecision,
) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let mut store = crate::commands::audit::open_store()?;
    let approval = Approval::find(&store, &arguments.id)?;
    check_waiting(&approval, now_ms())?;
    let question = match decision {
        PersonDecision::Deny => None,
        PersonDecision::AllowOnce => Some("Let exactly this run, once?"),
        PersonDecision::AllowInSession => {
            Some("Let exactly this run, now and in the rest of its session?")
        }
    };
    if let Some(question) = question {
        let page = page::approval_page(&approval, now_ms());
        interactive::confirm_action(&format!("{page}{question}"))?;
    }
    give_answer(&mut store, &approval, decision, &arguments.reason)?;
    let allowed = decision != PersonDecision::Deny;
    let is_used = allowed && await_use(&store, approval.id())?;
    if arguments.json {
        let state = if allowed { "allowed" } else { "denied" };
        let document = json!({ "id": approval.id(), "state": state, "used": is_used });
        paint::print_text(&format!("{document}\n"));
        return Ok(CommandExit::Success);
    }
    paint::print_text(&format!("{}\n", describe_answer(decision, is_used)));
    Ok(CommandExit::Success)
}

/// Writes an answer.
pub(super) fn give_answer(
    store: &mut Store,
    approval: &Approval,
    decision: PersonDecision,
    words: &str,
) -> Result<()> {
    // A terminal does not tell one person from another.
    let by = Answerer { name: None, described: "a person at a terminal" };
    let answer = PersonAnswer { decision, words, by, at: now_ms() };
    match answers::give_answer(store, &approval.row, &answer)? {
        AnswerResult::Allowed | AnswerResult::Denied => Ok(()),
        AnswerResult::NeedsName | AnswerResult::SamePerson | AnswerResult::NeedsAnother => {
            Err(Error::refused(format!(
                "{} people have to allow this, and a terminal does not tell one from another",
                approval.asked.people
            ))
            .with_hint("each of them can allow it on the page: `portcullis open`"))
        }
        AnswerResult::TooLate => {
            // The error says what has happened to it meanwhile.
            let id = approval.id();
            check_waiting(&Approval::find(store, id)?, now_ms())?;
            Err(Error::invalid(format!("the approval `{id}` could not be answered")))
        }
    }
}

/// Returns true once the process that waits has let the action run; false if it does not within a
/// few seconds.
pub(super) fn await_use(store: &Store, id: &str) -> Result<bool> {
    let begun = Instant::now();
    loop {
        match store.find_approval(id)?.map(|row| row.state) {
            Some(ApprovalState::Allowed) if begun.elapsed() < PATIENCE => thread::sleep(POLL),
            state => return Ok(state == Some(ApprovalState::Used)),
        }
    }
}

/// Returns the sentence about an answer that was given.
pub(super) fn describe_answer(decision: PersonDecision, is_used: bool) -> String {
    let said = match (decision, is_used) {
        (PersonDecision::Deny, _) => "denied: the agent is told.",
        (PersonDecision::AllowOnce, true) => "allowed: it runs now, once.",
        (PersonDecision::AllowInSession, true) => {
            "allowed: it runs now, and without a question in the rest of its session. \
             `portcullis allow --list` shows how to revoke that."
        }
        (_, false) => {
            "allowed, but it has not run: the agent may have given up, or something else stands \
             against it now. `portcullis audit show` has the rest."
        }
    };
    spell_commands_in(said)
}

fn check_waiting(approval: &Approval, now: u64) -> Result<()> {
    let id = one_line(approval.id(), 64);
    let at = paint::time(approval.row.ended_at.unwrap_or(approval.row.asked.expires_at));
    let what = match approval.state(now) {
        ApprovalState::Waiting => return Ok(()),
        ApprovalState::Allowed | ApprovalState::Used => format!("was allowed at {at} UTC"),
        ApprovalState::Denied => format!("was denied at {at} UTC"),
        ApprovalState::Expired => format!("expired at {at} UTC"),
        ApprovalState::Withdrawn => format!("ended at {at} UTC: the agent gave the action up"),
        ApprovalState::Changed => format!("ended at {at} UTC: the action had changed"),
    };
    let hint = format!(
        "`portcullis allow {}` lets the action run when the agent tries it again",
        one_line(&approval.asked.review, 64)
    );
    Err(Error::invalid(format!("the approval `{id}` {what}: nothing waits for it")).with_hint(hint))
}
