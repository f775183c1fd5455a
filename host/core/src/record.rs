//! Records: what the journal holds of every review, outcome, intervention, fault and session event.
//!
//! A record is data that anyone can read again later: masked, without anything that a second run on
//! the same input would not give again. The store adds its place in the chain.

use crate::action::{Facts, Intent, Operation, Outcome, Timestamp};
use crate::decide::Decision;
use crate::fault::Fault;
use crate::finding::{Detection, PastIntervention, Rationality, Response, Risk, SideEffect};
use crate::observe::Observations;
use crate::plugins::Use;
use crate::policy::{Detail, Mode};
use crate::review::{Named, Objection};
use crate::score::{Verdict, named};
use crate::text::one_line;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

named! {
    /// What a record tells of.
    RecordKind {
        /// A review before an action.
        Review => "review",
        /// How an action ended.
        Outcome => "outcome",
        /// An action that ended and was never reviewed.
        Unreviewed => "unreviewed",
        /// An intervention.
        Intervention => "intervention",
        /// The start, a prompt, a turn or the end of a session.
        Session => "session",
        /// A change of settings.
        Configuration => "configuration",
        /// Something that went wrong outside any review.
        Fault => "fault",
        /// What a person allowed: an action, or a pause.
        Exception => "exception",
        /// What a person thinks of a review.
        Feedback => "feedback",
    }
}

/// One record. Its JSON is the document that the journal's chain covers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The layout of this document.
    pub version: u8,
    /// Unique in the journal.
    pub id: String,
    /// When.
    pub at: Timestamp,
    /// What it tells of.
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
    /// In one line.
    pub summary: String,
    /// The mode it was decided in.
    pub mode: Mode,
    /// The action as received.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub action: Option<RecordedAction>,
    /// What was decided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub decision: Option<Decision>,
    /// What it was decided on.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub findings: Option<RecordedFindings>,
    /// Patterns that were detected.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub detections: Vec<Named<Detection>>,
    /// How the action ended.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub outcome: Option<Outcome>,
    /// The intervention.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub intervention: Option<RecordedIntervention>,
    /// Earlier interventions whose effectiveness is known since then.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub judged: Vec<PastIntervention>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub faults: Vec<Fault>,
    /// The plugins that were asked, with what each cost.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub plugins: Vec<RecordedPlugin>,
    /// The plugins that look on, with what each would have made of it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub shadow: Vec<RecordedShadow>,
    /// What was kept of files before the action, or what it changed of them. A replay keeps nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub checkpoint: Option<RecordedCheckpoint>,
    /// What the action's safer form moves into a quarantine in place of deleting it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub quarantined: Vec<Moved>,
    /// Placeholders of what was masked.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub masked: Vec<String>,
    /// Named values for what has no field.
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
    /// The parameters as run, where they were changed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run_as: Option<String>,
    /// The parameters, typed.
    pub operation: Operation,
    /// What was found about it.
    pub facts: Facts,
    /// The folder it runs in.
    pub cwd: String,
    /// The person's home folder; empty in records that do not say.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub home: String,
    /// What the workspace looked like.
    #[serde(skip_serializing_if = "Observations::is_empty", default)]
    pub observed: Observations,
}

/// What a decision was made on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedFindings {
    /// Each plugin's risk.
    pub risks: Vec<Named<Risk>>,
    /// Each plugin's rationality.
    pub rationalities: Vec<Named<Rationality>>,
    /// All side effects.
    pub side_effects: Vec<Named<SideEffect>>,
    /// All objections.
    pub objections: Vec<Objection>,
}

/// An intervention as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedIntervention {
    /// Its kind.
    pub kind: String,
    /// What it answers.
    pub issue: String,
    /// How far the host had escalated.
    pub level: u8,
    /// The score, in thousandths.
    pub score: u32,
    /// How the session goes on.
    pub outcome: crate::recover::Outcome,
    /// What the plugin answered.
    pub response: Response,
    /// What was put back at once; none where a person is left to do it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub restored: Option<RecordedRestore>,
}

