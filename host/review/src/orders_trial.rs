//! Reviews an action once more under orders that the machine only tries, and notes what would have
//! happened.
//!
//! The second review changes nothing: its reply, state and records are dropped, and it restores no
//! file. Whatever goes wrong in it is a fault of the tried orders, and no fault of the review.

use crate::parts::{ReviewParts, ReviewerBasis};
use crate::reviewer::{ReviewContext, Reviewer};
use portcullis_config::Config;
use portcullis_config::paths::Paths;
use portcullis_core::action::StepDetail;
use portcullis_core::event::Event;
use portcullis_core::pipeline::ReviewOutcome;
use portcullis_core::policy::Mode;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::score::Verdict;
use portcullis_core::session::State;
use portcullis_core::text::one_line;
use portcullis_core::undo::RecordedUndo;
use portcullis_engine::Engine;
use portcullis_fleet::TrialFile;
use portcullis_fleet::protocol::TrialReport;
use portcullis_store::Home;
use serde_json::{Map, Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The key in a review's record for what would have happened under the tried orders.
const KEY: &str = "fleet_trial";
/// The time of a review from which on there is none under the tried orders: the client waits.
const MOST_BEFORE: Duration = Duration::from_secs(1);
/// The most characters of a fault.
const MOST_FAULT: usize = 256;

/// The orders that a hook tries, with the plugins that review under them.
pub(crate) struct TriedOrders {
    version: u64,
    reviewer: Result<Box<Reviewer>, String>,
}

impl TriedOrders {
    /// Returns the orders that a home tries, if it does.
    pub(crate) fn of_home(
        parts: &dyn ReviewParts,
        places: &Paths,
        home: &Home,
        engine: &Engine,
        now: u64,
    ) -> Option<Self> {
        // A home in no fleet pays for one look at a name.
        let trial = TrialFile::of_home(home).read_trial().ok().flatten()?;
        let orders = trial.orders_at(now)?;
        let load = || {
            let config = Config::load_tried(places, home, &orders)?;
            let (engine, config) = (engine.clone(), Arc::new(config));
            parts.load_tried(ReviewerBasis { places, home, engine, config, now })
        };
        let loaded = catch_unwind(AssertUnwindSafe(load));
        let reviewer = match loaded {
            Ok(Ok(reviewer)) => Ok(Box::new(reviewer)),
            Ok(Err(error)) => Err(format!("{error:#}")),
            Err(_) => Err("a defect ended its preparation".to_owned()),
        };
        Some(Self { version: orders.version, reviewer })
    }

    /// Adds to the record of a review what would have happened under the tried orders. `begun` is the
    /// begin of the hook.
    pub(crate) fn compare(
        &mut self,
        reviewed: &mut ReviewOutcome,
        (event, state, now): (&Event, State, u64),
        around: &ReviewContext<'_>,
        details: &dyn Fn(u64) -> Option<StepDetail>,
        begun: Instant,
    ) {
        let is_review = |record: &&mut Record| record.kind == RecordKind::Review;
        let Some(record) = reviewed.records.first_mut().filter(is_review) else { return };
        if begun.elapsed() > MOST_BEFORE {
            return;
        }
        let version = self.version;
        let reviewer = match &mut self.reviewer {
            Ok(reviewer) => reviewer,
            Err(why) => return note(record, &json!({ "version": version, "fault": *why })),
        };
        let kept = record.checkpoint.clone();
        let undo = RecordedUndo(kept.as_ref());
        let around = ReviewContext { undo: Some(&undo), ..*around };
        let second = catch_unwind(AssertUnwindSafe(|| {
            reviewer.review_event(event, state, now, &around, details)
        }));
        let second = second.map_err(|_| {
            // Nobody knows the state that it left.
            self.reviewer = Err("a defect ended its review".to_owned());
        });
        let second = second.ok().and_then(|second| second.records.into_iter().next());
        let Some(second) = second.filter(|second| second.kind == RecordKind::Review) else {
            return note(record, &json!({ "version": version, "fault": "it made no review" }));
        };
        let mut noted = json!({
            "version": version, "was": effect_of(record), "would": effect_of(&second),
        });
        if let (Some(fault), Value::Object(noted)) = (second.faults.first(), &mut noted)
            && second.faults.len() > record.faults.len()
        {
            noted.insert("fault".into(), one_line(&fault.detail, MOST_FAULT).into());
        }
        note(record, &noted);
    }

    /// Gives its reviewer back to where it came from.
    pub(crate) fn put_back(self, parts: &dyn ReviewParts) {
        if let Ok(reviewer) = self.reviewer {
            parts.put_back_tried(*reviewer);
        }
    }
}

/// Counts what the record of a review says of the orders that are tried.
pub fn count_note(details: &Map<String, Value>, report: &mut TrialReport) {
    let Some(noted) = details.get(KEY).filter(|noted| noted["version"] == report.version) else {
        return;
    };
    let verdict =
        |name: &str| Verdict::ALL.iter().copied().find(|verdict| noted[name] == verdict.as_str());
    report.actions = report.actions.saturating_add(1);
    if !noted["fault"].is_null() {
        report.faults = report.faults.saturating_add(1);
    }
    if let (Some(was), Some(would)) = (verdict("was"), verdict("would")) {
        report.stricter = report.stricter.saturating_add(u64::from(would > was));
        report.milder = report.milder.saturating_add(u64::from(would < was));
    }
}

fn note(record: &mut Record, noted: &Value) {
    record.details.insert(KEY.into(), noted.clone());
}

/// Returns the verdict that counts: in observe mode everything runs.
fn effect_of(record: &Record) -> Verdict {
    match (record.mode, record.verdict()) {
        (Mode::Observe | Mode::Off, _) | (_, None) => Verdict::Allow,
        (_, Some(verdict)) => verdict,
    }
}
