//! What a plugin that someone else wrote says is quoted: nobody can take it for the host's own words.
//!
//! This is the one way in for the words of files. What passes here may stand in an answer to the agent, on a
//! terminal, in a log or in the journal as it is: sentences come as quotations that name who says them,
//! names hold no words, values do not leave the marks around them. Words in faults are quoted where the
//! fault is made. Plugins that come with the program speak for the host and are passed on as they are.

use crate::action::{Action, Context, History, Quantity, Reading};
use crate::fault::Fault;
use crate::finding::{
    Assessment, Background, Detection, Evidence, Guidance, Issue, Report, Response, Ruling, SideEffect, SideEffectKind, Situation,
    StopReport,
};
use crate::plugins::{Answer, Details, Identity, Plugins};
use crate::text::{bare, quoted};
use std::collections::BTreeMap;

/// The most bytes of a sentence; with who says it, it has at most 512.
const SENTENCE: usize = 400;
/// The most bytes of a value.
const VALUE: usize = 256;
/// The most bytes of a line in a plugin's log.
const LOG_LINE: usize = 1024;
/// The most bytes of a name.
const NAME: usize = 64;

/// Plugins whose answers are fit to be passed on.
pub(crate) struct Heard<'a>(pub &'a mut dyn Plugins);

impl Plugins for Heard<'_> {
    fn read_shell(&mut self, text: &str, cwd: &str, home: &str) -> Result<Reading, Fault> {
        self.0.read_shell(text, cwd, home)
    }

    fn assess(&mut self, action: &Action, context: &Context, details: &Details<'_>) -> Vec<Answer<Assessment>> {
        self.0.assess(action, context, details).into_iter().map(heard).collect()
    }

    fn detect(
        &mut self,
        states: &BTreeMap<String, Vec<u8>>,
        history: &History,
        action: &Action,
        context: &Context,
        details: &Details<'_>,
    ) -> Vec<Answer<Report>> {
        self.0.detect(states, history, action, context, details).into_iter().map(heard).collect()
    }

    fn intervene(&mut self, name: &str, issue: &Issue, situation: &Situation, context: &Context) -> Option<Answer<Response>> {
        self.0.intervene(name, issue, situation, context).map(heard)
    }
}

fn heard<T: Words>(mut answer: Answer<T>) -> Answer<T> {
    let Identity { name, version, foreign, .. } = &mut answer.plugin;
    if !*foreign {
        return answer;
    }
    *version = bare(version, NAME);
    answer.log.iter_mut().for_each(|line| *line = bare(line, LOG_LINE));
    if let Ok(said) = &mut answer.result {
        said.quote(name);
    }
    answer
}

/// Something that holds a plugin's words.
trait Words {
    /// Quotes them all as those of the plugin `by`.
    fn quote(&mut self, by: &str);
}

impl Words for Assessment {
    fn quote(&mut self, by: &str) {
        for factor in self.risk.iter_mut().flat_map(|risk| &mut risk.factors) {
            name(&mut factor.id);
            sentence(&mut factor.reason, by);
            factor.evidence.quote(by);
        }
        if let Some(rationality) = &mut self.rationality {
            sentences(&mut rationality.issues, by);
            sentences(&mut rationality.suggestions, by);
        }
        self.side_effects.iter_mut().flatten().for_each(|effect| effect.quote(by));
        self.rulings.iter_mut().for_each(|ruling| ruling.quote(by));
    }
}

impl Words for SideEffect {
    fn quote(&mut self, by: &str) {
        if let SideEffectKind::Other(kind) = &mut self.kind {
            name(kind);
        }
        value(&mut self.target);
        self.mitigation.iter_mut().for_each(|words| sentence(words, by));
    }
}

impl Words for Ruling {
    fn quote(&mut self, by: &str) {
        name(&mut self.rule);
        sentence(&mut self.reason, by);
        self.evidence.quote(by);
        sentences(&mut self.alternatives, by);
        // Its edits are values of parameters: each is checked, reviewed once more and shown as what it is.
        self.rewrite.iter_mut().for_each(|rewrite| sentence(&mut rewrite.explanation, by));
    }
}

impl Words for Vec<Evidence> {
    fn quote(&mut self, _: &str) {
        for item in self {
            name(&mut item.kind);
            value(&mut item.value);
        }
    }
}

impl Words for Report {
    fn quote(&mut self, by: &str) {
        self.detections.iter_mut().for_each(|detection| detection.quote(by));
    }
}

impl Words for Detection {
    fn quote(&mut self, by: &str) {
        name(&mut self.pattern);
        sentence(&mut self.summary, by);
        self.evidence.quote(by);
    }
}

impl Words for Response {
    fn quote(&mut self, by: &str) {
        match self {
            Self::Guide(guidance) => guidance.quote(by),
            Self::Rollback { checkpoint, guidance } => {
                value(checkpoint);
                guidance.quote(by);
            }
            Self::Stop { message, report } => {
                sentence(message, by);
                report.quote(by);
            }
            Self::RecoveryNeeded { reason, steps } => {
                sentence(reason, by);
                sentences(steps, by);
            }
        }
    }
}

impl Words for Guidance {
    fn quote(&mut self, by: &str) {
        sentences(&mut self.messages, by);
        for Background { title, text, .. } in &mut self.background {
            name(title);
            sentence(text, by);
        }
        for limit in &mut self.limits {
            if let Quantity::Other(quantity) = &mut limit.quantity {
                name(quantity);
            }
        }
    }
}

impl Words for StopReport {
    fn quote(&mut self, by: &str) {
        sentence(&mut self.root_cause, by);
        for list in [&mut self.contributing_factors, &mut self.immediate, &mut self.preventive, &mut self.configuration] {
            sentences(list, by);
        }
    }
}

fn sentences(all: &mut [String], by: &str) {
    all.iter_mut().for_each(|text| sentence(text, by));
}

fn sentence(text: &mut String, by: &str) {
    *text = format!("the plugin `{by}` says: {}", quoted(text, SENTENCE));
}

fn value(text: &mut String) {
    *text = bare(text, VALUE);
}

/// A name is letters, digits and a few marks; what else is in it stands as `_`.
fn name(text: &mut String) {
    let fit = |c: char| if c.is_ascii_alphanumeric() || "._:/@+-".contains(c) { c } else { '_' };
    *text = text.chars().take(NAME).map(fit).collect();
}
