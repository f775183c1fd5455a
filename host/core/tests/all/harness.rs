//! A world for the tests: payloads go in as bytes, answers come out as bytes, and scripted plugins
//! replace the sandbox. It decides nothing itself.

use portcullis_agents::HookOutput;
use portcullis_agents::claude::wire as claude;
use portcullis_core::action::{
    Action, Command, Context, Coverage, Effect, EffectKind, Entry, History, Origin, Reading, Word,
};
use portcullis_core::event::{Event, Reply};
use portcullis_core::exceptions::Exception;
use portcullis_core::fault::{Fault, FaultKind, OnFault};
use portcullis_core::finding::{
    Assessment, Change, Detection, Edit, Factor, FactorKind, Guidance, Issue, Rationality, Report,
    Response, Rewrite, Risk, Ruling, SideEffect, SideEffectKind, Situation, StopReport,
};
use portcullis_core::mask::Masker;
use portcullis_core::observe::{Observations, Observed, Query};
use portcullis_core::pipeline::{self, Ports, ReviewOutcome, Settings};
use portcullis_core::plugins::{Details, Identity, PluginResponse, Plugins};
use portcullis_core::policy::Policy;
use portcullis_core::record::{Record, RecordKind, RecordedCheckpoint};
use portcullis_core::run_files::{FileReading, ShellPlace};
use portcullis_core::score::{Score, Severity, Verdict};
use portcullis_core::session::{AgentState, State};
use portcullis_core::undo::{PendingAction, Undo};
use portcullis_core::verdict::Decision;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Debug;

pub(crate) const HOME: &str = "/home/me";
pub(crate) const CWD: &str = "/home/me/shop";

type Read = Box<dyn FnMut(&str) -> Result<Reading, Fault>>;
type Assess = Box<dyn FnMut(&Action, &Context) -> Vec<PluginResponse<Assessment>>>;
type Detect = Box<dyn FnMut(&History, &Action, &[u8]) -> Vec<PluginResponse<Report>>>;
type Intervene = Box<dyn FnMut(&str, &Issue, &Situation) -> Option<PluginResponse<Response>>>;

/// Plugins that give the answers of a test, and keep their inputs.
pub(crate) struct Scripted {
    pub(crate) read: Read,
    pub(crate) assess: Assess,
    pub(crate) detect: Detect,
    pub(crate) intervene: Intervene,
    /// Everything that was passed to plugins (except to the shell reader, which is the host's own).
    pub(crate) shown: String,
    /// True if that is kept: it costs more than the review itself.
    pub(crate) watched: bool,
    /// The interventions that were asked, each with the issue.
    pub(crate) asked: Vec<(String, String)>,
}

impl Default for Scripted {
    fn default() -> Self {
        Self {
            read: Box::new(|text| Ok(reading(text))),
            assess: Box::new(|_, _| Vec::new()),
            detect: Box::new(|_, _, _| Vec::new()),
            intervene: Box::new(|name, issue, _| {
                Some(answer(name, Ok(usual_response(name, issue))))
            }),
            shown: String::new(),
            watched: true,
            asked: Vec::new(),
        }
    }
}

impl Scripted {
    fn watch(&mut self, values: &[&dyn Debug]) {
        if self.watched {
            values.iter().for_each(|value| self.shown.push_str(&format!("{value:?}\n")));
        }
    }
}

impl Plugins for Scripted {
    fn read_shell(&mut self, text: &str, _place: &ShellPlace<'_>) -> Result<Reading, Fault> {
        (self.read)(text)
    }

    fn assess(
        &mut self,
        action: &Action,
        context: &Context,
        _details: &Details<'_>,
    ) -> Vec<PluginResponse<Assessment>> {
        self.watch(&[action, context]);
        (self.assess)(action, context)
    }

    fn detect(
        &mut self,
        states: &BTreeMap<String, Vec<u8>>,
        history: &History,
        action: &Action,
        context: &Context,
        _details: &Details<'_>,
    ) -> Vec<PluginResponse<Report>> {
        self.watch(&[history, action, context]);
        let state = states.get("pattern").cloned().unwrap_or_default();
        (self.detect)(history, action, &state)
    }

