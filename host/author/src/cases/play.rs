//! Plays a case: each step is processed like an event of a client, with the plugin in the sandbox.

mod answer;
mod export;
mod listener;

use super::finding::{AFTER, BEFORE, CaseFinding};
use super::{Case, CaseEvent, CaseSetup, CaseStep, ScriptedCost, ScriptedEnd};
use anyhow::{Context, Result};
use listener::AnswerObserver;
use portcullis_config::{Config, PluginConfig};
use portcullis_core::event::EventKind;
use portcullis_core::intervene;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::score::Verdict;
use portcullis_engine::{CodeCache, Description, Kind, LoadTimes, ObservedCall, Setting};
use portcullis_review::bundles::receipt::PluginPin;
use portcullis_review::isolated::{self, PROJECT};
use portcullis_review::recording::{EPOCH, MachineContext, RecordedEvent};
use portcullis_review::reviewer::Reviewer;
use portcullis_review::session::ReviewSession;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The environment in which the cases of one plugin are played. Each case is a session of its own.
pub struct CaseRunner<'h> {
    config: Config,
    from: Origin,
    name: String,
    kind: Kind,
    caches: &'h dyn Fn() -> CodeCache,
    /// Plugins that are present in every case.
    beside: Vec<String>,
    /// Reviewers, by the plugin's settings and the additional plugins.
    reviewers: Vec<(Vec<Setting>, Vec<String>, Reviewer)>,
}

/// The source of the plugin.
enum Origin {
    File(PathBuf),
    Bundle(PluginPin),
}

/// The plugin's answers in a case.
#[derive(Debug)]
pub struct CaseResult {
    /// The answers to each step.
    pub steps: Vec<StepAnswers>,
    /// An audit-exporter's output for the records.
    pub export: Option<StepAnswers>,
}

impl CaseResult {
    /// Returns the calls into all present plugins.
    pub fn observed_calls(self) -> impl Iterator<Item = ObservedCall> {
        self.steps.into_iter().chain(self.export).flat_map(|said| said.calls)
    }
}

/// The plugin's answers to a step, or to the records.
#[derive(Debug, Default)]
pub struct StepAnswers {
    /// The findings, in order.
    pub findings: Vec<CaseFinding>,
    /// The stack trace of a trap, innermost function first.
    pub trace: Vec<String>,
    /// The calls into all present plugins.
    pub calls: Vec<ObservedCall>,
    /// A contradiction in the step: it cannot have happened as the file says.
    pub odd: Option<String>,
}

impl<'h> CaseRunner<'h> {
    /// Creates a stage for the plugin in that file.
    pub fn new(
        file: &Path,
        (name, kind): (&str, Kind),
        config: &Config,
        caches: &'h dyn Fn() -> CodeCache,
    ) -> Self {
        let (config, name) = (config.clone(), name.to_owned());
        Self {
            config,
            from: Origin::File(file.to_owned()),
            name,
            kind,
            caches,
            beside: Vec::new(),
            reviewers: Vec::new(),
        }
    }

    /// Creates a stage for a plugin of a bundle, with the settings that the bundle gives it.
    pub fn of_bundle(
        pinned: &PluginPin,
        kind: Kind,
        config: &Config,
        caches: &'h dyn Fn() -> CodeCache,
    ) -> Self {
        Self {
            from: Origin::Bundle(pinned.clone()),
            ..Self::new(&pinned.file, (&pinned.name, kind), config, caches)
        }
    }

    /// Adds these builtin plugins to every case.
    pub fn run_beside(self, beside: Vec<String>) -> Self {
        Self { beside, ..self }
    }

    /// Returns the descriptions of the plugins called so far, and their loading times.
    pub fn load_plugins(&mut self) -> Vec<(Description, LoadTimes)> {
        let mut all = Vec::new();
        for (_, _, reviewer) in &mut self.reviewers {
            let descriptions = reviewer.plugins.describe_all();
            let loading = reviewer.plugins.load_times().into_iter();
            all.extend(loading.filter_map(|(name, took)| {
                Some((descriptions.iter().find(|known| known.name == name)?.clone(), took))
            }));
        }
        all
    }

