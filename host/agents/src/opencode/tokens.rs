//! Tokens of a session, as our plugin counts them from the client's events: each event that it
//! passes on has the number since the client started.

use crate::payload::{MAX_NAME, at_most};
use portcullis_core::session::{TokenCursor, TokenReading};
use portcullis_core::text::hash_parts;
use serde_json::{Map, Value};

/// Reads on from `cursor`. `agent` is the acting subagent, which has a session of its own.
///
/// Without a cursor the count begins now, and a subagent's with its first turn. A number that became
/// smaller is that of a client which was started again.
pub(super) fn read_tokens(
    input: &[u8],
    agent: Option<&str>,
    cursor: Option<&TokenCursor>,
) -> Option<TokenReading> {
    let event: Map<String, Value> = serde_json::from_slice(input).ok()?;
    let total = event.get("tokens")?.as_u64()?;
    let session = at_most(&event, "session_id", MAX_NAME).ok()??;
    let file = hash_parts(&[&session, agent.unwrap_or_default()]);
    let known = cursor.filter(|cursor| cursor.file == file).map(|cursor| cursor.offset);
    let added = match known {
        Some(known) if known <= total => total.saturating_sub(known),
        Some(_) => total,
        None if agent.is_some() => total,
        None => 0,
    };
    Some(TokenReading { added, cursor: TokenCursor { file, offset: total, messages: Vec::new() } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_token_counts_once() {
        for (agent, totals, expected) in [
            (None, &[0, 120, 120, 300][..], &[0, 120, 0, 180][..]),
            // The hooks were installed into a session that runs.
            (None, &[500, 620], &[0, 120]),
            // The client was started again.
            (None, &[0, 120, 30, 50], &[0, 120, 30, 20]),
            (Some("a"), &[120, 200], &[120, 80]),
        ] {
            let mut cursor = None;
            let mut added = Vec::new();
            for total in totals {
                let event = json!({"session_id": "s", "tokens": total}).to_string();
                let reading = read_tokens(event.as_bytes(), agent, cursor.as_ref()).unwrap();
                added.push(reading.added);
                cursor = Some(reading.cursor);
            }
            assert_eq!(added, expected, "{agent:?} {totals:?}");
        }
    }

    #[test]
    fn an_event_without_a_number_counts_nothing() {
        for event in [
            json!({"session_id": "s"}),
            json!({"session_id": "s", "tokens": "3"}),
            json!({"session_id": "s", "tokens": -3}),
            json!({"session_id": "s", "tokens": 1.5}),
            json!({"tokens": 3}),
            json!([3]),
        ] {
            assert_eq!(read_tokens(event.to_string().as_bytes(), None, None), None, "{event}");
        }
    }
}