    fn intervene(
        &mut self,
        name: &str,
        issue: &Issue,
        situation: &Situation,
        context: &Context,
        _details: &Details<'_>,
    ) -> Option<PluginResponse<Response>> {
        self.watch(&[issue, situation, context]);
        self.asked.push((name.to_owned(), issue.name.clone()));
        (self.intervene)(name, issue, situation)
    }
}

/// The result of one payload.
pub(crate) struct Sent {
    pub(crate) reply: Reply,
    pub(crate) records: Vec<Record>,
    pub(crate) answer: HookOutput,
    /// Standard output, parsed again.
    pub(crate) out: Value,
    pub(crate) spent: Vec<String>,
}

impl Sent {
    pub(crate) fn decision(&self) -> &Decision {
        self.records
            .iter()
            .find_map(|record| record.decision.as_ref())
            .expect("a decision in the records")
    }

    pub(crate) fn verdict(&self) -> Verdict {
        self.decision().verdict
    }

    pub(crate) fn at(&self, pointer: &str) -> Option<&Value> {
        self.out.pointer(pointer)
    }

    /// Returns the effect in the client: `none`, `rewrite`, `ask`, `deny`, `stop` or `held`.
    pub(crate) fn effect(&self) -> &'static str {
        effect(&self.out)
    }

    pub(crate) fn kinds(&self) -> Vec<RecordKind> {
        self.records.iter().map(|record| record.kind).collect()
    }
}

pub(crate) fn effect(out: &Value) -> &'static str {
    let text = |pointer: &str| out.pointer(pointer).and_then(Value::as_str);
    match (text("/hookSpecificOutput/permissionDecision"), text("/decision"), out.get("continue")) {
        (_, _, Some(Value::Bool(false))) => "stop",
        (Some("deny"), ..) => "deny",
        (Some("ask"), ..) => "ask",
        (None, Some("block"), _) => "held",
        (None, None, None) if out.pointer("/hookSpecificOutput/updatedInput").is_some() => {
            "rewrite"
        }
        (None, None, None) => "none",
        other => panic!("an answer of no known form: {other:?}"),
    }
}

/// A session with its journal. State passes from payload to payload as bytes, as the store keeps
/// it.
pub(crate) struct World {
    pub(crate) policy: Policy,
    pub(crate) masker: Masker,
    pub(crate) plugins: Scripted,
    pub(crate) observed: Observations,
    pub(crate) now: u64,
    pub(crate) session: Option<Vec<u8>>,
    pub(crate) agents: BTreeMap<String, Vec<u8>>,
    pub(crate) journal: Vec<Record>,
    pub(crate) replies: String,
    pub(crate) exceptions: Vec<Exception>,
    pub(crate) unwhole: Vec<String>,
    pub(crate) loss: Option<&'static str>,
}

