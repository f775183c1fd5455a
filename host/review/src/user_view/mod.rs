//! What only the user of a hook can see, for a review by a user who cannot: the service of a
//! boundary.
//!
//! ```text
//! hook, as the agent's user           service, as its own user
//!   collect    the project's files ---->  places of the review
//!   answer   <---- question ----------    ask: observations, guarded names, transcript
//!            ------ finding --------->
//!            <---- request -----------    ask: what a checkpoint keeps, file by file
//!            ------ answer ---------->
//! ```
//!
//! The service opens no path that the user names: it asks for a finding, and the hook looks with
//! the code that the embedded review looks with. A hook can be made to lie by whoever runs as its
//! user. Such a lie says no more than that user could have made true by changing their own files;
//! it reaches no decision, no state and no file of the service. A finding that is missing, or that
//! is not an answer to the question, fails the review.

mod answer;
mod ask;
mod collect;

pub use answer::{answer_files, answer_question};
pub use ask::{QuestionPort, UserView};
pub use collect::collect_files;

use crate::folder_locations::Location;
use portcullis_agents::ShownCall;
use portcullis_checkpoint::FilePort;
use portcullis_core::observe::{Observations, Query};
use portcullis_core::policy::GuardedPath;
use portcullis_core::session::{TokenCursor, TokenReading};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// A question of the service.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Question {
    /// What is at these paths.
    Observe { queries: Vec<Query>, guarded: Vec<GuardedPath> },
    /// Where the guard's paths lead.
    Locate { paths: Vec<PathBuf> },
    /// The calls that the client's transcript shows since a time.
    ShownCalls { since: u64 },
    /// The tokens that the client's transcript shows.
    Tokens { subagent: Option<String>, cursor: Option<TokenCursor> },
}

/// The answer to a question, in the same order.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Finding {
    Observed(Observations),
    Located(Vec<Location>),
    ShownCalls(Vec<ShownCall>),
    Tokens(Option<(TokenReading, TokenCursor)>),
}

/// The files of a hook's user, as checkpoints see them.
pub(crate) struct ViewFiles(pub(crate) Arc<UserView>);

impl FilePort for ViewFiles {
    fn ask(&self, request: &[u8]) -> io::Result<Vec<u8>> {
        self.0.ask_files(request)
    }

    fn reject(&self, why: &str) {
        self.0.reject(why);
    }
}
