//! The types exchanged between the host and a plugin of any kind.
//!
//! The records and variants are those of `wit/plugin/types.wit`, documented there field by field;
//! here they get the constructors and questions that plugins need most. Nothing here decides.

pub use crate::bindings::types::*;

/// ```
/// use portcullis_plugin::types::Evidence;
///
/// assert_eq!(Evidence::new("count", "3").kind, "count");
/// assert_eq!(Evidence::path("/project/a.txt").at_step(4).step, Some(4));
/// let kinds = [Evidence::path("a"), Evidence::command("ls"), Evidence::host("example.org"), Evidence::error("no such file")];
/// assert_eq!(kinds.map(|evidence| evidence.kind), ["path", "command", "host", "error"]);
/// ```
impl Evidence {
    /// Returns evidence for a finding; `kind` names the type of the value.
    #[must_use]
    pub fn new(kind: &str, value: impl Into<String>) -> Self {
        Self { kind: kind.into(), value: value.into(), step: None }
    }

    /// Returns a path as evidence.
    #[must_use]
    pub fn path(path: impl Into<String>) -> Self {
        Self::new("path", path)
    }

    /// Returns a command as evidence.
    #[must_use]
    pub fn command(command: impl Into<String>) -> Self {
        Self::new("command", command)
    }

    /// Returns a host as evidence.
    #[must_use]
    pub fn host(host: impl Into<String>) -> Self {
        Self::new("host", host)
    }

    /// Returns an error's text as evidence.
    #[must_use]
    pub fn error(error: impl Into<String>) -> Self {
        Self::new("error", error)
    }

    /// Sets the step that it belongs to.
    #[must_use]
    pub fn at_step(self, step: u64) -> Self {
        Self { step: Some(step), ..self }
    }
}

/// ```
/// use portcullis_plugin::types::Error;
///
/// assert_eq!(Error::setting("most", "should be from 1 to 10").message(), "setting `most`: should be from 1 to 10");
/// assert_eq!(Error::input("`state` is not what this plugin writes").message(), "`state` is not what this plugin writes");
/// assert_eq!(Error::failed("there is no goal").message(), "there is no goal");
/// ```
impl Error {
    /// Returns the error for a setting that cannot be used; `reason` names the problem and the
    /// correct value.
    #[must_use]
    pub fn setting(key: &str, reason: &str) -> Self {
        Self::InvalidSetting(SettingError { key: key.into(), reason: reason.into() })
    }

    /// Returns the error for a `prepared` or `state` that this plugin did not write.
    #[must_use]
    pub fn input(reason: &str) -> Self {
        Self::InvalidInput(reason.into())
    }

    /// Returns the error for any other failure.
    #[must_use]
    pub fn failed(reason: &str) -> Self {
        Self::Failed(reason.into())
    }

    /// Returns the error in one line.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::InvalidSetting(error) => format!("setting `{}`: {}", error.key, error.reason),
            Self::InvalidInput(reason) | Self::Failed(reason) => reason.clone(),
        }
    }
}

/// ```
/// use portcullis_plugin::types::{Setting, SettingValue};
///
/// assert!(matches!(Setting::new("most", 3).value, SettingValue::Integer(3)));
/// assert!(matches!(Setting::new("folders", ["src"]).value, SettingValue::Texts(_)));
/// ```
impl Setting {
    /// Returns a setting with its value.
    #[must_use]
    pub fn new(key: &str, value: impl Into<SettingValue>) -> Self {
        Self { key: key.into(), value: value.into() }
    }
}

impl SettingValue {
    /// Returns the type with its article, for messages.
    pub(crate) const fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Integer(_) => "an integer",
            Self::Decimal(_) => "a decimal",
            Self::Flag(_) => "a flag",
            Self::Texts(_) => "a list of texts",
        }
    }
}

macro_rules! from_value {
    ($($from:ty => $case:ident,)+) => {
        $(impl From<$from> for SettingValue {
            fn from(value: $from) -> Self {
                Self::$case(value.into())
            }
        })+
    };
}
from_value! { &str => Text, String => Text, i64 => Integer, i32 => Integer, f64 => Decimal, bool => Flag, Vec<String> => Texts, }

impl<const N: usize> From<[&str; N]> for SettingValue {
    fn from(values: [&str; N]) -> Self {
        Self::Texts(values.into_iter().map(str::to_owned).collect())
    }
}

