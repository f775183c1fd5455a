//! Cases of a plugin: what an agent does, and what the plugin has to say to it. The same file for every language.
//!
//! ```toml
//! [defaults]                                      # for every case; what a case says itself goes before it
//! goals = ["make the tests pass"]                 # what the person asks for first
//! settings = { folders = ["tests"] }              # what `[plugins.NAME.settings]` would say
//! with = ["risk"]                                 # builtin risk-calculators that judge too; none unless named
//! files = ["tests/test_a.py", "build/"]           # what is there; of all else nobody knows
//! absent = ["tests/test_b.py"]                    # what is not there
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
//! after = 120                                     # seconds since the step before; 1 unless said
//! agent = "helper"                                # a subagent; the main agent unless said
//! refused = true                                  # it does not run: the person said no
//!
//! [[case.step.expect]]                            # a finding; a step without any is one of which it says nothing
//! pattern = "tests_weakened"
//! severity = "high"
//! ```
//!
//! An intervention is asked about an issue, and an audit-exporter about the records of the whole case:
//!
//! ```toml
//! [[case]]
//! name = "a loop is answered"
//!
//! [[case.step]]
//! tool = "Bash"
//! input = { command = "make" }
//!
//! [case.step.issue]                               # what the plugin answers when the step is over
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
//! [[case.expect]]                                 # what it makes of the first records, at most 100
//! content_type = "text/tab-separated-values; charset=utf-8"
//! ```
//!
//! `host/docs/plugin-cases.md` tells what may stand in an `expect`. What is not looked at here: what a plugin is,
//! and who reads the file.

mod draft;
mod expect;
pub mod finding;
mod issue;
mod keys;
mod play;
mod read;
mod update;
mod values;

pub use draft::{Draft, Drafted};
pub use expect::{Difference, compare};
pub use issue::Put;
pub use play::{Played, Said, Stage};
pub use read::read;
pub use update::update;

use portcullis_core::observe::Observations;
use portcullis_engine::Setting;
use serde_json::{Map, Value};
use std::ops::Range;

/// Line and column in the file, from 1.
pub type Place = (usize, usize);

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name, unique in the file.
    pub name: String,
    /// Where it stands.
    pub place: Place,
    /// What surrounds it.
    pub scene: Scene,
    /// What happens, in order.
    pub steps: Vec<Step>,
    /// How many records an audit-exporter gets at a time.
    pub batch: usize,
    /// What an audit-exporter has to make of the records.
    pub expected: Expectation,
}

/// What surrounds a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// What the person asks for before the first step.
    pub goals: Vec<String>,
    /// The plugin's settings.
    pub settings: Vec<Setting>,
    /// Builtin plugins that are asked too.
    pub with: Vec<String>,
    /// What is known of the disk.
    pub disk: Observations,
}

/// One thing that happens.
#[derive(Clone, Debug)]
pub struct Step {
    /// Where it stands.
    pub place: Place,
    /// What happens.
    pub what: What,
    /// Milliseconds since the step before.
    pub after: u64,
    /// The subagent that does it.
    pub agent: Option<String>,
    /// What an intervention is to answer when it is over.
    pub issue: Option<Put>,
    /// What the plugin has to say.
    pub expected: Expectation,
}

/// All that a plugin has to say to a step, or to a whole case.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// How the file calls one finding of it.
    pub path: &'static str,
    /// Where the step or the case stands.
    pub place: Place,
    /// The findings, in order.
    pub findings: Vec<Expected>,
    /// Where the text of the step or the case ends, so that findings can be added.
    pub end: usize,
}

impl Expectation {
    /// Findings of a step.
    pub const STEP: &str = "case.step.expect";
    /// Findings of a whole case.
    pub const CASE: &str = "case.expect";
}

/// What happens.
#[derive(Clone, Debug)]
pub enum What {
    /// The person says something.
    Says(String),
    /// The agent calls a tool.
    Calls {
        /// The tool's name.
        tool: String,
        /// Its parameters.
        input: Map<String, Value>,
        /// How it ends.
        end: End,
    },
}

/// How a call ends.
#[derive(Clone, Debug)]
pub enum End {
    /// It shows this.
    Returns(String),
    /// It fails with this.
    Fails(String),
    /// It never runs.
    Refused,
}

/// A finding that has to come: what it says of each of these keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expected {
    /// By key.
    pub says: Map<String, Value>,
    /// The bytes of its head, `[[case.step.expect]]` or the brace of a table in a list.
    pub head: usize,
    /// Its keys and values in the file's order: where a key begins, and the bytes of its value.
    pub places: Vec<(String, usize, Range<usize>)>,
}

impl Step {
    /// In a line.
    pub fn title(&self) -> String {
        match &self.what {
            What::Says(text) => format!("the person says: {text}"),
            What::Calls { tool, input, .. } => {
                match input.iter().find(|(key, _)| matches!(key.as_str(), "command" | "file_path" | "url")) {
                    Some((_, Value::String(text))) => format!("{tool}: {text}"),
                    _ => tool.clone(),
                }
            }
        }
    }
}
