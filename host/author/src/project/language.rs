//! The languages for plugins.

use serde::{Deserialize, Serialize};

/// A language, which determines the tools that build a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Rust, with the SDK
    Rust,
    /// C, by zig or clang
    C,
    /// Python, by componentize-py
    Python,
    /// JavaScript, in QuickJS
    Js,
    /// TypeScript, checked by tsc, in QuickJS
    Ts,
    /// Go, by its own compiler
    Go,
    /// Any other language, by a command of your own
    #[value(skip)]
    Other,
}

impl Language {
    /// Returns the name in manifests and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::C => "c",
            Self::Python => "python",
            Self::Js => "js",
            Self::Ts => "ts",
            Self::Go => "go",
            Self::Other => "other",
        }
    }
}
