//! The required bundles: checks that each is installed, matches its lock and is trusted, and when
//! that expires.

use super::finding::{Check, HealthFinding, or_ok};
use crate::bundles::locks::{LockTexts, RequiredBundle};
use crate::bundles::{Policies, open_store, verify};
use anyhow::Result;
use portcullis_bundle::BundleStore;
use portcullis_config::clock::format_utc;
use portcullis_config::paths::Paths;

/// The time before an expiry at which it is reported, since it will stop every action: two weeks,
/// in milliseconds.
const AHEAD: u64 = 14 * 24 * 60 * 60 * 1000;

/// Returns the problems with the bundles that are locked here; nothing if there are none.
pub(super) fn check(places: &Paths, now: u64) -> Vec<HealthFinding> {
    let found = || -> Result<_> {
        let wanted = LockTexts::read(places)?.required()?;
        Ok(if wanted.is_empty() {
            None
        } else {
            Some((wanted, Policies::read(places)?, open_store(places)?))
        })
    };
    match found() {
        Ok(None) => Vec::new(),
        Ok(Some((wanted, policies, shelf))) => {
            let findings =
                wanted.iter().filter_map(|wanted| one(&shelf, wanted, &policies, now)).collect();
            or_ok(findings, Check::Bundles, format!("{} locked, all verified", wanted.len()))
        }
        Err(error) => vec![HealthFinding::problem(
            Check::Bundles,
            format!("{error:#}: each action is refused"),
            "fix what it names",
        )],
    }
}

fn one(
    shelf: &BundleStore,
    wanted: &RequiredBundle,
    policies: &Policies,
    now: u64,
) -> Option<HealthFinding> {
    let name = &wanted.locked.name;
    match verify::verify_bundle(shelf, wanted, policies, now) {
        Err(error) => {
            let mend = format!(
                "`portcullis bundle verify {name}` says what is missed; `bundle install` and `bundle update` fix it, or `bundle remove`"
            );
            Some(HealthFinding::problem(
                Check::Bundles,
                format!("{error:#}: each action is refused"),
                mend,
            ))
        }
        Ok((_, _, judged)) => {
            let until = judged.until.filter(|until| until.saturating_sub(now) < AHEAD)?;
            let what = format!(
                "`{name} {}` is trusted until {} UTC: then each action is refused",
                wanted.locked.version,
                format_utc(until)
            );
            Some(HealthFinding::warning(
                Check::Bundles,
                what,
                "get a version, or signatures, that last: `portcullis bundle update`",
            ))
        }
    }
}
