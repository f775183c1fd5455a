//! Plays a case: each step goes the way of a client's event, to the plugin in the sandbox.

mod answer;
mod export;
mod listener;

use super::finding::{AFTER, BEFORE, Finding};
use super::{Case, End, Scene, Step, What};
use crate::bundles::receipt::Pinned;
use crate::commands::replay::Session;
use crate::config::{Config, PluginConfig};
use crate::recording::{EPOCH, Item, Seen};
use crate::runtime::Reviewer;
use crate::trial::{self, PROJECT};
use anyhow::{Context, Result};
use listener::Listener;
use portcullis_core::intervene;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::score::Verdict;
use portcullis_core::wire::claude;
use portcullis_engine::{CodeCache, Description, Kind, Loading, Setting, Watched};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Where cases of one plugin are played. Each case is a session of its own.
pub struct Stage<'h> {
    config: Config,
    from: Origin,
    name: String,
    kind: Kind,
    caches: &'h dyn Fn() -> CodeCache,
    /// Plugins that are there in every case.
    beside: Vec<String>,
    /// A reviewer for the plugin with its settings and what judges beside it.
    reviewers: Vec<(Vec<Setting>, Vec<String>, Reviewer)>,
}

/// Where the plugin is.
enum Origin {
    File(PathBuf),
    Bundle(Pinned),
}

/// What the plugin said in a case.
#[derive(Debug)]
pub struct Played {
    /// A part for each step.
    pub steps: Vec<Said>,
    /// What an audit-exporter made of the records.
    pub export: Option<Said>,
}

impl Played {
    /// The calls into all plugins that were there.
    pub fn calls(self) -> impl Iterator<Item = Watched> {
        self.steps.into_iter().chain(self.export).flat_map(|said| said.calls)
    }
}

/// What the plugin said to a step, or to the records.
#[derive(Debug, Default)]
pub struct Said {
    /// In order.
    pub findings: Vec<Finding>,
    /// Where it was when it trapped, the innermost function first.
    pub trace: Vec<String>,
    /// The calls into all plugins that were there.
    pub calls: Vec<Watched>,
    /// What is odd about the step: it cannot have gone as the file says.
    pub odd: Option<String>,
}

impl<'h> Stage<'h> {
    /// For the plugin in that file.
    pub fn new(file: &Path, (name, kind): (&str, Kind), config: &Config, caches: &'h dyn Fn() -> CodeCache) -> Self {
        let (config, name) = (config.clone(), name.to_owned());
        Self { config, from: Origin::File(file.to_owned()), name, kind, caches, beside: Vec::new(), reviewers: Vec::new() }
    }

    /// For a plugin of a bundle, with the settings that the bundle gives it.
    pub fn of_bundle(pinned: &Pinned, kind: Kind, config: &Config, caches: &'h dyn Fn() -> CodeCache) -> Self {
        Self { from: Origin::Bundle(pinned.clone()), ..Self::new(&pinned.file, (&pinned.name, kind), config, caches) }
    }

    /// The same with these builtin plugins in every case.
    pub fn beside(self, beside: Vec<String>) -> Self {
        Self { beside, ..self }
    }

    /// What is known of the plugins that were asked so far, and what loading them took.
    pub fn loaded(&mut self) -> Vec<(Description, Loading)> {
        let mut all = Vec::new();
        for (_, _, reviewer) in &mut self.reviewers {
            let descriptions = reviewer.plugins.describe();
            let loading = reviewer.plugins.loading().into_iter();
            all.extend(loading.filter_map(|(name, took)| Some((descriptions.iter().find(|known| known.name == name)?.clone(), took))));
        }
        all
    }

    /// Plays a case.
    ///
    /// # Errors
    /// The sandbox cannot be set up, or a step is none that a client could send.
    pub fn play(&mut self, case: &Case) -> Result<Played> {
        let (name, beside, exports) = (self.name.clone(), self.beside.clone(), self.kind == Kind::AuditExporter);
        let reviewer = self.reviewer(&case.scene)?;
        let mut scene = Playing { name, beside, reviewer, session: Session::default(), at: EPOCH, calls: 0, records: Vec::new(), case };
        for goal in &case.scene.goals {
            scene.event(None, json!({ "hook_event_name": "UserPromptSubmit", "prompt": goal }), &mut Listener::default())?;
        }
        let line = |step: &Step| format!("the step in line {}", step.place.0);
        let steps = case.steps.iter().map(|step| scene.step(step).with_context(|| line(step))).collect::<Result<_>>()?;
        Ok(Played { steps, export: exports.then(|| scene.export()).transpose()? })
    }

