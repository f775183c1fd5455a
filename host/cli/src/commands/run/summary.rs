//! The summary of a run, for a person and for a script.

use super::person::PersonAnswer;
use super::view::{View, format_amount, print_line};
use crate::error::Result;
use crate::exit::CommandExit;
use crate::{paint, show};
use portcullis_config::sizes;
use portcullis_core::record::Record;
use portcullis_core::score::Verdict;
use portcullis_core::text::{count_noun, one_line};
use portcullis_run::{RunLimit, RunOutcome, RunResult};
use serde_json::{Value, json};

/// The most objections that are listed for a person.
const MOST_LISTED: usize = 20;

/// The contents of the summary.
pub struct Summary<'a> {
    /// The end of the run.
    pub ended: &'a RunResult,
    /// The reason for stopping it, if it was stopped.
    pub reason: Option<String>,
    /// The agent's last words.
    pub text: Option<&'a str>,
    /// The observed state of the run.
    pub view: &'a View,
    /// Its reviews.
    pub reviews: Vec<Record>,
    /// The confinement, if it was confined.
    pub confined: Option<Value>,
}

impl Summary<'_> {
    /// Prints the summary for a person, on standard error.
    pub fn show(&self) {
        let totals = &self.ended.totals;
        let time = format_amount(
            RunLimit::Time,
            u64::try_from(totals.time.as_millis()).unwrap_or(u64::MAX),
        );
        let (memory, processes) =
            (sizes::format_bytes(totals.memory), count_noun(totals.processes, "process"));
        let (tokens, output) =
            (count_noun(totals.tokens.spent(), "token"), sizes::format_bytes(totals.output));
        print_line(&format!("\n{}", self.headline()));
        print_line(&format!(
            "{time}, {tokens}, at most {memory} in {processes}, {output} of output"
        ));
        if let Some(stopped) = &self.ended.stopped {
            let killed = if stopped.killed == 0 {
                String::new()
            } else {
                format!(", {} of them by force", stopped.killed)
            };
            print_line(&format!(
                "its processes were stopped within {} ms{killed}",
                stopped.took.as_millis()
            ));
            if !stopped.survivors.is_empty() {
                let ids =
                    stopped.survivors.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
                print_line(&format!(
                    "{}: these could not be stopped, look at them: {ids}",
                    paint::bad("still there")
                ));
            }
        }
        let counts = Verdict::ALL
            .iter()
            .map(|verdict| (verdict, self.with(*verdict)))
            .filter(|(_, count)| *count > 0);
        let counts = counts
            .map(|(verdict, count)| format!("{count} {verdict}"))
            .collect::<Vec<_>>()
            .join(", ");
        let reviewed = count_noun(self.reviews.len() as u64, "action");
        print_line(&format!(
            "{reviewed} reviewed{}{counts}",
            if counts.is_empty() { "" } else { ": " }
        ));
        let objections: Vec<&Record> = self.objections().collect();
        for record in objections.iter().take(MOST_LISTED) {
            print_line(&format!(
                "  {}\n                 {}",
                show::record_line(record),
                paint::dim(format!("{}{}", record.id, self.said(record)))
            ));
        }
        if objections.len() > MOST_LISTED {
            print_line(&format!("  and {} more", objections.len() - MOST_LISTED));
        }
        if !self.view.unreviewed().is_empty() {
            let ran = count_noun(self.view.unreviewed().len() as u64, "action");
            print_line(&format!("{}: {ran} ran without a review", paint::bad("unreviewed")));
        }
        if let Some(first) = objections.first() {
            print_line(&format!("why:         portcullis explain {}", first.id));
        }
        if let Some(session) =
            self.view.newest_session().filter(|_| !objections.is_empty() || self.reason.is_some())
        {
            print_line(&format!(
                "all of it:   portcullis audit show --session {}",
                one_line(session, 80)
            ));
        }
        if let Some(incident) = self.view.incident() {
            print_line(&format!("next steps:  portcullis incident show {incident}"));
        }
    }

    fn headline(&self) -> String {
        let why = self
            .reason
            .as_deref()
            .map(|why| format!(": {}", one_line(why, 300)))
            .unwrap_or_default();
        match self.ended.outcome {
            RunOutcome::Success => paint::good("the agent finished successfully"),
            RunOutcome::Failed => {
                let exit = self.ended.exit.map(|exit| format!(" ({exit})")).unwrap_or_default();
                paint::bad(format!("the agent failed{exit}"))
            }
            RunOutcome::Limit(limit) => paint::bad(format!("stopped: it used up its {limit}")),
            RunOutcome::Emergency => paint::bad(format!("emergency stop{why}")),
            RunOutcome::Unwatched => {
                paint::bad("stopped: the process that watched it died or did not answer")
            }
            RunOutcome::Interrupted => paint::warn("interrupted"),
        }
    }

    fn with(&self, verdict: Verdict) -> usize {
        self.reviews.iter().filter(|record| record.verdict() == Some(verdict)).count()
    }

    /// Returns the blocked calls, and those that a person had to decide.
    fn objections(&self) -> impl Iterator<Item = &Record> {
        self.reviews
            .iter()
            .filter(|record| record.verdict().is_some_and(|verdict| verdict >= Verdict::Ask))
    }

    fn said(&self, record: &Record) -> String {
        self.answer(record).map(|answer| format!(", {}", answer.in_words())).unwrap_or_default()
    }

    fn answer(&self, record: &Record) -> Option<PersonAnswer> {
        self.view.take_answer(record.call.as_deref()?)
    }

    /// Formats the summary for a script, on standard output.
    ///
    /// # Errors
    /// Fails if it cannot be written as JSON, which does not happen for any run.
    pub fn document(&self) -> Result<String> {
        let (ended, totals) = (self.ended, &self.ended.totals);
        let (outcome, limit) = match ended.outcome {
            RunOutcome::Success => ("well", None),
            RunOutcome::Failed => ("failed", None),
            RunOutcome::Limit(limit) => ("limit", Some(limit.to_string())),
            RunOutcome::Emergency => ("emergency", None),
            RunOutcome::Unwatched => ("unwatched", None),
            RunOutcome::Interrupted => ("interrupted", None),
        };
        let objections: Vec<Value> = self
            .objections()
            .map(|record| {
                json!({
                    "id": record.id,
                    "call": record.call,
                    "agent": record.agent,
                    "tool": record.subject,
                    "action": record.summary,
                    "verdict": record.verdict(),
                    "reason": record.decision.as_ref().map(|decision| &decision.primary_reason),
                    "answer": self.answer(record).map(PersonAnswer::as_str),
                })
            })
            .collect();
        let counts: serde_json::Map<String, Value> = Verdict::ALL
            .iter()
            .map(|verdict| (verdict.as_str().to_owned(), self.with(*verdict).into()))
            .collect();
        let warnings: Vec<Value> = ended
            .warnings
            .iter()
            .map(|warning| json!({"limit": warning.limit.to_string(), "used": warning.used, "allowed": warning.allowed}))
            .collect();
        let stopped = ended.stopped.as_ref().map(|stopped| {
            json!({"took_ms": u64::try_from(stopped.took.as_millis()).ok(), "killed": stopped.killed, "survivors": stopped.survivors})
        });
        let document = json!({
            "outcome": outcome,
            "exit_code": CommandExit::from(ended.outcome).code(),
            "limit": limit,
            "reason": self.reason,
            "agent_exit": ended.exit,
            "session": self.view.newest_session(),
            "model": self.view.model(),
            "result": self.text,
            "time_ms": u64::try_from(totals.time.as_millis()).ok(),
            "tokens": {
                "spent": totals.tokens.spent(),
                "input": totals.tokens.input,
                "output": totals.tokens.output,
                "cache_written": totals.tokens.cache_written,
                "cache_read": totals.tokens.cache_read,
            },
            "memory": totals.memory,
            "processes": totals.processes,
            "output_bytes": totals.output,
            "warnings": warnings,
            "stopped": stopped,
            "reviews": counts,
            "objections": objections,
            "unreviewed": self.view.unreviewed(),
            "confined": self.confined,
        });
        Ok(format!("{}\n", serde_json::to_string(&document)?))
    }
}
