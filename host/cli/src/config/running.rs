//! What the files say of `portcullis run`. A command line goes before them, but not before the organisation's.

use super::{Holds, Value};

/// What `run` holds an agent to where its command line says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Running {
    /// Seconds of time.
    pub time_seconds: Limit,
    /// MiB of memory.
    pub memory_mb: Limit,
    /// Tokens.
    pub tokens: Limit,
    /// Processes at once.
    pub processes: Limit,
    /// MiB of output.
    pub output_mb: Limit,
    /// Seconds for an answer of the person.
    pub answer_seconds: Limit,
    /// Milliseconds between asking the processes to end and killing them.
    pub grace_ms: Limit,
    /// The agent is confined.
    pub confine: bool,
    /// The organisation says that it is.
    pub confine_held: bool,
    /// Further paths that a confined agent writes to; they may begin with `~/`.
    pub writable: Vec<String>,
    /// The organisation says which.
    pub writable_held: bool,
}

/// A number that less of is stricter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// What the files come to; none is no limit.
    pub value: Option<u64>,
    /// The most that the organisation lets anybody say.
    pub most: Option<u64>,
}

impl Holds<'_> {
    pub(super) fn running(&self) -> Running {
        let held = |path: &str| self.0.held.get(path);
        let number = |value: Value| if let Value::Integer(number) = value { u64::try_from(number).ok() } else { None };
        let limit = |path: &str| Limit { value: self.value(path).and_then(number), most: held(path).cloned().and_then(number) };
        Running {
            time_seconds: limit("run.time_seconds"),
            memory_mb: limit("run.memory_mb"),
            tokens: limit("run.tokens"),
            processes: limit("run.processes"),
            output_mb: limit("run.output_mb"),
            answer_seconds: limit("run.answer_seconds"),
            grace_ms: limit("run.grace_ms"),
            confine: self.flag("run.confine"),
            confine_held: held("run.confine") == Some(&Value::Flag(true)),
            writable: self.texts("run.writable"),
            writable_held: held("run.writable").is_some(),
        }
    }
}
