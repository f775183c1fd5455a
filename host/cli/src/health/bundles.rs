//! The bundles that have to run: each installed, what was locked, trusted, and for how long still.

use super::finding::{Check, Finding, or_ok};
use crate::bundles::locks::{Texts, Wanted};
use crate::bundles::{Policies, shelf, verify};
use crate::paint;
use crate::places::Places;
use anyhow::Result;
use portcullis_bundle::Shelf;

/// Told of before it stops every action: two weeks, in milliseconds.
const AHEAD: u64 = 14 * 24 * 60 * 60 * 1000;

/// What is wrong with the bundles that are locked here; nothing where none is.
pub fn check(places: &Places, now: u64) -> Vec<Finding> {
    let found = || -> Result<_> {
        let wanted = Texts::read(places)?.wanted()?;
        Ok(if wanted.is_empty() { None } else { Some((wanted, Policies::read(places)?, shelf(places)?)) })
    };
    match found() {
        Ok(None) => Vec::new(),
        Ok(Some((wanted, policies, shelf))) => {
            let findings = wanted.iter().filter_map(|wanted| one(&shelf, wanted, &policies, now)).collect();
            or_ok(findings, Check::Bundles, format!("{} locked, all verified", wanted.len()))
        }
        Err(error) => vec![Finding::problem(Check::Bundles, format!("{error:#}: each action is refused"), "mend what it names")],
    }
}

fn one(shelf: &Shelf, wanted: &Wanted, policies: &Policies, now: u64) -> Option<Finding> {
    let name = &wanted.locked.name;
    match verify::one(shelf, wanted, policies, now) {
        Err(error) => {
            let mend = format!(
                "`portcullis bundle verify {name}` says what is missed; `bundle install` and `bundle update` mend it, or `bundle remove`"
            );
            Some(Finding::problem(Check::Bundles, format!("{error:#}: each action is refused"), mend))
        }
        Ok((_, _, judged)) => {
            let until = judged.until.filter(|until| until.saturating_sub(now) < AHEAD)?;
            let what =
                format!("`{name} {}` is trusted until {} UTC: then each action is refused", wanted.locked.version, paint::time(until));
            Some(Finding::warning(Check::Bundles, what, "get a version, or signatures, that last: `portcullis bundle update`"))
        }
    }
}