/// ```
/// use portcullis_plugin::testing::{self, BuildAction};
///
/// let action = testing::shell("sort a.txt > b.txt").reads("a.txt").modifies("b.txt");
/// assert!(action.shell().is_some() && action.file().is_none());
/// assert_eq!(action.touched().count(), 2);
/// assert_eq!(action.changed().map(|path| path.text.as_str()).collect::<Vec<_>>(), ["/project/b.txt"]);
/// ```
impl Action {
    /// Returns the shell command line, if it is one.
    #[must_use]
    pub const fn shell(&self) -> Option<&Shell> {
        if let Operation::Shell(shell) = &self.operation { Some(shell) } else { None }
    }

    /// Returns the file tool's parameters, if it is one.
    #[must_use]
    pub const fn file(&self) -> Option<&FileOperation> {
        if let Operation::File(file) = &self.operation { Some(file) } else { None }
    }

    /// Returns every path that it touches, with the effect on it.
    pub fn touched(&self) -> impl Iterator<Item = (&EffectKind, &Path)> {
        self.facts
            .effects
            .iter()
            .filter_map(|effect| Some((&effect.kind, self.facts.path(effect)?)))
    }

    /// Returns every path that it writes, makes or removes.
    pub fn changed(&self) -> impl Iterator<Item = &Path> {
        self.touched().filter(|(kind, _)| kind.changes_files()).map(|(_, path)| path)
    }
}

impl<N: Into<String>, V: Into<String>> From<(N, V)> for Attribute {
    fn from((name, value): (N, V)) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

/// ```
/// use portcullis_plugin::testing;
///
/// let mut context = testing::context();
/// assert_eq!(context.home(), "");
/// context.attributes.push(("home", "/home/user").into());
/// assert_eq!(context.home(), "/home/user");
/// assert_eq!(context.prompt(), None);
/// context.attributes.push(("prompt", "3").into());
/// assert_eq!((context.prompt(), context.attribute("due-kind")), (Some(3), None));
/// ```
impl Context {
    /// Returns the value of an attribute; `None` if the host has none of that name, as older ones may.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|attribute| attribute.name == name)
            .map(|attribute| attribute.value.as_str())
    }

    /// Returns the person's home folder, absolute; empty if the host does not know it.
    #[must_use]
    pub fn home(&self) -> &str {
        self.attribute("home").unwrap_or_default()
    }

    /// Returns the number of the person's prompts so far; `None` if the host does not say it.
    #[must_use]
    pub fn prompt(&self) -> Option<u32> {
        self.attribute("prompt")?.parse().ok()
    }
}

/// ```
/// use portcullis_plugin::testing::{self, BuildAction};
///
/// let facts = testing::shell("rm a.txt").deletes("a.txt").contacts("example.org").facts;
/// assert_eq!(facts.path(&facts.effects[0]).map(|path| path.text.as_str()), Some("/project/a.txt"));
/// assert!(facts.path(&facts.effects[1]).is_none());
/// ```
impl Facts {
    /// Returns the path that an effect belongs to.
    #[must_use]
    pub fn path(&self, effect: &Effect) -> Option<&Path> {
        self.paths.get(usize::try_from(effect.path?).ok()?)
    }
}

/// ```
/// use portcullis_plugin::testing;
///
/// let action = testing::shell("rm -rf --one-file-system=yes a -- -b");
/// let command = &action.shell().unwrap().commands[0];
/// assert!(command.has_flag(Some('r'), "recursive") && command.has_flag(None, "one-file-system"));
/// assert!(!command.has_flag(Some('b'), "backup"));
/// assert_eq!(command.operands().map(|word| word.text.as_str()).collect::<Vec<_>>(), ["a", "-b"]);
/// ```
impl Command {
    /// Returns true if it has one of these flags before `--`: `-f` also inside a bundle (`-rf`),
    /// `--force` also with a value (`--force=yes`).
    #[must_use]
    pub fn has_flag(&self, short: Option<char>, long: &str) -> bool {
        self.words.iter().map(|word| word.text.as_str()).take_while(|word| *word != "--").any(
            |word| match word.strip_prefix("--") {
                Some(name) => name.split('=').next() == Some(long),
                None => short.is_some_and(|short| {
                    word.strip_prefix('-').is_some_and(|bundle| bundle.contains(short))
                }),
            },
        )
    }

    /// Returns its words that are not flags.
    pub fn operands(&self) -> impl Iterator<Item = &Word> {
        let mut open = true;
        self.words.iter().filter(move |word| {
            let ends_flags = open && word.text == "--";
            let operand = !open || !word.text.starts_with('-') || word.text == "-";
            open &= !ends_flags;
            operand
        })
    }
}

