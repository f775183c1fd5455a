//! What a person sees while the agent runs, and what is known of it: its session, its calls and their reviews.
//!
//! It reads the journal and decides nothing. Everything that comes from the agent is escaped.

use super::person::Answer;
use crate::{paint, show};
use portcullis_core::record::Record;
use portcullis_core::score::Verdict;
use portcullis_core::session::{Session, State};
use portcullis_core::text::one_line;
use portcullis_run::{Limit, Warning};
use portcullis_store::{Filter, Store, StoreError};
use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::ops::ControlFlow;

/// How much of what the agent says is shown.
const MOST_TEXT: usize = 160;
/// How much of a reason is shown.
const MOST_REASON: usize = 240;
/// Tools by which the client gives its own answer its form: they do nothing, and not every version reviews them.
const FORMAL: &[&str] = &["StructuredOutput"];

/// A call whose review was not seen yet.
struct Call {
    id: String,
    tool: String,
}

/// What is known of a run.
pub struct View {
    store: Store,
    /// When the run began, in milliseconds since 1970.
    since: u64,
    /// The agent's actions are shown as they come.
    live: bool,
    /// The sessions that the client told of, newest last.
    sessions: Vec<String>,
    model: Option<String>,
    waiting: Vec<Call>,
    shown: BTreeSet<String>,
    answers: HashMap<String, Answer>,
    unreviewed: Vec<String>,
}

impl View {
    /// Nothing is known yet.
    pub fn new(store: Store, since: u64, live: bool) -> Self {
        let (sessions, waiting, unreviewed) = (Vec::new(), Vec::new(), Vec::new());
        Self { store, since, live, sessions, model: None, waiting, shown: BTreeSet::new(), answers: HashMap::new(), unreviewed }
    }

    /// A line for the person, where the run is followed.
    pub fn say(&self, line: &str) {
        if self.live {
            tell(line);
        }
    }

    /// A session began.
    pub fn session(&mut self, id: &str, model: &str) {
        if !self.sessions.iter().any(|known| known == id) {
            self.say(&paint::dim(format!("session {}, {}", one_line(id, 80), one_line(model, 80))));
            self.sessions.push(id.to_owned());
        }
        self.model = Some(model.to_owned());
    }

    /// The agent says something.
    pub fn text(&self, text: &str, nested: bool) {
        let shown = one_line(text.trim(), MOST_TEXT);
        if !shown.is_empty() {
            self.say(&format!("{}{shown}", if nested { "  | " } else { "| " }));
        }
    }

    /// The agent wants to use a tool.
    pub fn begin(&mut self, id: &str, tool: &str) {
        self.waiting.push(Call { id: id.to_owned(), tool: tool.to_owned() });
    }

    /// A tool was used or refused. Gives the tool that was used and that nobody had reviewed.
    pub fn end(&mut self, id: &str, failed: bool) -> Option<String> {
        self.look();
        let at = self.waiting.iter().position(|call| call.id == id)?;
        let call = self.waiting.remove(at);
        let tool = one_line(&call.tool, 64);
        // What failed may never have run: the client knows no such tool, or refused it before any hook.
        if failed || FORMAL.contains(&call.tool.as_str()) {
            self.say(&format!("{}            {tool}", paint::dim("refused by the client")));
            return None;
        }
        match self.reviewed(id) {
            // What cannot be read now is told of by the hooks, which need the same journal.
            Err(error) => {
                self.say(&format!("{}: {error}", paint::warn("the journal cannot be read")));
                None
            }
            Ok(true) => None,
            Ok(false) => {
                self.say(&format!("{}   {tool}", paint::bad("unreviewed")));
                self.unreviewed.push(id.to_owned());
                Some(tool)
            }
        }
    }

    fn reviewed(&self, id: &str) -> Result<bool, StoreError> {
        for session in &self.sessions {
            if self.store.call(session, id, "review")?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Shows the calls whose review is there by now.
    pub fn look(&mut self) {
        for call in std::mem::take(&mut self.waiting) {
            match self.review(&call.id) {
                Some(record) => self.show(&record),
                None => self.waiting.push(call),
            }
        }
    }

    /// A call's review, where there is one.
    pub fn review(&self, id: &str) -> Option<Record> {
        let found = self.sessions.iter().rev().find_map(|session| self.store.call(session, id, "review").ok()?)?;
        serde_json::from_str(&found.record.document).ok()
    }

    fn show(&mut self, record: &Record) {
        if !self.shown.insert(record.id.clone()) {
            return;
        }
        let mut line = show::line(record);
        let objection = record.decision.as_ref().filter(|decision| decision.verdict > Verdict::Allow);
        if let Some(decision) = objection {
            line.push_str(&format!("\n               {}", paint::dim(one_line(&decision.primary_reason, MOST_REASON))));
        }
        self.say(&line);
    }

    /// A person was asked about a call, or could not be.
    pub fn answered(&mut self, call: &str, answer: Answer) {
        self.answers.insert(call.to_owned(), answer);
    }

    /// A limit comes near.
    pub fn warn(&self, warning: &Warning) {
        let (used, allowed) = (amount(warning.limit, warning.used), amount(warning.limit, warning.allowed));
        self.say(&format!("{} {}: {used} of {allowed}", paint::warn("limit"), warning.limit));
    }

    /// Why the session was stopped, if it was.
    pub fn stopped(&self) -> Option<String> {
        self.session_state()?.stopped
    }

    /// The incident of the session's stop, if it was stopped.
    pub fn incident(&self) -> Option<String> {
        self.session_state().filter(|session| session.stopped.is_some())?.stop.map(|stop| stop.incident)
    }

    fn session_state(&self) -> Option<Session> {
        let snapshot = self.store.snapshot(self.sessions.last()?, None).ok()?;
        State::decode(snapshot.session.as_deref(), None).ok().map(|state| state.session)
    }

    /// The newest session, once it is known.
    pub fn newest_session(&self) -> Option<&str> {
        self.sessions.last().map(String::as_str)
    }

    /// The model, once it is known.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// What came of the question about a call, if there was one.
    pub fn answer(&self, call: &str) -> Option<Answer> {
        self.answers.get(call).copied()
    }

    /// Calls that ran and that nobody had reviewed.
    pub fn unreviewed(&self) -> &[String] {
        &self.unreviewed
    }

    /// The reviews of this run, in order.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn reviews(&self) -> Result<Vec<Record>, StoreError> {
        let mut reviews = Vec::new();
        for session in &self.sessions {
            let filter =
                Filter { session: Some(session.clone()), kind: Some("review".into()), since: Some(self.since), ..Filter::default() };
            self.store.query(&filter, |stored| {
                reviews.extend(serde_json::from_str::<Record>(&stored.record.document));
                ControlFlow::Continue(())
            })?;
        }
        Ok(reviews)
    }

    /// Whether work waits for `maintain`, which the agent's hooks could start but not finish.
    pub fn work_waits(&self, now: u64) -> bool {
        self.store.checkpoint_due() || self.store.work_due(now).unwrap_or(false)
    }
}

/// An amount of what a limit counts, for a person.
pub fn amount(limit: Limit, count: u64) -> String {
    match limit {
        Limit::Time => format!("{}.{} s", count / 1000, count % 1000 / 100),
        Limit::Memory | Limit::Output => crate::sizes::shown(count),
        Limit::Processes | Limit::Tokens => count.to_string(),
    }
}

/// A line on standard error. Where nobody reads it any more the agent is still followed.
pub fn tell(line: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{line}");
}