/// What was put back of files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedRestore {
    /// The checkpoint that undoes it; none where nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub undo: Option<String>,
    /// How many paths are as they were.
    pub paths: u64,
    /// The first of them, masked.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub first: Vec<String>,
    /// Why nothing was put back.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub problem: Option<String>,
}

impl RecordedRestore {
    /// Hides secrets in what names files.
    pub fn mask(&mut self, mask: &dyn Fn(&str) -> String) {
        self.first.iter_mut().chain(&mut self.problem).for_each(|text| *text = mask(text));
    }
}

/// What was kept of files before an action, so that it can be undone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedCheckpoint {
    /// Its id; none where nothing could be kept.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub id: Option<String>,
    /// Nothing is missing but what is left out on purpose, such as build output.
    pub complete: bool,
    /// Files whose content it has; none when the action ended.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub files: Option<u64>,
    /// Bytes that were stored for it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bytes: Option<u64>,
    /// Paths that the action changed; none before it ended.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub changed: Option<u64>,
    /// The first paths that were left out.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub left_out: Vec<RecordedLeftOut>,
    /// How many were left out, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub left_out_counts: BTreeMap<String, u64>,
    /// What the action destroys or overwrites that could not be kept, and what helps: it cannot be undone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub irreversible: Option<String>,
    /// Why nothing could be kept, or nothing told of what the action changed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub problem: Option<String>,
}

impl RecordedCheckpoint {
    /// Hides secrets in what names files.
    pub fn mask(&mut self, mask: &dyn Fn(&str) -> String) {
        let paths = self.left_out.iter_mut().map(|left_out| &mut left_out.path);
        paths.chain(&mut self.problem).chain(&mut self.irreversible).for_each(|text| *text = mask(text));
    }
}

/// Something that is moved and can be moved back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Moved {
    /// Where it stood, absolute.
    pub from: String,
    /// Where it stands then, absolute.
    pub to: String,
}

/// A path that a checkpoint does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedLeftOut {
    /// Absolute, masked.
    pub path: String,
    /// Why.
    pub why: String,
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
    /// What it logged.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub log: Vec<String>,
    /// What it did with what it is granted.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub uses: Vec<Use>,
}

/// What a plugin that looks on would have made of an event. It did not count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedShadow {
    /// Which.
    pub plugin: RecordedPlugin,
    /// The verdict that was decided without it, before any exception or rewrite; none where nothing was decided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub actual: Option<Verdict>,
    /// The verdict that would have been decided with it: never looser.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub would: Option<Verdict>,
    /// Why that is stricter, if it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// The patterns that it detected.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub detections: Vec<String>,
    /// What went wrong with it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub faults: Vec<Fault>,
}

impl Record {
    /// A record of something outside any client's event. `seed` makes its id unique among those of the
    /// same time.
    #[must_use]
    pub fn apart(kind: RecordKind, subject: &str, summary: &str, at: Timestamp, seed: &str) -> Self {
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

    /// Leaves out what its reader did not ask for. What is left says all the same what was done, what was
    /// decided and why, and can be replayed.
    pub fn reduce(&mut self, detail: Detail) {
        if detail > Detail::Debug {
            let looking_on = self.shadow.iter_mut().map(|shadow| &mut shadow.plugin);
            self.plugins.iter_mut().chain(looking_on).for_each(|plugin| plugin.log.retain(|line| !line.starts_with("debug: ")));
        }
        let spoken = self.verdict().unwrap_or(Verdict::Allow);
        let least = match detail {
            Detail::Debug | Detail::Info => return,
            Detail::Warn => Verdict::Warn,
            Detail::Error => Verdict::Modify,
        };
        if spoken < least && self.faults.is_empty() && self.intervention.is_none() {
            self.findings = None;
            self.plugins.retain(|plugin| !plugin.uses.is_empty());
        }
    }

    /// The document that the chain covers.
    #[must_use]
    pub fn document(&self) -> String {
        // Only map keys that are no strings could fail here, and there are none.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The verdict, for records that have one.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        self.decision.as_ref().map(|decision| decision.verdict)
    }
}
