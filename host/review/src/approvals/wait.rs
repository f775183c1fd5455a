//! Holds an action until a person answered or the time is up.

use super::held::{ApprovedAction, HeldAction, digest_event};
use super::presence::is_watched;
use super::reviewed_event::{EventReply, ReviewedEvent};
use crate::answers::read_asked;
use crate::notifications;
use crate::page_address::find_page;
use crate::questions::{AskedAction, PAGE, question_record};
use crate::stored_records::to_store;
use anyhow::Result;
use portcullis_config::boundary::{find_record_commands, user_of_state};
use portcullis_config::clock;
use portcullis_core::event::{Disposition, Event};
use portcullis_core::record::Record;
use portcullis_core::text::one_line;
use portcullis_notify::Topic;
use portcullis_store::{
    ApprovalRecord, ApprovalState, Home, NewWork, Store, StoreError, StoredApproval,
};
use std::thread;
use std::time::{Duration, Instant};

/// The time between two looks at the answer.
const POLL: Duration = Duration::from_millis(150);
/// The shortest time in which a person can answer; a shorter one is not waited for.
const SHORTEST: Duration = Duration::from_secs(1);
/// The letters of an id: none is taken for another.
const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";
/// The number of letters of an id.
const ID_LENGTH: usize = 8;

/// The process that waits for an answer.
pub trait AnswerPort {
    /// Returns the time at which a wait has to have ended; `None` if this process cannot wait.
    fn latest_end(&self) -> Option<Instant>;

    /// Takes note that a wait begins, which ends at `until` at the latest. If `has_messages` is
    /// true, messages about it are in the outbox and should be sent now.
    fn begin_wait(&self, until: Instant, has_messages: bool);

    /// Takes note that the wait has ended.
    fn end_wait(&self);

    /// Returns true if the agent's client no longer waits for this action.
    fn is_abandoned(&self) -> bool {
        false
    }
}

/// The end of a question.
enum Answer {
    /// It was not put to anybody, for this reason, which may name a fix.
    Unasked(String),
    /// The action must not run, for this reason.
    Refused(String),
    /// A person allowed it.
    Allowed(Box<ApprovedAction>),
}

/// Settles the question that a review ended with, if it did: a person's permission has the action
/// reviewed once more, by `review_again`; everything else refuses it.
///
/// # Errors
/// Fails with the error of `review_again`.
pub(crate) fn settle_question<E>(
    event: &Event,
    first: ReviewedEvent,
    port: &dyn AnswerPort,
    review_again: impl FnOnce(&ApprovedAction) -> Result<ReviewedEvent, E>,
) -> Result<EventReply, E> {
    let ReviewedEvent { answered, held, .. } = first;
    let Some(held) = held else { return Ok(answered) };
    let question = Question::new(event, &held);
    let approved = match question.ask(port) {
        Answer::Allowed(approved) => approved,
        Answer::Refused(why) => return Ok(answered.refuse(why)),
        Answer::Unasked(why) => return Ok(answered.add_to_question(&why)),
    };
    // Whatever does not let the action run ends the permission: nothing else may use it later.
    let second = review_again(&approved).inspect_err(|_| question.end(ApprovalState::Changed))?;
    if second.has_changed {
        question.end(ApprovalState::Changed);
        let why = format!(
            "A person allowed this (approval {}), but it did not run: meanwhile it would do \
             something else than they were shown, or there is more against it, or not all of the \
             files that it runs could be read. Try again to ask once more.",
            question.id
        );
        return Ok(answered.refuse(why));
    }
    let settled = second.answered.add_notes(answered.reply);
    if !matches!(settled.reply.ruling, Disposition::None | Disposition::Rewrite(_)) {
        question.end(ApprovalState::Changed);
    }
    Ok(match &settled.reply.ruling {
        Disposition::Ask(reason) => {
            let why = format!(
                "A person allowed this (approval {}), but that does not count any more. {reason}",
                question.id
            );
            settled.refuse(why)
        }
        _ => settled,
    })
}

/// A question that somebody is asked.
struct OpenQuestion {
    store: Store,
    /// The permission that their answer may give.
    permission: ApprovedAction,
    /// The end of the wait.
    until: Instant,
    /// The length of the wait.
    seconds: u64,
}