/// ```
/// use portcullis_plugin::types::EffectKind;
///
/// assert!(EffectKind::FileDelete.changes_files() && !EffectKind::FileRead.changes_files());
/// assert_eq!(EffectKind::Publish.as_str(), "publish");
/// assert_eq!(EffectKind::Other("rent".into()).as_str(), "rent");
/// ```
impl EffectKind {
    /// Returns true if it writes, makes or removes a file.
    #[must_use]
    pub const fn changes_files(&self) -> bool {
        matches!(self, Self::FileCreate | Self::FileModify | Self::FileDelete)
    }

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
}

/// ```
/// use portcullis_plugin::types::Quantity;
///
/// assert_eq!(Quantity::Tokens.as_str(), "tokens");
/// assert_eq!((Quantity::Memory.amount(3 << 20), Quantity::Time.amount(2500)), ("3 MB".to_owned(), "2 s".to_owned()));
/// ```
impl Quantity {
    /// Returns the name used in records and messages.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::FileOperations => "file-operations",
            Self::Memory => "memory",
            Self::Tokens => "tokens",
            Self::Time => "time",
            Self::BatchSize => "batch-size",
            Self::Other(name) => name,
        }
    }

    /// Formats an amount of it with its unit, for people: whole megabytes and seconds where there
    /// are any.
    #[must_use]
    pub fn amount(&self, amount: u64) -> String {
        match self {
            Self::Memory if amount >= 1 << 20 => format!("{} MB", amount >> 20),
            Self::Memory => format!("{amount} bytes"),
            Self::Time if amount >= 1000 => format!("{} s", amount / 1000),
            Self::Time => format!("{amount} ms"),
            _ => amount.to_string(),
        }
    }
}

macro_rules! named {
    (@first $name:ident $case:ident $text:literal $($rest:tt)*) => {
        concat!("assert_eq!(", stringify!($name), "::", stringify!($case), ".as_str(), \"", $text, "\");")
    };
    ($($name:ident { $($case:ident => $text:literal,)+ })+) => {
        $(impl $name {
            /// The name used in records, settings and messages.
            ///
            /// ```
            #[doc = concat!("use portcullis_plugin::types::", stringify!($name), ";")]
            ///
            #[doc = named!(@first $name $($case $text)+)]
            /// ```
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$case => $text,)+ }
            }
        })+
    };
}
named! {
    Severity { Low => "low", Medium => "medium", High => "high", Critical => "critical", }
    Verdict { Allow => "allow", Warn => "warn", Modify => "modify", Ask => "ask", Block => "block", }
    Status { Pending => "pending", Ok => "ok", Failed => "failed", Refused => "refused", }
    Scope { Inside => "inside", Scratch => "scratch", Outside => "outside", System => "system", Unknown => "unknown", }
}

#[cfg(test)]
mod tests {
    use crate::testing;

    #[test]
    fn flags_and_operands() {
        let action = testing::shell("rm -rf --one-file-system=yes a - -- -b");
        let Some([command]) = action.shell().map(|shell| shell.commands.as_slice()) else {
            panic!("no command")
        };
        for (short, long, has) in [
            (Some('f'), "force", true),
            (Some('r'), "recursive", true),
            (Some('i'), "interactive", false),
            (None, "one-file-system", true),
            (Some('b'), "backup", false),
        ] {
            assert_eq!(command.has_flag(short, long), has, "--{long}");
        }
        let operands: Vec<&str> = command.operands().map(|word| word.text.as_str()).collect();
        assert_eq!(operands, ["a", "-", "-b"]);
    }

    #[test]
    fn amounts_have_units() {
        use crate::types::Quantity::{BatchSize, FileOperations, Memory, Other, Time, Tokens};
        for (quantity, amount, text) in [
            (FileOperations, 100, "100"),
            (Memory, 512 << 20, "512 MB"),
            (Memory, (1 << 20) - 1, "1048575 bytes"),
            (Time, 299_999, "299 s"),
            (Time, 999, "999 ms"),
            (Tokens, 100_000, "100000"),
            (BatchSize, 1, "1"),
            (Other("doors".into()), 3, "3"),
        ] {
            assert_eq!(quantity.amount(amount), text);
        }
    }

    #[test]
    fn an_effect_without_a_path_touches_none() {
        use crate::testing::BuildAction;
        let action = testing::shell("x").deletes("a.txt").contacts("example.com");
        let touched: Vec<(&str, &str)> =
            action.touched().map(|(kind, path)| (kind.as_str(), path.text.as_str())).collect();
        assert_eq!(touched, [("file-delete", "/project/a.txt")]);
        assert_eq!(action.facts.effects.len(), 2);
    }
}