    fn reviewer(&mut self, scene: &Scene) -> Result<&mut Reviewer> {
        let known = self.reviewers.iter().position(|(settings, with, _)| *settings == scene.settings && *with == scene.with);
        let at = match known {
            Some(at) => at,
            None => {
                let mut config = trial::alone(&self.config, |name| scene.with.iter().chain(&self.beside).any(|other| other == name));
                config.plugins.insert(self.name.clone(), PluginConfig { settings: scene.settings.clone(), ..PluginConfig::default() });
                if self.kind == Kind::Intervention {
                    // What a pattern beside it detects is for the plugin to answer, whatever answer is due.
                    let every = intervene::Kind::ALL.iter().map(|kind| (kind.as_str().to_owned(), self.name.clone()));
                    config.policy.interventions.plugins = every.collect();
                }
                let (files, bundled) = match &self.from {
                    Origin::File(file) => (std::slice::from_ref(file), &[][..]),
                    Origin::Bundle(pinned) => (&[][..], std::slice::from_ref(pinned)),
                };
                let mut reviewer = trial::reviewer(config, files, bundled, Some((self.caches)()))?;
                reviewer.plugins.watch();
                reviewer.remember();
                self.reviewers.push((scene.settings.clone(), scene.with.clone(), reviewer));
                self.reviewers.len() - 1
            }
        };
        self.reviewers.get_mut(at).map(|(_, _, reviewer)| reviewer).context("the reviewer is gone")
    }
}

/// A case that is being played.
struct Playing<'a> {
    name: String,
    /// Builtin plugins of its kind that are asked the same.
    beside: Vec<String>,
    reviewer: &'a mut Reviewer,
    session: Session,
    at: u64,
    calls: u32,
    /// What the journal would hold.
    records: Vec<Record>,
    case: &'a Case,
}

impl Playing<'_> {
    fn step(&mut self, step: &Step) -> Result<Said> {
        self.at += step.after;
        let mut heard = Listener::of(&self.name);
        let agent = step.agent.as_deref();
        let mut odd = None;
        match &step.what {
            What::Says(text) => drop(self.event(agent, json!({ "hook_event_name": "UserPromptSubmit", "prompt": text }), &mut heard)?),
            What::Calls { tool, input, end } => {
                self.calls += 1;
                let call = json!({ "tool_name": tool, "tool_input": input, "tool_use_id": format!("call-{}", self.calls) });
                heard.when = BEFORE;
                let records = self.event(agent, with(&call, json!({ "hook_event_name": "PreToolUse" })), &mut heard)?;
                let blocked = records.first().filter(|record| record.verdict() == Some(Verdict::Block));
                match (blocked, ended(tool, end)) {
                    (Some(record), Some(_)) => odd = refused(record, end),
                    (None, Some(ended)) => {
                        heard.when = AFTER;
                        self.event(agent, with(&call, ended), &mut heard)?;
                    }
                    (_, None) => {}
                }
            }
        }
        if let Some(put) = &step.issue {
            let answered = self.answer(put, agent, &heard)?;
            heard.findings.extend(answered);
        }
        Ok(self.with_calls(Said { findings: heard.findings, odd, ..Said::default() }))
    }

    /// With what the calls since the last time cost, and where the plugin trapped.
    fn with_calls(&self, said: Said) -> Said {
        let calls = self.reviewer.plugins.take_watched();
        let own = calls.iter().filter(|call| call.plugin == self.name);
        let trace = own.map(|call| call.cost.trace.clone()).find(|trace| !trace.is_empty());
        Said { trace: trace.unwrap_or_default(), calls, ..said }
    }

    fn event(&mut self, agent: Option<&str>, payload: Value, heard: &mut Listener) -> Result<Vec<Record>> {
        let mut payload = with(&json!({ "session_id": "case", "cwd": PROJECT }), payload);
        if let Some(agent) = agent {
            payload = with(&payload, json!({ "agent_id": agent }));
        }
        let event = claude::parse(payload.to_string().as_bytes())?;
        let seen = Seen { observed: self.case.scene.disk.clone(), home: None, kept: None };
        let item = Item { event, at: self.at, seen: Some(seen) };
        let records = self.session.step_overheard(&item, self.reviewer, Some(heard));
        self.records.extend(records.iter().cloned());
        for record in records.iter().filter(|record| record.kind == RecordKind::Intervention) {
            record.faults.iter().filter(|fault| fault.source == self.name).for_each(|fault| heard.refused(fault));
        }
        Ok(records)
    }
}

/// What was refused has no outcome: one that the file gives never comes about.
fn refused(record: &Record, end: &End) -> Option<String> {
    let key = match end {
        End::Returns(text) if text.is_empty() => return None,
        End::Returns(_) => "returns",
        End::Fails(_) => "fails",
        End::Refused => return None,
    };
    let reason = record.decision.as_ref().map(|decision| decision.primary_reason.as_str()).unwrap_or_default();
    Some(format!("the call is blocked ({reason}), so it never runs: take `{key}` out"))
}

/// How a client tells of a call's end; none where it does not.
fn ended(tool: &str, end: &End) -> Option<Value> {
    match end {
        End::Returns(text) => {
            let response = if tool == "Bash" { json!({ "stdout": text, "stderr": "", "interrupted": false }) } else { json!(text) };
            Some(json!({ "hook_event_name": "PostToolUse", "tool_response": response }))
        }
        End::Fails(text) => Some(json!({ "hook_event_name": "PostToolUseFailure", "error": text })),
        End::Refused => None,
    }
}

fn with(one: &Value, other: Value) -> Value {
    let mut all: Map<String, Value> = one.as_object().cloned().unwrap_or_default();
    if let Value::Object(other) = other {
        all.extend(other);
    }
    Value::Object(all)
}
