//! One action of an agent, typed, with the facts that the host found out about it.
//!
//! These are the shapes of `wit/plugin/types.wit` on the host's side. The fields are documented
//! only there, since that is the file that plugin authors read. Nothing here decides anything.
#![allow(missing_docs, reason = "each item is documented in wit/plugin/types.wit")]

use crate::score::{Score, Verdict, named};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Milliseconds since 1970-01-01T00:00:00Z.
pub type Timestamp = u64;
/// Named text values.
pub type Attributes = Vec<(String, String)>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Action {
    pub id: String,
    pub step: u64,
    pub client: String,
    pub agent: Option<String>,
    pub tool: String,
    pub intent: Intent,
    pub operation: Operation,
    pub facts: Facts,
    pub parameters: String,
    pub outcome: Option<Outcome>,
    pub attributes: Attributes,
}

named! {
    Intent {
        FileRead => "file-read",
        FileCreation => "file-creation",
        FileModification => "file-modification",
        FileDeletion => "file-deletion",
        SystemCommand => "system-command",
        NetworkRequest => "network-request",
        Message => "message",
        Unknown => "unknown",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    Shell(Shell),
    File(FileOperation),
    Network(NetworkRequest),
    Message(Message),
    Tool(ToolCall),
    Other(String),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shell {
    pub text: String,
    pub commands: Vec<Command>,
    pub background: bool,
    pub timeout_ms: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Command {
    pub program: String,
    pub words: Vec<Word>,
    pub assignments: Attributes,
    pub redirections: Vec<Redirection>,
    pub wrappers: Vec<String>,
    pub origin: Origin,
    pub input_from: Option<u32>,
    pub start: u32,
    pub end: u32,
    pub privileged: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Word {
    pub text: String,
    pub known: bool,
    pub quoted: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    Plain,
    Substitution,
    Nested,
    FunctionBody,
    Other(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Redirection {
    pub descriptor: u32,
    pub direction: Direction,
    pub target: Word,
}

named! {
    Direction {
        Input => "input",
        Output => "output",
        Append => "append",
        Duplicate => "duplicate",
        Heredoc => "heredoc",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileOperation {
    pub access: Access,
    pub path: String,
    pub content: Option<String>,
    pub replaced: Option<String>,
    pub every: bool,
}

named! {
    Access {
        Read => "read",
        Create => "create",
        Modify => "modify",
        Delete => "delete",
        Search => "search",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkRequest {
    pub url: String,
    pub method: Option<String>,
    pub body: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub recipient: String,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub server: Option<String>,
    pub name: String,
    pub arguments: Attributes,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub at: Timestamp,
    pub status: Status,
    pub exit_code: Option<i32>,
    pub error: String,
    pub output: String,
    pub duration_ms: Option<u32>,
    pub bytes: u64,
    pub tokens: Option<u32>,
}

named! {
    Status {
        Pending => "pending",
        Ok => "ok",
        Failed => "failed",
        Refused => "refused",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    pub effects: Vec<Effect>,
    pub paths: Vec<Path>,
    pub hosts: Vec<String>,
    pub programs: Vec<String>,
    pub forms: Vec<Form>,
    pub shape: u64,
    pub identity: u64,
    pub coverage: Coverage,
    pub gaps: Vec<String>,
    /// Host limits that were exceeded, so part of the action was not examined. Plugins see them
    /// among the gaps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
}

impl Facts {
    /// Returns the facts of an action that is understood and does nothing.
    #[must_use]
    pub const fn nothing() -> Self {
        Self {
            effects: Vec::new(),
            paths: Vec::new(),
            hosts: Vec::new(),
            programs: Vec::new(),
            forms: Vec::new(),
            shape: 0,
            identity: 0,
            coverage: Coverage::Full,
            gaps: Vec::new(),
            limits: Vec::new(),
        }
    }
}

named! {
    Coverage {
        Full => "full",
        Partial => "partial",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    pub kind: EffectKind,
    pub target: String,
    pub path: Option<u32>,
    pub command: Option<u32>,
    pub recursive: bool,
    pub certain: bool,
}

impl Effect {
    /// Returns true if it counts against the limit of writes and deletions. What a program only may
    /// write does not: a test, a build or a commit names its folder, and nothing says that it
    /// writes there. A write without any target counts, and so does a pattern of names.
    #[must_use]
    pub fn counts_as_write(&self) -> bool {
        match self.kind {
            EffectKind::FileCreate | EffectKind::FileModify => {
                self.certain || self.target.is_empty() || self.target.contains('*')
            }
            _ => self.kind.changes_files(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EffectKind {
    FileRead,
    FileCreate,
    FileModify,
    FileDelete,
    ProcessStart,
    ProcessStop,
    Network,
    Send,
    Publish,
    RemoteChange,
    RemoteDelete,
    Discard,
    SystemChange,
    Persistence,
    Privilege,
    Evade,
    SecretRead,
    UnseenCode,
    ResourceUse,
    Other(String),
}

impl EffectKind {
    /// Returns the name used in records and messages.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::FileRead => "file-read",
            Self::FileCreate => "file-create",
            Self::FileModify => "file-modify",
            Self::FileDelete => "file-delete",
            Self::ProcessStart => "process-start",
            Self::ProcessStop => "process-stop",
            Self::Network => "network",
            Self::Send => "send",
            Self::Publish => "publish",
            Self::RemoteChange => "remote-change",
            Self::RemoteDelete => "remote-delete",
            Self::Discard => "discard",
            Self::SystemChange => "system-change",
            Self::Persistence => "persistence",
            Self::Privilege => "privilege",
            Self::Evade => "evade",
            Self::SecretRead => "secret-read",
            Self::UnseenCode => "unseen-code",
            Self::ResourceUse => "resource-use",
            Self::Other(name) => name,
        }
    }

    /// Returns true if it writes, creates or removes a file, or reverts a change to one.
    #[must_use]
    pub const fn changes_files(&self) -> bool {
        matches!(self, Self::FileCreate | Self::FileModify | Self::FileDelete | Self::Discard)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Path {
    pub text: String,
    pub glob: bool,
    pub scope: Scope,
    pub entry: Entry,
    pub link_target: Option<String>,
    pub git: GitState,
    pub restorable: bool,
}

named! {
    Scope {
        Inside => "inside",
        Scratch => "scratch",
        Outside => "outside",
        System => "system",
        Unknown => "unknown",
    }
}

named! {
    Entry {
        Absent => "absent",
        File => "file",
        Folder => "folder",
        Link => "link",
        Special => "special",
        Unknown => "unknown",
    }
}

named! {
    GitState {
        Clean => "clean",
        Changed => "changed",
        Untracked => "untracked",
        Ignored => "ignored",
        Unknown => "unknown",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Form {
    pub id: String,
    pub label: String,
    pub weight: Score,
    pub command: Option<u32>,
}

/// The shell reader's result for a command line (`wit/shell/shell.wit`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    pub commands: Vec<Command>,
    pub effects: Vec<Effect>,
    pub forms: Vec<Form>,
    pub hosts: Vec<String>,
    pub shape: String,
    pub coverage: Coverage,
    pub gaps: Vec<String>,
    #[serde(default)]
    pub files: crate::run_files::FileReading,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Context {
    pub session: String,
    pub now: Timestamp,
    pub cwd: String,
    pub roots: Vec<String>,
    pub goals: Vec<Goal>,
    pub limits: Vec<Limit>,
    pub repetition: Repetition,
    pub assessments: Vec<Assessed>,
    pub attributes: Attributes,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    pub text: String,
    pub at: Timestamp,
    pub priority: u8,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    pub quantity: Quantity,
    pub maximum: u64,
    pub used: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    FileOperations,
    Memory,
    Tokens,
    Time,
    BatchSize,
    Other(String),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repetition {
    pub failures: u32,
    pub successes: u32,
    pub seen: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assessed {
    pub plugin: String,
    pub risk: Option<Score>,
    pub rationality: Option<Score>,
    pub alignment: Option<Score>,
    pub verdict: Verdict,
    pub rules: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    pub steps: Vec<Step>,
    pub totals: Totals,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    pub index: u64,
    pub at: Timestamp,
    pub intent: Intent,
    pub verdict: Verdict,
    pub status: Status,
    pub shape: u64,
    pub identity: u64,
    pub error: u64,
    pub output: u64,
    pub risk: Score,
    /// The goal alignment; absent when it was not scored.
    #[serde(with = "scored")]
    pub alignment: Option<Score>,
    pub effects: u16,
    pub outside: u16,
    pub files: u16,
    pub prompt: u32,
    pub bytes: u64,
    pub tokens: u32,
    pub duration_ms: u32,
}

/// Encodes a score that may be absent as one number, the form that earlier states hold.
pub(crate) mod scored {
    use crate::score::Score;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Represents an absent score.
    const ABSENT: u16 = 1001;

    /// Returns the score's number.
    pub(crate) fn number(score: Option<Score>) -> u16 {
        score.map_or(ABSENT, Score::get)
    }

    /// Returns the score for a number: `Some(None)` for an absent score, `None` if the number is
    /// neither a score nor the mark of an absent one.
    pub(crate) fn score(number: u16) -> Option<Option<Score>> {
        if number == ABSENT { Some(None) } else { Score::from_thousandths(number).map(Some) }
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub(super) fn serialize<S: Serializer>(
        score: &Option<Score>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_u16(number(*score))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Score>, D::Error> {
        let number = u16::deserialize(deserializer)?;
        score(number)
            .ok_or_else(|| serde::de::Error::custom(format_args!("{number} is not a valid score")))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    pub steps: u64,
    pub warned: u64,
    pub modified: u64,
    pub asked: u64,
    pub blocked: u64,
    pub failed: u64,
    pub files: u64,
    pub bytes: u64,
    pub tokens: u64,
    pub duration_ms: u64,
    pub prompts: u32,
    pub interventions: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepDetail {
    pub tool: String,
    pub parameters: String,
    pub effects: Vec<Effect>,
    pub paths: Vec<Path>,
    pub outcome: Option<Outcome>,
}
