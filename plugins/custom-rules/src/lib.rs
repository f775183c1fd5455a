//! Custom rules: the actions that a project, a person or an organisation forbids an agent, in
//! files.
//!
//! The host loads this plugin only if a rules file is configured, and hands it the files' texts as
//! settings. `prepare` reads and checks them and returns the rules as code; each call evaluates the
//! conditions for one action. A rule can only object. A rule that fails on an action is a failure
//! of the plugin, never a pass.
//!
//! It judges by the host's facts alone, reads no file itself, and scores nothing.

mod action;
mod settings;

use action::Seen;
use portcullis_plugin::risk_calculator::{
    Action, Assessment, Context, Descriptor, Error, Objection, Reads, RiskCalculator, Ruling,
    Setting,
};
use portcullis_plugin::types::{Evidence, Severity};
use portcullis_rule_language::code::{self, Rule};
use portcullis_rule_language::evaluate::{Budget, EvaluationContext};
use portcullis_rule_language::fill;
use settings::Prepared;

/// The plugin.
#[derive(Debug)]
pub struct CustomRules;

/// The most objections to one action; the host accepts no more.
const MOST_RULINGS: usize = 64;

impl RiskCalculator for CustomRules {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "custom-rules",
        env!("CARGO_PKG_VERSION"),
        "Objects to what the rules in the configured files describe.",
    )
    .reads(&[Reads::Action, Reads::Context]);

    fn prepare(settings: &[Setting]) -> Result<Vec<u8>, Error> {
        settings::prepare(settings)
    }

    fn assess(prepared: &[u8], action: &Action, context: &Context) -> Result<Assessment, Error> {
        let prepared = Prepared::read(prepared)
            .ok_or_else(|| Error::input("`prepared` is not what this plugin writes"))?;
        let seen = Seen::new(action, context);
        let evaluation = EvaluationContext::new(&seen, seen.around());
        let (mut rulings, mut failed) = (Vec::new(), Vec::new());
        for (file, rule) in prepared.rules() {
            let mut budget = Budget::of_a_rule();
            match evaluation.holds(&rule.when, &mut budget) {
                Ok(true) if rulings.len() < MOST_RULINGS => rulings.push(ruling(
                    file,
                    rule,
                    &evaluation,
                    &mut budget,
                    prepared.of_a_project,
                )),
                Ok(_) => {}
                Err(fault) => {
                    failed.push(format!("the rule `{}` of `{file}` failed: {fault}", rule.name))
                }
            }
        }
        answer(rulings, &failed, prepared.on_fault)
    }
}

/// Returns the answer if rules failed: the failure, unless the objections of the others are at
/// least as strict as the verdict for a failure. So a rule that fails never makes the verdict
/// milder.
fn answer(
    mut rulings: Vec<Ruling>,
    failed: &[String],
    on_fault: Objection,
) -> Result<Assessment, Error> {
    if let Some(first) = failed.first() {
        let strictest = rulings.iter().map(|ruling| ruling.objection).max();
        if strictest.is_none_or(|strictest| strictest < on_fault) {
            return Err(Error::failed(first));
        }
        // The host accepts no more, and the failure has to be among them.
        rulings.truncate(MOST_RULINGS - 1);
        rulings.push(
            Ruling::warn("failed_rule", first)
                .instead("fix the rule: `portcullis rules check` tries its examples"),
        );
    }
    Ok(rulings.into_iter().fold(Assessment::nothing(), Assessment::ruling))
}

fn ruling<'v>(
    file: &str,
    rule: &'v Rule<'v>,
    evaluation: &EvaluationContext<'v>,
    budget: &mut Budget,
    of_a_project: bool,
) -> Ruling {
    // Text from a repository must not read as if the host wrote it.
    let says = |text: String| {
        if of_a_project { format!("a rule of this project says: {text}") } else { text }
    };
    let reason = says(fill(&rule.reason, evaluation, budget));
    let ruling = match rule.verdict {
        code::Verdict::Warn => Ruling::warn(&rule.name, &reason),
        code::Verdict::Ask => Ruling::ask(&rule.name, &reason),
        code::Verdict::Block => Ruling::block(&rule.name, &reason),
    };
    let severity = match rule.severity {
        code::Severity::Low => Severity::Low,
        code::Severity::Medium => Severity::Medium,
        code::Severity::High => Severity::High,
        code::Severity::Critical => Severity::Critical,
    };
    let instead: Vec<String> =
        rule.alternatives.iter().map(|text| says(fill(text, evaluation, budget))).collect();
    let ruling = ruling.severity(severity).because(Evidence::new("rules-file", file));
    instead.into_iter().fold(ruling, Ruling::instead)
}

portcullis_plugin::export!(risk-calculator: CustomRules);

#[cfg(test)]
mod tests;
