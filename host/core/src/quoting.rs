//! Quoting of third-party plugins, so that nobody can mistake their words for the host's own.
//!
//! All words of plugin files pass through here. Text that passed through is safe to show unchanged
//! in an answer to the agent, on a terminal, in a log or in the journal: sentences become
//! quotations that name their author, names hold no words, values cannot break out of the marks
//! around them. Words in faults are quoted where the fault is made. Plugins that come with the
//! program speak for the host and are passed on unchanged.

use crate::action::{Action, Context, History, Quantity, Reading};
use crate::fault::Fault;
use crate::finding::{
    Assessment, Background, Detection, Evidence, Guidance, Issue, Report, Response, Ruling,
    SideEffect, SideEffectKind, Situation, StopReport,
};
use crate::plugins::{Details, Identity, PluginResponse, Plugins};
use crate::run_files::ShellPlace;
use crate::text::{quote_words, strip_quotes};
use std::collections::BTreeMap;

/// The most bytes of a sentence; with the author's name it has at most 512.
const SENTENCE: usize = 400;
/// The most bytes of a value.
const VALUE: usize = 256;
/// The most bytes of a line in a plugin's log.
const LOG_LINE: usize = 1024;
/// The most bytes of a name.
const NAME: usize = 64;

/// Plugins whose answers are safe to pass on.
pub(crate) struct QuotedPlugins<'a>(pub &'a mut dyn Plugins);

impl Plugins for QuotedPlugins<'_> {
    fn read_shell(&mut self, text: &str, place: &ShellPlace<'_>) -> Result<Reading, Fault> {
        self.0.read_shell(text, place)
    }

    fn assess(
        &mut self,
        action: &Action,
        context: &Context,
        details: &Details<'_>,
    ) -> Vec<PluginResponse<Assessment>> {
        self.0.assess(action, context, details).into_iter().map(quote_response).collect()
    }

    fn detect(
        &mut self,
        states: &BTreeMap<String, Vec<u8>>,
        history: &History,
        action: &Action,
        context: &Context,
        details: &Details<'_>,
    ) -> Vec<PluginResponse<Report>> {
        self.0
            .detect(states, history, action, context, details)
            .into_iter()
            .map(quote_response)
            .collect()
    }

    fn intervene(
        &mut self,
        name: &str,
        issue: &Issue,
        situation: &Situation,
        context: &Context,
        details: &Details<'_>,
    ) -> Option<PluginResponse<Response>> {
        self.0.intervene(name, issue, situation, context, details).map(quote_response)
    }
}

fn quote_response<T: PluginText>(mut answer: PluginResponse<T>) -> PluginResponse<T> {
    let Identity { name, version, foreign, .. } = &mut answer.plugin;
    if !*foreign {
        return answer;
    }
    *version = strip_quotes(version, NAME);
    answer.log.iter_mut().for_each(|line| *line = strip_quotes(line, LOG_LINE));
    if let Ok(said) = &mut answer.result {
        said.quote(name);
    }
    answer
}

/// An answer that contains a plugin's words.
trait PluginText {
    /// Quotes all its words as those of the plugin `by`.
    fn quote(&mut self, by: &str);
}

impl PluginText for Assessment {
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

impl PluginText for SideEffect {
    fn quote(&mut self, by: &str) {
        if let SideEffectKind::Other(kind) = &mut self.kind {
            name(kind);
        }
        value(&mut self.target);
        self.mitigation.iter_mut().for_each(|words| sentence(words, by));
    }
}

impl PluginText for Ruling {
    fn quote(&mut self, by: &str) {
        name(&mut self.rule);
        sentence(&mut self.reason, by);
        self.evidence.quote(by);
        sentences(&mut self.alternatives, by);
        // Its edits are parameter values: each is checked, reviewed again and shown as such.
        self.rewrite.iter_mut().for_each(|rewrite| sentence(&mut rewrite.explanation, by));
    }
}

impl PluginText for Vec<Evidence> {
    fn quote(&mut self, _: &str) {
        for item in self {
            name(&mut item.kind);
            value(&mut item.value);
        }
    }
}

impl PluginText for Report {
    fn quote(&mut self, by: &str) {
        self.detections.iter_mut().for_each(|detection| detection.quote(by));
    }
}

impl PluginText for Detection {
    fn quote(&mut self, by: &str) {
        name(&mut self.pattern);
        sentence(&mut self.summary, by);
        self.evidence.quote(by);
    }
}

impl PluginText for Response {
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

impl PluginText for Guidance {
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

impl PluginText for StopReport {
    fn quote(&mut self, by: &str) {
        sentence(&mut self.root_cause, by);
        for list in [
            &mut self.contributing_factors,
            &mut self.immediate,
            &mut self.preventive,
            &mut self.configuration,
        ] {
            sentences(list, by);
        }
    }
}

fn sentences(all: &mut [String], by: &str) {
    all.iter_mut().for_each(|text| sentence(text, by));
}

fn sentence(text: &mut String, by: &str) {
    *text = format!("the plugin `{by}` says: {}", quote_words(text, SENTENCE));
}

fn value(text: &mut String) {
    *text = strip_quotes(text, VALUE);
}

/// Limits a name to letters, digits and a few marks; any other character becomes `_`.
fn name(text: &mut String) {
    let fit = |c: char| if c.is_ascii_alphanumeric() || "._:/@+-".contains(c) { c } else { '_' };
    *text = text.chars().take(NAME).map(fit).collect();
}
