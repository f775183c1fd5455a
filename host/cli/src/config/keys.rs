//! Every key of the configuration, as data.
//!
//! The table drives all that knows keys: strict reading, errors, layers, `config show`, the JSON schema
//! and the tables of the documentation. What a value means is not known here; the defaults are the core's.

use portcullis_core::policy::Policy;
use portcullis_engine::SettingValue as Value;
use std::sync::LazyLock;

/// One key.
#[derive(Debug)]
pub struct Key {
    /// Where it stands: tables with dots between; `*` is any name, a last `**` any names below.
    pub path: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// What it is when nobody says anything; none where it then is not there at all.
    pub default: fn() -> Option<Value>,
    /// What the documentation says in place of a default that is not one value.
    pub default_told: &'static str,
    /// What of it counts in a project's file.
    pub project: Project,
    /// In one line.
    pub doc: &'static str,
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Any of these words.
    Choices(&'static [&'static str]),
    /// Yes or no.
    Flag,
    /// A whole number from here to there.
    Integer(i64, i64),
    /// Any text.
    Text,
    /// A path; a relative one begins at the file's folder.
    Path,
    /// Paths that begin with `/` or `~/`.
    Paths,
    /// Globs of folders that begin with `/` or `~/`.
    Globs,
    /// A plugin's own setting: text, a number, yes or no, a list of texts.
    Setting,
}

/// What of a key counts in a project's file that nobody trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Project {
    /// Nothing.
    Trust,
    /// Nothing, with trust neither: it holds for the whole installation.
    Never,
    /// A smaller number.
    Least,
    /// `true`.
    True,
    /// `true` for a builtin plugin.
    TrueIfBuiltin,
    /// This word.
    Word(&'static str),
    /// What it adds.
    Union,
    /// What lies in both.
    Intersection,
}

/// The table of all pipelines, which are tables of keys themselves.
pub const PIPELINES: &str = "pipelines";
/// What a pipeline has beside the other keys.
pub const PROJECTS: &str = "projects";

