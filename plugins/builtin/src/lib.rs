//! The builtin plugins as data: components, embedded when this crate is built.
//!
//! They are loaded in the same way as third-party ones: this crate neither knows wasmtime nor runs
//! anything. To embed the components that a release ships in place of compiling them, name their
//! folder in `PORTCULLIS_BUILTIN_DIR` while building;
//! `cargo run -p portcullis-builtin --example write -- DIR` makes such a folder.

use flate2::read::DeflateDecoder;
use std::fmt;
use std::io::Read;
use std::sync::OnceLock;

/// A builtin plugin.
#[derive(Clone, Copy)]
pub struct Builtin {
    /// The name in its descriptor and in the configuration.
    pub name: &'static str,
    /// The world that it is for.
    pub kind: Kind,
    /// True if its descriptor says that it looks at ended actions only: known here, so that a hook
    /// before an action need not look for it.
    pub waits_for_outcome: bool,
    /// Its metadata: JSON of its component's section `portcullis-descriptor`, kept here so that it
    /// can be read without looking for it in the bytes. Empty for the shell reader.
    pub descriptor: &'static str,
    /// Its component.
    pub component: &'static Component,
}

/// A component with builtin plugins of one kind. Plugins that are called for each action share one,
/// since loading a component costs as much as calling it.
pub struct Component {
    /// The name of its file, without an ending.
    pub name: &'static str,
    /// The plugins that it holds. One of several is chosen by the first setting that `prepare`
    /// gets, [`CHOICE`].
    pub plugins: &'static [&'static str],
    /// BLAKE3 of the bytes, 64 hex digits.
    pub digest: &'static str,
    /// Their number.
    size: usize,
    /// The bytes in DEFLATE: a third of their size. Whoever reviews with compiled plugins never
    /// unpacks them.
    packed: &'static [u8],
    unpacked: OnceLock<Vec<u8>>,
}

/// The key of the setting that names one of the plugins of a component.
pub const CHOICE: &str = "portcullis:plugin";

impl Builtin {
    /// Returns the value of the first setting that selects it, if its component holds others too.
    #[must_use]
    pub const fn choice(&self) -> Option<&'static str> {
        if self.component.plugins.len() > 1 { Some(self.name) } else { None }
    }
}

impl Component {
    /// Returns the component. The first call unpacks it, which takes some milliseconds and keeps
    /// its size in memory.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.unpacked.get_or_init(|| {
            let mut bytes = Vec::with_capacity(self.size);
            // The build packed them, and a test unpacks each. What is cut short here does not parse
            // as a component, which is a fault.
            let _ = DeflateDecoder::new(self.packed).read_to_end(&mut bytes);
            bytes
        })
    }
}

impl AsRef<[u8]> for Component {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
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

/// Returns the plugin of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Builtin> {
    ALL.iter().find(|builtin| builtin.name == name)
}

impl Kind {
    /// Returns the world's name in the WIT package.
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
        write!(f, "{} ({}, {:?})", self.name, self.kind, self.component)
    }
}

impl fmt::Debug for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes, {})", self.name, self.size, self.digest)
    }
}
