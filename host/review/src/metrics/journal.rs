//! The totals of a home's journal. A process that goes on counts only what is new.

use super::count::{ExportTotals, Metrics};
use crate::breakers;
use crate::canary_session::CANARY_SESSION;
use crate::exports::{ExportState, list_export_statuses};
use anyhow::{Context, Result};
use portcullis_core::breaker::ReleaseCondition;
use portcullis_core::record::Record;
use portcullis_store::{Filter, Store};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The totals of a journal up to a record.
#[derive(Debug, Default)]
pub struct JournalMetrics {
    metrics: Metrics,
    /// The position and the id of the last counted record.
    last: Option<(u64, String)>,
    /// The time up to which retention had removed records.
    start: Option<u64>,
}

impl JournalMetrics {
    /// Counts what is new; all of it again if retention has removed records, or if it is another
    /// journal. `target_ms` is the configured target for the review time.
    ///
    /// # Errors
    /// Fails if the journal cannot be read; then nothing of it counts until the next time.
    pub fn update(&mut self, store: &Store, target_ms: u64, now: u64) -> Result<&Metrics> {
        let start = store.start()?.map(|start| start.at);
        let is_same = start == self.start
            && self.metrics.times.target_ms == target_ms
            && self.is_last_known(store)?;
        if !is_same {
            *self = Self { metrics: Metrics::new(target_ms), last: None, start };
        }
        if let Err(error) = self.count_new(store) {
            *self = Self::default();
            return Err(error);
        }
        let state = |waits| match waits {
            ReleaseCondition::ForAPerson => "quarantined",
            _ => "held",
        };
        self.metrics.held = breakers::held_plugins(&store.breakers()?, now)
            .into_iter()
            .map(|held| (held.name, state(held.waits)))
            .collect();
        self.metrics.exports = count_exports(store, now)?;
        Ok(&self.metrics)
    }

    /// Returns true if the last counted record is where it was.
    fn is_last_known(&self, store: &Store) -> Result<bool> {
        let Some((sequence, id)) = &self.last else { return Ok(true) };
        Ok(store.find_record(id)?.is_some_and(|found| found.sequence == *sequence))
    }

    fn count_new(&mut self, store: &Store) -> Result<()> {
        let mut failed = None;
        let Self { metrics, last, .. } = self;
        let after = last.as_ref().map(|(sequence, _)| *sequence);
        store.query_records(&Filter { after, ..Filter::default() }, |stored| {
            *last = Some((stored.sequence, stored.record.id.clone()));
            match serde_json::from_str::<Record>(&stored.record.document) {
                Ok(record) if record.session.starts_with(CANARY_SESSION) => {}
                Ok(record) => metrics.add_record(&record),
                Err(error) => {
                    failed = Some((stored.sequence, error));
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        })?;
        match failed {
            Some((sequence, error)) => Err(error).with_context(|| format!("record {sequence}")),
            None => Ok(()),
        }
    }
}

/// Returns how far the exports are that have begun.
fn count_exports(store: &Store, now: u64) -> Result<BTreeMap<String, ExportTotals>> {
    let statuses = list_export_statuses(&BTreeMap::new(), store, now)?;
    let totals = statuses.into_iter().map(|status| {
        let lag_ms = status.lag_ms(now);
        let ExportState { delivered, rejected, skipped, lost, failures, delivered_at, .. } =
            status.state;
        let totals = ExportTotals {
            waiting: status.waiting,
            lag_ms,
            delivered,
            rejected,
            skipped,
            lost,
            failures,
            delivered_at,
        };
        (status.name, totals)
    });
    Ok(totals.collect())
}
