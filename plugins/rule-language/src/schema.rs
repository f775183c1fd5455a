//! The data that a condition can use: every name, its type, and its meaning.
//!
//! The table drives the check of names and types, the evaluation and the documentation.

use std::fmt;

/// The type of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `true` or `false`.
    Flag,
    /// A whole number.
    Number,
    /// Text.
    Text,
    /// One of these words, as text.
    Word(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// Texts by name.
    Map,
    /// A group of names.
    Record(Kind),
    /// A list of groups.
    Records(Kind),
}

/// The groups of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The action: the top-level names.
    Action,
    /// A simple command of a command line.
    Command,
    /// Something that the action does.
    Effect,
    /// A path that it touches.
    Path,
    /// A dangerous form that was recognised.
    Form,
    /// The action's surroundings.
    Context,
    /// The actions before it.
    History,
}

/// One name.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name.
    pub name: &'static str,
    /// Its type.
    pub kind: Type,
    /// Its meaning, in one line.
    pub about: &'static str,
}

const fn field(name: &'static str, kind: Type, about: &'static str) -> Field {
    Field { name, kind, about }
}

const INTENTS: &[&str] = &[
    "file-read",
    "file-creation",
    "file-modification",
    "file-deletion",
    "system-command",
    "network-request",
    "message",
    "unknown",
];
const ACCESSES: &[&str] = &["", "read", "create", "modify", "delete", "search"];
/// The possible kinds of an effect; a plugin's own would appear as `other`, so the list is
/// complete.
pub const EFFECTS: &[&str] = &[
    "file-read",
    "file-create",
    "file-modify",
    "file-delete",
    "process-start",
    "process-stop",
    "network",
    "send",
    "publish",
    "remote-change",
    "remote-delete",
    "system-change",
    "persistence",
    "privilege",
    "secret-read",
    "unseen-code",
    "discard",
    "evade",
    "resource-use",
    "other",
];
const SCOPES: &[&str] = &["inside", "scratch", "outside", "system", "unknown"];
const ENTRIES: &[&str] = &["absent", "file", "folder", "link", "special", "unknown"];
const GIT: &[&str] = &["clean", "changed", "untracked", "ignored", "unknown"];
const ORIGINS: &[&str] = &["plain", "substitution", "nested", "function-body", "other"];
const COVERAGES: &[&str] = &["full", "partial"];