/// Every key, in the order of the documentation.
pub static KEYS: &[Key] = &[
    Key {
        path: "mode",
        kind: Kind::Choice(&["blocking", "observe"]),
        default: || text(DEFAULT.mode.as_str()),
        default_told: "",
        project: Project::Trust,
        doc: "`\"observe\"` records what would have been decided and carries nothing out",
    },
    Key {
        path: "durability",
        kind: Kind::Choice(&["process", "full"]),
        default: || text("process"),
        default_told: "",
        project: Project::Word("full"),
        doc: "a record survives `kill -9`; with `\"full\"` it survives power loss too",
    },
    Key {
        path: "plugins_dir",
        kind: Kind::Path,
        default: || text("plugins"),
        default_told: "",
        project: Project::Trust,
        doc: "each `NAME.wasm` in it is loaded; relative to the folder of the file that says it",
    },
    Key {
        path: "hold_settings",
        kind: Kind::Flag,
        default: || Some(Value::Flag(DEFAULT.hold_settings)),
        default_told: "",
        project: Project::True,
        doc: "a change of the client's settings waits for the next session",
    },
    Key {
        path: "scope.folders",
        kind: Kind::Paths,
        default: || Some(Value::Texts(DEFAULT.scope.folders.clone())),
        default_told: "",
        project: Project::Trust,
        doc: "folders, beside the project, that the agent is expected to work in",
    },
    Key {
        path: "scope.scratch",
        kind: Kind::Paths,
        default: || Some(Value::Texts(DEFAULT.scope.scratch.clone())),
        default_told: "`/tmp`, `/var/tmp`, `~/.cache`, build caches",
        project: Project::Intersection,
        doc: "temporary folders and build caches",
    },
    Key {
        path: "limits.file_operations",
        kind: Kind::Integer(1, MOST_COUNT),
        default: || number(DEFAULT.limits.file_operations),
        default_told: "",
        project: Project::Least,
        doc: "writes and deletions for a prompt",
    },
    Key {
        path: "interventions.strategy",
        kind: Kind::Choice(&["progressive", "pattern_specific"]),
        default: || text(DEFAULT.interventions.strategy.as_str()),
        default_told: "",
        project: Project::Trust,
        doc: "`\"pattern_specific\"` goes straight to the answer for the severity",
    },
    Key {
        path: "interventions.disabled",
        kind: Kind::Choices(&["soft_correction", "context_reinforcement", "resource_throttling", "checkpoint_rollback", "emergency_stop"]),
        default: || Some(Value::Texts(DEFAULT.interventions.disabled.clone())),
        default_told: "",
        project: Project::Trust,
        doc: "interventions that are switched off",
    },
    Key {
        path: "interventions.most",
        kind: Kind::Integer(0, MOST_COUNT),
        default: || number(DEFAULT.interventions.most.into()),
        default_told: "",
        project: Project::Trust,
        doc: "for a session; past it guidance falls silent, stops do not",
    },
    Key {
        path: "interventions.cooldown_seconds",
        kind: Kind::Integer(0, MOST_COUNT),
        default: || number(DEFAULT.interventions.cooldown_ms / 1000),
        default_told: "",
        project: Project::Trust,
        doc: "between two pieces of guidance",
    },
    Key {
        path: "interventions.escalation_delay_seconds",
        kind: Kind::Integer(0, MOST_COUNT),
        default: || number(DEFAULT.interventions.escalation_delay_ms / 1000),
        default_told: "",
        project: Project::Trust,
        doc: "before an issue that comes back escalates, unless the steps pass first",
    },
    Key {
        path: "interventions.escalation_delay_steps",
        kind: Kind::Integer(0, MOST_COUNT),
        default: || number(DEFAULT.interventions.escalation_delay_steps),
        default_told: "",
        project: Project::Trust,
        doc: "before an issue that comes back escalates, unless the seconds pass first",
    },
    Key {
        path: "interventions.templates.*",
        kind: Kind::Text,
        default: || None,
        default_told: "",
        project: Project::Trust,
        doc: "your wording for an issue, by the issue's name",
    },
    Key {
        path: "mask.personal",
        kind: Kind::Choices(&["email", "payment-card"]),
        default: || Some(Value::Texts(DEFAULT.personal_data.iter().map(ToString::to_string).collect())),
        default_told: "",
        project: Project::Union,
        doc: "personal data that is masked beside secrets",
    },
    Key {
        path: "audit.retention_days",
        kind: Kind::Integer(0, 36_500),
        default: || number(30),
        default_told: "",
        project: Project::Never,
        doc: "records that are older are removed from the journal; 0 keeps all",
    },
    Key {
        path: "audit.anchors",
        kind: Kind::Paths,
        default: || Some(Value::Texts(Vec::new())),
        default_told: "",
        project: Project::Never,
        doc: "files, best where the agent cannot write, that get the journal's head",
    },
    Key {
        path: "plugins.*.enabled",
        kind: Kind::Flag,
        default: || Some(Value::Flag(true)),
        default_told: "",
        project: Project::TrueIfBuiltin,
        doc: "whether the plugin of that name is loaded",
    },
    Key {
        path: "plugins.*.on_fault",
        kind: Kind::Choice(&["warn", "ask", "block"]),
        default: || None,
        default_told: "`\"block\"` builtin, `\"ask\"` others",
        project: Project::Trust,
        doc: "what an action gets at least when the plugin fails on it",
    },
    Key {
        path: "plugins.*.settings.**",
        kind: Kind::Setting,
        default: || None,
        default_told: "",
        project: Project::Trust,
        doc: "the plugin's own settings, checked by it",
    },
    Key {
        path: "pipelines.*.projects",
        kind: Kind::Globs,
        default: || None,
        default_told: "",
        project: Project::Trust,
        doc: "folders of the projects for which the keys beside it replace the file's others",
    },
];

/// What holds when nobody says anything, made once: each of the closures above is called in each hook.
static DEFAULT: LazyLock<Policy> = LazyLock::new(Policy::default);

/// More of anything is a slip of the pen.
const MOST_COUNT: i64 = 1_000_000_000;

