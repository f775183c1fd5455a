//! The view of a running agent for a person, and its observed state: session, calls and their
//! reviews.
//!
//! It reads the journal and decides nothing. All text from the agent is escaped.

use super::answer::PersonAnswer;
use crate::{paint, show};
use portcullis_core::record::Record;
use portcullis_core::score::Verdict;
use portcullis_core::session::{Session, State};
use portcullis_core::text::one_line;
use portcullis_run::{RunLimit, Warning};
use portcullis_store::{Filter, Store, StoreError};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

/// The most bytes of the agent's text that are shown.
const MOST_TEXT: usize = 160;
/// The most bytes of a reason that are shown.
const MOST_REASON: usize = 240;
/// The indent of the further lines of an action: its text begins there.
const INDENT: usize = 15;
/// Tools with which the client formats its own answer: they have no effect, and not every version
/// reviews them.
const FORMAL: &[&str] = &["StructuredOutput"];

/// A call whose review has not been seen yet.
struct Call {
    id: String,
    tool: String,
}

/// The observed state of a run.
pub struct View {
    store: Store,
    /// The start of the run, in milliseconds since 1970.
    since: u64,
    /// True if the agent's actions are shown as they occur.
    live: bool,
    /// The sessions that the client reported, newest last.
    sessions: Vec<String>,
    model: Option<String>,
    waiting: Vec<Call>,
    shown: BTreeSet<String>,
    answers: HashMap<String, PersonAnswer>,
    unreviewed: Vec<String>,
    lines: HeldLines,
}

/// Lines that wait while a person is asked: they would follow the question on its line.
#[derive(Default)]
struct HeldLines(RefCell<Option<Vec<String>>>);

impl HeldLines {
    fn hold(&self) {
        self.0.borrow_mut().get_or_insert_default();
    }

    /// Returns the line if it can be printed now.
    fn pass<'l>(&self, line: &'l str) -> Option<&'l str> {
        match self.0.borrow_mut().as_mut() {
            None => Some(line),
            Some(held) => {
                held.push(line.to_owned());
                None
            }
        }
    }

    fn release(&self) -> Vec<String> {
        self.0.borrow_mut().take().unwrap_or_default()
    }
}

