//! The hook's side: it looks, as its user, with the code of the embedded review.

use super::{Finding, Question};
use crate::protected_paths::locate_paths;
use crate::workspace;
use anyhow::{Context, Result};
use portcullis_agents::Agent;
use portcullis_checkpoint::{Allowed, answer_request};

/// Answers a request of the service about files, for a checkpoint: it looks and reads. No service has
/// a hook change files.
#[must_use]
pub fn answer_files(request: &[u8]) -> Vec<u8> {
    answer_request(request, Allowed::Read)
}

/// Answers a question about the event that a hook received.
///
/// # Errors
/// Fails if the question is not one of this version.
pub fn answer_question(agent: &dyn Agent, input: &[u8], question: &[u8]) -> Result<Vec<u8>> {
    let question: Question =
        serde_json::from_slice(question).context("the service asks what this version does not")?;
    let finding = match question {
        Question::Observe { queries, guarded } => {
            Finding::Observed(workspace::observe(&queries, &guarded))
        }
        Question::Locate { paths } => Finding::Located(locate_paths(&paths)),
        Question::ShownCalls { since } => Finding::ShownCalls(agent.shown_calls(input, since)),
        Question::Tokens { subagent, cursor } => {
            let read = agent.token_reader();
            let tokens = read.and_then(|read| read(input, subagent.as_deref(), cursor.as_ref()));
            Finding::Tokens(tokens.map(|tokens| {
                let cursor = tokens.cursor.clone();
                (tokens, cursor)
            }))
        }
    };
    Ok(serde_json::to_vec(&finding)?)
}
