//! What the rules say: one ruling for each, with everything that it found.

use crate::config::Strictness;
use portcullis_plugin::risk_calculator::{Assessment, Evidence, Objection, Ruling, Severity};
use portcullis_plugin::text::cut;

/// An objection before it becomes a ruling.
#[derive(Debug)]
pub struct Objecting {
    /// The rule's name.
    pub rule: &'static str,
    /// How strictly it objects.
    pub strictness: Strictness,
    /// How bad it would be.
    pub severity: Severity,
    /// Why, in one sentence that says what to do instead.
    pub reason: String,
    /// What to do instead, in a few words.
    pub instead: &'static str,
    /// What shows it.
    pub evidence: Evidence,
}

/// The most pieces of evidence of a ruling.
const MOST_EVIDENCE: usize = 8;
/// The longest name that a message shows, in bytes.
const LONGEST_SHOWN: usize = 100;

/// Turns objections into an assessment. Where a rule found several things, the strictest words stay
/// and the others become evidence.
pub fn assess(found: Vec<Objecting>) -> Assessment {
    let mut assessment = Assessment::nothing();
    for objecting in found {
        let Some(objection) = find_objection(objecting.strictness) else { continue };
        let known = assessment.rulings.iter_mut().find(|ruling| ruling.rule == objecting.rule);
        match known {
            Some(ruling) if rank(ruling.objection) >= rank(objection) => {
                if ruling.evidence.len() < MOST_EVIDENCE
                    && !ruling.evidence.iter().any(|known| known.value == objecting.evidence.value)
                {
                    ruling.evidence.push(objecting.evidence);
                }
            }
            Some(ruling) => *ruling = build_ruling(objecting, objection),
            None => assessment.rulings.push(build_ruling(objecting, objection)),
        }
    }
    assessment
}

/// Returns a text in the form in which a message shows it.
pub fn shorten(text: &str) -> String {
    let plain: String = text.chars().filter(|letter| !letter.is_control()).collect();
    cut(&plain, LONGEST_SHOWN)
}

/// Returns the milder of two.
pub fn at_most(strictness: Strictness, most: Strictness) -> Strictness {
    let rank = |strictness| match strictness {
        Strictness::Off => 0,
        Strictness::Warn => 1,
        Strictness::Ask => 2,
        Strictness::Block => 3,
    };
    if rank(strictness) > rank(most) { most } else { strictness }
}

fn build_ruling(objecting: Objecting, objection: Objection) -> Ruling {
    Ruling {
        rule: objecting.rule.into(),
        objection,
        severity: objecting.severity,
        reason: objecting.reason,
        evidence: vec![objecting.evidence],
        alternatives: vec![objecting.instead.into()],
        rewrite: None,
    }
}

const fn find_objection(strictness: Strictness) -> Option<Objection> {
    match strictness {
        Strictness::Off => None,
        Strictness::Warn => Some(Objection::Warn),
        Strictness::Ask => Some(Objection::Ask),
        Strictness::Block => Some(Objection::Block),
    }
}

const fn rank(objection: Objection) -> u8 {
    match objection {
        Objection::Warn => 0,
        Objection::Modify => 1,
        Objection::Ask => 2,
        Objection::Block => 3,
    }
}
