//! Decides if and how to intervene in a session: from issues to the intervention that is due.
//!
//! The controller scores an issue, looks up the answer in the ladder of its pattern, and applies
//! the delays. The intervention plugins word and shape the answer; `recover` carries it out.

pub use crate::intervention_kind::InterventionKind;

use crate::finding::{Detection, Issue, PastIntervention};
use crate::ladder::LadderAnswer;
use crate::policy::{InterventionPolicy, IssueScale, Strategy};
use crate::review::{Attributed, Findings, RULE};
use crate::score::{Score, Severity, Verdict};
use crate::session::{IssueState, Session};
use crate::text::cut_text;
use crate::verdict::Decision;
use std::cmp::Reverse;

/// The attribute of a context that names the kind of intervention that is due.
pub const DUE_KIND: &str = "due-kind";

/// An intervention that is due.
#[derive(Clone, Debug, PartialEq)]
pub struct DueIntervention {
    /// The issue that it answers.
    pub issue: Issue,
    /// The strictest kind that it may be.
    pub kind: InterventionKind,
    /// The plugin whose own intervention it is; none for the kind's usual one.
    pub plugin: Option<String>,
    /// The host's escalation level.
    pub level: u8,
    /// The score, in thousandths.
    pub score: u32,
    /// True if the cooldown or the session's number of interventions silences guidance.
    pub quiet: bool,
    /// The issue's state once it is answered; silenced guidance leaves the earlier one.
    pub state: IssueState,
}

impl DueIntervention {
    /// Returns true if a rule was violated, which only the host decides on.
    #[must_use]
    pub fn is_of_a_rule(&self) -> bool {
        self.issue.name.starts_with(RULE)
    }
}

/// Returns the issues: detections, with those of one pattern joined into one, and a rule whose
/// violation is critical.
#[must_use]
pub fn find_issues(findings: &Findings, decision: Option<&Decision>, step: u64) -> Vec<Issue> {
    let mut issues: Vec<Issue> = Vec::new();
    for issue in findings.detections.iter().map(from_detection) {
        match issues.iter_mut().find(|known| known.name == issue.name) {
            Some(known) => join(known, issue),
            None => issues.push(issue),
        }
    }
    let stop = decision.and_then(|decision| decision.stops.as_ref());
    let objection = stop.and_then(|rule| {
        findings
            .objections
            .iter()
            .find(|objection| &objection.rule == rule && objection.severity == Severity::Critical)
    });
    if let Some(objection) = objection {
        issues.push(Issue {
            name: format!("{RULE}{}", cut_text(&objection.rule, 128)),
            severity: Severity::Critical,
            confidence: Score::MAX,
            impact: Score::MAX,
            first_step: step,
            summary: objection.reason.clone(),
            evidence: Vec::new(),
            recurrences: 0,
        });
    }
    issues
}

fn from_detection(named: &Attributed<Detection>) -> Issue {
    let detection = &named.finding;
    Issue {
        name: detection.pattern.clone(),
        severity: detection.severity,
        confidence: detection.confidence,
        impact: detection.impact,
        first_step: detection.first_step,
        summary: detection.summary.clone(),
        evidence: detection.evidence.clone(),
        recurrences: 0,
    }
}

/// Joins two issues into one with the higher severity and confidence, in the words of the worse
/// one.
fn join(known: &mut Issue, other: Issue) {
    let severity = known.severity.max(other.severity);
    let (confidence, impact) =
        (known.confidence.max(other.confidence), known.impact.max(other.impact));
    let first_step = known.first_step.min(other.first_step);
    if (other.severity, other.confidence) > (known.severity, known.confidence) {
        *known = other;
    }
    (known.severity, known.confidence, known.impact, known.first_step) =
        (severity, confidence, impact, first_step);
}

