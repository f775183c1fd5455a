//! Records: the journal's entry for every review, outcome, intervention, fault and session event.
//!
//! A record is data that anyone can read again later. It is masked and holds nothing that a second
//! run on the same input would not reproduce. The store adds its place in the chain.

pub use crate::recorded_undo::{RecordedCheckpoint, RecordedLeftOut, RecordedRestore};

use crate::action::{Facts, Intent, Operation, Outcome, Timestamp};
use crate::fault::Fault;
use crate::finding::{Detection, PastIntervention, Rationality, Response, Risk, SideEffect};
use crate::observe::Observations;
use crate::plugins::GrantUse;
use crate::policy::{Detail, Mode};
use crate::review::{Attributed, Objection};
use crate::score::{Verdict, named};
use crate::text::one_line;
use crate::verdict::Decision;
use serde::{Deserialize, Serialize};
use std::fmt;

named! {
    /// The subject of a record.
    RecordKind {
        /// A review before an action.
        Review => "review",
        /// The end of an action.
        Outcome => "outcome",
        /// An action that ended without a review.
        Unreviewed => "unreviewed",
        /// An intervention.
        Intervention => "intervention",
        /// The start, a prompt, a turn or the end of a session.
        Session => "session",
        /// A change of settings.
        Configuration => "configuration",
        /// A failure outside any review.
        Fault => "fault",
        /// A person's permission: an action, or a pause.
        Exception => "exception",
        /// A person's opinion of a review.
        Feedback => "feedback",
        /// A use of a credential, or a sign-in.
        Authentication => "authentication",
    }
}

/// One record. Its JSON is the document that the journal's chain covers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The layout of this document.
    pub version: u8,
    /// Unique in the journal.
    pub id: String,
    /// The time.
    pub at: Timestamp,
    /// The subject.
    pub kind: RecordKind,
    /// The client.
    pub client: String,
    /// The session.
    pub session: String,
    /// The subagent, if one acted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent: Option<String>,
    /// The client's event.
    pub event: String,
    /// The step in the agent's history.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub step: Option<u64>,
    /// The client's id of the call.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub call: Option<String>,
    /// The tool, or the event.
    pub subject: String,
    /// A summary in one line.
    pub summary: String,
    /// The mode in which it was decided.
    pub mode: Mode,
    /// The action as received.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub action: Option<RecordedAction>,
    /// The decision.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub decision: Option<Decision>,
    /// The findings that the decision is based on.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub findings: Option<RecordedFindings>,
    /// Patterns that were detected.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub detections: Vec<Attributed<Detection>>,
    /// The end of the action.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub outcome: Option<Outcome>,
    /// The intervention.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub intervention: Option<RecordedIntervention>,
    /// Earlier interventions whose effectiveness became known.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub judged: Vec<PastIntervention>,
    /// The faults.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub faults: Vec<Fault>,
    /// The plugins that were asked, with the cost of each.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub plugins: Vec<RecordedPlugin>,
    /// The plugins in shadow mode, with the result that each would have led to.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub shadow: Vec<RecordedShadow>,
    /// The files saved before the action, or its changes to them. A replay saves nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub checkpoint: Option<RecordedCheckpoint>,
    /// The paths that the action's safer form moves into a quarantine instead of deleting them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub quarantined: Vec<MovedEntry>,
    /// Placeholders of masked values.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub masked: Vec<String>,
    /// Named values without a field of their own.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty", default)]
    pub details: serde_json::Map<String, serde_json::Value>,
}

/// An action as the journal keeps it, masked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedAction {
    /// Its purpose.
    pub intent: Intent,
    /// The parameters as received, as JSON text.
    pub parameters: String,
    /// The parameters as run, if they were changed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run_as: Option<String>,
    /// The parameters, typed.
    pub operation: Operation,
    /// The facts about it.
    pub facts: Facts,
    /// The folder it runs in.
    pub cwd: String,
    /// The person's home folder; empty in older records that lack it.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub home: String,
    /// The observed state of the workspace.
    #[serde(skip_serializing_if = "Observations::is_empty", default)]
    pub observed: Observations,
}

