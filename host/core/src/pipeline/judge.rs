//! Judges one call: facts, mask, observe, review, decide. Used for the call as received and again
//! for a rewrite.

use super::scripts::{ScriptFiles, ScriptLook, name_run_line};
use super::shadow::{ShadowFindings, split_shadow};
use super::{Run, record_plugins};
use crate::action::{Action, Attributes, Command, Context, Operation};
use crate::event::{Call, CallResult};
use crate::facts;
use crate::guard::{self, GuardInput};
use crate::limits;
use crate::mask::{Mask, Masker};
use crate::observe::{self, Observations};
use crate::plugins::Plugins;
use crate::quoting::QuotedPlugins;
use crate::record::{RecordedAction, RecordedPlugin, RecordedShadow};
use crate::review::Findings;
use crate::run_files::FileReading;
use crate::text::{cut_text, floor_boundary};
use crate::throttle::{self, LimitState};
use crate::verdict::{Decision, decide_verdict};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The most bytes of a result that are kept.
pub(super) const MOST_OUTPUT: usize = 16 * 1024;

/// A call with its facts, before judgement.
pub(super) struct ParsedCall {
    pub action: Action,
    pub mask: Mask,
    pub observed: Observations,
    pub fault: Option<crate::fault::Fault>,
    /// The files that it runs, and those that it leaves behind.
    pub files: FileReading,
}

/// The phase in which a call is examined.
#[derive(Clone, Copy)]
pub(super) enum Phase<'r> {
    Before,
    /// After the call, with its result if known.
    After(Option<&'r CallResult>),
}

/// A call with its judgement.
pub(super) struct CallReview {
    pub understood: ParsedCall,
    pub findings: Findings,
    pub decision: Decision,
    pub context: Context,
    pub plugins: Vec<RecordedPlugin>,
    /// The results that plugins in shadow mode would have led to.
    pub shadow: Vec<RecordedShadow>,
    /// A note that accompanies the reason.
    pub note: String,
    /// True if it runs before its review is done: the review's objections can only be reported
    /// afterwards.
    pub provisional: bool,
}

impl Run<'_, '_> {
    /// Runs the stages facts, mask and observe.
    pub(super) fn understand(&mut self, call: &Call, id: String, moment: Phase<'_>) -> ParsedCall {
        let result = if let Phase::After(result) = moment { result } else { None };
        let mut scripts = ScriptFiles::of_session(&self.state.session);
        let looks = matches!(moment, Phase::Before);
        let plugins = &mut *self.ports.plugins;
        let observe = &mut *self.ports.observe;
        let mut look = ScriptLook {
            observe: looks.then_some(observe),
            masker: self.settings.masker,
            guarded: &self.settings.policy.guarded,
            commits: self.state.session.raised.is_some(),
        };
        let mut found = facts::of_call(call, &self.place, &mut |text, place| {
            scripts.read_shell(plugins, &mut look, text, place)
        });
        let mask = self.mask(call, &found.operation, result);
        if let Some(fault) = &mut found.fault {
            fault.detail = mask.apply_to(&fault.detail);
        }
        let parameters = masked(&Value::Object(call.input.clone()), &mask).to_string();
        // A shell command's own reading shows the cut.
        if parameters.len() > facts::MOST_TEXT && !facts::is_shell(&call.tool, &self.place) {
            facts::note_cut_parameters(&call.tool, &self.place, &mut found.facts);
        }
        let outcome = result.map(|result| self.outcome(result, &mask));
        let mut action = Action {
            id,
            step: self.state.agent.next_step,
            client: self.event.client.clone(),
            agent: self.event.agent.clone(),
            tool: call.tool.clone(),
            intent: found.intent,
            operation: found.operation,
            facts: found.facts,
            parameters: cut_text(&parameters, facts::MOST_TEXT),
            outcome,
            attributes: self.attributes(),
        };
        // Masking comes before the look at the workspace, because the record keeps the queried
        // paths.
        mask.mask_action(&mut action);
        let mut observed = if looks { self.observe(&action) } else { Observations::new() };
        if looks {
            observe::add_mounts(&action, &mut observed, &self.state.session.mounts);
        }
        observe::apply_observations(&mut action, &observed, &self.place);
        let own = self.state.session.own_files.attribute_of(&action.facts, &observed);
        if let Some((_, positions)) = &own {
            observe::pardon_own(&mut action, positions);
        }
        action.attributes.extend(own);
        scripts.add_to(&mut observed);
        ParsedCall { action, mask, observed, fault: found.fault, files: scripts.reading }
    }

