//! The result of a review: the reply, and the action that waits for a person.

use super::held::HeldAction;
use portcullis_core::event::{Disposition, Reply};

/// The reply to an event, independent of the client.
#[derive(Debug)]
pub struct EventReply {
    /// The reply.
    pub reply: Reply,
    /// True if work is due for `maintain`.
    pub work_is_due: bool,
}

/// An event that was reviewed, and committed unless it changed.
pub(crate) struct ReviewedEvent {
    /// The reply.
    pub(crate) answered: EventReply,
    /// The action, if it waits for a person whom nobody but this process asks.
    pub(crate) held: Option<HeldAction>,
    /// True if a person's permission did not count, since the action had changed: nothing was
    /// committed.
    pub(crate) has_changed: bool,
}

impl EventReply {
    /// Turns the answer into a refusal.
    pub(super) fn refuse(mut self, why: String) -> Self {
        let Reply { ruling, person, .. } = &mut self.reply;
        person.push(why.clone());
        *ruling = Disposition::Refuse(why);
        self
    }

    /// Adds what the first review of the action said besides its question. A client takes a rewrite
    /// without texts for the agent.
    pub(super) fn add_notes(mut self, first: Reply) -> Self {
        let Reply { ruling, agent, person, .. } = &mut self.reply;
        let rewrites = matches!(ruling, Disposition::Rewrite(_));
        let notes = first.agent.into_iter().filter(|_| !rewrites);
        for (texts, notes) in [(agent, notes.collect()), (person, first.person)] {
            let new: Vec<String> = notes.into_iter().filter(|note| !texts.contains(note)).collect();
            texts.splice(0..0, new);
        }
        self
    }

    /// Adds to a question why it was put to nobody.
    pub(super) fn add_to_question(mut self, why: &str) -> Self {
        if let Disposition::Ask(reason) = &mut self.reply.ruling {
            reason.push(' ');
            reason.push_str(why);
        }
        self
    }
}

impl ReviewedEvent {
    /// Returns the end of a review that found another action than the one that a person allowed.
    pub(crate) fn changed() -> Self {
        let answered = EventReply { reply: Reply::default(), work_is_due: false };
        Self { answered, held: None, has_changed: true }
    }
}
