//! Credentials: checks that none expires unseen, and that none was refused or could not be read.

use super::finding::{Check, HealthFinding, or_ok};
use crate::credentials::open_credentials;
use portcullis_config::Config;
use portcullis_config::amount::format_span;
use portcullis_config::clock::format_utc;
use portcullis_core::text::{count_noun, one_line};
use portcullis_credentials::{CredentialEntry, CredentialName, UseOutcome};
use portcullis_store::Home;

const DAY: u64 = 24 * 60 * 60 * 1000;
/// A credential that expires within this time is reported.
const SOON: u64 = 14 * DAY;
/// A failed use is reported for this time: a later success of the same use ends it before.
const RECENT: u64 = 7 * DAY;

/// Checks the credentials at `now`, in milliseconds since 1970; reports nothing if there are none.
pub(super) fn check(home: &Home, config: Option<&Config>, now: u64) -> Vec<HealthFinding> {
    let store = open_credentials(home);
    let entries = match store.list_entries() {
        Ok(entries) => entries,
        Err(failure) => {
            return vec![HealthFinding::problem(Check::Credentials, failure.what, failure.fix)];
        }
    };
    if entries.is_empty() {
        return Vec::new();
    }
    let uses = store.use_log().list_uses();
    let mut findings = Vec::new();
    for (name, entry) in &entries {
        findings.extend(expiry(name, entry, now));
        for (purpose, last) in uses.get(&format!("credential:{name}")).into_iter().flatten() {
            let is_old = now.saturating_sub(last.recorded) > RECENT;
            if !is_old && is_configured(config, purpose) {
                findings.extend(failed_use(name, purpose, last.outcome));
            }
        }
    }
    or_ok(findings, Check::Credentials, count_noun(entries.len() as u64, "credential"))
}

fn expiry(name: &CredentialName, entry: &CredentialEntry, now: u64) -> Option<HealthFinding> {
    let expires = entry.expires?;
    let what = match expires.checked_sub(now) {
        None | Some(0) => format!("the credential `{name}` expired at {}", format_utc(expires)),
        Some(left) if left < SOON => {
            format!("the credential `{name}` expires in {}", format_span(left))
        }
        Some(_) => return None,
    };
    let fix =
        format!("get a new one, then run `portcullis credential rotate {name} --expires WHEN`");
    Some(HealthFinding::warning(Check::Credentials, what, fix))
}

fn failed_use(name: &CredentialName, purpose: &str, outcome: UseOutcome) -> Option<HealthFinding> {
    let shown = one_line(purpose, 128);
    let (what, fix) = match outcome {
        UseOutcome::Used => return None,
        UseOutcome::Unreadable => (
            format!("the credential `{name}` could not be read for `{shown}`"),
            format!("`portcullis credential check {name}` shows why"),
        ),
        UseOutcome::Refused => (
            format!("the credential `{name}` was refused for `{shown}`"),
            format!("get a new one, then run `portcullis credential rotate {name}`"),
        ),
    };
    Some(HealthFinding::warning(Check::Credentials, what, fix))
}

/// Returns false for an export or a channel that the configuration has no more.
fn is_configured(config: Option<&Config>, purpose: &str) -> bool {
    let Some(config) = config else { return true };
    match (purpose.strip_prefix("exports."), purpose.strip_prefix("notifications.channels.")) {
        (Some(name), _) => config.exports.contains_key(name),
        (_, Some(name)) => config.channels.contains_key(name),
        _ => true,
    }
}