    fn observe(&mut self, action: &Action) -> Observations {
        let queries = observe::list_queries(action, &self.place.cwd);
        if queries.is_empty() { Observations::new() } else { (self.ports.observe)(&queries) }
    }

    /// Returns the secrets of a call, in all its texts and in the shell reader's results.
    fn mask(&self, call: &Call, operation: &Operation, result: Option<&CallResult>) -> Mask {
        let mut all = texts(&call.input);
        all.push(call.tool.as_str().into());
        all.extend(spelled_out(operation).into_iter().map(Cow::Owned));
        all.extend(
            result
                .iter()
                .flat_map(|result| [&result.error, &result.output])
                .map(|text| retained_part(text).into()),
        );
        let mask =
            self.settings.masker.build_mask(&all.iter().map(AsRef::as_ref).collect::<Vec<_>>());
        mask.hiding(self.state.session.secrets.find_carried(operation, self.settings.masker))
    }

    /// Returns true if a rewrite reveals a secret that only its old surroundings identified as one.
    pub(super) fn reveals_secret(&self, input: &Map<String, Value>, mask: &Mask) -> bool {
        let all = texts(input);
        let own =
            self.settings.masker.build_mask(&all.iter().map(AsRef::as_ref).collect::<Vec<_>>());
        !mask.is_empty() && all.iter().any(|text| !mask.hides_all(&own.apply_to(text)))
    }

    fn attributes(&self) -> Attributes {
        self.event
            .permission_mode
            .iter()
            .map(|mode| ("permission-mode".to_owned(), cut_text(mode, 64)))
            .collect()
    }

    pub(super) fn context(&self, action: &Action) -> Context {
        Context {
            session: self.event.session.clone(),
            now: self.now,
            cwd: self.place.cwd.clone(),
            roots: self.place.roots.clone(),
            goals: self.state.session.goals(),
            limits: self.state.session.limits.clone(),
            repetition: self.state.agent.find_repetition(action.facts.shape, action.facts.identity),
            assessments: Vec::new(),
            attributes: self.surroundings(),
        }
    }

    /// Returns the attributes that plugins get about the machine and the session: the person's home
    /// folder, the number of the prompt, and for each tightened limit the configured one.
    fn surroundings(&self) -> Attributes {
        let home = &self.place.home;
        let mut about =
            if home.is_empty() { Vec::new() } else { vec![("home".to_owned(), home.clone())] };
        about.push(("prompt".to_owned(), self.state.session.prompts.to_string()));
        let base = self.state.session.configured_limits(&self.settings.policy.limits);
        let tightened = self.state.session.limits.iter().filter_map(|limit| {
            let configured = base.limit_of(&limit.quantity)?;
            let name = format!("base-limit.{}", limits::name_of(&limit.quantity));
            (limit.maximum < configured).then(|| (name, configured.to_string()))
        });
        about.extend(tightened);
        about
    }

