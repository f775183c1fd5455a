//! Hears what plugins answer before the pipeline does: as they said it, not yet quoted, judged or put together.

use portcullis_core::action::{Action, Context, History, Reading};
use portcullis_core::fault::Fault;
use portcullis_core::finding::{Assessment, Issue, Report, Response, Situation};
use portcullis_core::plugins::{Answer, Details, Plugins};
use portcullis_engine::PluginSet;
use std::collections::BTreeMap;

/// Somebody who listens.
pub trait Ear {
    /// What the risk-calculators said of a call, or of the safer form of one.
    fn assessed(&mut self, answers: &[Answer<Assessment>]);
    /// What the patterns said of an action in its context.
    fn detected(&mut self, action: &Action, context: &Context, answers: &[Answer<Report>]);
    /// What an intervention said.
    fn intervened(&mut self, answer: &Answer<Response>);
}

/// Plugins that somebody listens to.
pub(super) struct Overheard<'a> {
    pub(super) plugins: &'a mut PluginSet,
    pub(super) ear: &'a mut dyn Ear,
}

impl Plugins for Overheard<'_> {
    fn read_shell(&mut self, text: &str, cwd: &str, home: &str) -> Result<Reading, Fault> {
        self.plugins.read_shell(text, cwd, home)
    }

    fn assess(&mut self, action: &Action, context: &Context, details: &Details<'_>) -> Vec<Answer<Assessment>> {
        let answers = self.plugins.assess(action, context, details);
        self.ear.assessed(&answers);
        answers
    }

    fn detect(
        &mut self,
        states: &BTreeMap<String, Vec<u8>>,
        history: &History,
        action: &Action,
        context: &Context,
        details: &Details<'_>,
    ) -> Vec<Answer<Report>> {
        let answers = self.plugins.detect(states, history, action, context, details);
        self.ear.detected(action, context, &answers);
        answers
    }

    fn intervene(&mut self, name: &str, issue: &Issue, situation: &Situation, context: &Context) -> Option<Answer<Response>> {
        let answer = self.plugins.intervene(name, issue, situation, context);
        answer.iter().for_each(|answer| self.ear.intervened(answer));
        answer
    }
}
