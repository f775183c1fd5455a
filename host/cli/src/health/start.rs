//! The short look when a session starts, and the shorter one of the status line: some files, nothing that
//! is compiled, followed or started.

use super::finding::{Check, Finding, Level};
use super::{Registration, access, guard, machine, program};
use crate::places::Places;
use crate::runtime::Reviewer;
use portcullis_store::{Breakers, Home, Store, StoreError};
use std::path::{Path, PathBuf};

/// What the journal says of the time before.
pub struct Journal {
    newest_at: Option<u64>,
    breakers: Breakers,
}

impl Journal {
    /// Reads it.
    ///
    /// # Errors
    /// It cannot be read, or was changed from outside.
    pub fn read(store: &Store) -> Result<Self, StoreError> {
        Ok(Self { newest_at: store.newest_at()?, breakers: store.breakers()? })
    }
}

/// What of the protection is not whole as a session starts, a sentence each; none when all is well. Puts a
/// known-bad action to the reviewer's plugins, which are loaded for that.
pub fn unwhole(places: &Places, home: &Home, reviewer: &mut Reviewer, cwd: &Path, journal: &Journal, now: u64) -> Vec<String> {
    let named = std::env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let registration = Registration::read(places, &named.unwrap_or_else(|| cwd.to_owned()));
    let mut findings = looked_over(&registration, places);
    if registration.handlers.is_empty() {
        // The client did start us: from its command line, or from a plugin.
        findings.retain(|finding| finding.check != Check::Handlers);
    }
    findings.push(guard::mode(home, reviewer.config(), now));
    findings.extend(guard::configuration(&Ok(reviewer.config().clone())));
    findings.extend(access::check(&places.state, &places.config, &reviewer.config().plugins_dir));
    findings.push(machine::disk(&places.state, machine::room(&places.state)));
    findings.push(machine::clock(now, journal.newest_at, None));
    findings.extend(guard::held(&journal.breakers, reviewer, now));
    findings.push(guard::judgement(reviewer, &journal.breakers, now));
    findings.into_iter().filter(tells).map(|finding| sentence(&finding)).collect()
}

/// What a glance at the client's settings shows.
pub enum Glance {
    /// Nothing is wrong.
    Well,
    /// Hooks of ours do not run, or not here.
    Off(String),
    /// They run, and something else is wrong.
    Weak(String),
}

/// Looks at the hooks of a client in `project`.
pub fn glance(places: &Places, project: &Path) -> Glance {
    let findings = looked_over(&Registration::read(places, project), places);
    let problem = |off: bool| {
        let found =
            |finding: &&Finding| finding.level == Level::Problem && (matches!(finding.check, Check::Handlers | Check::Switches) == off);
        findings.iter().find(found).map(|finding| finding.what.clone())
    };
    match (problem(true), problem(false)) {
        (Some(off), _) => Glance::Off(off),
        (None, Some(weak)) => Glance::Weak(weak),
        (None, None) => Glance::Well,
    }
}

fn looked_over(registration: &Registration, places: &Places) -> Vec<Finding> {
    let mut findings = registration.findings(places);
    for path in registration.programs() {
        findings.extend(program::judge(&path, &program::look(&path, false)));
    }
    findings
}

/// What is told at every start must not be what its owner chose long ago and need not change.
fn tells(finding: &Finding) -> bool {
    match finding.check {
        Check::Program | Check::Rivals => finding.level == Level::Problem,
        _ => finding.level >= Level::Warning,
    }
}

fn sentence(finding: &Finding) -> String {
    format!("{}: {}.", finding.check.as_str(), finding.what)
}