    /// Reviews and decides. Patterns examine only the call as received (`patterns`), not a rewrite
    /// of it.
    pub(super) fn judge(&mut self, call: &Call, id: String, patterns: bool) -> CallReview {
        let understood = self.understand(call, id, Phase::Before);
        let mut context = self.context(&understood.action);
        let mut findings = Findings::of_facts(&understood.action.facts);
        findings.faults.extend(understood.fault.clone());
        findings.objections.extend(guard::find_objection(&GuardInput {
            action: &understood.action,
            parameters: &call.input,
            observed: &understood.observed,
            guarded: &self.settings.policy.guarded,
            place: &self.place,
        }));
        let state = LimitState {
            limits: &context.limits,
            base: &self.state.session.configured_limits(&self.settings.policy.limits),
            announced: &self.state.session.announced,
        };
        findings.objections.extend(throttle::find_objections(&state, &understood.action.facts));
        let answers = QuotedPlugins(self.ports.plugins).assess(
            &understood.action,
            &context,
            self.ports.details,
        );
        let (answers, in_shadow) = split_shadow(answers);
        let mut plugins = record_plugins(&answers);
        let mut onlookers: Vec<ShadowFindings> =
            in_shadow.into_iter().map(ShadowFindings::assessed).collect();
        context.assessments = findings.add_assessments(answers);
        if patterns {
            let (asked, looking_on) = self.detect(&understood.action, &context, &mut findings);
            plugins.extend(asked);
            onlookers.extend(looking_on);
        }
        let (first_time, policy) = (context.repetition.seen == 0, &self.settings.policy.decision);
        let decision = decide_verdict(&findings, first_time, policy);
        let shadow = onlookers
            .into_iter()
            .filter_map(|onlooker| onlooker.record_beside(&findings, &decision, first_time, policy))
            .collect();
        let stands = name_run_line(&understood.action, &understood.files, &self.place.cwd);
        let note = stands.map(|text| format!(" {text}")).unwrap_or_default();
        CallReview {
            understood,
            findings,
            decision,
            context,
            plugins,
            shadow,
            note,
            provisional: false,
        }
    }

    /// Runs the patterns over the current history and keeps their states; returns the patterns that
    /// were asked, and those in shadow mode.
    pub(super) fn detect(
        &mut self,
        action: &Action,
        context: &Context,
        findings: &mut Findings,
    ) -> (Vec<RecordedPlugin>, Vec<ShadowFindings>) {
        if self.off() {
            return (Vec::new(), Vec::new());
        }
        let history = self.state.history();
        let (session, agent) = (&mut self.state.session, &mut self.state.agent);
        // A pattern that observes the session as a whole has one state for all its agents:
        // something that one agent read or was refused applies to the others. Loops are each
        // agent's own.
        let mut states = std::mem::take(&mut agent.plugins);
        let mut shared: BTreeSet<String> = session.plugins.keys().cloned().collect();
        states.append(&mut session.plugins);
        let answers = QuotedPlugins(self.ports.plugins).detect(
            &states,
            &history,
            action,
            context,
            self.ports.details,
        );
        shared.extend(
            answers
                .iter()
                .filter(|answer| answer.plugin.session)
                .map(|answer| answer.plugin.name.clone()),
        );
        let (answers, in_shadow) = split_shadow(answers);
        let plugins = record_plugins(&answers);
        findings.add_detections(answers, &mut states, agent.next_step);
        let onlookers = in_shadow
            .into_iter()
            .map(|answer| ShadowFindings::detected(answer, &mut states, agent.next_step))
            .collect();
        (session.plugins, agent.plugins) =
            states.into_iter().partition(|(name, _)| shared.contains(name));
        (plugins, onlookers)
    }

    /// Returns a rewrite's parameters for the record, masked both with the original call's secrets
    /// and with their own.
    fn run_as(&self, input: &Map<String, Value>, mask: &Mask) -> String {
        let all = texts(input);
        let own =
            self.settings.masker.build_mask(&all.iter().map(AsRef::as_ref).collect::<Vec<_>>());
        let text = masked(&masked(&Value::Object(input.clone()), mask), &own).to_string();
        cut_text(&text, facts::MOST_TEXT)
    }