impl IssueScale {
    /// Returns base x confidence x (1 + impact) + .3 x level, in thousandths; may exceed 1000.
    #[must_use]
    pub fn score_issue(
        &self,
        severity: Severity,
        confidence: Score,
        impact: Score,
        level: u8,
    ) -> u32 {
        let [low, medium, high, critical] = self.base;
        let base = match severity {
            Severity::Low => low,
            Severity::Medium => medium,
            Severity::High => high,
            Severity::Critical => critical,
        };
        u32::from(base.get()) * u32::from(confidence.get()) / 1000
            * (1000 + u32::from(impact.get()))
            / 1000
            + 300 * u32::from(level)
    }

    /// Returns the strictest kind that a score allows.
    #[must_use]
    pub fn allowed_kind(&self, score: u32) -> InterventionKind {
        let reached = self.from.iter().take_while(|from| score >= u32::from(from.get())).count();
        InterventionKind::ALL.get(reached).copied().unwrap_or(InterventionKind::SoftCorrection)
    }
}

/// The result of updating the session with new issues.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IssueUpdate {
    /// Interventions that are due, the strictest first.
    pub due: Vec<DueIntervention>,
    /// Earlier interventions whose effectiveness is now known.
    pub judged: Vec<PastIntervention>,
}

/// Updates the session with the issues of one step, including issues that did not recur. Nothing is
/// due for an issue while its escalation delay runs. `step` counts the steps of all the session's
/// agents, since they share its issues. The caller notes the state of each issue that it answers.
pub fn note_issues(
    issues: Vec<Issue>,
    session: &mut Session,
    step: u64,
    now: u64,
    policy: &InterventionPolicy,
) -> IssueUpdate {
    // Both `mark_effective` and `due` settle earlier answers; those settled by this event are
    // reported.
    let open: Vec<bool> =
        session.interventions.iter().map(|past| past.effectiveness.is_none()).collect();
    mark_effective(session, step);
    let mut due: Vec<DueIntervention> =
        issues.into_iter().filter_map(|issue| due(issue, session, step, now, policy)).collect();
    due.sort_by_key(|due| Reverse((due.kind, due.score)));
    let judged = session
        .interventions
        .iter()
        .zip(open)
        .filter(|(past, open)| *open && past.effectiveness.is_some());
    IssueUpdate { due, judged: judged.map(|(past, _)| past.clone()).collect() }
}

fn due(
    mut issue: Issue,
    session: &mut Session,
    step: u64,
    now: u64,
    policy: &InterventionPolicy,
) -> Option<DueIntervention> {
    let known = session.issues.get(&issue.name).cloned();
    let state = match known {
        None => IssueState { recurrences: 0, level: 0, step, at: now },
        Some(state) => again(&state, &issue, session, step, now, policy)?,
    };
    issue.recurrences = state.recurrences;
    let level = state.level;
    let score = policy.scale.score_issue(issue.severity, issue.confidence, issue.impact, level);
    let LadderAnswer { kind, plugin } = choose(&issue, score, policy);
    let cooling = session
        .interventions
        .back()
        .is_some_and(|past| now.saturating_sub(past.at) < policy.cooldown_ms);
    let quiet = cooling || session.totals.interventions >= policy.most;
    Some(DueIntervention { issue, kind, plugin, level, score, quiet, state })
}

/// Escalates an issue that came back by one level, or lowers it if the last answer worked for a
/// while. An issue that recurs before the delay has passed is not answered, but shows that the last
/// answer did not work.
fn again(
    state: &IssueState,
    issue: &Issue,
    session: &mut Session,
    step: u64,
    now: u64,
    policy: &InterventionPolicy,
) -> Option<IssueState> {
    let free = effectiveness(step.saturating_sub(state.step).saturating_sub(1));
    let answer = session
        .interventions
        .iter_mut()
        .rev()
        .find(|past| past.issue == issue.name && past.at == state.at);
    let effectiveness = match answer {
        // Seen again at the same step.
        Some(_) if step <= state.step => free,
        Some(past) => *past.effectiveness.get_or_insert(free),
        None => free,
    };
    let waited = step.saturating_sub(state.step) >= policy.escalation_delay_steps
        || now.saturating_sub(state.at) >= policy.escalation_delay_ms;
    let undelayed = issue.severity == Severity::Critical || defies_block(issue, session, policy);
    if !waited && !undelayed {
        return None;
    }
    let level = if effectiveness >= policy.effective_from {
        state.level.saturating_sub(1)
    } else {
        state.level.saturating_add(1).min(4)
    };
    Some(IssueState { recurrences: state.recurrences.saturating_add(1), level, step, at: now })
}

