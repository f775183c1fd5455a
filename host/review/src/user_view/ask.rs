//! The service's side: it asks, and takes only what answers the question.

use super::{Finding, Question};
use crate::folder_locations::Location;
use portcullis_agents::ShownCall;
use portcullis_core::observe::{Observations, Query};
use portcullis_core::policy::GuardedPath;
use portcullis_core::run_files::{FileContents, MOST_FILE_TEXT};
use portcullis_core::session::{TokenCursor, TokenReading};
use portcullis_core::text::one_line;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The most entries below a folder that an observation lists; as many as the look itself lists.
const MOST_LISTED: usize = 64;
/// The most calls of a transcript that count.
const MOST_CALLS: usize = 100_000;
/// The most bytes of a text of a file: invalid bytes become three each.
const MOST_TEXT: usize = 3 * MOST_FILE_TEXT + 1;
/// The most characters of a problem.
const PROBLEM_CHARS: usize = 240;

/// The connection to a hook that answers questions.
pub trait QuestionPort: Send + Sync {
    /// Sends a question, and waits for the hook's findings.
    ///
    /// # Errors
    /// Fails with the reason that there are none.
    fn ask(&self, question: &[u8]) -> Result<Vec<u8>, String>;

    /// Sends a request about files for a checkpoint, and waits for the hook's answer.
    ///
    /// # Errors
    /// Fails with the reason that there is none.
    fn ask_files(&self, request: &[u8]) -> Result<Vec<u8>, String>;
}

/// The view of a hook's user. After the first problem it finds nothing any more, and the review
/// that asked has to fail.
pub struct UserView {
    port: Box<dyn QuestionPort>,
    problem: Mutex<Option<String>>,
}

impl UserView {
    /// Creates a view through a connection.
    #[must_use]
    pub fn new(port: impl QuestionPort + 'static) -> Self {
        Self { port: Box::new(port), problem: Mutex::new(None) }
    }

    /// Returns the reason that a question has no answer, if one has none.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks at paths.
    pub(crate) fn observe(&self, queries: &[Query], guarded: &[GuardedPath]) -> Observations {
        let question = Question::Observe { queries: queries.to_vec(), guarded: guarded.to_vec() };
        self.ask_for(&question, |finding| match finding {
            Finding::Observed(observed) => check_observations(queries, observed),
            _ => None,
        })
    }

    /// Locates paths.
    pub(crate) fn locate(&self, paths: Vec<PathBuf>) -> Vec<Location> {
        let count = paths.len();
        self.ask_for(&Question::Locate { paths }, |finding| match finding {
            Finding::Located(located) => Some(located).filter(|located| located.len() == count),
            _ => None,
        })
    }

    /// Reads the calls in the client's transcript.
    pub(crate) fn shown_calls(&self, since: u64) -> Vec<ShownCall> {
        self.ask_for(&Question::ShownCalls { since }, |finding| match finding {
            Finding::ShownCalls(calls) => Some(calls).filter(|calls| calls.len() <= MOST_CALLS),
            _ => None,
        })
    }

    /// Reads the tokens in the client's transcript.
    pub(crate) fn tokens(
        &self,
        subagent: Option<&str>,
        cursor: Option<&TokenCursor>,
    ) -> Option<TokenReading> {
        let question =
            Question::Tokens { subagent: subagent.map(str::to_owned), cursor: cursor.cloned() };
        self.ask_for(&question, |finding| match finding {
            Finding::Tokens(tokens) => {
                Some(tokens.map(|(tokens, cursor)| TokenReading { cursor, ..tokens }))
            }
            _ => None,
        })
    }

    /// Passes on a request about files. A failure is noted: the review has to fail.
    pub(crate) fn ask_files(&self, request: &[u8]) -> io::Result<Vec<u8>> {
        let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(earlier) = &*problem {
            return Err(io::Error::other(earlier.clone()));
        }
        self.port.ask_files(request).map_err(|error| {
            *problem = Some(one_line(&error, PROBLEM_CHARS));
            io::Error::other(error)
        })
    }

    /// Notes that the hook answered something else than it was asked.
    pub(crate) fn reject(&self, why: &str) {
        let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        problem.get_or_insert_with(|| one_line(why, PROBLEM_CHARS));
    }

    /// Asks a question; returns nothing if there is no answer to it, which is noted.
    fn ask_for<T: Default>(
        &self,
        question: &Question,
        take: impl FnOnce(Finding) -> Option<T>,
    ) -> T {
        let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        if problem.is_some() {
            return T::default();
        }
        let not_an_answer = || "the hook answered something else than it was asked".to_owned();
        let answered = serde_json::to_vec(question)
            .map_err(|error| error.to_string())
            .and_then(|question| self.port.ask(&question))
            .and_then(|finding| serde_json::from_slice(&finding).map_err(|_| not_an_answer()))
            .and_then(|finding| take(finding).ok_or_else(not_an_answer));
        answered.unwrap_or_else(|error| {
            *problem = Some(one_line(&error, PROBLEM_CHARS));
            T::default()
        })
    }
}

