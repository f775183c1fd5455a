//! Exports: checks that their sinks are usable and take the records, before retention removes them.

use super::finding::{Check, HealthFinding};
use crate::credentials::HomeCredentials;
use crate::exports::{ConfiguredExport, ExportStatus, configured_exports, list_export_statuses};
use portcullis_config::Config;
use portcullis_config::amount::format_span;
use portcullis_core::text::{count_noun, one_line};
use portcullis_store::Store;
use std::collections::BTreeMap;

const DAY: u64 = 24 * 60 * 60 * 1000;
/// Records that wait for longer than this are reported, although no delivery has failed.
const LATE: u64 = 60 * 60 * 1000;

/// Checks the exports at `now`, in milliseconds since 1970; reports nothing if there are none.
pub(super) fn check(
    config: &Config,
    person: &str,
    store: &Store,
    credentials: &HomeCredentials,
    now: u64,
) -> Vec<HealthFinding> {
    let exports = configured_exports(config, person);
    let statuses = match list_export_statuses(&exports, store, now) {
        Ok(statuses) => statuses,
        Err(error) => {
            let fix = "fix what it names";
            return vec![HealthFinding::problem(Check::Exports, error.to_string(), fix)];
        }
    };
    if exports.is_empty() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for status in statuses.iter().filter(|status| status.is_configured) {
        findings.extend(delivery(&exports, status, credentials, now));
        findings.extend(retention(config, status, now));
        findings.extend(losses(status));
    }
    let waiting: u64 =
        statuses.iter().filter(|status| status.is_configured).map(|status| status.waiting).sum();
    super::finding::or_ok(
        findings,
        Check::Exports,
        format!(
            "{}, {} waiting",
            count_noun(exports.len() as u64, "export"),
            count_noun(waiting, "record")
        ),
    )
}

/// Reports an export that cannot deliver, does not, or is late.
fn delivery(
    exports: &BTreeMap<String, ConfiguredExport>,
    status: &ExportStatus,
    credentials: &HomeCredentials,
    now: u64,
) -> Option<HealthFinding> {
    let name = &status.name;
    let problem = exports.get(name).and_then(|export| export.problem(credentials));
    if let Some(problem) = problem {
        return Some(HealthFinding::warning(
            Check::Exports,
            format!("the export `{name}` cannot be used: {problem}"),
            format!("fix it, then run `portcullis exports test {name}`"),
        ));
    }
    let waiting = format!(
        "{} wait, the oldest for {}",
        count_noun(status.waiting, "record"),
        format_span(status.lag_ms(now))
    );
    if let Some(error) = &status.state.last_error {
        let failures = count_noun(status.state.failures, "time");
        return Some(HealthFinding::warning(
            Check::Exports,
            format!(
                "the export `{name}` failed {failures} in a row, {waiting}: {}",
                one_line(error, 600)
            ),
            format!("then run `portcullis exports run {name}`; it is also retried by itself"),
        ));
    }
    (status.lag_ms(now) > LATE).then(|| {
        HealthFinding::warning(
            Check::Exports,
            format!("the export `{name}` is late: {waiting}"),
            "`portcullis serve` delivers all the time, and `portcullis maintain` now",
        )
    })
}

/// Reports records that retention removes soon.
fn retention(config: &Config, status: &ExportStatus, now: u64) -> Option<HealthFinding> {
    let days = u64::from(config.audit.retention_days);
    let is_close = days > 0 && status.lag_ms(now) > days.saturating_mul(DAY) / 4 * 3;
    is_close.then(|| {
        HealthFinding::problem(
            Check::Exports,
            format!(
                "the export `{}` has records that are older than three quarters of the retention \
                 ({}): they are removed soon, delivered or not",
                status.name,
                count_noun(days, "day")
            ),
            "have its sink take them, or raise `audit.retention_days`",
        )
    })
}

/// Reports records that never arrived.
fn losses(status: &ExportStatus) -> Vec<HealthFinding> {
    let name = &status.name;
    let counted = |count: u64, what: &str| {
        let fix =
            format!("`portcullis exports reset {name}` sends all again and forgets the count");
        let lost = count_noun(count, "record");
        (count > 0).then(|| {
            HealthFinding::warning(
                Check::Exports,
                format!("the export `{name}`: {lost} {what}"),
                fix,
            )
        })
    };
    let skipped = status.state.last_skipped.as_deref().unwrap_or_default();
    [
        counted(status.state.lost, "were removed by retention before they were delivered"),
        counted(
            status.state.skipped,
            &format!("were passed over, the last one {}", one_line(skipped, 400)),
        ),
        counted(status.state.rejected, "were rejected by the sink"),
    ]
    .into_iter()
    .flatten()
    .collect()
}
