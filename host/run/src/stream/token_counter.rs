//! The tokens of a session, as reported in its stream.

use crate::event::Tokens;
use serde_json::Value;
use std::collections::VecDeque;

/// The most messages that can still grow: one of the agent and one of each concurrent subagent.
const OPEN: usize = 64;

/// Counts tokens. A message comes in several lines, each with its usage so far, so only the last
/// one counts.
#[derive(Debug, Default)]
pub(crate) struct TokenCounter {
    /// The tokens of messages that are complete.
    closed: Tokens,
    /// The messages that can still grow, oldest first.
    open: VecDeque<(String, Tokens)>,
    /// The client's own sums, turn by turn.
    summed: Tokens,
}

impl TokenCounter {
    /// Reads the usage in one line.
    pub(crate) fn observe(&mut self, line: &Value) {
        match line.get("type").and_then(Value::as_str) {
            Some("assistant") => self.message(line.get("message")),
            Some("result") => self.summed += line.get("usage").map(tokens).unwrap_or_default(),
            _ => {}
        }
    }

    /// Returns the tokens so far: the messages' sum or the client's own, whichever is larger.
    pub(crate) fn total(&self) -> Tokens {
        let mut counted = self.closed;
        self.open.iter().for_each(|(_, tokens)| counted += *tokens);
        if self.summed.spent() > counted.spent() { self.summed } else { counted }
    }

    fn message(&mut self, message: Option<&Value>) {
        let Some(usage) = message.and_then(|message| message.get("usage")).map(tokens) else {
            return;
        };
        let id = message
            .and_then(|message| message.get("id"))
            .and_then(Value::as_str)
            .unwrap_or_default();
        if let Some((_, last)) =
            self.open.iter_mut().find(|(known, _)| known == id && !id.is_empty())
        {
            *last = usage;
            return;
        }
        self.open.push_back((id.chars().take(128).collect(), usage));
        if self.open.len() > OPEN
            && let Some((_, tokens)) = self.open.pop_front()
        {
            self.closed += tokens;
        }
    }
}

fn tokens(usage: &Value) -> Tokens {
    let count = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
    Tokens {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cache_written: count("cache_creation_input_tokens"),
        cache_read: count("cache_read_input_tokens"),
    }
}
