//! Findings: what is said about an action, and the rulings that follow from it.

use crate::settings::Answer;
use portcullis_plugin::risk_calculator::*;

/// One thing to object to.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule's name.
    pub rule: &'static str,
    /// What follows.
    pub answer: Answer,
    /// Why, in one sentence.
    pub reason: String,
    /// What could be done instead.
    pub instead: String,
    /// What it is about.
    pub evidence: Evidence,
}

/// The most rulings about one action: a line may hold hundreds of commands.
const MOST: usize = 4;

/// Turns findings into rulings: the strictest of each rule.
pub fn rule(mut findings: Vec<Finding>) -> Assessment {
    findings.retain(|finding| finding.answer > Answer::Pass);
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.answer));
    let mut seen: Vec<&str> = Vec::new();
    let mut assessment = Assessment::nothing();
    for finding in findings {
        if seen.contains(&finding.rule) || seen.len() == MOST {
            continue;
        }
        seen.push(finding.rule);
        let ruling = match finding.answer {
            Answer::Block => Ruling::block(finding.rule, &finding.reason),
            Answer::Ask => Ruling::ask(finding.rule, &finding.reason).severity(Severity::High),
            Answer::Warn | Answer::Pass => {
                Ruling::warn(finding.rule, &finding.reason).severity(Severity::Medium)
            }
        };
        assessment = assessment.ruling(ruling.because(finding.evidence).instead(finding.instead));
    }
    assessment
}