    /// Plays a case.
    ///
    /// # Errors
    /// Fails if the sandbox cannot be set up, or if no client could send a step.
    pub fn play_case(&mut self, case: &Case) -> Result<CaseResult> {
        let (name, beside, exports) =
            (self.name.clone(), self.beside.clone(), self.kind == Kind::AuditExporter);
        let reviewer = self.reviewer(&case.setup)?;
        let mut run = CaseRun {
            name,
            beside,
            reviewer,
            session: ReviewSession::default(),
            at: EPOCH,
            calls: 0,
            records: Vec::new(),
            case,
        };
        for goal in &case.setup.goals {
            run.event(
                None,
                json!({ "hook_event_name": "UserPromptSubmit", "prompt": goal }),
                ScriptedCost::default(),
                &mut AnswerObserver::default(),
            )?;
        }
        let line = |step: &CaseStep| format!("the step in line {}", step.place.0);
        let steps = case
            .steps
            .iter()
            .map(|step| run.step(step).with_context(|| line(step)))
            .collect::<Result<_>>()?;
        Ok(CaseResult { steps, export: exports.then(|| run.export()).transpose()? })
    }

    fn reviewer(&mut self, setup: &CaseSetup) -> Result<&mut Reviewer> {
        let known = self
            .reviewers
            .iter()
            .position(|(settings, with, _)| *settings == setup.settings && *with == setup.with);
        let at = match known {
            Some(at) => at,
            None => {
                let mut config = isolated::isolated_config(&self.config, |name| {
                    setup.with.iter().chain(&self.beside).any(|other| other == name)
                });
                config.plugins.insert(
                    self.name.clone(),
                    PluginConfig { settings: setup.settings.clone(), ..PluginConfig::default() },
                );
                if self.kind == Kind::Intervention {
                    // The plugin has to answer every detection of the additional patterns, with any
                    // kind of answer that is due.
                    let every = intervene::InterventionKind::ALL
                        .iter()
                        .map(|kind| (kind.as_str().to_owned(), self.name.clone()));
                    config.policy.interventions.plugins = every.collect();
                }
                let (files, bundled) = match &self.from {
                    Origin::File(file) => (std::slice::from_ref(file), &[][..]),
                    Origin::Bundle(pinned) => (&[][..], std::slice::from_ref(pinned)),
                };
                let mut reviewer =
                    isolated::new_reviewer(config, files, bundled, Some((self.caches)()))?;
                reviewer.plugins.watch_calls();
                reviewer.enable_shell_cache();
                self.reviewers.push((setup.settings.clone(), setup.with.clone(), reviewer));
                self.reviewers.len() - 1
            }
        };
        self.reviewers.get_mut(at).map(|(_, _, reviewer)| reviewer).context("the reviewer is gone")
    }
}

/// A case that is being played.
struct CaseRun<'a> {
    name: String,
    /// Builtin plugins of its kind that are asked the same.
    beside: Vec<String>,
    reviewer: &'a mut Reviewer,
    session: ReviewSession,
    at: u64,
    calls: u32,
    /// The records that the journal would hold.
    records: Vec<Record>,
    case: &'a Case,
}

