//! The settings of `portcullis run` in files. A command line takes precedence over them, except
//! over the organisation's.

use super::Value;
use crate::values::EffectiveValues;

/// The limits that `run` sets for an agent by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunDefaults {
    /// The wall time, in seconds.
    pub time_seconds: LimitDefault,
    /// The memory, in MiB.
    pub memory_mb: LimitDefault,
    /// The number of tokens.
    pub tokens: LimitDefault,
    /// The number of simultaneous processes.
    pub processes: LimitDefault,
    /// The output, in MiB.
    pub output_mb: LimitDefault,
    /// The time for a person's answer, in seconds.
    pub answer_seconds: LimitDefault,
    /// The time between asking the processes to end and killing them, in milliseconds.
    pub grace_ms: LimitDefault,
    /// True if the agent is confined.
    pub confine: bool,
    /// True if the organisation sets `confine`.
    pub confine_held: bool,
    /// Additional paths that a confined agent may write to; they may begin with `~/`.
    pub writable: Vec<String>,
    /// True if the organisation sets `writable`.
    pub writable_held: bool,
}

/// A number for which less is stricter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitDefault {
    /// The value in the files; `None` means no limit.
    pub value: Option<u64>,
    /// The maximum that the organisation allows.
    pub most: Option<u64>,
}

impl EffectiveValues<'_> {
    pub(super) fn running(&self) -> RunDefaults {
        let held = |path: &str| self.0.held.get(path);
        let number = |value: Value| {
            if let Value::Integer(number) = value { u64::try_from(number).ok() } else { None }
        };
        let limit = |path: &str| LimitDefault {
            value: self.value(path).and_then(number),
            most: held(path).cloned().and_then(number),
        };
        RunDefaults {
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