impl View {
    /// Creates an empty view.
    pub fn new(store: Store, since: u64, live: bool) -> Self {
        let (sessions, waiting, unreviewed) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            store,
            since,
            live,
            sessions,
            model: None,
            waiting,
            shown: BTreeSet::new(),
            answers: HashMap::new(),
            unreviewed,
            lines: HeldLines::default(),
        }
    }

    /// Keeps lines back while a person is asked.
    pub fn hold_lines(&self) {
        self.lines.hold();
    }

    /// Prints the lines that were kept back.
    pub fn release_lines(&self) {
        self.lines.release().iter().for_each(|line| print_line(line));
    }

    /// Prints a line for the person, if the run is shown live.
    pub fn print_line(&self, line: &str) {
        if self.live
            && let Some(line) = self.lines.pass(line)
        {
            print_line(line);
        }
    }

    /// Records the start of a session.
    pub fn begin_session(&mut self, id: &str, model: &str) {
        if !self.sessions.iter().any(|known| known == id) {
            self.print_line(&paint::dim(format!(
                "session {}, {}",
                one_line(id, 80),
                one_line(model, 80)
            )));
            self.sessions.push(id.to_owned());
        }
        self.model = Some(model.to_owned());
    }

    /// Shows a text of the agent.
    pub fn print_text(&self, text: &str, nested: bool) {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let shown = one_line(&text, MOST_TEXT);
        if !shown.is_empty() {
            self.print_line(&format!("{}{shown}", if nested { "  | " } else { "| " }));
        }
    }

    /// Records that the agent wants to use a tool.
    pub fn begin_call(&mut self, id: &str, tool: &str) {
        self.waiting.push(Call { id: id.to_owned(), tool: tool.to_owned() });
    }

    /// Records that a tool was used or refused. Returns the tool's name if it was used without a
    /// review.
    pub fn end_call(&mut self, id: &str, failed: bool) -> Option<String> {
        self.read_journal();
        let at = self.waiting.iter().position(|call| call.id == id)?;
        let call = self.waiting.remove(at);
        let tool = one_line(&call.tool, 64);
        // A failed call may never have run: the client does not know the tool, or refused it before
        // any hook.
        if failed || FORMAL.contains(&call.tool.as_str()) {
            self.print_line(&format!("{}            {tool}", paint::dim("refused by the client")));
            return None;
        }
        match self.reviewed(id) {
            // An unreadable journal is reported by the hooks, which need the same one.
            Err(error) => {
                self.print_line(&format!("{}: {error}", paint::warn("the journal cannot be read")));
                None
            }
            Ok(true) => None,
            Ok(false) => {
                self.print_line(&format!("{}   {tool}", paint::bad("unreviewed")));
                self.unreviewed.push(id.to_owned());
                Some(tool)
            }
        }
    }

    fn reviewed(&self, id: &str) -> Result<bool, StoreError> {
        for session in &self.sessions {
            if self.store.find_call(session, id, "review")?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Shows the calls that have been reviewed by now.
    pub fn read_journal(&mut self) {
        for call in std::mem::take(&mut self.waiting) {
            match self.find_review(&call.id) {
                Some(record) => self.show(&record),
                None => self.waiting.push(call),
            }
        }
    }

    /// Returns a call's review, if there is one.
    pub fn find_review(&self, id: &str) -> Option<Record> {
        let found = self
            .sessions
            .iter()
            .rev()
            .find_map(|session| self.store.find_call(session, id, "review").ok()?)?;
        serde_json::from_str(&found.record.document).ok()
    }

    fn show(&mut self, record: &Record) {
        if !self.shown.insert(record.id.clone()) {
            return;
        }
        let mut line = show::record_line(record);
        let objection =
            record.decision.as_ref().filter(|decision| decision.verdict > Verdict::Allow);
        if let Some(decision) = objection {
            line.push_str(&format!(
                "\n               {}",
                paint::dim(one_line(&decision.primary_reason, MOST_REASON))
            ));
        }
        self.print_line(&line);
    }

    /// Records a person's answer about a call, or that nobody could be asked.
    pub fn note_answer(&mut self, call: &str, answer: PersonAnswer) {
        self.answers.insert(call.to_owned(), answer);
    }

    /// Warns that a limit is near.
    pub fn print_warning(&self, warning: &Warning) {
        let (used, allowed) = (
            format_amount(warning.limit, warning.used),
            format_amount(warning.limit, warning.allowed),
        );
        self.print_line(&format!(
            "{} {}: {used} of {allowed}",
            paint::warn("limit"),
            warning.limit
        ));
    }

    /// Returns why the session was stopped, if it was.
    pub fn stopped(&self) -> Option<String> {
        self.session_state()?.stopped
    }

    /// Returns the incident of the session's stop, if it was stopped.
    pub fn incident(&self) -> Option<String> {
        self.session_state()
            .filter(|session| session.stopped.is_some())?
            .stop
            .map(|stop| stop.incident)
    }

    fn session_state(&self) -> Option<Session> {
        let snapshot = self.store.take_snapshot(self.sessions.last()?, None).ok()?;
        State::decode_state(snapshot.session.as_deref(), None).ok().map(|state| state.session)
    }

    /// Returns the newest session, once it is known.
    pub fn newest_session(&self) -> Option<&str> {
        self.sessions.last().map(String::as_str)
    }

    /// Returns the model, once it is known.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Returns the outcome of the question about a call, if there was one.
    pub fn take_answer(&self, call: &str) -> Option<PersonAnswer> {
        self.answers.get(call).copied()
    }

    /// Returns the calls that ran without a review.
    pub fn unreviewed(&self) -> &[String] {
        &self.unreviewed
    }

    /// Returns the reviews of this run, in order.
    ///
    /// # Errors
    /// Fails if the journal cannot be read.
    pub fn reviews(&self) -> Result<Vec<Record>, StoreError> {
        let mut reviews = Vec::new();
        for session in &self.sessions {
            let filter = Filter {
                session: Some(session.clone()),
                kind: Some("review".into()),
                since: Some(self.since),
                ..Filter::default()
            };
            self.store.query_records(&filter, |stored| {
                reviews.extend(serde_json::from_str::<Record>(&stored.record.document));
                ControlFlow::Continue(())
            })?;
        }
        Ok(reviews)
    }

    /// Returns true if work waits for `maintain`, which the agent's hooks could start but not
    /// finish.
    pub fn work_waits(&self, now: u64) -> bool {
        self.store.checkpoint_due() || self.store.work_due(now).unwrap_or(false)
    }
}

/// Formats an amount of a limit's unit, for a person.
pub fn format_amount(limit: RunLimit, count: u64) -> String {
    match limit {
        RunLimit::Time => format!("{}.{} s", count / 1000, count % 1000 / 100),
        RunLimit::Memory | RunLimit::Output => portcullis_config::sizes::format_bytes(count),
        RunLimit::Processes | RunLimit::Tokens => count.to_string(),
    }
}

/// Prints a line on standard error. If nobody reads it any more, the agent is still followed.
pub fn print_line(line: &str) {
    paint::report_wrapped(&format!("{line}\n"), INDENT);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_wait_while_a_person_is_asked() {
        let lines = HeldLines::default();
        assert_eq!(lines.pass("before"), Some("before"));
        lines.hold();
        assert_eq!((lines.pass("one"), lines.pass("two")), (None, None));
        assert_eq!(lines.release(), ["one", "two"]);
        assert_eq!(lines.pass("after"), Some("after"));
        assert!(lines.release().is_empty());
    }
}