impl CaseRun<'_> {
    fn step(&mut self, step: &CaseStep) -> Result<StepAnswers> {
        self.at += step.after;
        let mut observer = AnswerObserver::of(&self.name);
        let agent = step.agent.as_deref();
        let mut odd = None;
        match &step.what {
            CaseEvent::Says(text) => drop(self.event(
                agent,
                json!({ "hook_event_name": "UserPromptSubmit", "prompt": text }),
                ScriptedCost::default(),
                &mut observer,
            )?),
            CaseEvent::Calls { tool, input, end, cost } => {
                self.calls += 1;
                let call = json!({
                    "tool_name": tool,
                    "tool_input": input,
                    "tool_use_id": format!("call-{}", self.calls),
                });
                observer.when = BEFORE;
                let records = self.event(
                    agent,
                    with(&call, json!({ "hook_event_name": "PreToolUse" })),
                    ScriptedCost::default(),
                    &mut observer,
                )?;
                let blocked =
                    records.first().filter(|record| record.verdict() == Some(Verdict::Block));
                match (blocked, ended(tool, end)) {
                    (Some(record), Some(_)) => odd = refused(record, end),
                    (None, Some(ended)) => {
                        observer.when = AFTER;
                        self.event(agent, with(&call, ended), *cost, &mut observer)?;
                    }
                    (_, None) => {}
                }
            }
        }
        if let Some(put) = &step.issue {
            let answered = self.answer(put, agent, &observer)?;
            observer.findings.extend(answered);
        }
        Ok(self.with_calls(StepAnswers {
            findings: observer.findings,
            odd,
            ..StepAnswers::default()
        }))
    }

    /// Adds the costs of the calls since the last time, and the stack trace of a trap.
    fn with_calls(&self, said: StepAnswers) -> StepAnswers {
        let calls = self.reviewer.plugins.take_observed_calls();
        let own = calls.iter().filter(|call| call.plugin == self.name);
        let trace = own.map(|call| call.cost.trace.clone()).find(|trace| !trace.is_empty());
        StepAnswers { trace: trace.unwrap_or_default(), calls, ..said }
    }

    fn event(
        &mut self,
        agent: Option<&str>,
        payload: Value,
        cost: ScriptedCost,
        observer: &mut AnswerObserver,
    ) -> Result<Vec<Record>> {
        let mut payload = with(&json!({ "session_id": "case", "cwd": PROJECT }), payload);
        if let Some(agent) = agent {
            payload = with(&payload, json!({ "agent_id": agent }));
        }
        let mut event = portcullis_agents::parse_payload(payload.to_string().as_bytes())?;
        if let EventKind::AfterTool(_, result) = &mut event.kind {
            (result.tokens, result.duration_ms) = (cost.tokens, cost.duration_ms);
        }
        let seen = MachineContext {
            observed: self.case.setup.disk.clone(),
            home: None,
            kept: None,
            measured: None,
        };
        let item = RecordedEvent { event, at: self.at, seen: Some(seen), makes: None };
        let records = self.session.step_observed(&item, self.reviewer, Some(observer));
        self.records.extend(records.iter().cloned());
        for record in records.iter().filter(|record| record.kind == RecordKind::Intervention) {
            record
                .faults
                .iter()
                .filter(|fault| fault.source == self.name)
                .for_each(|fault| observer.refused(fault));
        }
        Ok(records)
    }
}

/// A refused call has no outcome, so one in the file never takes effect.
fn refused(record: &Record, end: &ScriptedEnd) -> Option<String> {
    let key = match end {
        // This is also the default, of which the file says nothing.
        ScriptedEnd::Returns(text) if text.is_empty() => return None,
        ScriptedEnd::Returns(_) => "returns",
        ScriptedEnd::Fails(_) => "fails",
        ScriptedEnd::Refused => return None,
    };
    let reason = record
        .decision
        .as_ref()
        .map(|decision| decision.primary_reason.as_str())
        .unwrap_or_default();
    Some(format!("the call is blocked ({reason}), so it never runs: take `{key}` out"))
}

/// Returns a client's report of a call's end; `None` if it sends none.
fn ended(tool: &str, end: &ScriptedEnd) -> Option<Value> {
    match end {
        ScriptedEnd::Returns(text) => {
            let response = if tool == "Bash" {
                json!({ "stdout": text, "stderr": "", "interrupted": false })
            } else {
                json!(text)
            };
            Some(json!({ "hook_event_name": "PostToolUse", "tool_response": response }))
        }
        ScriptedEnd::Fails(text) => {
            Some(json!({ "hook_event_name": "PostToolUseFailure", "error": text }))
        }
        ScriptedEnd::Refused => None,
    }
}

fn with(one: &Value, other: Value) -> Value {
    let mut all: Map<String, Value> = one.as_object().cloned().unwrap_or_default();
    if let Value::Object(other) = other {
        all.extend(other);
    }
    Value::Object(all)
}