/// The findings that a decision was based on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedFindings {
    /// Each plugin's risk.
    pub risks: Vec<Attributed<Risk>>,
    /// Each plugin's rationality.
    pub rationalities: Vec<Attributed<Rationality>>,
    /// All side effects.
    pub side_effects: Vec<Attributed<SideEffect>>,
    /// All objections.
    pub objections: Vec<Objection>,
}

/// An intervention as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedIntervention {
    /// Its kind.
    pub kind: String,
    /// The issue that it answers.
    pub issue: String,
    /// The host's escalation level.
    pub level: u8,
    /// The score, in thousandths.
    pub score: u32,
    /// The way in which the session continues.
    pub outcome: crate::recover::RecoveryOutcome,
    /// The plugin's answer.
    pub response: Response,
    /// The files that were restored at once; none if that is left to a person.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub restored: Option<RecordedRestore>,
}

/// A path that is moved and can be moved back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MovedEntry {
    /// Its original path, absolute.
    pub from: String,
    /// Its new path, absolute.
    pub to: String,
}

/// A plugin that was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedPlugin {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// BLAKE3 of its bytes, the first 16 digits.
    pub digest: String,
    /// Fuel that it used.
    pub fuel: u64,
    /// Its log lines.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub log: Vec<String>,
    /// The uses of its grants.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub uses: Vec<GrantUse>,
}

/// The result that a plugin in shadow mode would have led to. It did not count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedShadow {
    /// The plugin.
    pub plugin: RecordedPlugin,
    /// The verdict without it, before any exception or rewrite; none if nothing was decided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub actual: Option<Verdict>,
    /// The verdict with it, which is never looser.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub would: Option<Verdict>,
    /// The reason, if that is stricter.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// The patterns that it detected.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub detections: Vec<String>,
    /// Its faults.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub faults: Vec<Fault>,
}

impl Record {
    /// Creates a record of something outside any client's event. `seed` makes its id unique among
    /// those of the same time.
    #[must_use]
    pub fn outside_session(
        kind: RecordKind,
        subject: &str,
        summary: &str,
        at: Timestamp,
        seed: &str,
    ) -> Self {
        let id = blake3::hash(format!("apart\0{kind}\0{seed}\0{at}\0{subject}").as_bytes());
        Self {
            version: 1,
            id: id.to_hex().as_str().get(..16).unwrap_or_default().to_owned(),
            at,
            kind,
            client: "portcullis".into(),
            session: String::new(),
            agent: None,
            event: subject.into(),
            step: None,
            call: None,
            subject: one_line(subject, 256),
            summary: one_line(summary, 512),
            mode: Mode::Blocking,
            action: None,
            decision: None,
            findings: None,
            detections: Vec::new(),
            outcome: None,
            intervention: None,
            judged: Vec::new(),
            faults: Vec::new(),
            plugins: Vec::new(),
            shadow: Vec::new(),
            checkpoint: None,
            quarantined: Vec::new(),
            masked: Vec::new(),
            details: serde_json::Map::new(),
        }
    }

    /// Leaves out the parts that the detail level excludes. The rest still shows what was done,
    /// what was decided and why, and can be replayed.
    pub fn reduce_to(&mut self, detail: Detail) {
        if detail > Detail::Debug {
            let looking_on = self.shadow.iter_mut().map(|shadow| &mut shadow.plugin);
            self.plugins
                .iter_mut()
                .chain(looking_on)
                .for_each(|plugin| plugin.log.retain(|line| !line.starts_with("debug: ")));
        }
        let spoken = self.verdict().unwrap_or(Verdict::Allow);
        let least = match detail {
            Detail::Debug | Detail::Info => return,
            Detail::Warn => Verdict::Warn,
            Detail::Error => Verdict::Modify,
        };
        // All that spoke against an action which a person let run is kept.
        let is_lifted = self
            .decision
            .iter()
            .flat_map(|decision| &decision.adjustments)
            .any(|change| change.to == Verdict::Allow && change.exception_id().is_some());
        if spoken < least && !is_lifted && self.faults.is_empty() && self.intervention.is_none() {
            self.findings = None;
            self.plugins.retain(|plugin| !plugin.uses.is_empty());
        }
    }

    /// Returns the document that the chain covers.
    #[must_use]
    pub fn document(&self) -> String {
        // Only map keys that are not strings could fail here, and all keys are strings.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the verdict, for records that have one.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        self.decision.as_ref().map(|decision| decision.verdict)
    }
}
