//! Judging one call: facts, mask, observe, review, decide. Used for the call as received and once more
//! for a rewrite.

use super::{Run, taken_down};
use crate::action::{Action, Attributes, Context, Operation, Outcome};
use crate::decide::{Decision, decide};
use crate::event::Call;
use crate::facts;
use crate::mask::Mask;
use crate::observe::{self, Observations};
use crate::record::{RecordedAction, RecordedPlugin};
use crate::review::Findings;
use serde_json::{Map, Value};

/// A call, understood.
pub(super) struct Understood {
    pub action: Action,
    pub mask: Mask,
    pub observed: Observations,
    pub fault: Option<crate::fault::Fault>,
}

/// A call, judged.
pub(super) struct Judged {
    pub understood: Understood,
    pub findings: Findings,
    pub decision: Decision,
    pub context: Context,
    pub plugins: Vec<RecordedPlugin>,
}

impl Run<'_, '_> {
    /// Facts, mask, observe.
    pub(super) fn understand(&mut self, call: &Call, id: String, outcome: Option<Outcome>) -> Understood {
        let plugins = &mut self.ports.plugins;
        let found = facts::of(call, &self.place, &mut |text, place| plugins.read_shell(text, &place.cwd, &place.home));
        let output = outcome.as_ref().map(|outcome| [outcome.error.as_str(), outcome.output.as_str()]).unwrap_or_default();
        let mask = self.settings.masker.mask(&[texts(&call.input).as_slice(), output.as_slice()].concat());
        let mut action = Action {
            id,
            step: self.state.agent.next_step,
            client: self.event.client.clone(),
            agent: self.event.agent.clone(),
            tool: call.tool.clone(),
            intent: found.intent,
            operation: found.operation,
            facts: found.facts,
            parameters: self.parameters(&call.input, &mask),
            outcome,
            attributes: self.attributes(),
        };
        mask.action(&mut action);
        let observed = if action.outcome.is_none() { self.observe(&mut action) } else { Observations::new() };
        Understood { action, mask, observed, fault: found.fault }
    }

    fn observe(&mut self, action: &mut Action) -> Observations {
        let queries = observe::queries(action);
        if queries.is_empty() {
            return Observations::new();
        }
        let observed = (self.ports.observe)(&queries);
        observe::apply(action, &observed, &self.place);
        observed
    }

    /// All parameters as JSON text, masked value by value so that the text stays JSON.
    fn parameters(&self, input: &Map<String, Value>, mask: &Mask) -> String {
        let text = masked(&Value::Object(input.clone()), mask).to_string();
        crate::text::cut(&text, facts::MOST_TEXT)
    }

    fn attributes(&self) -> Attributes {
        self.event.permission_mode.iter().map(|mode| ("permission-mode".to_owned(), crate::text::cut(mode, 64))).collect()
    }

    pub(super) fn context(&self, action: &Action) -> Context {
        Context {
            session: self.event.session.clone(),
            now: self.now,
            cwd: self.place.cwd.clone(),
            roots: self.place.roots.clone(),
            goals: self.state.session.goals(),
            limits: self.state.session.limits.clone(),
            repetition: self.state.agent.repetition(action.facts.shape, action.facts.identity),
            assessments: Vec::new(),
            attributes: Vec::new(),
        }
    }

    /// Review and decide. Patterns look only at the call as received (`patterns`), not at a rewrite of it.
    pub(super) fn judge(&mut self, call: &Call, id: String, patterns: bool) -> Judged {
        let understood = self.understand(call, id, None);
        let mut context = self.context(&understood.action);
        let mut findings = Findings::of_facts(&understood.action.facts);
        findings.faults.extend(understood.fault.clone());
        let answers = self.ports.plugins.assess(&understood.action, &context, self.ports.details);
        let mut plugins = taken_down(&answers);
        context.assessments = findings.assessed(answers);
        if patterns {
            plugins.extend(self.detect(&understood.action, &context, &mut findings));
        }
        let decision = decide(&findings, context.repetition.seen == 0);
        Judged { understood, findings, decision, context, plugins }
    }

    /// Runs the patterns over the history as it is and keeps their states.
    pub(super) fn detect(&mut self, action: &Action, context: &Context, findings: &mut Findings) -> Vec<RecordedPlugin> {
        let history = self.state.agent.history();
        let answers = self.ports.plugins.detect(&self.state.agent.plugins, &history, action, context, self.ports.details);
        let plugins = taken_down(&answers);
        findings.detected(answers, &mut self.state.agent.plugins);
        let newest = self.state.agent.next_step;
        findings.detections.retain(|detection| detection.finding.first_step <= newest);
        plugins
    }

    pub(super) fn recorded(&self, understood: &Understood, run_as: Option<&Map<String, Value>>) -> RecordedAction {
        let action = &understood.action;
        RecordedAction {
            intent: action.intent,
            parameters: action.parameters.clone(),
            run_as: run_as.map(|input| {
                let mask = self.settings.masker.mask(&texts(input));
                self.parameters(input, &mask)
            }),
            operation: short(&action.operation),
            facts: action.facts.clone(),
            cwd: self.place.cwd.clone(),
            observed: understood.observed.clone(),
        }
    }
}

/// The typed parameters without what `parameters` already holds in full.
fn short(operation: &Operation) -> Operation {
    let mut operation = operation.clone();
    match &mut operation {
        Operation::Shell(shell) => shell.text.clear(),
        Operation::File(file) => {
            file.content = None;
            file.replaced = None;
        }
        Operation::Message(message) => message.text.clear(),
        Operation::Tool(tool) => tool.arguments.clear(),
        Operation::Network(_) | Operation::Other(_) => {}
    }
    operation
}

/// Every text in a call's parameters.
fn texts(input: &Map<String, Value>) -> Vec<&str> {
    let mut found = Vec::new();
    let mut open: Vec<&Value> = input.values().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => found.push(text.as_str()),
            Value::Array(items) => open.extend(items),
            Value::Object(object) => open.extend(object.values()),
            _ => {}
        }
    }
    found
}

fn masked(value: &Value, mask: &Mask) -> Value {
    match value {
        Value::String(text) => mask.apply(text).into(),
        Value::Array(items) => items.iter().map(|item| masked(item, mask)).collect(),
        Value::Object(object) => object.iter().map(|(key, value)| (key.clone(), masked(value, mask))).collect::<Map<_, _>>().into(),
        other => other.clone(),
    }
}
