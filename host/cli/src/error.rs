//! The program's error: a kind that a script can act on, a message, its causes, and hints that say
//! how to go on.
//!
//! The libraries have errors of their own types; this module says once what kind each of them is.
//! It decides nothing and prints only at the end of the program.

use crate::exit::CommandExit;
use crate::spelling::spell_commands_in;
use portcullis_bundle::{
    ArchiveError, ArtifactError, BundleError, BundleStoreError, DigestError, IndexArtifactError,
    IndexDocumentError, IndexError, IndexStatementError, KeyError, LockError, NameError,
    SignatureError, StatementError, TrustError,
};
use portcullis_checkpoint::CheckpointError;
use portcullis_config::problem::{BadConfiguration, Problems};
use portcullis_core::known_failure::{HintedFailure, KnownFailure};
use portcullis_encryption::EncryptionError;
use portcullis_engine::{EngineError, LoadError};
use portcullis_fleet::protocol::RefusalKind;
use portcullis_fleet::{HubError, ReceiptError, SendError, TokenError};
use portcullis_fs::{ReadError, SealError};
use portcullis_registry::{AccessError, ErrorReason, ReferenceError, RegistryError};
use portcullis_store::{CommitError, StoreError};
use portcullis_terminal::error_report::ErrorReport;
use std::any::Any;
use std::error::Error as StdError;
use std::ffi::OsString;
use std::fmt;
use std::io;

/// The result of everything in this program that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The option that asks for JSON, errors included.
const JSON: &str = "--json";

/// The kind of an error: who has to do something, and of what sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The arguments do not fit the command.
    Usage,
    /// An input, a file, the configuration or the setup is wrong; every error without a kind of
    /// its own is of this one.
    Invalid,
    /// The thing that the command names does not exist.
    NotFound,
    /// The command is not allowed here: it needs a person, another user, or somebody's trust.
    Refused,
    /// Data does not hold: a journal, a bundle, a signature or a lock was changed or damaged.
    Integrity,
    /// The system, the network or another process got in the way.
    Io,
    /// A defect of this program.
    Internal,
}

impl ErrorKind {
    /// Returns the name in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Invalid => "invalid",
            Self::NotFound => "not-found",
            Self::Refused => "refused",
            Self::Integrity => "integrity",
            Self::Io => "io",
            Self::Internal => "internal",
        }
    }

    /// Returns the exit code of a command that ends with such an error.
    const fn exit(self) -> CommandExit {
        match self {
            Self::Usage => CommandExit::Rejected,
            _ => CommandExit::Failure,
        }
    }
}

/// A failure of a command.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    /// The reasons, the nearest first.
    causes: Vec<String>,
    hints: Vec<String>,
}

/// Creates errors, one function for each kind.
impl Error {
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), causes: Vec::new(), hints: Vec::new() }
    }

    /// An input, a file, the configuration or the setup is wrong.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// The thing that the command names does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// The command is not allowed here.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused, message)
    }

    /// Data is damaged or was changed.
    pub fn integrity(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Integrity, message)
    }

    /// The system, the network or another process got in the way.
    pub fn io(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Io, message)
    }

    /// This program has a defect.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message).with_hint(
            "this is a defect of portcullis: report it with the command and this whole message",
        )
    }

    /// Converts the argument parser's error.
    pub fn from_usage(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        let mut paragraphs = text
            .split("\n\n")
            .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
        let first = paragraphs.next().unwrap_or_default();
        let message = first.strip_prefix("error: ").unwrap_or(&first).to_owned();
        let hints = paragraphs.filter(|hint| !hint.is_empty());
        let hints = hints.map(|hint| hint.strip_prefix("tip: ").unwrap_or(&hint).to_owned());
        Self { hints: hints.collect(), ..Self::new(ErrorKind::Usage, message) }
    }

    /// Converts what a panic left.
    pub fn of_panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Self::internal(format!("the command broke off: {}", text.unwrap_or("no reason is known")))
    }
}

impl Error {
    /// Adds a way to go on: a command, an option or a setting, in one line.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Makes this error the cause of one with that message. Kind and hints stay.
    #[must_use]
    pub fn with_context(mut self, message: impl Into<String>) -> Self {
        let before = std::mem::replace(&mut self.message, message.into());
        if !self.message.contains(&before) {
            self.causes.insert(0, before);
        }
        self
    }

