//! Keys for the judgement of actions: mode, scores, scope, limits.

use super::defaults::{DEFAULT, MOST_COUNT, number, score, text};
use super::{ConfigKey, ProjectScope, Value, ValueKind};

/// The names of the profiles, from the mildest to the strictest. The second is the default, and
/// sets nothing.
pub const PROFILE_NAMES: &[&str] = &["relaxed", "balanced", "strict"];

pub(super) const KEYS: &[ConfigKey] = &[
    ConfigKey {
        path: "mode",
        kind: ValueKind::Choice(&["blocking", "async", "observe"]),
        default: || text(DEFAULT.mode.as_str()),
        default_text: "",
        project: ProjectScope::Trust,
        doc: "`\"observe\"` records what would have been decided and carries nothing out; \
             `\"async\"` answers small risks first in `replay` and `eval`, elsewhere it is \
             `\"blocking\"`",
    },
    ConfigKey {
        path: "profile",
        kind: ValueKind::Choice(PROFILE_NAMES),
        default: || text("balanced"),
        default_text: "",
        project: ProjectScope::Owner,
        doc: "a set of values in place of the defaults (`portcullis config show --profile NAME`): \
             `\"relaxed\"` objects less, `\"strict\"` more; keys that you set take precedence",
    },
    ConfigKey {
        path: "reviewer.enabled",
        kind: ValueKind::Flag,
        default: || Some(Value::Flag(true)),
        default_text: "",
        project: ProjectScope::Owner,
        doc: "with `false` nothing is reviewed: the agent's actions are recorded as unreviewed, \
             and each session start says so",
    },
    ConfigKey {
        path: "reviewer.first_time",
        kind: ValueKind::Flag,
        default: || Some(Value::Flag(DEFAULT.decision.first_time)),
        default_text: "",
        project: ProjectScope::False,
        doc: "a warning about the first action of its kind in a session is a note for you, not for the agent",
    },
    ConfigKey {
        path: "risk.negligible",
        kind: ValueKind::Score,
        default: || score(DEFAULT.decision.risk.negligible),
        default_text: "",
        project: ProjectScope::Least,
        doc: "below it an action is allowed unless a rule, a pattern or a fault objects",
    },
    ConfigKey {
        path: "risk.medium",
        kind: ValueKind::Score,
        default: || score(DEFAULT.decision.risk.medium),
        default_text: "",
        project: ProjectScope::Least,
        doc: "from here risk is medium",
    },
    ConfigKey {
        path: "risk.high",
        kind: ValueKind::Score,
        default: || score(DEFAULT.decision.risk.high),
        default_text: "",
        project: ProjectScope::Least,
        doc: "from here risk is high",
    },
    ConfigKey {
        path: "risk.critical",
        kind: ValueKind::Score,
        default: || score(DEFAULT.decision.risk.critical),
        default_text: "",
        project: ProjectScope::Least,
        doc: "from here risk is critical",
    },
    ConfigKey {
        path: "risk.named",
        kind: ValueKind::Score,
        default: || score(DEFAULT.decision.risk.named),
        default_text: "",
        project: ProjectScope::Least,
        doc: "above it the risk is among the reasons",
    },
    ConfigKey {
        path: "rationality.high",
        kind: ValueKind::Score,
        default: || score(DEFAULT.decision.rationality.high),
        default_text: "",
        project: ProjectScope::Most,
        doc: "from here rationality is high",
    },
    ConfigKey {
        path: "rationality.medium",
        kind: ValueKind::Score,
        default: || score(DEFAULT.decision.rationality.medium),
        default_text: "",
        project: ProjectScope::Most,
        doc: "from here rationality is medium; below it its issues are among the reasons",
    },
    ConfigKey {
        path: "rationality.low",
        kind: ValueKind::Score,
        default: || score(DEFAULT.decision.rationality.low),
        default_text: "",
        project: ProjectScope::Most,
        doc: "below it the reasons give the score too",
    },
    ConfigKey {
        path: "durability",
        kind: ValueKind::Choice(&["process", "full"]),
        default: || text("process"),
        default_text: "",
        project: ProjectScope::Word("full"),
        doc: "a record survives `kill -9`; with `\"full\"` it survives power loss too",
    },
    ConfigKey {
        path: "plugins_dir",
        kind: ValueKind::Path,
        default: || text("plugins"),
        default_text: "",
        project: ProjectScope::Trust,
        doc: "each `NAME.wasm` in it is loaded; relative to the folder of the file that sets it",
    },
    ConfigKey {
        path: "hold_settings",
        kind: ValueKind::Flag,
        default: || Some(Value::Flag(DEFAULT.hold_settings)),
        default_text: "",
        project: ProjectScope::True,
        doc: "a change of the client's settings waits for the next session",
    },
    ConfigKey {
        path: "scope.folders",
        kind: ValueKind::Paths,
        default: || Some(Value::Texts(DEFAULT.scope.folders.clone())),
        default_text: "",
        project: ProjectScope::Trust,
        doc: "folders, besides the project, that the agent is expected to work in",
    },
    ConfigKey {
        path: "scope.paths",
        kind: ValueKind::PathGlobs,
        default: || Some(Value::Texts(DEFAULT.scope.paths.clone())),
        default_text: "",
        project: ProjectScope::Within,
        doc: "globs of what the agent is expected to touch, in place of everything in the project \
             and in `scope.folders`",
    },
    ConfigKey {
        path: "scope.scratch",
        kind: ValueKind::Paths,
        default: || Some(Value::Texts(DEFAULT.scope.scratch.clone())),
        default_text: "`/tmp`, `/var/tmp`, `~/.cache`, build caches",
        project: ProjectScope::Intersection,
        doc: "temporary folders and build caches",
    },
    ConfigKey {
        path: "limits.file_operations",
        kind: ValueKind::Integer(1, MOST_COUNT),
        default: || number(DEFAULT.limits.file_operations),
        default_text: "",
        project: ProjectScope::Least,
        doc: "writes and deletions for a prompt; what a program only may write, such as a test, a \
             build or a commit, does not count",
    },
    ConfigKey {
        path: "limits.memory_mb",
        kind: ValueKind::Integer(1, MOST_COUNT),
        default: || number(DEFAULT.limits.memory_mb),
        default_text: "",
        project: ProjectScope::Least,
        doc: "megabytes of memory of the agent's processes at once",
    },
    ConfigKey {
        path: "limits.execution_time_seconds",
        kind: ValueKind::Integer(1, MOST_COUNT),
        default: || number(DEFAULT.limits.execution_time_seconds),
        default_text: "",
        project: ProjectScope::Least,
        doc: "seconds for a prompt, without those in which you were waited for",
    },
    ConfigKey {
        path: "limits.token_usage",
        kind: ValueKind::Integer(1, MOST_COUNT),
        default: || number(DEFAULT.limits.token_usage),
        default_text: "",
        project: ProjectScope::Least,
        doc: "tokens for a prompt, without those that were read from the cache",
    },
    ConfigKey {
        path: "limits.processes",
        kind: ValueKind::Integer(1, MOST_COUNT),
        default: || number(DEFAULT.limits.processes),
        default_text: "",
        project: ProjectScope::Least,
        doc: "processes of the agent at once",
    },
    ConfigKey {
        path: "limits.output_mb",
        kind: ValueKind::Integer(1, MOST_COUNT),
        default: || number(DEFAULT.limits.output_mb),
        default_text: "",
        project: ProjectScope::Least,
        doc: "megabytes of tool results for a prompt",
    },
];
