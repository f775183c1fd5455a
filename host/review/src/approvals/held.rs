//! The action that is held, and the permission for it.

use crate::questions::{AskedAction, AskedChange};
use portcullis_config::Config;
use portcullis_core::action::{GitState, Timestamp};
use portcullis_core::event::{Event, EventKind};
use portcullis_core::exceptions::{Exception, ExceptionScope};
use portcullis_core::observe::Observations;
use portcullis_core::policy::Mode;
use portcullis_core::record::{Record, RecordKind, RecordedAction};
use portcullis_core::run_files::FileContents;
use portcullis_core::score::{Score, Verdict};
use portcullis_core::text::cut_text;
use portcullis_core::verdict::Adjustment;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The most bytes of one reason.
const MOST_REASON: usize = 2048;

/// An action whose review demands a person, with what it takes to ask one.
#[derive(Debug)]
pub(crate) struct HeldAction {
    /// The record of its review.
    pub(crate) record: Box<Record>,
    /// The configuration that it was reviewed with.
    pub(crate) config: Config,
    /// The folder of the state.
    pub(crate) state: PathBuf,
    /// The person's home folder.
    pub(crate) person: String,
    /// The project's name, masked.
    pub(crate) project: String,
    /// The lines that it would change.
    pub(crate) changes: Vec<AskedChange>,
}

