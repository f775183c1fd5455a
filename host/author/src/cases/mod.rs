//! Cases of a plugin: an agent's actions, and the expected findings of the plugin. The file format
//! is the same for every language.
//!
//! ```toml
//! [defaults]                                      # for every case without a value of its own
//! goals = ["make the tests pass"]                 # the person's first requests
//! settings = { folders = ["tests"] }              # as in `[plugins.NAME.settings]`
//! with = ["risk"]                                 # builtin risk-calculators that judge too
//! files = ["tests/test_a.py", "build/"]           # files that exist; others are unknown
//! absent = ["tests/test_b.py"]                    # files that do not exist
//!
//! [[case]]
//! name = "a deleted test is noticed"
//!
//! [[case.step]]
//! tool = "Bash"                                   # tools and their inputs as the agent's client names them
//! input = { command = "pytest -q" }
//! fails = "FAILED tests/test_a.py::test_total"    # or `returns`; without either it succeeds and shows nothing
//!
//! [[case.step]]
//! says = "go on"                                  # the person's words; they are a goal too
//!
//! [[case.step]]
//! tool = "Bash"
//! input = { command = "git rm tests/test_a.py" }
//! after = 120                                     # seconds since the previous step; 1 by default
//! agent = "helper"                                # a subagent; the main agent by default
//! refused = true                                  # it does not run: the person said no
//!
//! [[case.step.expect]]                            # a finding; none means no report at all
//! pattern = "tests_weakened"
//! severity = "high"
//! ```
//!
//! An intervention is asked about an issue, and an audit-exporter about the records of the whole
//! case:
//!
//! ```toml
//! [[case]]
//! name = "a loop is answered"
//!
//! [[case.step]]
//! tool = "Bash"
//! input = { command = "make" }
//!
//! [case.step.issue]                               # the issue to answer after the step
//! name = "loop"
//!
//! [[case.step.expect]]
//! response = "guide"
//! ```
//!
//! ```toml
//! [[case]]
//! name = "a record is a line"
//!
//! [[case.step]]
//! tool = "Bash"
//! input = { command = "make" }
//!
//! [[case.expect]]                                 # its output for the first records, at most 100
//! content_type = "text/tab-separated-values; charset=utf-8"
//! ```
//!
//! `host/docs/plugin-cases.md` documents the keys of an `expect`. This module neither inspects the
//! plugin nor reads the file.

mod draft;
mod expect;
pub mod finding;
mod issue;
mod keys;
mod play;
mod read;
mod update;
mod values;

pub use draft::{CaseDraft, DraftInput};
pub use expect::{CaseDifference, compare_findings};
pub use issue::CaseIssue;
pub use play::{CaseResult, CaseRunner, StepAnswers};
pub use read::read_cases;
pub use update::update_cases;

use portcullis_core::observe::Observations;
use portcullis_engine::Setting;
use serde_json::{Map, Value};
use std::ops::Range;

/// Line and column in the file, from 1.
pub type FilePosition = (usize, usize);

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name, unique in the file.
    pub name: String,
    /// Its position.
    pub place: FilePosition,
    /// Its surroundings.
    pub setup: CaseSetup,
    /// The steps, in order.
    pub steps: Vec<CaseStep>,
    /// The number of records that an audit-exporter gets at a time.
    pub batch: usize,
    /// The expected output of an audit-exporter for the records.
    pub expected: Expectation,
}

/// The surroundings of a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseSetup {
    /// The person's requests before the first step.
    pub goals: Vec<String>,
    /// The plugin's settings.
    pub settings: Vec<Setting>,
    /// Builtin plugins that run too.
    pub with: Vec<String>,
    /// The known facts about the disk.
    pub disk: Observations,
}

/// A step of a case.
#[derive(Clone, Debug)]
pub struct CaseStep {
    /// Its position.
    pub place: FilePosition,
    /// The event.
    pub what: CaseEvent,
    /// Milliseconds since the previous step.
    pub after: u64,
    /// The subagent that acts.
    pub agent: Option<String>,
    /// The issue that an intervention answers after the step.
    pub issue: Option<CaseIssue>,
    /// The expected findings.
    pub expected: Expectation,
}

/// All expected findings for a step, or for a whole case.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The path of a finding in the file.
    pub path: &'static str,
    /// The position of the step or the case.
    pub place: FilePosition,
    /// The findings, in order.
    pub findings: Vec<ExpectedFinding>,
    /// The byte offset at which the text of the step or the case ends, so that findings can be
    /// added.
    pub end: usize,
}

impl Expectation {
    /// Findings of a step.
    pub const STEP: &str = "case.step.expect";
    /// Findings of a whole case.
    pub const CASE: &str = "case.expect";
}

/// An event of a case.
#[derive(Clone, Debug)]
pub enum CaseEvent {
    /// The person says something.
    Says(String),
    /// The agent calls a tool.
    Calls {
        /// The tool's name.
        tool: String,
        /// Its parameters.
        input: Map<String, Value>,
        /// Its end.
        end: ScriptedEnd,
        /// The cost that the client reports.
        cost: ScriptedCost,
    },
}

/// The cost of a call as the client reports it; most clients report none.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScriptedCost {
    /// Tokens.
    pub tokens: Option<u32>,
    /// Its duration in milliseconds.
    pub duration_ms: Option<u32>,
}

/// The end of a call.
#[derive(Clone, Debug)]
pub enum ScriptedEnd {
    /// It succeeds with this output.
    Returns(String),
    /// It fails with this output.
    Fails(String),
    /// It never runs.
    Refused,
}

/// An expected finding: the value of each of these keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpectedFinding {
    /// The values, by key.
    pub says: Map<String, Value>,
    /// The byte offset of its head, `[[case.step.expect]]` or the brace of a table in a list.
    pub head: usize,
    /// Its keys and values in the file's order: the offset of the key, and the byte range of its
    /// value.
    pub places: Vec<(String, usize, Range<usize>)>,
}

impl CaseStep {
    /// Formats it in one line.
    pub fn title(&self) -> String {
        match &self.what {
            CaseEvent::Says(text) => format!("the person says: {text}"),
            CaseEvent::Calls { tool, input, .. } => {
                match input
                    .iter()
                    .find(|(key, _)| matches!(key.as_str(), "command" | "file_path" | "url"))
                {
                    Some((_, Value::String(text))) => format!("{tool}: {text}"),
                    _ => tool.clone(),
                }
            }
        }
    }
}