/// Returns true if an issue goes against a step that was blocked. A person may have answered a
/// question with a better way, but nobody answers a block.
fn defies_block(issue: &Issue, session: &Session, policy: &InterventionPolicy) -> bool {
    let mut blocked = session.refused_steps.iter().filter(|step| step.verdict == Verdict::Block);
    policy.undelayed.contains(&issue.name) && blocked.any(|step| step.index == issue.first_step)
}

/// The number of steps over which effectiveness is measured.
const JUDGED_BY: u64 = 5;

/// Returns the effectiveness of an answer after which so many steps were free of the issue.
fn effectiveness(free: u64) -> Score {
    Score::new(u16::try_from(free.min(JUDGED_BY) * 1000 / JUDGED_BY).unwrap_or(1000))
}

/// Settles the answers that have worked by now: their issue did not recur in time.
fn mark_effective(session: &mut Session, step: u64) {
    let Session { interventions, issues, .. } = session;
    for past in interventions.iter_mut().filter(|past| past.effectiveness.is_none()) {
        let since = issues
            .get(&past.issue)
            .filter(|state| state.at == past.at)
            .map(|state| step.saturating_sub(state.step));
        if since.is_some_and(|since| since > JUDGED_BY) {
            past.effectiveness = Some(Score::MAX);
        }
    }
}

/// Returns the answer to an issue: one of the four in its pattern's ladder. An answer that the
/// score does not allow gives way to the one left of it.
fn choose(issue: &Issue, score: u32, policy: &InterventionPolicy) -> LadderAnswer {
    let ladder = policy.ladder_of(&issue.name);
    let column = |index: usize| ladder.answer_at(index);
    // A critical rule violation stops at once, regardless of the strategy and the ladder.
    if issue.name.starts_with(RULE) {
        return LadderAnswer::of_kind(InterventionKind::EmergencyStop);
    }
    let answer = match policy.strategy {
        Strategy::PatternSpecific => column(issue.severity as usize),
        Strategy::Progressive | Strategy::Custom if issue.severity == Severity::Critical => {
            column(3)
        }
        Strategy::Progressive | Strategy::Custom => {
            let most = policy.scale.allowed_kind(score);
            let wanted = (issue.recurrences as usize).min(3);
            let mut columns = (1..=wanted).rev().map(column);
            columns.find(|answer| answer.kind <= most).unwrap_or_else(|| column(0))
        }
    };
    answer.clone()
}

/// Returns true if an issue was already answered so often by restarting that a person has to look.
#[must_use]
pub fn is_beyond_retries(issue: &Issue, session: &Session, policy: &InterventionPolicy) -> bool {
    let again = [InterventionKind::ContextReinforcement, InterventionKind::CheckpointRollback];
    let retried = |past: &&PastIntervention| {
        let kind = LadderAnswer::kind_in(&past.kind);
        past.issue == issue.name && again.iter().any(|again| kind == again.as_str())
    };
    let times = session.interventions.iter().filter(retried).count();
    u32::try_from(times).unwrap_or(u32::MAX) >= policy.most_retries
}

/// Creates the record of an intervention that was carried out.
#[must_use]
pub fn remember_intervention(
    due: &DueIntervention,
    given: &LadderAnswer,
    step: u64,
    now: u64,
) -> PastIntervention {
    PastIntervention {
        kind: given.name(),
        issue: due.issue.name.clone(),
        step,
        at: now,
        effectiveness: None,
    }
}
