//! The encoding of a state as bytes, and the earlier layouts that can still be read.

use super::{AgentState, Pending, Session};
use crate::action::{Repetition, Step, Totals};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// First byte of an encoded state: the version of its layout.
const LAYOUT: u8 = 10;
/// The bytes that layouts 2, 3 and 5 to 10 added at the end of a session, with their values for a
/// session of layout 1: nothing holds it; its agents share no state, and each numbers its own
/// steps; no stop is known; no file is remembered, nothing raised it, and the limits that it began
/// with are not known; its interventions were not only observed, no refused call is known, and it
/// made no file; its limits are of an earlier version, and nothing was measured; no change of a
/// limit, no lasting action and no secret is known; nothing was mounted.
const ADDED: [&[u8]; 8] = [&[0], &[0, 0], &[0], &[0, 0, 0], &[0, 0, 0, 0], &[0; 8], &[0; 3], &[0]];
/// The byte that layout 8 added at the end of an agent: its tokens were not counted.
const ADDED_TO_AGENT: &[u8] = &[0];

/// Errors of a state that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// Written by a version with another layout.
    #[error(
        "the session's state has layout {found}, this version reads {LAYOUT}: start a new session"
    )]
    Layout {
        /// Its layout.
        found: u8,
    },
    /// Damaged.
    #[error("the session's state is damaged ({0}): start a new session")]
    Damaged(String),
}

/// An agent before layout 4, which stores its steps as rows.
#[derive(Deserialize)]
struct LegacyAgent {
    next_step: u64,
    steps: VecDeque<Step>,
    totals: Totals,
    pending: VecDeque<Pending>,
    calls: VecDeque<u64>,
    shapes: VecDeque<(u64, Repetition)>,
    successes: VecDeque<(u64, u32)>,
    plugins: BTreeMap<String, Vec<u8>>,
    recent: VecDeque<String>,
}

impl From<LegacyAgent> for AgentState {
    fn from(earlier: LegacyAgent) -> Self {
        let LegacyAgent {
            next_step,
            steps,
            totals,
            pending,
            calls,
            shapes,
            successes,
            plugins,
            recent,
        } = earlier;
        Self {
            next_step,
            steps,
            totals,
            pending,
            calls,
            shapes,
            successes,
            plugins,
            recent,
            tokens: None,
        }
    }
}

/// Reads the part that a session's agents share.
pub(super) fn session(bytes: Option<&[u8]>) -> Result<Session, StateError> {
    match bytes {
        None | Some([]) => Ok(Session::default()),
        Some([LAYOUT, body @ ..]) => read(body),
        Some([1, body @ ..]) => read(&[&[body], &ADDED[..]].concat().concat()),
        Some([2, body @ ..]) => read(&[&[body], &ADDED[1..]].concat().concat()),
        Some([3 | 4, body @ ..]) => read(&[&[body], &ADDED[2..]].concat().concat()),
        Some([5, body @ ..]) => read(&[&[body], &ADDED[3..]].concat().concat()),
        Some([6, body @ ..]) => read(&[&[body], &ADDED[4..]].concat().concat()),
        Some([7, body @ ..]) => read(&[&[body], &ADDED[5..]].concat().concat()),
        Some([8, body @ ..]) => read(&[&[body], &ADDED[6..]].concat().concat()),
        Some([9, body @ ..]) => read(&[&[body], &ADDED[7..]].concat().concat()),
        Some([found, ..]) => Err(StateError::Layout { found: *found }),
    }
}

/// Reads the part of one agent.
pub(super) fn agent(bytes: Option<&[u8]>) -> Result<AgentState, StateError> {
    match bytes {
        None | Some([]) => Ok(AgentState::default()),
        Some([8 | 9 | LAYOUT, body @ ..]) => read(body),
        Some([4..=7, body @ ..]) => read(&[body, ADDED_TO_AGENT].concat()),
        Some([1..=3, body @ ..]) => read::<LegacyAgent>(body).map(AgentState::from),
        Some([found, ..]) => Err(StateError::Layout { found: *found }),
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, StateError> {
    postcard::from_bytes(body).map_err(|error| StateError::Damaged(error.to_string()))
}

/// Writes either part.
pub(super) fn write<T: Serialize>(part: &T) -> Result<Vec<u8>, StateError> {
    postcard::to_extend(part, vec![LAYOUT]).map_err(|error| StateError::Damaged(error.to_string()))
}