    pub(super) fn recorded(
        &self,
        understood: &ParsedCall,
        run_as: Option<&Map<String, Value>>,
    ) -> RecordedAction {
        let action = &understood.action;
        RecordedAction {
            intent: action.intent,
            parameters: action.parameters.clone(),
            run_as: run_as.map(|input| self.run_as(input, &understood.mask)),
            operation: short(&action.operation),
            facts: action.facts.clone(),
            cwd: self.place.cwd.clone(),
            home: self.place.home.clone(),
            observed: understood.observed.clone(),
        }
    }
}

/// Returns the texts that only a reader of the command or of the parameters' JSON spells out: the
/// words of each command, a variable with its value, an argument's text.
fn spelled_out(operation: &Operation) -> Vec<String> {
    match operation {
        Operation::Shell(shell) => shell.commands.iter().flat_map(words).collect(),
        Operation::Message(message) => vec![message.text.clone()],
        Operation::Tool(tool) => tool.arguments.iter().map(|(_, value)| value.clone()).collect(),
        _ => Vec::new(),
    }
}

fn words(command: &Command) -> Vec<String> {
    let line: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let assigned = command.assignments.iter().map(|(name, value)| pair(name, value));
    let redirected = command.redirections.iter().map(|redirection| redirection.target.text.clone());
    std::iter::once(line.join(" ")).chain(assigned).chain(redirected).collect()
}

/// Returns the typed parameters without those that `parameters` already holds in full.
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

/// The most bytes of a value that is examined together with its name.
const MOST_NAMED: usize = 4096;

/// Returns every text in a call's parameters, names included, and each short value again with its
/// name, which may be the only sign that it is a secret.
fn texts(input: &Map<String, Value>) -> Vec<Cow<'_, str>> {
    gathered(members(input).collect())
}

/// Does the same for any value.
fn texts_in(value: &Value) -> Vec<Cow<'_, str>> {
    gathered(vec![(None, value)])
}

fn gathered<'v>(mut open: Vec<(Option<&'v str>, &'v Value)>) -> Vec<Cow<'v, str>> {
    let mut found: Vec<Cow<'v, str>> = Vec::new();
    while let Some((name, value)) = open.pop() {
        if let Some(name) = name {
            found.push(name.into());
        }
        match value {
            Value::String(text) => {
                found.push(text.as_str().into());
                found.extend(
                    name.filter(|_| text.len() <= MOST_NAMED).map(|name| pair(name, text).into()),
                );
            }
            Value::Array(items) => open.extend(items.iter().map(|item| (None, item))),
            Value::Object(object) => open.extend(members(object)),
            _ => {}
        }
    }
    found
}

fn members(object: &Map<String, Value>) -> impl Iterator<Item = (Option<&str>, &Value)> {
    object.iter().map(|(name, value)| (Some(name.as_str()), value))
}

fn pair(name: &str, value: &str) -> String {
    format!("{name}=\"{value}\"")
}

/// Returns the part of a result that is examined: the part that is kept, and as much again, so that
/// a secret across the cut is recognised.
pub(super) fn retained_part(text: &str) -> &str {
    text.get(..floor_boundary(text, 2 * MOST_OUTPUT)).unwrap_or_default()
}

/// Returns a result with its secrets masked, and the placeholders; none if it contains none.
pub(super) fn masked_result(result: &Value, masker: &Masker) -> Option<(Value, Vec<String>)> {
    let mask = masker.build_mask(&texts_in(result).iter().map(AsRef::as_ref).collect::<Vec<_>>());
    (!mask.is_empty()).then(|| (masked(result, &mask), mask.placeholders()))
}

fn masked(value: &Value, mask: &Mask) -> Value {
    match value {
        Value::String(text) => mask.apply_to(text).into(),
        Value::Array(items) => items.iter().map(|item| masked(item, mask)).collect(),
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| (mask.apply_to(key), masked(value, mask)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}
