//! The short check at the start of a session, and the shorter one for the status line: they read a
//! few files, but compile, follow and start nothing.

use super::finding::{Check, HealthFinding, Level};
use super::{Registration, access, guard, machine, program, templates};
use crate::reviewer::Reviewer;
use portcullis_agents::Agent;
use portcullis_config::paths::Paths;
use portcullis_store::{Breakers, Home, Store, StoreError};
use std::path::Path;

/// The journal's state before the session.
pub struct Journal {
    newest_at: Option<u64>,
    breakers: Breakers,
}

impl Journal {
    /// Reads the state.
    ///
    /// # Errors
    /// Fails if the journal cannot be read, or was changed from outside.
    pub fn read_journal(store: &Store) -> Result<Self, StoreError> {
        Ok(Self { newest_at: store.newest_at()?, breakers: store.breakers()? })
    }
}

/// Returns the weaknesses of the protection at a session start, one sentence each; empty if there
/// are none. Loads the reviewer's plugins and passes them a known-bad action.
pub fn find_weaknesses(
    agent: &'static dyn Agent,
    places: &Paths,
    home: &Home,
    reviewer: &mut Reviewer,
    cwd: &Path,
    journal: &Journal,
    now: u64,
) -> Vec<String> {
    let project = places.environment.project().unwrap_or_else(|| cwd.to_owned());
    let registration = Registration::read(agent, places, &project);
    let mut findings = looked_over(&registration, places);
    if registration.handlers.is_empty() {
        // The client did start this program: from its command line, or from a plugin.
        findings.retain(|finding| finding.check != Check::Handlers);
    }
    findings.push(guard::mode(home, reviewer.config(), now));
    findings.extend(guard::configuration(&Ok(reviewer.config().clone())));
    findings.extend(access::check(&places.state, &places.config, &reviewer.config().plugins_dir));
    findings.push(machine::disk(&places.state, machine::room(&places.state)));
    findings.push(machine::clock(now, journal.newest_at, None));
    findings.extend(templates::check(places, home, reviewer, now));
    findings.extend(guard::held_plugins(&journal.breakers, reviewer, now));
    findings.push(guard::judgement(reviewer, &journal.breakers, now));
    findings.into_iter().filter(tells).map(|finding| sentence(&finding)).collect()
}

/// The result of a quick check of the client's settings.
pub enum HookStatus {
    /// No problem.
    Well,
    /// Our hooks do not run, or not here.
    Off(String),
    /// They run, but there is another problem.
    Weak(String),
}

/// Checks the hooks of a client in `project`.
pub fn inspect_hooks(agent: &'static dyn Agent, places: &Paths, project: &Path) -> HookStatus {
    let findings = looked_over(&Registration::read(agent, places, project), places);
    let problem = |off: bool| {
        let found = |finding: &&HealthFinding| {
            finding.level == Level::Problem
                && (matches!(finding.check, Check::Handlers | Check::Switches) == off)
        };
        findings.iter().find(found).map(|finding| finding.what.clone())
    };
    match (problem(true), problem(false)) {
        (Some(off), _) => HookStatus::Off(off),
        (None, Some(weak)) => HookStatus::Weak(weak),
        (None, None) => HookStatus::Well,
    }
}

fn looked_over(registration: &Registration, places: &Paths) -> Vec<HealthFinding> {
    let mut findings = registration.findings(places);
    for path in registration.programs() {
        findings.extend(program::judge(&path, &program::look(&path, false)));
    }
    findings
}

/// Returns true if the finding is reported at every start. Choices that the owner made long ago and
/// need not change are not.
fn tells(finding: &HealthFinding) -> bool {
    match finding.check {
        Check::Program | Check::Rivals => finding.level == Level::Problem,
        _ => finding.level >= Level::Warning,
    }
}

fn sentence(finding: &HealthFinding) -> String {
    format!("{}: {}.", finding.check.as_str(), finding.what)
}