/// Returns observations if they answer each query and nothing else, within the bounds of a look.
fn check_observations(queries: &[Query], observed: Observations) -> Option<Observations> {
    let asked: std::collections::BTreeSet<String> = queries.iter().map(Query::key).collect();
    let is_answered =
        asked.len() == observed.len() && observed.keys().all(|key| asked.contains(key));
    let is_bounded = observed.values().all(|seen| {
        let text = match &seen.contents {
            Some(FileContents::Text(text) | FileContents::Part(text)) => text.len(),
            Some(FileContents::Unreadable(why)) => why.len(),
            Some(FileContents::Binary | FileContents::Missing) | None => 0,
        };
        text <= MOST_TEXT && seen.holds.as_ref().is_none_or(|holds| holds.len() <= MOST_LISTED)
    });
    (is_answered && is_bounded).then_some(observed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user_view::ViewFiles;
    use portcullis_checkpoint::FileAccess;
    use portcullis_core::action::{Entry, GitState};
    use portcullis_core::observe::Observed;
    use std::path::Path;
    use std::sync::Arc;

    /// A hook that answers everything with the same bytes.
    struct SameAnswer(Result<Vec<u8>, String>);

    impl QuestionPort for SameAnswer {
        fn ask(&self, _question: &[u8]) -> Result<Vec<u8>, String> {
            self.0.clone()
        }

        fn ask_files(&self, _request: &[u8]) -> Result<Vec<u8>, String> {
            self.0.clone()
        }
    }

    fn query(path: &str) -> Query {
        Query {
            path: path.to_owned(),
            glob: false,
            removes: false,
            recursive: false,
            changes: false,
            text: true,
            committed: false,
            leaves: None,
        }
    }

    fn seen(contents: Option<FileContents>, holds: Option<Vec<String>>) -> Observed {
        Observed {
            entry: Entry::File,
            real: None,
            git: GitState::Unknown,
            restorable: false,
            leads: None,
            contents,
            holds,
            size: None,
        }
    }

    fn answer(finding: &Finding) -> Result<Vec<u8>, String> {
        Ok(serde_json::to_vec(finding).unwrap())
    }

    #[test]
    fn only_an_answer_to_the_question_counts() {
        let observed = |entries: &[(&str, Observed)]| {
            let entries = entries.iter().map(|(key, seen)| ((*key).to_owned(), seen.clone()));
            answer(&Finding::Observed(entries.collect()))
        };
        let plain = || seen(None, None);
        let text = |length| seen(Some(FileContents::Text("x".repeat(length))), None);
        let holds = |count| seen(None, Some(vec!["/a".to_owned(); count]));
        for (name, answered, counts) in [
            ("the answer", observed(&[("/a", plain()), ("/b", plain())]), true),
            ("a long text", observed(&[("/a", text(MOST_TEXT)), ("/b", plain())]), true),
            ("one is missing", observed(&[("/a", plain())]), false),
            ("nothing", observed(&[]), false),
            ("another path", observed(&[("/a", plain()), ("/c", plain())]), false),
            (
                "one more",
                observed(&[("/a", plain()), ("/b", plain()), ("/etc/shadow", plain())]),
                false,
            ),
            ("a text too long", observed(&[("/a", text(MOST_TEXT + 1)), ("/b", plain())]), false),
            ("a list too long", observed(&[("/a", holds(65)), ("/b", plain())]), false),
            ("another finding", answer(&Finding::ShownCalls(Vec::new())), false),
            ("no finding", Ok(b"{}".to_vec()), false),
            ("no JSON", Ok(vec![0xff; 9]), false),
            ("deep nesting", Ok("[".repeat(100_000).into_bytes()), false),
            ("a closed connection", Err("it closed".to_owned()), false),
        ] {
            let view = UserView::new(SameAnswer(answered));
            let found = view.observe(&[query("/a"), query("/b")], &[]);
            assert_eq!((found.len() == 2, view.problem().is_none()), (counts, counts), "{name}");
        }
    }

    #[test]
    fn an_answer_about_files_that_is_none_is_a_problem() {
        for (name, answered) in [
            ("no answer", Ok(Vec::new())),
            ("noise", Ok(vec![0xff; 64])),
            ("another answer", Ok(vec![0])),
            ("a closed connection", Err("it closed".to_owned())),
        ] {
            let view = Arc::new(UserView::new(SameAnswer(answered)));
            let files = FileAccess::through(ViewFiles(Arc::clone(&view)));
            assert!(!files.is_folder(Path::new("/a")), "{name}");
            assert!(view.problem().is_some(), "{name}");
        }
    }

    #[test]
    fn a_problem_stays() {
        let view = UserView::new(SameAnswer(answer(&Finding::Tokens(None))));
        assert_eq!(view.tokens(None, None), None);
        assert_eq!(view.problem(), None);
        assert!(view.locate(vec![PathBuf::from("/a")]).is_empty());
        assert!(view.problem().is_some());
        assert_eq!(view.tokens(None, None), None);
        assert!(view.problem().is_some(), "a later answer does not end it");
    }
}
