//! Tests one action against the rules of one file, in the sandbox, isolated from this machine's
//! projects.

use crate::isolated::{self, PROJECT};
use crate::plugin_specs::RULES_PLUGIN;
use crate::recording::EPOCH;
use crate::reviewer::{ReviewContext, Reviewer, code_cache};
use anyhow::Result;
use portcullis_config::Config;
use portcullis_config::rules::{CustomRules, RulesFile};
use portcullis_core::action::Operation;
use portcullis_core::event::{Call, Event, EventKind};
use portcullis_core::record::{Record, RecordedAction};
use portcullis_core::session::State;
use portcullis_core::text::one_line;
use portcullis_rule_language::{Example, Given, Input};
use portcullis_store::Home;
use serde_json::{Map, Value};

/// The most lines of each kind that are shown of an action.
const MOST_LINES: usize = 8;

/// The rules of a file, ready for evaluation.
pub struct RuleBench {
    reviewer: Reviewer,
}

/// The outcome of an example.
pub enum ExampleOutcome {
    /// It was judged.
    Judged {
        /// True if the rule objected.
        objected: bool,
        /// The rule's input, one line each.
        seen: Vec<String>,
    },
    /// It could not be judged, for this reason.
    Failed(String),
}

impl RuleBench {
    /// Loads only the rules of that file, none of them disabled.
    ///
    /// # Errors
    /// Fails if the sandbox cannot be set up.
    pub fn new(file: &RulesFile, config: &Config, home: &Home) -> Result<Self> {
        let file = RulesFile { of_project: false, ..file.clone() };
        let rules = CustomRules { files: vec![file], ..CustomRules::default() };
        let config =
            Config { rules, ..isolated::isolated_config(config, |name| name == RULES_PLUGIN) };
        Ok(Self { reviewer: isolated::new_reviewer(config, &[], &[], Some(code_cache(home)))? })
    }

    /// Judges an example.
    pub fn run_example(&mut self, rule: &str, example: &Example) -> ExampleOutcome {
        let cwd = example.cwd.clone().unwrap_or_else(|| PROJECT.into());
        let mut state = State::default();
        let inside = cwd == PROJECT || cwd.starts_with(&format!("{PROJECT}/"));
        state.session.roots = vec![if inside { PROJECT.into() } else { cwd.clone() }];
        if let Some(goal) = &example.goal {
            state = self.review("UserPromptSubmit", EventKind::Prompt(goal.clone()), &cwd, state).1;
        }
        let (tool, input) = call(&example.input);
        let call = EventKind::BeforeTool(Call { id: None, tool, input });
        match self.review("PreToolUse", call, &cwd, state).0 {
            Some(record) => judged(&record, rule),
            None => ExampleOutcome::Failed("nothing in it is reviewed".into()),
        }
    }

    fn review(
        &mut self,
        name: &str,
        kind: EventKind,
        cwd: &str,
        state: State,
    ) -> (Option<Record>, State) {
        let event = Event {
            client: portcullis_agents::DEFAULT.name().into(),
            session: "rules".into(),
            agent: None,
            cwd: cwd.to_owned(),
            permission_mode: None,
            name: name.to_owned(),
            kind,
        };
        let reviewed =
            self.reviewer.review_event(&event, state, EPOCH, &ReviewContext::default(), &|_| None);
        (
            reviewed
                .records
                .into_iter()
                .find(|record| record.action.is_some() || !record.faults.is_empty()),
            reviewed.state,
        )
    }
}

fn judged(record: &Record, rule: &str) -> ExampleOutcome {
    if let Some(fault) = record.faults.first() {
        return ExampleOutcome::Failed(fault.to_string());
    }
    let objections = record.findings.iter().flat_map(|findings| &findings.objections);
    let objected = objections
        .into_iter()
        .any(|objection| objection.source == RULES_PLUGIN && objection.rule == rule);
    ExampleOutcome::Judged { objected, seen: record.action.as_ref().map(seen).unwrap_or_default() }
}

fn call(input: &Input) -> (String, Map<String, Value>) {
    match input {
        Input::Command(command) => {
            ("Bash".into(), Map::from_iter([("command".to_owned(), Value::from(command.as_str()))]))
        }
        Input::Tool(tool, named) => (tool.clone(), object(named)),
    }
}

fn object(named: &[(String, Given)]) -> Map<String, Value> {
    named.iter().map(|(name, given)| (name.clone(), json(given))).collect()
}

fn json(given: &Given) -> Value {
    match given {
        Given::Text(text) => Value::from(text.as_str()),
        Given::Number(number) => Value::from(*number),
        Given::Flag(flag) => Value::from(*flag),
        Given::List(items) => items.iter().map(json).collect(),
        Given::Table(named) => Value::Object(object(named)),
    }
}

/// Returns the rule's view of an action, in the names of the conditions.
fn seen(action: &RecordedAction) -> Vec<String> {
    let mut lines = vec![format!("intent: {}", action.intent)];
    if let Operation::Shell(shell) = &action.operation {
        let commands = shell.commands.iter().map(|command| {
            let words: Vec<String> = command
                .words
                .iter()
                .map(|word| format!("{:?}", one_line(&word.text, 80)))
                .collect();
            format!("commands: program {:?}, words [{}]", command.program, words.join(", "))
        });
        lines.extend(commands.take(MOST_LINES));
    }
    let facts = &action.facts;
    lines.extend(facts.effects.iter().take(MOST_LINES).map(|effect| {
        format!("effects: {} {}", effect.kind.as_str(), one_line(&effect.target, 120))
    }));
    lines.extend(
        facts
            .paths
            .iter()
            .take(MOST_LINES)
            .map(|path| format!("paths: {} ({})", one_line(&path.text, 120), path.scope)),
    );
    lines.extend(
        facts.hosts.iter().take(MOST_LINES).map(|host| format!("hosts: {}", one_line(host, 120))),
    );
    lines.push(format!("coverage: {}", facts.coverage));
    lines
}
