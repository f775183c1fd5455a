//! How often the blocks of a session are told one by one, so that an agent that goes in circles floods nobody.
//!
//! The first ones of any ten minutes are told at once. Those after them wait for ten minutes and are then told together,
//! with all that came in the meantime. Stops, interventions and everything else are told at once, always.

use portcullis_core::text::one_line;
use portcullis_notify::{Message, Topic};

/// So many blocks of a session are told at once in a [`WINDOW`]. Hooks that run at the same moment do not see each
/// other, so that there can be as many more as run side by side.
pub const AT_ONCE: usize = 5;
/// In milliseconds.
pub const WINDOW: u64 = 10 * 60 * 1000;
/// So many different actions are named where several are told together.
const NAMED: usize = 8;

/// Which of the messages of one event are told at once, when its session had so many blocks in the window before.
pub struct Pace {
    blocks: usize,
}

impl Pace {
    /// After so many blocks.
    pub const fn after(blocks: usize) -> Self {
        Self { blocks }
    }

    /// Whether the next message waits for others.
    pub fn gathers(&mut self, message: &Message) -> bool {
        if message.topic != Topic::Block {
            return false;
        }
        self.blocks += 1;
        self.blocks > AT_ONCE
    }
}

/// One message for several blocks of a session, in any order; none for none.
pub fn together(messages: &[&Message]) -> Option<Message> {
    let mut messages = messages.to_vec();
    messages.sort_by(|a, b| a.at.cmp(&b.at).then_with(|| a.id.cmp(&b.id)));
    let (first, newest) = (*messages.first()?, *messages.last()?);
    if messages.len() == 1 {
        return Some(first.clone());
    }
    let count = messages.len();
    Some(Message {
        // Another one when more have come in the meantime.
        id: format!("{}-and-{}", first.id, count - 1),
        at: newest.at,
        title: format!("{count} more actions were blocked"),
        what: named(&messages),
        why: format!("The first {AT_ONCE} blocks of ten minutes are told one by one, the rest together. The newest: {}", newest.why),
        commands: vec!["portcullis audit show --verdict block".into(), format!("portcullis explain {}", newest.id)],
        ..first.clone()
    })
}

/// The actions in the order in which they came, each once with how often.
fn named(messages: &[&Message]) -> String {
    let mut counted: Vec<(String, usize)> = Vec::new();
    for message in messages {
        let what = one_line(&message.what, 200);
        match counted.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += 1,
            None => counted.push((what, 1)),
        }
    }
    let line = |(what, count): &(String, usize)| if *count > 1 { format!("{count} times {what}") } else { what.clone() };
    let mut lines: Vec<String> = counted.iter().take(NAMED).map(line).collect();
    let rest: usize = counted.iter().skip(NAMED).map(|(_, count)| count).sum();
    lines.extend((rest > 0).then(|| format!("and {rest} more")));
    lines.join("\n")
}
