//! `portcullis approvals allow` and `deny`.

use super::{AnswerArguments, Approval, page};
use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::{interactive, paint};
use portcullis_config::clock::now_ms;
use portcullis_core::text::one_line;
use portcullis_review::questions::answer_record;
use portcullis_review::reviewer::to_store;
use portcullis_store::{ApprovalAnswer, ApprovalState, Store};
use serde_json::json;
use std::thread;
use std::time::{Duration, Instant};

/// The words in the record for a person who answers here.
const BY: &str = "a person at a terminal";
/// The most bytes of a person's words.
const MOST_WORDS: usize = 512;
/// The time in which the process that waits takes up a permission.
const PATIENCE: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(50);

/// Answers an approval as a person at a terminal.
pub(super) fn run_answer(arguments: &AnswerArguments, allowed: bool) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let mut store = crate::commands::audit::open_store()?;
    let approval = Approval::find(&store, &arguments.id)?;
    check_waiting(&approval, now_ms())?;
    if allowed {
        let page = page::approval_page(&approval, now_ms());
        interactive::confirm_action(&format!("{page}Let exactly this run, once?"))?;
    }
    let words = one_line(&arguments.reason, MOST_WORDS);
    give_answer(&mut store, &approval, allowed, &words)?;
    let is_used = allowed && await_use(&store, approval.id())?;
    if arguments.json {
        let state = if allowed { "allowed" } else { "denied" };
        let document = json!({ "id": approval.id(), "state": state, "used": is_used });
        paint::print_text(&format!("{document}\n"));
        return Ok(CommandExit::Success);
    }
    paint::print_text(&format!("{}\n", describe_answer(allowed, is_used)));
    Ok(CommandExit::Success)
}

/// Writes an answer.
pub(super) fn give_answer(
    store: &mut Store,
    approval: &Approval,
    allowed: bool,
    words: &str,
) -> Result<()> {
    let (id, at) = (approval.id(), now_ms());
    let record = answer_record(id, &approval.asked, allowed, words, BY, at);
    let answer = ApprovalAnswer { allowed, at, reason: words.to_owned() };
    let digest = &approval.row.asked.digest;
    if !store.answer_approval(id, digest, &answer, vec![to_store(&record)])? {
        // The error says what has happened to it meanwhile.
        check_waiting(&Approval::find(store, id)?, now_ms())?;
        return Err(Error::invalid(format!("the approval `{id}` could not be answered")));
    }
    Ok(())
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
pub(super) const fn describe_answer(allowed: bool, is_used: bool) -> &'static str {
    match (allowed, is_used) {
        (true, true) => "allowed: it runs now, once.",
        (true, false) => {
            "allowed, but it has not run: the agent may have given up, or something else stands \
             against it now. `portcullis audit show` has the rest."
        }
        (false, _) => "denied: the agent is told.",
    }
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
