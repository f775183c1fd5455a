//! The builtin plugins as data: components, embedded when this crate is built.
//!
//! They pass the same door as anybody's: this crate neither knows wasmtime nor runs anything. To embed
//! the components that a release ships in place of compiling them, name their folder in
//! `PORTCULLIS_BUILTIN_DIR` while building; `cargo run -p portcullis-builtin --example write -- DIR`
//! makes such a folder.

use std::fmt;

/// A builtin plugin.
#[derive(Clone, Copy)]
pub struct Builtin {
    /// The name in its descriptor and in the configuration.
    pub name: &'static str,
    /// The world that it is for.
    pub kind: Kind,
    /// Its descriptor says that it looks at ended actions only: known here, so that a hook before an action
    /// need not look for it.
    pub waits_for_outcome: bool,
    /// BLAKE3 of `bytes`, 64 hex digits.
    pub digest: &'static str,
    /// What the component says of itself: the JSON of its section `portcullis-descriptor`, here to be read
    /// without looking for it in the bytes. Empty for the shell reader.
    pub descriptor: &'static str,
    /// The component.
    pub bytes: &'static [u8],
}

/// The worlds that builtin plugins are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Judges one action by itself.
    RiskCalculator,
    /// Notices how a session goes wrong.
    Pattern,
    /// Answers an issue.
    Intervention,
    /// Writes records in a format.
    AuditExporter,
    /// Reads shell text; the host's own.
    ShellReader,
}

include!(concat!(env!("OUT_DIR"), "/builtin.rs"));

/// The plugin of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Builtin> {
    ALL.iter().find(|builtin| builtin.name == name)
}

impl Kind {
    /// The world's name in the WIT package.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RiskCalculator => "risk-calculator",
            Self::Pattern => "pattern",
            Self::Intervention => "intervention",
            Self::AuditExporter => "audit-exporter",
            Self::ShellReader => "shell-reader",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {} bytes, {})", self.name, self.kind, self.bytes.len(), self.digest)
    }
}