/// A question about one action.
struct Question<'a> {
    event: &'a Event,
    held: &'a HeldAction,
    asked: AskedAction,
    id: String,
}

impl<'a> Question<'a> {
    fn new(event: &'a Event, held: &'a HeldAction) -> Self {
        Self { event, held, asked: held.describe(), id: new_id().unwrap_or_default() }
    }

    fn ask(&self, port: &dyn AnswerPort) -> Answer {
        match self.begin(port) {
            Err(why) => Answer::Unasked(why),
            Ok(OpenQuestion { mut store, permission, until, seconds }) => {
                let _span =
                    tracing::info_span!(target: "portcullis", "wait for a person").entered();
                let answer = self.await_answer(&mut store, until, port);
                port.end_wait();
                self.read_answer(answer, permission, seconds)
            }
        }
    }

    /// Puts the question to whoever is there.
    ///
    /// # Errors
    /// Fails with a sentence that says why it was put to nobody, and how a person can allow the
    /// action.
    fn begin(&self, port: &dyn AnswerPort) -> Result<OpenQuestion, String> {
        let (now, begun) = (clock::now_ms(), Instant::now());
        let permission = self.held.permit(&self.id, now, u64::MAX);
        let permission =
            permission.map_err(|why| format!("Nobody can allow it for you: {why}."))?;
        let until = self.find_end(port, begun)?;
        let wait = until.saturating_duration_since(begun);
        let seconds = wait.as_secs();
        let mut record =
            question_record(&self.id, &self.asked, ApprovalState::Waiting, seconds, now);
        if let Some(page) = find_page(&self.held.state) {
            record.details.insert(PAGE.into(), page.into());
        }
        let failed = |error: StoreError| format!("Nobody could be asked: {error}.");
        let home = Home::open_root(&self.held.state).map_err(failed)?;
        let messages = self.list_messages(&record, now);
        if messages.is_empty() && !is_watched(&home) || self.id.is_empty() {
            return Err(format!(
                "Nobody was asked, since nobody watches: {}; or they keep `{}` open, which asks \
                 them at once.",
                self.later(),
                find_record_commands(&self.held.state).spell("approvals watch")
            ));
        }
        let row = StoredApproval {
            id: self.id.clone(),
            session: self.event.session.clone(),
            digest: digest_event(self.event),
            asked_at: now,
            expires_at: now.saturating_add(milliseconds(wait)),
            // Only map keys that are not strings could fail here, and there are none.
            document: serde_json::to_string(&self.asked).unwrap_or_default(),
        };
        let mut store = Store::open_existing(&home, self.held.config.durability).map_err(failed)?;
        store.add_approval(row, &messages, vec![to_store(&record)]).map_err(failed)?;
        port.begin_wait(until, !messages.is_empty());
        Ok(OpenQuestion { store, permission, until, seconds })
    }

    /// Returns the time at which the wait ends.
    fn find_end(&self, port: &dyn AnswerPort, begun: Instant) -> Result<Instant, String> {
        let longest = Duration::from_secs(self.held.config.approvals.wait_seconds);
        if longest.is_zero() {
            return Err(format!(
                "Nobody was asked, since `approvals.wait_seconds` is 0: {}.",
                self.later()
            ));
        }
        let until = port.latest_end().map(|latest| latest.min(begun + longest));
        until.filter(|until| *until >= begun + SHORTEST).ok_or_else(|| {
            format!(
                "Nobody was asked, since these hooks leave no time for an answer: {}. `portcullis \
                 install` writes hooks that wait.",
                self.later()
            )
        })
    }

    /// Returns how a person can allow the action without a question.
    fn later(&self) -> String {
        format!("{}, and then you can try again", self.command())
    }

    /// Returns who can allow the action by which command.
    fn command(&self) -> String {
        let review = one_line(&self.held.record.id, 64);
        let command = find_record_commands(&self.held.state).spell(&format!("allow {review}"));
        let who = match user_of_state(&self.held.state) {
            None => "a person",
            Some(_) => "an administrator",
        };
        format!("{who} can run `{command}`")
    }

    /// Returns the messages for the channels that send questions; none if no such channel can be
    /// used.
    fn list_messages(&self, record: &Record, now: u64) -> Vec<NewWork> {
        let (config, person) = (&self.held.config, &self.held.person);
        let channels = notifications::configured_channels(config, person);
        if !channels.values().any(|channel| channel.takes(Topic::Approval)) {
            return Vec::new();
        }
        let project = || self.held.project.clone();
        notifications::message_tasks(config, person, [record], project, || 0, now)
    }

