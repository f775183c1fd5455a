//! An answer to an issue is one of the four in its pattern's ladder, whatever its score is.

use portcullis_core::finding::Issue;
use portcullis_core::intervene::{InterventionKind, note_issues};
use portcullis_core::ladder::Ladder;
use portcullis_core::policy::{InterventionPolicy, Strategy};
use portcullis_core::score::{Score, Severity};
use portcullis_core::session::{IssueState, Session};

const KINDS: &[InterventionKind] = InterventionKind::ALL;

/// Returns every ladder that can be configured.
fn every_ladder() -> Vec<Ladder> {
    let mut ladders = Vec::new();
    for low in KINDS {
        for medium in KINDS {
            for high in KINDS {
                let rows = KINDS.iter().map(|critical| [*low, *medium, *high, *critical]);
                ladders.extend(rows.filter_map(Ladder::from_kinds));
            }
        }
    }
    ladders
}

/// Returns the answer to an issue that had `recurrences` and a level before this step.
fn answer_to(
    policy: &InterventionPolicy,
    (severity, confidence, impact): (Severity, u16, u16),
    (recurrences, level): (u32, u8),
) -> InterventionKind {
    let mut session = Session::default();
    session.issues.insert("p".into(), IssueState { recurrences, level, step: 0, at: 0 });
    let issue = Issue {
        name: "p".into(),
        severity,
        confidence: Score::new(confidence),
        impact: Score::new(impact),
        first_step: 0,
        summary: String::new(),
        evidence: Vec::new(),
        recurrences: 0,
    };
    let noted = note_issues(vec![issue], &mut session, 3, 600_000, policy);
    noted.due.first().expect("nothing delays it").kind
}

#[test]
fn an_answer_never_leaves_its_row() {
    let ladders = every_ladder();
    assert_eq!(ladders.len(), 70);
    let mut policy = InterventionPolicy::default();
    for ladder in ladders {
        policy.ladders.insert("p".into(), ladder.clone());
        for strategy in [Strategy::Progressive, Strategy::PatternSpecific, Strategy::Custom] {
            policy.strategy = strategy;
            for case in every_case() {
                let answer = answer_to(&policy, case.0, case.1);
                assert!(ladder.kinds().contains(&answer), "{answer} {ladder:?} {case:?}");
            }
        }
    }
}

type Case = ((Severity, u16, u16), (u32, u8));

fn every_case() -> Vec<Case> {
    let mut cases = Vec::new();
    for severity in Severity::ALL {
        for (confidence, impact) in [(0, 0), (250, 1000), (600, 150), (1000, 0), (1000, 1000)] {
            let found = (*severity, confidence, impact);
            cases.extend((0..6).flat_map(|times| (0..5).map(move |level| (found, (times, level)))));
        }
    }
    cases
}

#[test]
fn an_answer_that_the_score_does_not_allow_gives_way_to_the_left() {
    use InterventionKind::{CheckpointRollback, ContextReinforcement, ResourceThrottling};
    // The pattern, severity, confidence and impact; recurrences and level before; the answer.
    let cases = [
        ("loop", (Severity::Low, 1000, 0), (1, 0), ContextReinforcement),
        ("loop", (Severity::Low, 1000, 0), (1, 1), CheckpointRollback),
        ("loop", (Severity::Medium, 600, 0), (1, 0), ContextReinforcement),
        ("loop", (Severity::Low, 100, 0), (2, 4), CheckpointRollback),
        ("scope_creep", (Severity::High, 250, 1000), (1, 0), ResourceThrottling),
        ("resource_spiral", (Severity::Low, 100, 0), (0, 0), ResourceThrottling),
        ("a", (Severity::Low, 100, 0), (0, 0), ContextReinforcement),
    ];
    let policy = InterventionPolicy::default();
    for (pattern, (severity, confidence, impact), state, expected) in cases {
        let mut policy = policy.clone();
        let row = policy.ladder_of(pattern).clone();
        policy.ladders.insert("p".into(), row);
        let answer = answer_to(&policy, (severity, confidence, impact), state);
        assert_eq!(answer, expected, "{pattern} {severity} {state:?}");
    }
}