    /// Returns true if the system, the network or another process got in the way, so that nothing is
    /// known of what was asked for.
    #[must_use]
    pub const fn is_io(&self) -> bool {
        matches!(self.kind, ErrorKind::Io)
    }

    /// Returns the exit code of the program that ends with this error.
    #[must_use]
    pub const fn exit(&self) -> CommandExit {
        self.kind.exit()
    }

    /// Prints the error on standard error, for a person or as one line of JSON.
    pub fn print_error(&self, as_json: bool) {
        anstream::eprint!("{}", self.to_text(as_json));
    }

    /// Formats the error for a person, with each hint in a line of its own, or as one line of JSON.
    #[must_use]
    pub fn to_text(&self, as_json: bool) -> String {
        let spelled = |texts: &[String]| texts.iter().map(|text| spell_commands_in(text)).collect();
        let (causes, hints): (Vec<String>, Vec<String>) =
            (spelled(&self.causes), spelled(&self.hints));
        let report = ErrorReport {
            kind: self.kind.as_str(),
            message: &spell_commands_in(&self.message),
            causes: &causes,
            hints: &hints,
            exit: self.exit().code(),
        };
        report.to_text(as_json)
    }

    /// Returns the error and its hints in one line, for a text that has one line for each thing.
    #[must_use]
    pub fn in_line(&self) -> String {
        self.hints.iter().fold(self.to_string(), |line, hint| format!("{line}; {hint}"))
    }

    /// Converts an error of another type with its causes.
    fn of_source(error: &(dyn StdError + 'static)) -> Self {
        let mut chain = Vec::new();
        let mut next = Some(error);
        while let Some(error) = next {
            chain.push(error);
            next = error.source();
        }
        Self::of_chain(chain.into_iter())
    }

    /// Converts a chain of causes. A text that the one before it repeats is
    /// left out: many types show their cause in their own message.
    fn of_chain<'a>(chain: impl Iterator<Item = &'a (dyn StdError + 'static)>) -> Self {
        let mut found = None;
        let mut texts: Vec<String> = Vec::new();
        let mut hints = Vec::new();
        let mut add = |text: &str| {
            if texts.last().is_none_or(|last: &String| !last.contains(text)) {
                texts.push(text.to_owned());
            }
        };
        for error in chain {
            if let Some(own) = error.downcast_ref::<Self>() {
                add(&own.message);
                own.causes.iter().for_each(|cause| add(cause));
                hints.extend(own.hints.iter().cloned());
                found = found.or(Some(own.kind));
                continue;
            }
            add(&error.to_string());
            hints.extend(library_hint(error));
            found = found.or_else(|| library_kind(error));
        }
        let mut texts = texts.into_iter();
        let message = texts.next().unwrap_or_default();
        Self {
            causes: texts.collect(),
            hints,
            ..Self::new(found.unwrap_or(ErrorKind::Invalid), message)
        }
    }
}

/// Shows message and causes in one line, without the hints.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.causes.iter().try_for_each(|cause| write!(f, ": {cause}"))
    }
}

impl StdError for Error {}

/// Adds what was being done to a failure.
pub trait Context<T> {
    /// Adds a message.
    ///
    /// # Errors
    /// Fails where this did.
    fn context(self, message: impl Into<String>) -> Result<T>;