    /// Looks at the row until it is answered, and ends it if it is not. No lock is held between two
    /// looks.
    fn await_answer(
        &self,
        store: &mut Store,
        until: Instant,
        port: &dyn AnswerPort,
    ) -> Result<Option<ApprovalRecord>, StoreError> {
        let begun = Instant::now();
        loop {
            let found = match store.find_approval(&self.id) {
                // A loaded machine; the next look is soon.
                Err(StoreError::Busy { .. }) => None,
                other => Some(other?),
            };
            if let Some(found) = found
                && found.as_ref().is_none_or(|row| row.state != ApprovalState::Waiting)
            {
                return Ok(found);
            }
            let left = until.saturating_duration_since(Instant::now());
            let end = match (left.is_zero(), port.is_abandoned()) {
                (true, _) => ApprovalState::Expired,
                (_, true) => ApprovalState::Withdrawn,
                _ => {
                    thread::sleep(POLL.min(left));
                    continue;
                }
            };
            let (now, seconds) = (clock::now_ms(), begun.elapsed().as_secs());
            let record = question_record(&self.id, &self.asked, end, seconds, now);
            return store.end_approval(&self.id, end, now, vec![to_store(&record)]);
        }
    }

    fn read_answer(
        &self,
        answer: Result<Option<ApprovalRecord>, StoreError>,
        permission: ApprovedAction,
        seconds: u64,
    ) -> Answer {
        let id = &self.id;
        let row = match answer {
            Ok(Some(row)) if row.asked.digest == digest_event(self.event) => row,
            Ok(_) => {
                return Answer::Refused(format!(
                    "A person was asked about this (approval {id}), but the question is gone from \
                     the journal, so it did not run."
                ));
            }
            Err(error) => {
                return Answer::Refused(format!(
                    "A person was asked about this (approval {id}), but no answer can be read, so \
                     it did not run: {error}."
                ));
            }
        };
        let words = one_line(&row.reason, 512);
        match row.state {
            ApprovalState::Allowed if !self.is_agreed(&row) => Answer::Refused(format!(
                "A person allowed this (approval {id}), but {} people have to, so it did not run.",
                self.asked.people
            )),
            ApprovalState::Allowed => {
                let mut permission = permission;
                permission.exception.reason = words;
                Answer::Allowed(Box::new(permission))
            }
            ApprovalState::Denied if words.is_empty() => Answer::Refused(format!(
                "A person was asked about this and denied it (approval {id})."
            )),
            ApprovalState::Denied => Answer::Refused(format!(
                "A person was asked about this and denied it (approval {id}): {words}"
            )),
            ApprovalState::Withdrawn => Answer::Refused(format!(
                "A person was asked about this (approval {id}), and it was given up before they answered."
            )),
            _ => Answer::Refused(format!(
                "A person was asked about this (approval {id}) and did not answer within {seconds} \
                 s, so it did not run. Later {}.",
                self.later()
            )),
        }
    }

    /// Returns true if as many people as were asked have allowed it.
    fn is_agreed(&self, row: &ApprovalRecord) -> bool {
        let people = self.asked.people;
        read_asked(row).is_ok_and(|answered| AskedAction { people, ..answered }.is_agreed())
    }

    /// Ends a permission that cannot be used. The action is refused even if that fails.
    fn end(&self, state: ApprovalState) {
        let now = clock::now_ms();
        let record = question_record(&self.id, &self.asked, state, 0, now);
        let ended = Home::open_root(&self.held.state)
            .and_then(|home| Store::open_existing(&home, self.held.config.durability))
            .and_then(|mut store| {
                store.end_approval(&self.id, state, now, vec![to_store(&record)])
            });
        drop(ended);
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Returns a new id, which nobody can guess; `None` if the system gives no random bytes.
fn new_id() -> Option<String> {
    let mut bytes = [0; ID_LENGTH];
    getrandom::fill(&mut bytes).ok()?;
    // Five bits select one of 32 letters, so that each is equally likely.
    let letter = |byte: &u8| LETTERS.get(usize::from(byte & 31)).map(|letter| char::from(*letter));
    bytes.iter().map(letter).collect()
}