/// The key of that path, which stands in the table as it is written here.
pub fn named(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

/// What stands at a path of the file.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    /// A value of this key.
    Key(&'static Key),
    /// A table with keys in it.
    Table,
    /// Nothing that anybody knows.
    Nothing,
}

/// Finds what stands at a path.
pub fn find(path: &[String]) -> Found {
    let mut inside = false;
    for key in KEYS {
        match fits(key.path, path) {
            Fit::Whole => return Found::Key(key),
            Fit::Beginning => inside = true,
            Fit::No => {}
        }
    }
    if inside { Found::Table } else { Found::Nothing }
}

#[derive(PartialEq)]
enum Fit {
    Whole,
    Beginning,
    No,
}

fn fits(pattern: &str, path: &[String]) -> Fit {
    let mut wanted = pattern.split('.');
    for part in path {
        match wanted.next() {
            Some("**") => return Fit::Whole,
            Some("*") => {}
            Some(name) if name == part => {}
            _ => return Fit::No,
        }
    }
    if wanted.next().is_none() { Fit::Whole } else { Fit::Beginning }
}

/// Whether everything in a table holds for the whole installation.
pub fn is_global(table: &[String]) -> bool {
    let mut keys = KEYS.iter().filter(|key| fits(key.path, table) != Fit::No).peekable();
    keys.peek().is_some() && keys.all(Key::is_global)
}

/// The names that may stand directly below a path, sorted; none where any name may.
pub fn below(path: &[String]) -> Vec<&'static str> {
    let mut names: Vec<&str> = KEYS
        .iter()
        .filter(|key| path.is_empty() || fits(key.path, path) == Fit::Beginning)
        .filter_map(|key| key.path.split('.').nth(path.len()))
        .filter(|name| !name.starts_with('*'))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

impl Key {
    /// Whether it holds for the whole installation: then no project changes it, and no pipeline.
    pub fn is_global(&self) -> bool {
        self.project == Project::Never
    }

    /// The default as it would stand in the file, for people.
    pub fn default_in_words(&self) -> String {
        if !self.default_told.is_empty() {
            return self.default_told.to_owned();
        }
        (self.default)().map(|value| format!("`{}`", toml_text(&value))).unwrap_or_default()
    }
}

impl Kind {
    /// What a value has to be, to complete "it must be".
    pub fn in_words(self) -> String {
        let listed = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        match self {
            Self::Choice(words) => format!("one of {}", listed(words)),
            Self::Choices(words) => format!("a list of {}", listed(words)),
            Self::Flag => "`true` or `false`".into(),
            Self::Integer(least, most) => format!("a whole number from {least} to {most}"),
            Self::Text => "text".into(),
            Self::Path => "the path of a folder".into(),
            Self::Paths => "a list of paths that begin with `/` or `~/`".into(),
            Self::Globs => "a list of globs that begin with `/` or `~/`".into(),
            Self::Setting => "text, a finite number, `true`, `false` or a list of texts".into(),
        }
    }
}

impl Project {
    /// What counts without trust, for the documentation.
    pub fn in_words(self) -> String {
        match self {
            Self::Trust => "needs trust".into(),
            Self::Never => "does not count".into(),
            Self::Least => "the smaller number counts".into(),
            Self::True => "`true` counts".into(),
            Self::TrueIfBuiltin => "`true` counts for a builtin plugin".into(),
            Self::Word(word) => format!("`\"{word}\"` counts"),
            Self::Union => "what it adds counts".into(),
            Self::Intersection => "what lies in both counts".into(),
        }
    }
}

/// A value as TOML would have it, on one line.
pub fn toml_text(value: &Value) -> String {
    match value {
        Value::Text(text) => toml::Value::String(text.clone()).to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Decimal(number) => toml::Value::Float(*number).to_string(),
        Value::Flag(flag) => flag.to_string(),
        Value::Texts(texts) => {
            let texts: Vec<String> = texts.iter().map(|text| toml::Value::String(text.clone()).to_string()).collect();
            format!("[{}]", texts.join(", "))
        }
    }
}

fn text(text: &str) -> Option<Value> {
    Some(Value::Text(text.to_owned()))
}

fn number(number: u64) -> Option<Value> {
    i64::try_from(number).ok().map(Value::Integer)
}
