//! Conditions by table: their results, their problems, and the proof that no text breaks the
//! reader.

mod conditions;
mod errors;
mod properties;
mod reference;

use crate::check;
use crate::code::{self, Code, Rule, Severity, Verdict};
use crate::evaluate::{Around, Budget, ConditionFault, EvaluationContext, Fields, Value};
use crate::place::Problem;
use crate::schema::{Kind, Type};
use crate::syntax;

/// An action: `kubectl --context=prod delete ns shop` in `/work/shop`, with an extra argument map.
pub(crate) struct Sample {
    roots: Vec<String>,
    arguments: Vec<(String, String)>,
    commands: Vec<SampleCommand>,
    content: String,
}

pub(crate) struct SampleCommand(&'static str, &'static [&'static str]);

impl Sample {
    pub(crate) fn new() -> Self {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        Self {
            roots: vec!["/work/shop".into()],
            arguments: vec![pair("channel", "ops"), pair("limit", "20")],
            commands: vec![
                SampleCommand("kubectl", &["--context=prod", "delete", "ns", "shop"]),
                SampleCommand("rm", &["-rf", "--", "-x", "build"]),
            ],
            content: "x".repeat(65_536),
        }
    }
}

impl Fields for Sample {
    fn field(&self, name: &'static str) -> Value<'_> {
        match name {
            "tool" => Value::text("Bash"),
            "path" => Value::text("/work/shop/db/migrations/001_init.sql"),
            "programs" => Value::texts(&["kubectl", "rm"]),
            "intent" => Value::text("system-command"),
            "arguments" => Value::Map(
                self.arguments
                    .iter()
                    .map(|(name, value)| (name.as_str(), value.as_str()))
                    .collect(),
            ),
            "content" => Value::text(&self.content),
            "commands" => self.commands.iter().map(|command| Value::Record(command)).collect(),
            "history" | "context" => Value::Record(self),
            "failures" => Value::Number(2),
            "home" => Value::text("/home/me"),
            other => empty(other),
        }
    }
}

impl Fields for SampleCommand {
    fn field(&self, name: &'static str) -> Value<'_> {
        match name {
            "program" => Value::text(self.0),
            "words" => Value::texts(self.1),
            "line" => Value::Text([&[self.0], self.1].concat().join(" ").into()),
            other => empty(other),
        }
    }
}

/// Returns an empty value, in the type of that name.
fn empty<'v>(name: &str) -> Value<'v> {
    let field = Kind::ALL
        .iter()
        .flat_map(|kind| kind.fields())
        .find(|field| field.name == name)
        .expect("a name of the table");
    match field.kind {
        Type::Flag => Value::Flag(false),
        Type::Number => Value::Number(0),
        Type::Text | Type::Word(_) => Value::text(""),
        Type::Map | Type::Record(_) => Value::Map([].into()),
        Type::Texts | Type::Records(_) => Value::List([].into()),
    }
}

pub(crate) fn compile(text: &str) -> Result<Code<'static>, Problem> {
    check::condition(text, &syntax::parse(text)?)
}

/// Evaluates a condition, encoded and decoded as between two calls.
pub(crate) fn ask(condition: Code<'static>) -> (Result<bool, ConditionFault>, u32) {
    let rule = Rule {
        name: "r".into(),
        when: condition,
        verdict: Verdict::Warn,
        severity: Severity::Low,
        reason: Vec::new(),
        alternatives: Vec::new(),
    };
    let bytes = code::to_bytes(std::slice::from_ref(&rule));
    let rules = code::from_bytes(&bytes).expect("what was written is read");
    assert_eq!(rules, [rule]);
    let sample = Sample::new();
    let evaluation =
        EvaluationContext::new(&sample, Around { roots: &sample.roots, home: "/home/me" });
    let mut budget = Budget::of_a_rule();
    let answer = evaluation.holds(&rules[0].when, &mut budget);
    (answer, budget.taken())
}
