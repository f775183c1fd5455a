//! Limits how often the blocks of a session are sent one by one, so that a looping agent floods
//! nobody.
//!
//! The first blocks of any ten minutes are sent at once. Later ones wait for ten minutes and are
//! then sent together, with all that followed in the meantime. Stops, interventions and everything
//! else are always sent at once.

use portcullis_core::text::one_line;
use portcullis_notify::{Notification, Topic};

/// The most blocks of a session that are sent at once in a [`WINDOW`]. Hooks that run at the same
/// moment do not see each other, so parallel hooks can exceed this by their number.
pub const AT_ONCE: usize = 5;
/// The window, in milliseconds.
pub const WINDOW: u64 = 10 * 60 * 1000;
/// The most different actions that are named in a combined message.
const NAMED: usize = 8;

/// Decides which messages of one event are sent at once, given the session's number of blocks in
/// the window before.
pub(super) struct Pace {
    blocks: usize,
}

impl Pace {
    /// Starts after that many blocks.
    pub(super) const fn after(blocks: usize) -> Self {
        Self { blocks }
    }

    /// Returns true if the next message waits for others.
    pub(super) fn gathers(&mut self, message: &Notification) -> bool {
        if message.topic != Topic::Block {
            return false;
        }
        self.blocks += 1;
        self.blocks > AT_ONCE
    }
}

/// Combines several blocks of a session, in any order, into one message; returns `None` for no
/// blocks.
pub(super) fn together(messages: &[&Notification]) -> Option<Notification> {
    let mut messages = messages.to_vec();
    messages.sort_by(|a, b| a.at.cmp(&b.at).then_with(|| a.id.cmp(&b.id)));
    let (first, newest) = (*messages.first()?, *messages.last()?);
    if messages.len() == 1 {
        return Some(first.clone());
    }
    let count = messages.len();
    Some(Notification {
        // A different id if more blocks have followed in the meantime.
        id: format!("{}-and-{}", first.id, count - 1),
        at: newest.at,
        title: format!("{count} more actions were blocked"),
        what: named(&messages),
        why: format!(
            "The first {AT_ONCE} blocks of ten minutes are reported one by one, the rest together. The newest: {}",
            newest.why
        ),
        commands: vec![
            "portcullis audit show --verdict block".into(),
            format!("portcullis explain {}", newest.id),
        ],
        ..first.clone()
    })
}

/// Lists the actions in their order, each once with its count.
fn named(messages: &[&Notification]) -> String {
    let mut counted: Vec<(String, usize)> = Vec::new();
    for message in messages {
        let what = one_line(&message.what, 200);
        match counted.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += 1,
            None => counted.push((what, 1)),
        }
    }
    let line = |(what, count): &(String, usize)| {
        if *count > 1 { format!("{count} times {what}") } else { what.clone() }
    };
    let mut lines: Vec<String> = counted.iter().take(NAMED).map(line).collect();
    let rest: usize = counted.iter().skip(NAMED).map(|(_, count)| count).sum();
    lines.extend((rest > 0).then(|| format!("and {rest} more")));
    lines.join("\n")
}
