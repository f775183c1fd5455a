//! Observes the plugins' answers before the pipeline does: unprocessed, not yet quoted, judged or
//! combined.

use portcullis_core::action::{Action, Context, History, Reading};
use portcullis_core::fault::Fault;
use portcullis_core::finding::{Assessment, Issue, Report, Response, Situation};
use portcullis_core::plugins::{Details, PluginResponse, Plugins};
use portcullis_core::run_files::ShellPlace;
use portcullis_engine::PluginSet;
use std::collections::BTreeMap;

/// An observer of answers.
pub trait PluginObserver {
    /// Receives the risk-calculators' answers for a call, or for the safer form of one.
    fn assessed(&mut self, answers: &[PluginResponse<Assessment>]);
    /// Receives the patterns' answers for an action in its context.
    fn detected(&mut self, action: &Action, context: &Context, answers: &[PluginResponse<Report>]);
    /// Receives an intervention's answer.
    fn intervened(&mut self, answer: &PluginResponse<Response>);
}

/// Plugins with an observer.
pub(super) struct ObservedPlugins<'a> {
    pub(super) plugins: &'a mut PluginSet,
    pub(super) observer: &'a mut dyn PluginObserver,
}

impl Plugins for ObservedPlugins<'_> {
    fn read_shell(&mut self, text: &str, place: &ShellPlace<'_>) -> Result<Reading, Fault> {
        self.plugins.read_shell(text, place)
    }

    fn assess(
        &mut self,
        action: &Action,
        context: &Context,
        details: &Details<'_>,
    ) -> Vec<PluginResponse<Assessment>> {
        let answers = self.plugins.assess(action, context, details);
        self.observer.assessed(&answers);
        answers
    }

    fn detect(
        &mut self,
        states: &BTreeMap<String, Vec<u8>>,
        history: &History,
        action: &Action,
        context: &Context,
        details: &Details<'_>,
    ) -> Vec<PluginResponse<Report>> {
        let answers = self.plugins.detect(states, history, action, context, details);
        self.observer.detected(action, context, &answers);
        answers
    }

    fn intervene(
        &mut self,
        name: &str,
        issue: &Issue,
        situation: &Situation,
        context: &Context,
        details: &Details<'_>,
    ) -> Option<PluginResponse<Response>> {
        let answer = self.plugins.intervene(name, issue, situation, context, details);
        answer.iter().for_each(|answer| self.observer.intervened(answer));
        answer
    }
}
