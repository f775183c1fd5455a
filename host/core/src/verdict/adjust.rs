//! Adjustments of a decision that its findings do not contain: the session's state and a person's
//! exception.

use super::Decision;
use super::change::VerdictChange;
use super::raised::ask_in_raised_session;
use crate::action::Facts;
use crate::exceptions::Exception;
use crate::score::Verdict;
use crate::session::Session;
use crate::terms;
use crate::text::one_line;

/// The demands of a session's state, in the order in which they apply. Each only tightens.
pub const BY_SESSION: &[fn(&Session, &Facts) -> Option<VerdictChange>] =
    &[refuse_in_stopped_session, ask_in_held_session, keep_resume_terms, ask_in_raised_session];

/// Applies [`BY_SESSION`] to a decision.
pub fn adjust_to_session(decision: &mut Decision, session: &Session, facts: &Facts) {
    for rule in BY_SESSION {
        if let Some(change) = rule(session, facts) {
            decision.apply(change);
        }
    }
}

/// Blocks every action of a stopped session.
pub fn refuse_in_stopped_session(session: &Session, _: &Facts) -> Option<VerdictChange> {
    let reason = session.stopped.as_ref()?;
    Some(VerdictChange {
        leads: true,
        beyond_exceptions: Some("the session was stopped".into()),
        ..VerdictChange::new(
            Verdict::Block,
            "the session was stopped",
            format!("this session was stopped: {reason}"),
        )
    })
}

/// Asks about every action that changes something in a session that is held for a person; reading
/// goes on.
fn ask_in_held_session(session: &Session, facts: &Facts) -> Option<VerdictChange> {
    let reason = session.held.as_ref().filter(|_| !terms::is_read_only(facts))?;
    let reason = format!("this session is held until the person's next prompt: {reason}");
    Some(VerdictChange::new(Verdict::Ask, "the session is held for a person", reason))
}

/// Demands what a person's terms say, on which they resumed a stopped session.
fn keep_resume_terms(session: &Session, facts: &Facts) -> Option<VerdictChange> {
    let terms = session.terms().filter(|_| session.stopped.is_none())?;
    let demand = terms::find_demand(terms, facts)?;
    Some(VerdictChange {
        alternative: Some(demand.instead.to_owned()),
        ..VerdictChange::new(
            demand.verdict,
            format!("terms of the session: {terms}"),
            demand.reason,
        )
    })
}

/// Lets an action run that a person allowed. `faults`: the faults of its review, which the reason
/// mentions.
///
/// # Errors
/// Fails with the reason why the exception does not count: the decision is beyond exceptions.
pub fn lift_by_exception(
    decision: &mut Decision,
    exception: &Exception,
    faults: usize,
) -> Result<(), String> {
    if let Err(why) = decision.check_exceptable() {
        let note = format!("the exception `{}` does not count here: {why}", exception.id);
        decision.reasons.push(note.clone());
        return Err(note);
    }
    let despite = match faults {
        0 => String::new(),
        1 => ", in spite of a fault of the review itself".into(),
        faults => format!(", in spite of {faults} faults of the review itself"),
    };
    let words = one_line(&exception.reason, 256);
    decision.lift(
        &exception.id,
        format!("a person allowed exactly this (exception `{}`: {words}){despite}", exception.id),
    );
    Ok(())
}