const ACTION: &[Field] = &[
    field(
        "tool",
        Type::Text,
        "the tool as the client names it: `Bash`, `Write`, `mcp__files__write`",
    ),
    field("intent", Type::Word(INTENTS), "what the action is for"),
    field("agent", Type::Text, "the subagent that acts; empty for the main agent"),
    field("command", Type::Text, "the command line as received; empty for other tools"),
    field(
        "commands",
        Type::Records(Kind::Command),
        "each simple command in it, also those inside `sh -c`, `$(...)`, `sudo`",
    ),
    field("programs", Type::Texts, "each program that it starts, once, without its folder"),
    field("program", Type::Text, "the first of them; empty when there is none"),
    field("effects", Type::Records(Kind::Effect), "what it does, as far as is known"),
    field("paths", Type::Records(Kind::Path), "each path that it touches, once"),
    field("path", Type::Text, "the first of them, absolute; empty when there is none"),
    field("hosts", Type::Texts, "each host that it contacts, lower case, without a port"),
    field("host", Type::Text, "the first of them; empty when there is none"),
    field("forms", Type::Records(Kind::Form), "dangerous forms that were recognised"),
    field(
        "access",
        Type::Word(ACCESSES),
        "what a file tool does with its path; empty for other tools",
    ),
    field("content", Type::Text, "the text that a file tool writes; empty for other tools"),
    field("replaced", Type::Text, "the text that an edit replaces"),
    field("url", Type::Text, "the address that the client itself requests"),
    field("message", Type::Text, "the text of a message to a person or a subagent"),
    field("server", Type::Text, "the MCP server of the tool; empty for other tools"),
    field(
        "arguments",
        Type::Map,
        "the parameters of a tool that has no type of its own; values that are not text are given as JSON",
    ),
    field("parameters", Type::Text, "all parameters as one JSON text"),
    field("background", Type::Flag, "the command is to run in the background"),
    field("coverage", Type::Word(COVERAGES), "whether all of the action was understood"),
    field("gaps", Type::Texts, "a description of each part that was not understood"),
    field("context", Type::Record(Kind::Context), "what surrounds the action"),
    field("history", Type::Record(Kind::History), "what came before it in the session"),
];
const COMMAND: &[Field] = &[
    field(
        "program",
        Type::Text,
        "its program without the folder; empty when it is known only at run time",
    ),
    field(
        "words",
        Type::Texts,
        "the words after the program, quotes removed and known variables filled in",
    ),
    field("operands", Type::Texts, "those of its words that are not flags"),
    field("line", Type::Text, "program and words, one space between"),
    field(
        "wrappers",
        Type::Texts,
        "the programs that start it, outermost first: `sudo`, `env`, `xargs`",
    ),
    field("privileged", Type::Flag, "it runs with elevated privileges"),
    field("origin", Type::Word(ORIGINS), "how it is started"),
    field("known", Type::Flag, "program and words are fully known before it runs"),
    field("targets", Type::Texts, "files that its output is redirected to, as written"),
    field("assignments", Type::Map, "variables that are set for it alone"),
];
const EFFECT: &[Field] = &[
    field("kind", Type::Word(EFFECTS), "what it does"),
    field(
        "target",
        Type::Text,
        "to what: a path, a host, a process, a service; empty when not known",
    ),
    field("recursive", Type::Flag, "to everything below the target too"),
    field("certain", Type::Flag, "the target is fully known"),
    field("program", Type::Text, "the program that does it; empty when it is not a command"),
    field("scope", Type::Word(SCOPES), "where its path is; `unknown` when it has none"),
];
const PATH: &[Field] = &[
    field("text", Type::Text, "the path, absolute and normalised"),
    field("name", Type::Text, "its last part"),
    field("scope", Type::Word(SCOPES), "where it is"),
    field("entry", Type::Word(ENTRIES), "what is there"),
    field("git", Type::Word(GIT), "its state in git"),
    field("restorable", Type::Flag, "what it holds can be restored"),
    field("pattern", Type::Flag, "it holds a glob that the shell expands"),
    field("link", Type::Text, "where it leads when it is, or goes through, a link"),
];
const FORM: &[Field] = &[
    field("id", Type::Text, "its stable name"),
    field("label", Type::Text, "its description"),
    field("weight", Type::Number, "what it adds to the risk, in thousandths"),
];
const CONTEXT: &[Field] = &[
    field("cwd", Type::Text, "the folder that the action runs in"),
    field("roots", Type::Texts, "the project's folders"),
    field("home", Type::Text, "the person's home folder; empty where it is not known"),
    field("goals", Type::Texts, "what the person asked for, newest last"),
    field("mode", Type::Text, "the client's permission mode, where it says so"),
    field("session", Type::Text, "the session's id"),
    field("now", Type::Number, "when the action was received, in milliseconds since 1970"),
];
const HISTORY: &[Field] = &[
    field("step", Type::Number, "how many actions came before in this history"),
    field("seen", Type::Number, "how many of them had this shape: tool, programs and flags"),
    field("failures", Type::Number, "how many of this shape failed since one went well"),
    field("successes", Type::Number, "how often this exact action went well"),
    field("file_operations", Type::Number, "writes and deletions since the last prompt"),
    field("file_operations_left", Type::Number, "how many are left until the limit"),
];

impl Kind {
    /// All groups, in the order of the documentation.
    pub const ALL: &'static [Self] = &[
        Self::Action,
        Self::Command,
        Self::Effect,
        Self::Path,
        Self::Form,
        Self::Context,
        Self::History,
    ];

    /// Returns its names.
    #[must_use]
    pub const fn fields(self) -> &'static [Field] {
        match self {
            Self::Action => ACTION,
            Self::Command => COMMAND,
            Self::Effect => EFFECT,
            Self::Path => PATH,
            Self::Form => FORM,
            Self::Context => CONTEXT,
            Self::History => HISTORY,
        }
    }

    /// Returns the name with its article, for messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Action => "an action",
            Self::Command => "a command",
            Self::Effect => "an effect",
            Self::Path => "a path",
            Self::Form => "a form",
            Self::Context => "the context",
            Self::History => "the history",
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("bool"),
            Self::Number => f.write_str("int"),
            Self::Text => f.write_str("string"),
            Self::Word(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
                write!(f, "one of {}", quoted.join(", ").replace("``", "`\"\"`"))
            }
            Self::Texts => f.write_str("list of strings"),
            Self::Map => f.write_str("map of strings"),
            Self::Record(kind) => write!(f, "{}", kind.as_str()),
            Self::Records(kind) => {
                write!(f, "list of {}s", kind.as_str().rsplit(' ').next().unwrap_or_default())
            }
        }
    }
}