/// Saves nothing, and says what every action loses, if anything.
struct Loss(Option<&'static str>);

impl Undo for Loss {
    fn keep(&self, _: &PendingAction<'_>) -> Option<RecordedCheckpoint> {
        let irreversible = Some(self.0?.to_owned());
        Some(RecordedCheckpoint { irreversible, ..RecordedCheckpoint::default() })
    }
}

impl Default for World {
    fn default() -> Self {
        let policy = Policy { clients: portcullis_agents::PROFILES, ..Policy::default() };
        let masker = Masker::new([7; 32], &policy.mask);
        Self {
            policy,
            masker,
            plugins: Scripted::default(),
            observed: Observations::new(),
            now: 1_700_000_000_000,
            session: None,
            agents: BTreeMap::new(),
            journal: Vec::new(),
            replies: String::new(),
            exceptions: Vec::new(),
            unwhole: Vec::new(),
            loss: None,
        }
    }
}

impl World {
    pub(crate) fn with(plugins: Scripted) -> Self {
        Self { plugins, ..Self::default() }
    }

    /// Sends one payload through parse, run and render, and advances the clock by a second.
    pub(crate) fn send(&mut self, payload: &Value) -> Sent {
        let event =
            claude::parse_event(payload.to_string().as_bytes()).expect("a readable payload");
        let agent = event.agent.clone().unwrap_or_default();
        let reviewed = self.review(&event, self.state_of(&agent));
        let (session, own) = reviewed.state.encode().expect("a state within its bounds");
        assert_eq!(
            State::decode_state(Some(&session), Some(&own)).expect("its own bytes"),
            reviewed.state,
            "state survives its bytes"
        );
        self.session = Some(session);
        self.agents.insert(agent, own);
        self.journal.extend(reviewed.records.iter().cloned());
        let answer = claude::render_reply(&event.name, &reviewed.reply);
        self.replies.push_str(&String::from_utf8_lossy(&answer.stdout));
        self.replies.push_str(&String::from_utf8_lossy(&answer.stderr));
        let out = one_object(&answer.stdout);
        Sent {
            reply: reviewed.reply,
            records: reviewed.records,
            answer,
            out,
            spent: reviewed.spent,
        }
    }

    /// Runs only the review, on a state that the caller keeps, and advances the clock by a second.
    pub(crate) fn review(&mut self, event: &Event, state: State) -> ReviewOutcome {
        let settings = Settings {
            policy: &self.policy,
            masker: &self.masker,
            home: HOME,
            exceptions: &self.exceptions,
            unwhole: &self.unwhole,
            measured: None,
        };
        let observed = &self.observed;
        let mut observe = |queries: &[Query]| {
            let known =
                |query: &Query| Some((query.path.clone(), observed.get(&query.path)?.clone()));
            queries.iter().filter_map(known).collect()
        };
        let mut ports = Ports {
            plugins: &mut self.plugins,
            observe: &mut observe,
            details: &|_| None,
            undo: &Loss(self.loss),
        };
        let reviewed = pipeline::run_pipeline(event, state, self.now, &settings, &mut ports);
        self.now += 1000;
        reviewed
    }

    pub(crate) fn state(&self) -> State {
        self.state_of("")
    }

    pub(crate) fn state_of(&self, agent: &str) -> State {
        State::decode_state(self.session.as_deref(), self.agents.get(agent).map(Vec::as_slice))
            .expect("a readable state")
    }

    pub(crate) fn agent(&self) -> AgentState {
        self.state().agent
    }

    pub(crate) fn bash(&mut self, command: &str, id: &str) -> Sent {
        self.send(&pre("Bash", json!({ "command": command }), id))
    }

    /// Sends a call that is reviewed and succeeds.
    pub(crate) fn runs(&mut self, command: &str, id: &str) -> Sent {
        self.bash(command, id);
        self.send(&post(
            "Bash",
            json!({ "command": command }),
            id,
            json!({"stdout": "done", "stderr": ""}),
        ))
    }

    /// Sends a call that is reviewed and fails.
    pub(crate) fn fails(&mut self, command: &str, id: &str, error: &str) -> Sent {
        self.bash(command, id);
        self.send(&failed("Bash", json!({ "command": command }), id, error))
    }

    /// Returns every record as the journal holds it.
    pub(crate) fn documents(&self) -> Vec<String> {
        self.journal.iter().map(Record::document).collect()
    }
}

/// Checks that standard output is one JSON object and a line break, nothing else.
pub(crate) fn one_object(stdout: &[u8]) -> Value {
    let text = std::str::from_utf8(stdout).expect("an answer in UTF-8");
    assert!(text.ends_with('\n') && text.matches('\n').count() == 1, "one line: {text}");
    let value: Value = serde_json::from_str(text).expect("one JSON document");
    assert!(value.is_object(), "an object: {text}");
    value
}

pub(crate) fn event(name: &str, extra: Value) -> Value {
    let mut payload = json!({"session_id": "s1", "transcript_path": "/t.jsonl", "cwd": CWD, "hook_event_name": name});
    let (Some(all), Value::Object(extra)) = (payload.as_object_mut(), extra) else {
        panic!("fields are an object")
    };
    all.extend(extra);
    payload
}

pub(crate) fn pre(tool: &str, input: Value, id: &str) -> Value {
    event(
        "PreToolUse",
        json!({"tool_name": tool, "tool_input": input, "tool_use_id": id, "permission_mode": "default"}),
    )
}

pub(crate) fn post(tool: &str, input: Value, id: &str, response: Value) -> Value {
    event(
        "PostToolUse",
        json!({"tool_name": tool, "tool_input": input, "tool_use_id": id, "tool_response": response, "duration_ms": 12}),
    )
}

pub(crate) fn failed(tool: &str, input: Value, id: &str, error: &str) -> Value {
    event(
        "PostToolUseFailure",
        json!({"tool_name": tool, "tool_input": input, "tool_use_id": id, "error": error}),
    )
}

pub(crate) fn prompt(text: &str) -> Value {
    event("UserPromptSubmit", json!({ "prompt": text }))
}

/// Returns the payload as a subagent's.
pub(crate) fn by(agent: &str, mut payload: Value) -> Value {
    payload["agent_id"] = agent.into();
    payload
}

/// Returns the payload without that field.
pub(crate) fn without(field: &str, mut payload: Value) -> Value {
    payload.as_object_mut().expect("an object").shift_remove(field);
    payload
}

/// Reads only the simplest commands: words at blanks, `rm` deletes, `touch` creates, and some
/// change their last word.
pub(crate) fn reading(text: &str) -> Reading {
    let words: Vec<&str> = text.split_whitespace().collect();
    let program = words.first().copied().unwrap_or_default().to_owned();
    let word = |word: &&str| Word { text: (*word).to_owned(), known: true, quoted: false };
    let kind = match program.as_str() {
        "rm" => Some(EffectKind::FileDelete),
        "touch" => Some(EffectKind::FileCreate),
        "cp" | "mv" | "python3" | "sed" => Some(EffectKind::FileModify),
        _ => None,
    };
    let first = if kind == Some(EffectKind::FileModify) { words.len() - 1 } else { 1 };
    let effects = kind
        .into_iter()
        .flat_map(|kind| words.iter().skip(first).map(move |target| (kind.clone(), *target)));
    let command = Command {
        program: program.clone(),
        words: words.iter().skip(1).map(word).collect(),
        assignments: Vec::new(),
        redirections: Vec::new(),
        wrappers: Vec::new(),
        origin: Origin::Plain,
        input_from: None,
        start: 0,
        end: u32::try_from(text.len()).expect("a short text"),
        privileged: false,
    };
    Reading {
        commands: vec![command],
        effects: effects
            .map(|(kind, target)| Effect {
                kind,
                target: target.into(),
                path: None,
                command: Some(0),
                recursive: false,
                certain: true,
            })
            .collect(),
        forms: Vec::new(),
        hosts: Vec::new(),
        shape: program,
        coverage: Coverage::Full,
        gaps: Vec::new(),
        files: FileReading::default(),
    }
}

pub(crate) fn plugin(name: &str, on_fault: OnFault) -> Identity {
    Identity {
        name: name.into(),
        version: "1.0.0".into(),
        digest: "0".repeat(64),
        on_fault,
        foreign: false,
        shadow: false,
        session: false,
    }
}

pub(crate) fn answer<T>(name: &str, result: Result<T, Fault>) -> PluginResponse<T> {
    let on_fault = result.as_ref().err().map_or(OnFault::Block, |fault| fault.policy);
    PluginResponse {
        plugin: plugin(name, on_fault),
        result,
        log: Vec::new(),
        fuel: 1000,
        uses: Vec::new(),
    }
}

pub(crate) fn fault(kind: FaultKind, policy: OnFault) -> Fault {
    plugin("judge", policy).new_fault(kind, "it did not answer")
}

/// Creates a risk-calculator that always gives the same answer.
pub(crate) fn says(assessment: Assessment) -> Assess {
    Box::new(move |_, _| vec![answer("judge", Ok(assessment.clone()))])
}

/// Creates a risk-calculator that gives the answer only for commands that contain `mark`.
pub(crate) fn says_of(mark: &'static str, assessment: Assessment) -> Assess {
    Box::new(move |action, _| {
        let said = if action.parameters.contains(mark) {
            assessment.clone()
        } else {
            Assessment::default()
        };
        vec![answer("judge", Ok(said))]
    })
}

/// Creates a pattern that detects these whenever a command contains `mark`, before it runs.
pub(crate) fn detects(mark: &'static str, detections: Vec<Detection>) -> Detect {
    Box::new(move |_, action, _| {
        let due = action.outcome.is_none() && action.parameters.contains(mark);
        vec![answer(
            "pattern",
            Ok(Report {
                detections: if due { detections.clone() } else { Vec::new() },
                state: None,
            }),
        )]
    })
}

pub(crate) fn risk(score: u16) -> Assessment {
    Assessment { risk: Some(risk_of(score)), ..Assessment::default() }
}

pub(crate) fn risk_of(score: u16) -> Risk {
    let factor = Factor {
        id: "base".into(),
        kind: FactorKind::Base,
        weight: Score::new(score),
        reason: "it is risky".into(),
        evidence: Vec::new(),
    };
    Risk { score: Score::new(score), factors: vec![factor] }
}

pub(crate) fn judged(risk: u16, rationality: u16) -> Assessment {
    let rationality = Rationality {
        progression: Some(Score::new(rationality)),
        issues: vec!["an issue".into()],
        ..Rationality::default()
    };
    Assessment {
        risk: Some(risk_of(risk)),
        rationality: Some(rationality),
        ..Assessment::default()
    }
}

pub(crate) fn effects(severity: Severity) -> Assessment {
    let effect = SideEffect {
        kind: SideEffectKind::FileDeletion,
        target: "/home/me/shop/a".into(),
        severity,
        reversible: false,
        mitigation: None,
    };
    Assessment { side_effects: Some(vec![effect]), ..Assessment::default() }
}

pub(crate) fn rules(verdict: Verdict, severity: Severity) -> Assessment {
    let ruling = Ruling {
        rule: "a_rule".into(),
        verdict,
        severity,
        reason: "the rule says so".into(),
        evidence: Vec::new(),
        alternatives: vec!["do something else".into()],
        rewrite: None,
    };
    Assessment { rulings: vec![ruling], ..Assessment::default() }
}

/// Returns the assessment of a rule that requires a change, with these rewrites of its command.
pub(crate) fn rewrites(changes: &[Change]) -> Assessment {
    let ruling = rules(Verdict::Modify, Severity::Medium).rulings.remove(0);
    let offer = |change: &Change| Ruling {
        rewrite: Some(Rewrite {
            edits: vec![Edit { parameter: "command".into(), change: change.clone() }],
            explanation: "a safer form".into(),
        }),
        ..ruling.clone()
    };
    Assessment { rulings: changes.iter().map(offer).collect(), ..Assessment::default() }
}

pub(crate) fn detection(
    pattern: &str,
    severity: Severity,
    confidence: u16,
    impact: u16,
) -> Detection {
    Detection {
        pattern: pattern.into(),
        severity,
        confidence: Score::new(confidence),
        impact: Score::new(impact),
        first_step: 0,
        summary: format!("{pattern} was seen"),
        evidence: Vec::new(),
    }
}

pub(crate) fn guidance(text: &str) -> Response {
    Response::Guide(Guidance { messages: vec![text.into()], ..Guidance::default() })
}

/// Returns the usual answer of an intervention of that name.
pub(crate) fn usual_response(name: &str, issue: &Issue) -> Response {
    let message = format!("{name} on {}", issue.name);
    match name {
        "emergency-stop" => Response::Stop {
            message,
            report: StopReport { immediate: vec!["look".into()], ..StopReport::default() },
        },
        _ => guidance(&message),
    }
}

/// Returns the observed state of a path with this entry.
pub(crate) fn seen(entry: Entry) -> Observed {
    Observed { entry, ..Observed::UNKNOWN }
}

/// Makes up a token, so that scanners of this repository do not mistake it for a real one.
pub(crate) fn token() -> String {
    "ghp_".chars().chain("a1B2c3D4".chars().cycle().take(36)).collect()
}