    /// Adds a message that is made only for a failure.
    ///
    /// # Errors
    /// Fails where this did.
    fn with_context(self, message: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for std::result::Result<T, E> {
    fn context(self, message: impl Into<String>) -> Result<T> {
        self.map_err(|error| error.into().with_context(message))
    }

    fn with_context(self, message: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| error.into().with_context(message()))
    }
}

impl From<anyhow::Error> for Error {
    fn from(error: anyhow::Error) -> Self {
        Self::of_chain(error.chain())
    }
}

/// The problems of one of our files, one in a line.
impl From<Problems> for Error {
    fn from(problems: Problems) -> Self {
        Self::invalid(problems.lines().join("\n"))
    }
}

/// For each type of the libraries: its conversion, and the kind of a value.
macro_rules! library_errors {
    ($($type:ty: $kind:expr,)+) => {
        $(impl From<$type> for Error {
            fn from(error: $type) -> Self {
                Self::of_source(&error)
            }
        })+

        fn library_kind(error: &(dyn StdError + 'static)) -> Option<ErrorKind> {
            $(if let Some(error) = error.downcast_ref::<$type>() {
                let kind: fn(&$type) -> ErrorKind = $kind;
                return Some(kind(error));
            })+
            None
        }
    };
}

library_errors! {
    io::Error: |error| system(error.kind()),
    std::string::FromUtf8Error: |_| ErrorKind::Invalid,
    rustix::io::Errno: |error| system(error.kind()),
    semver::Error: |_| ErrorKind::Invalid,
    serde_json::Error: |error| if error.is_io() { ErrorKind::Io } else { ErrorKind::Invalid },
    toml_edit::TomlError: |_| ErrorKind::Invalid,
    portcullis_agents::WireError: |_| ErrorKind::Invalid,
    EncryptionError: |error| match error {
        EncryptionError::WrongPassphrase { .. } => ErrorKind::Refused,
        EncryptionError::KeyDamaged { .. } | EncryptionError::Changed => ErrorKind::Integrity,
        EncryptionError::KeyMissing { .. } | EncryptionError::MasterUnknown { .. } => {
            ErrorKind::NotFound
        }
        EncryptionError::Io { source, .. } => system(source.kind()),
        _ => ErrorKind::Io,
    },
    portcullis_mcp::PinError: |error| match error {
        portcullis_mcp::PinError::Forged(..) => ErrorKind::Integrity,
        portcullis_mcp::PinError::TooMany => ErrorKind::Invalid,
        portcullis_mcp::PinError::File(..) | portcullis_mcp::PinError::Folder(..) => ErrorKind::Io,
    },
    portcullis_core::session::StateError: |_| ErrorKind::Integrity,
    KnownFailure: |error| match error {
        KnownFailure::NotFound(_) => ErrorKind::NotFound,
        KnownFailure::Untrusted(_) => ErrorKind::Refused,
        KnownFailure::Forged(_) => ErrorKind::Integrity,
    },
    ArchiveError: |error| match error {
        // The archive reader returns this kind for bytes that are not an archive.
        ArchiveError::Io(error) if error.kind() == io::ErrorKind::Other => ErrorKind::Invalid,
        ArchiveError::Io(error) => system(error.kind()),
        ArchiveError::Malformed(_) => ErrorKind::Invalid,
        ArchiveError::Bundle(error) => bundle(error),
        ArchiveError::Index(error) => index(error),
        ArchiveError::Signature(error) => signature(error),
    },
    ArtifactError: |_| ErrorKind::Invalid,
    BundleError: bundle,
    BundleStoreError: |error| match error {
        BundleStoreError::File { error, .. } => system(error.kind()),
        BundleStoreError::Damaged { .. } | BundleStoreError::Bundle { .. } => ErrorKind::Integrity,
        BundleStoreError::Signature(error) => signature(error),
    },
    DigestError: |_| ErrorKind::Invalid,
    IndexArtifactError: index,
    IndexDocumentError: |_| ErrorKind::Invalid,
    IndexError: |_| ErrorKind::Invalid,
    IndexStatementError: |_| ErrorKind::Invalid,
    KeyError: |_| ErrorKind::Invalid,
    LockError: |error| match error {
        LockError::Other { .. } => ErrorKind::Integrity,
        _ => ErrorKind::Invalid,
    },
    NameError: |_| ErrorKind::Invalid,
    SignatureError: signature,
    StatementError: |_| ErrorKind::Invalid,
    TrustError: |_| ErrorKind::Invalid,
    CheckpointError: |error| match error {
        CheckpointError::Unknown { .. } => ErrorKind::NotFound,
        CheckpointError::Damaged { .. } | CheckpointError::Lost { .. } => ErrorKind::Integrity,
        CheckpointError::Io { source, .. } => system(source.kind()),
        CheckpointError::Busy { .. }
        | CheckpointError::HalfDone { .. }
        | CheckpointError::Encryption { .. } => ErrorKind::Io,
        _ => ErrorKind::Invalid,
    },
    BadConfiguration: |_| ErrorKind::Invalid,
    EngineError: |error| match error {
        EngineError::Unsupported(_) => ErrorKind::Io,
        _ => ErrorKind::Invalid,
    },
    LoadError: |error| match error {
        LoadError::Unreadable { path, .. } if !path.exists() => ErrorKind::NotFound,
        LoadError::Unreadable { .. } => ErrorKind::Io,
        LoadError::Other { .. } => ErrorKind::Integrity,
        _ => ErrorKind::Invalid,
    },
    ReadError: |error| match error {
        ReadError::Io(error) => system(error.kind()),
        _ => ErrorKind::Invalid,
    },
    SealError: |error| match error {
        SealError::Forged => ErrorKind::Integrity,
        SealError::TooLarge(_) => ErrorKind::Invalid,
        SealError::Io(error) => system(error.kind()),
    },
    HubError: hub,
    ReceiptError: |error| match error {
        ReceiptError::Key(_) => ErrorKind::Invalid,
        ReceiptError::Signature | ReceiptError::Malformed => ErrorKind::Integrity,
    },
    SendError: |error| match error {
        SendError::Hub(error) => hub(error),
        SendError::Store(error) => store(error),
        SendError::Files(SealError::Io(error)) => system(error.kind()),
        _ => ErrorKind::Integrity,
    },
    TokenError: |_| ErrorKind::Invalid,
    AccessError: |_| ErrorKind::Invalid,
    ReferenceError: |_| ErrorKind::Invalid,
    RegistryError: |error| registry(&error.why),
    StoreError: store,
    CommitError: |error| match error {
        CommitError::Store(error) => store(error),
        _ => ErrorKind::Io,
    },
}

#[cfg(target_os = "linux")]
impl From<portcullis_run::RunError> for Error {
    fn from(error: portcullis_run::RunError) -> Self {
        use portcullis_run::RunError;
        let kind = match &error {
            RunError::NoCommand | RunError::NotConfined { .. } => ErrorKind::Invalid,
            RunError::NoFolder { source, .. } | RunError::System { source, .. } => {
                system(source.kind())
            }
            _ => ErrorKind::Io,
        };
        Self { kind, ..Self::of_source(&error) }
    }
}

/// Returns the kind of the operating system's errors.
const fn system(kind: io::ErrorKind) -> ErrorKind {
    match kind {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::AlreadyExists
        | io::ErrorKind::InvalidData
        | io::ErrorKind::UnexpectedEof
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::NotADirectory => ErrorKind::Invalid,
        _ => ErrorKind::Io,
    }
}

const fn bundle(error: &BundleError) -> ErrorKind {
    match error {
        BundleError::Swapped { .. }
        | BundleError::Size { .. }
        | BundleError::Other { .. }
        | BundleError::Missing { .. } => ErrorKind::Integrity,
        _ => ErrorKind::Invalid,
    }
}

const fn index(error: &IndexArtifactError) -> ErrorKind {
    match error {
        IndexArtifactError::Bytes(error) => bundle(error),
        _ => ErrorKind::Invalid,
    }
}

const fn signature(error: &SignatureError) -> ErrorKind {
    match error {
        SignatureError::Wrong | SignatureError::Bytes(_) => ErrorKind::Integrity,
        _ => ErrorKind::Invalid,
    }
}

/// Returns the kind of an exchange with a fleet's hub that failed.
fn hub(error: &HubError) -> ErrorKind {
    match error {
        HubError::Address(_) => ErrorKind::Invalid,
        HubError::OtherAuthority(_) => ErrorKind::Integrity,
        HubError::Refused(refusal) => match refusal.refused {
            RefusalKind::Malformed => ErrorKind::Invalid,
            RefusalKind::Incident => ErrorKind::Integrity,
            _ => ErrorKind::Refused,
        },
        _ => ErrorKind::Io,
    }
}

fn registry(why: &ErrorReason) -> ErrorKind {
    match why {
        ErrorReason::NotFound => ErrorKind::NotFound,
        ErrorReason::Unauthorized(_) | ErrorReason::Credential(_) => ErrorKind::Refused,
        ErrorReason::Certificate(_) | ErrorReason::NoTls | ErrorReason::Plain(_) => {
            ErrorKind::Invalid
        }
        ErrorReason::Bundle(error) => bundle(error),
        ErrorReason::Index(error) => index(error),
        ErrorReason::Signature(error) => signature(error),
        _ => ErrorKind::Io,
    }
}

const fn store(error: &StoreError) -> ErrorKind {
    match error {
        StoreError::Missing { .. } => ErrorKind::NotFound,
        StoreError::BadKey { .. }
        | StoreError::Vanished { .. }
        | StoreError::ForgedState { .. }
        | StoreError::Corrupt { .. }
        | StoreError::Tampered { .. }
        | StoreError::ForgedExceptions { .. }
        | StoreError::ForgedBreaker { .. }
        | StoreError::ForgedApproval { .. }
        | StoreError::ForgedExport { .. }
        | StoreError::ForgedWork { .. } => ErrorKind::Integrity,
        StoreError::Io { .. }
        | StoreError::ReadOnly { .. }
        | StoreError::Full { .. }
        | StoreError::Busy { .. }
        | StoreError::Database { .. } => ErrorKind::Io,
        _ => ErrorKind::Invalid,
    }
}

/// Returns the way to go on that an error carries, or that only the command line knows, since it
/// has the option.
fn library_hint(error: &(dyn StdError + 'static)) -> Option<String> {
    if let Some(hinted) = error.downcast_ref::<HintedFailure>() {
        return Some(hinted.hint.clone());
    }
    let RegistryError { registry, why, .. } = error.downcast_ref()?;
    matches!(why, ErrorReason::NoTls).then(|| {
        format!("if it has no TLS and that is meant, allow plain HTTP: `--plain-http {registry}`")
    })
}

/// Returns true if JSON is asked for. The arguments are searched, since wrong ones are reported as
/// JSON too.
pub fn is_json_wanted(arguments: impl IntoIterator<Item = OsString>) -> bool {
    arguments.into_iter().take_while(|argument| argument != "--").any(|argument| argument == JSON)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn json_of(error: &Error) -> Value {
        serde_json::from_str(&error.to_text(true)).unwrap()
    }

    /// An error whose message repeats its cause.
    fn repeating() -> Error {
        StoreError::Io {
            action: "create",
            path: "/x".into(),
            source: io::Error::from(io::ErrorKind::PermissionDenied),
        }
        .into()
    }

    #[test]
    fn a_cause_is_shown_once() {
        let error = repeating().with_context("cannot begin");
        assert_eq!(error.to_string().matches("permission denied").count(), 1, "{error}");
        assert_eq!(json_of(&error)["error"]["causes"].as_array().map(Vec::len), Some(1), "{error}");
    }

    #[test]
    fn kind_and_hints_survive_a_library_between() {
        let inner = Error::refused("no").with_hint("ask a person");
        let outer: Error = anyhow::Error::new(inner).context("closed").into();
        let json = &json_of(&outer)["error"];
        assert_eq!(json["kind"], "refused");
        assert_eq!(json["message"], "closed");
        assert_eq!(json["causes"], json!(["no"]));
        assert_eq!(json["hints"], json!(["ask a person"]));
    }

    #[test]
    fn the_outermost_known_type_decides_the_kind() {
        for (error, kind) in [
            (anyhow::Error::new(io::Error::from(io::ErrorKind::NotFound)), "not-found"),
            (anyhow::Error::new(io::Error::from(io::ErrorKind::TimedOut)).context("x"), "io"),
            (anyhow::anyhow!("words alone"), "invalid"),
            (
                anyhow::Error::new(StoreError::Corrupt { path: "/j".into(), reason: "r".into() }),
                "integrity",
            ),
            (
                anyhow::Error::new(StoreError::Io {
                    action: "read",
                    path: "/j".into(),
                    source: io::Error::from(io::ErrorKind::NotFound),
                }),
                "io",
            ),
        ] {
            let shown = format!("{error:#}");
            assert_eq!(json_of(&Error::from(error))["error"]["kind"], kind, "{shown}");
        }
    }

    #[test]
    fn a_panic_is_a_defect() {
        for payload in [Box::new("words") as Box<dyn Any + Send>, Box::new("words".to_owned())] {
            let json = json_of(&Error::of_panic(payload.as_ref()));
            assert_eq!(json["error"]["kind"], "internal");
            assert!(json["error"]["message"].as_str().unwrap().ends_with("words"), "{json}");
        }
    }

    #[test]
    fn json_is_asked_for_before_a_double_dash_only() {
        for (line, wanted) in [
            ("status --json", true),
            ("run --json -- claude", true),
            ("run -- claude --json", false),
        ] {
            assert_eq!(is_json_wanted(line.split(' ').map(OsString::from)), wanted, "{line}");
        }
    }
}
