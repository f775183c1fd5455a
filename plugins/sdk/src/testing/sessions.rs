//! Contexts, histories, issues and records for tests.

use super::{NOW, PROJECT};
use crate::audit_exporter::{AuditRecord, Decision, RecordKind};
use crate::history::History;
use crate::intervention::{Issue, Situation};
use crate::types::{
    Context, Evidence, Goal, Intent, Limit, Quantity, Repetition, Severity, Status, Step, Totals,
    Verdict,
};

/// Returns the context of a session that has just begun: no goal, no limits, nothing tried before.
///
/// ```
/// use portcullis_plugin::testing;
///
/// assert_eq!(testing::context().roots, [testing::PROJECT]);
/// ```
#[must_use]
pub fn context() -> Context {
    Context {
        session: "session-1".into(),
        now: NOW,
        cwd: PROJECT.into(),
        roots: vec![PROJECT.into()],
        goals: Vec::new(),
        limits: Vec::new(),
        repetition: Repetition { failures: 0, successes: 0, seen: 0 },
        assessments: Vec::new(),
        attributes: Vec::new(),
    }
}

/// Adds to a context.
///
/// ```
/// use portcullis_plugin::testing::{self, BuildContext};
/// use portcullis_plugin::types::Quantity;
///
/// let context = testing::context().goal("fix the build").goal("leave the tests alone").failures(2).limit(Quantity::Tokens, 1000, 900);
/// assert_eq!((context.goals[1].text.as_str(), context.goals[1].priority), ("leave the tests alone", 0));
/// assert_eq!((context.repetition.failures, context.limits[0].used), (2, 900));
/// ```
pub trait BuildContext: Sized {
    /// Adds a request of the person; the last one given is the newest.
    #[must_use]
    fn goal(self, text: &str) -> Self;
    /// Sets the number of earlier failures of the same shape.
    #[must_use]
    fn failures(self, failures: u32) -> Self;
    /// Adds a limit in force.
    #[must_use]
    fn limit(self, quantity: Quantity, maximum: u64, used: u64) -> Self;
}

impl BuildContext for Context {
    fn goal(mut self, text: &str) -> Self {
        for goal in &mut self.goals {
            goal.priority = goal.priority.saturating_add(1);
        }
        self.goals.push(Goal { text: text.into(), at: NOW, priority: 0 });
        self
    }

    fn failures(mut self, failures: u32) -> Self {
        self.repetition.failures = failures;
        self.repetition.seen = self.repetition.seen.max(failures);
        self
    }

    fn limit(mut self, quantity: Quantity, maximum: u64, used: u64) -> Self {
        self.limits.push(Limit { quantity, maximum, used });
        self
    }
}

/// Returns a step that was allowed and ended well, a second after the one before.
///
/// ```
/// use portcullis_plugin::testing;
///
/// assert_eq!(testing::step(4).at, testing::NOW + 4000);
/// ```
#[must_use]
pub const fn step(index: u64) -> Step {
    Step {
        index,
        at: NOW + index * 1000,
        intent: Intent::SystemCommand,
        verdict: Verdict::Allow,
        status: Status::Ok,
        shape: 1,
        identity: 1,
        error: 0,
        output: 0,
        risk: 100,
        alignment: None,
        effects: 0,
        outside: 0,
        files: 0,
        prompt: 0,
        bytes: 0,
        tokens: 0,
        duration_ms: 10,
    }
}

/// Changes a step.
///
/// ```
/// use portcullis_plugin::testing::{self, BuildStep};
/// use portcullis_plugin::types::{Status, Verdict};
///
/// let step = testing::step(0).failed(7).shape(9).effects(3, 1).tokens(500).decided(Verdict::Warn);
/// assert_eq!((step.status, step.error, step.shape), (Status::Failed, 7, 9));
/// assert_eq!((step.effects, step.outside, step.tokens, step.verdict), (3, 1, 500, Verdict::Warn));
/// ```
pub trait BuildStep: Sized {
    /// Makes it fail with an error of this fingerprint.
    #[must_use]
    fn failed(self, error: u64) -> Self;
    /// Sets the fingerprint of its shape.
    #[must_use]
    fn shape(self, shape: u64) -> Self;
    /// Sets the number of its effects and how many of them are outside.
    #[must_use]
    fn effects(self, all: u16, outside: u16) -> Self;
    /// Sets the tokens that it cost.
    #[must_use]
    fn tokens(self, tokens: u32) -> Self;
    /// Sets the verdict.
    #[must_use]
    fn decided(self, verdict: Verdict) -> Self;
}

impl BuildStep for Step {
    fn failed(self, error: u64) -> Self {
        Self { status: Status::Failed, error, ..self }
    }

    fn shape(self, shape: u64) -> Self {
        Self { shape, identity: shape, ..self }
    }