impl HeldAction {
    /// Returns the action as a person is shown it.
    pub(crate) fn describe(&self) -> AskedAction {
        let record = &self.record;
        let (parameters, cwd) = record
            .action
            .as_ref()
            .map(|action| (action.parameters.clone(), action.cwd.clone()))
            .unwrap_or_default();
        let decided = record.decision.as_ref();
        let primary = decided.map(|decision| decision.primary_reason.clone());
        let others = decided.into_iter().flat_map(|decision| decision.reasons.iter().cloned());
        let mut reasons: Vec<String> = Vec::new();
        for reason in primary.into_iter().chain(others) {
            let reason = cut_text(&reason, MOST_REASON);
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        AskedAction {
            client: record.client.clone(),
            session: record.session.clone(),
            agent: record.agent.clone(),
            review: record.id.clone(),
            tool: record.subject.clone(),
            summary: record.summary.clone(),
            parameters,
            cwd,
            reasons,
            changes: self.changes.clone(),
            people: self.count_people(),
            consents: Vec::new(),
        }
    }

    /// Returns how many people have to allow it.
    fn count_people(&self) -> u8 {
        let Some(decision) = &self.record.decision else { return 2 };
        let level = self.config.policy.decision.risk.level_of(decision.risk);
        let needs_two = self.config.approvals.two_people_from.is_some_and(|from| level >= from);
        if needs_two { 2 } else { 1 }
    }

    /// Makes the permission for it that the approval `id` would give.
    ///
    /// # Errors
    /// Fails with the reason if no person can permit it.
    pub(crate) fn permit(
        &self,
        id: &str,
        granted_at: Timestamp,
        expires_at: Timestamp,
    ) -> Result<ApprovedAction, String> {
        let terms = ExceptionScope {
            id: id.to_owned(),
            session: Some(self.record.session.clone()),
            project: None,
            once: true,
            granted_at,
            expires_at,
            reason: String::new(),
        };
        let exception = Exception::from_review(&self.record, terms)?;
        let objections = list_objections(&self.record, &exception.id);
        let risk = self.record.decision.as_ref().map(|decision| decision.risk);
        Ok(ApprovedAction {
            exception,
            verdict: self.record.verdict().unwrap_or(Verdict::Ask),
            risk: risk.unwrap_or(Score::ZERO),
            objections,
            action: self.record.action.as_ref().map(digest_action).unwrap_or_default(),
        })
    }
}

/// An action that a person allowed, as it was when they were asked.
#[derive(Clone, Debug)]
pub(crate) struct ApprovedAction {
    /// The permission, which has the id of the approval.
    pub(crate) exception: Exception,
    verdict: Verdict,
    risk: Score,
    /// The names of what spoke against it.
    objections: BTreeSet<String>,
    /// The digest of what it would do.
    action: String,
}

impl ApprovedAction {
    /// Returns true if a later review found something else than the person was shown: the action
    /// would do something else, or there is more against it.
    pub(crate) fn has_changed(&self, records: &[Record]) -> bool {
        let Some(record) = records.iter().find(|record| record.kind == RecordKind::Review) else {
            return true;
        };
        if record.mode != Mode::Blocking {
            return false;
        }
        let (Some(action), Some(decision)) = (&record.action, &record.decision) else {
            return true;
        };
        let id = &self.exception.id;
        let stricter = |change: &Adjustment| is_lift(change, id) && change.from > self.verdict;
        digest_action(action) != self.action
            || !is_known_in_full(&action.observed)
            || decision.adjustments.iter().any(stricter)
            || decision.risk > self.risk
            || !list_objections(record, id).is_subset(&self.objections)
    }
}

/// Returns true if a change of the verdict is the permission of that id itself.
fn is_lift(change: &Adjustment, id: &str) -> bool {
    change.exception_id() == Some(id)
}

/// Returns the names of all that speaks against an action, the same at each review of it. `id` is
/// that of the permission, which does not.
fn list_objections(record: &Record, id: &str) -> BTreeSet<String> {
    let detected =
        record.detections.iter().map(|found| format!("pattern {}", found.finding.pattern));
    let faults = record.faults.iter().map(|fault| format!("fault {}", fault.source));
    let adjustments = record.decision.iter().flat_map(|decision| &decision.adjustments);
    let adjusted = adjustments
        .filter(|change| change.to > change.from && !is_lift(change, id))
        .map(|change| format!("adjustment {}", change.cause));
    let findings = record.findings.iter();
    let objections = findings.clone().flat_map(|findings| &findings.objections);
    let objected = objections.map(|found| format!("rule {} {}", found.source, found.rule));
    let effects = findings.flat_map(|findings| &findings.side_effects).map(|effect| {
        let effect = &effect.finding;
        format!("effect {:?} {:?} {}", effect.kind, effect.severity, effect.target)
    });
    detected.chain(faults).chain(adjusted).chain(objected).chain(effects).collect()
}

/// Returns the digest of what an action does, with the text of the files that it runs. The state of
/// the paths that it names is left out: it may change without a change of the action.
fn digest_action(action: &RecordedAction) -> String {
    let facts = &action.facts;
    let effects: Vec<_> = facts
        .effects
        .iter()
        .map(|effect| (&effect.kind, &effect.target, effect.recursive, effect.certain))
        .collect();
    // Two scripts with the same facts may still do different things.
    let texts: Vec<_> = action
        .observed
        .iter()
        .filter_map(|(path, seen)| Some((path, seen.contents.as_ref()?)))
        .collect();
    let known = (&facts.coverage, &facts.gaps, &facts.limits);
    digest(&(effects, &facts.hosts, &facts.programs, &facts.forms, known, texts))
}

/// Returns true if all text of the files that an action runs was read, or is as git holds it: a
/// digest of anything less would miss a change of the rest.
fn is_known_in_full(observed: &Observations) -> bool {
    observed.values().all(|seen| match &seen.contents {
        Some(FileContents::Part(_) | FileContents::Unreadable(_)) => seen.git == GitState::Clean,
        Some(FileContents::Text(_) | FileContents::Binary | FileContents::Missing) | None => true,
    })
}

/// Returns the digest of the exact action, with all parameters as received.
pub(super) fn digest_event(event: &Event) -> String {
    let EventKind::BeforeTool(call) = &event.kind else { return String::new() };
    digest(&(
        (&event.client, &event.session, &event.agent, &event.cwd, &event.name),
        (&call.id, &call.tool, &call.input),
    ))
}

fn digest(parts: &impl Serialize) -> String {
    // Only map keys that are not strings could fail here, and there are none.
    let bytes = serde_json::to_vec(parts).unwrap_or_default();
    blake3::hash(&bytes).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::action::Entry;
    use portcullis_core::fault::{Fault, FaultKind};
    use portcullis_core::finding::Detection;
    use portcullis_core::observe::Observed;
    use portcullis_core::review::Attributed;
    use portcullis_core::score::Severity;

    #[test]
    fn a_file_that_is_not_read_in_full_counts_only_as_git_holds_it() {
        let (part, unread) =
            (FileContents::Part("x".into()), FileContents::Unreadable("is too long".into()));
        for (contents, git, is_known) in [
            (None, GitState::Unknown, true),
            (Some(FileContents::Text("x".into())), GitState::Unknown, true),
            (Some(FileContents::Missing), GitState::Unknown, true),
            (Some(part.clone()), GitState::Clean, true),
            (Some(part), GitState::Unknown, false),
            (Some(unread.clone()), GitState::Clean, true),
            (Some(unread), GitState::Unknown, false),
        ] {
            let seen = Observed {
                entry: Entry::File,
                real: None,
                git,
                restorable: false,
                leads: None,
                contents,
                holds: None,
                size: None,
            };
            let shown = format!("{seen:?}");
            let observed = Observations::from([("/p/x.sh".to_owned(), seen)]);
            assert_eq!(is_known_in_full(&observed), is_known, "{shown}");
        }
    }

    #[test]
    fn what_speaks_against_an_action_has_names_and_its_permission_does_not_count() {
        let mut record = Record::outside_session(RecordKind::Review, "Bash", "x", 1, "");
        assert!(list_objections(&record, "e1").is_empty());
        record.detections.push(Attributed {
            plugin: "p".into(),
            finding: Detection {
                pattern: "secret_egress".into(),
                severity: Severity::High,
                confidence: Score::MAX,
                impact: Score::MAX,
                first_step: 1,
                summary: String::new(),
                evidence: Vec::new(),
            },
        });
        record.faults.push(Fault::from_host(FaultKind::Store, "at 12:00"));
        let found = list_objections(&record, "e1");
        let names: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(names, ["fault host", "pattern secret_egress"]);
        let change = |cause: &str| Adjustment {
            cause: cause.into(),
            from: Verdict::Ask,
            to: Verdict::Allow,
        };
        assert!(is_lift(&change("exception e1"), "e1"));
        assert!(!is_lift(&change("exception e11"), "e1"));
        assert!(!is_lift(&change("e1"), "e1"));
    }
}