    fn effects(self, all: u16, outside: u16) -> Self {
        Self { effects: all, outside, ..self }
    }

    fn tokens(self, tokens: u32) -> Self {
        Self { tokens, ..self }
    }

    fn decided(self, verdict: Verdict) -> Self {
        Self { verdict, ..self }
    }
}

/// Returns a history of these steps, with its sums.
///
/// ```
/// use portcullis_plugin::testing::{self, BuildStep};
///
/// let history = testing::history([testing::step(0), testing::step(1).failed(7)]);
/// assert_eq!((history.totals.steps, history.totals.failed), (2, 1));
/// ```
#[must_use]
pub fn history(steps: impl IntoIterator<Item = Step>) -> History {
    let steps: Vec<Step> = steps.into_iter().collect();
    let totals = steps.iter().fold(no_totals(), |sums, step| Totals {
        steps: sums.steps.saturating_add(1),
        warned: sums.warned.saturating_add(u64::from(step.verdict == Verdict::Warn)),
        modified: sums.modified.saturating_add(u64::from(step.verdict == Verdict::Modify)),
        asked: sums.asked.saturating_add(u64::from(step.verdict == Verdict::Ask)),
        blocked: sums.blocked.saturating_add(u64::from(step.verdict == Verdict::Block)),
        failed: sums.failed.saturating_add(u64::from(step.status == Status::Failed)),
        files: sums.files.saturating_add(u64::from(step.files)),
        bytes: sums.bytes.saturating_add(step.bytes),
        tokens: sums.tokens.saturating_add(u64::from(step.tokens)),
        duration_ms: sums.duration_ms.saturating_add(u64::from(step.duration_ms)),
        prompts: sums.prompts.max(step.prompt + 1),
        interventions: 0,
    });
    History::of(steps, totals)
}

/// Returns an issue without evidence, seen for the first time.
///
/// ```
/// use portcullis_plugin::{testing, types::Severity};
///
/// assert_eq!(testing::issue("loop", Severity::Low, "the same again").recurrences, 0);
/// ```
#[must_use]
pub fn issue(name: &str, severity: Severity, summary: &str) -> Issue {
    Issue {
        name: name.into(),
        severity,
        confidence: 800,
        impact: 500,
        first_step: 3,
        summary: summary.into(),
        evidence: Vec::new(),
        recurrences: 0,
    }
}

/// Adds to an issue.
///
/// ```
/// use portcullis_plugin::testing::{self, BuildIssue};
/// use portcullis_plugin::types::Severity;
///
/// let issue = testing::issue("loop", Severity::Low, "the same again").with("command", "make");
/// assert_eq!(issue.evidence[0].value, "make");
/// ```
pub trait BuildIssue: Sized {
    /// Adds evidence of a kind.
    #[must_use]
    fn with(self, kind: &str, value: &str) -> Self;
}

impl BuildIssue for Issue {
    fn with(mut self, kind: &str, value: &str) -> Self {
        self.evidence.push(Evidence::new(kind, value));
        self
    }
}

/// Returns a situation at step 7 with nothing tried yet.
///
/// ```
/// use portcullis_plugin::testing;
///
/// assert_eq!((testing::situation().step, testing::situation().past.len()), (7, 0));
/// ```
#[must_use]
pub const fn situation() -> Situation {
    Situation {
        step: 7,
        level: 0,
        score: 200,
        totals: no_totals(),
        checkpoints: Vec::new(),
        past: Vec::new(),
        recent: Vec::new(),
        templates: Vec::new(),
    }
}

/// Returns the record of a review.
///
/// ```
/// use portcullis_plugin::testing;
///
/// assert_eq!(testing::record(7).summary, "Bash: ls");
/// ```
#[must_use]
pub fn record(sequence: u64) -> AuditRecord {
    AuditRecord {
        sequence,
        id: format!("record-{sequence}"),
        at: NOW,
        kind: RecordKind::Review,
        session: "session-1".into(),
        agent: None,
        subject: "Bash".into(),
        summary: "Bash: ls".into(),
        decision: Some(Decision {
            verdict: Verdict::Allow,
            risk: 100,
            rationality: None,
            confidence: 900,
            reasons: Vec::new(),
            sources: Vec::new(),
        }),
        detections: Vec::new(),
        faults: Vec::new(),
        previous: "0".repeat(64),
        hash: "1".repeat(64),
        document: format!("{{\"sequence\":{sequence}}}"),
        attributes: Vec::new(),
    }
}

const fn no_totals() -> Totals {
    Totals {
        steps: 0,
        warned: 0,
        modified: 0,
        asked: 0,
        blocked: 0,
        failed: 0,
        files: 0,
        bytes: 0,
        tokens: 0,
        duration_ms: 0,
        prompts: 0,
        interventions: 0,
    }
}
