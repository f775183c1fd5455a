//! The languages that a plugin is written in.

use serde::{Deserialize, Serialize};

/// A language, which tells the tools that build a project.
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
    /// Whatever a command of the author's own builds
    #[value(skip)]
    Other,
}

impl Language {
    /// The name in manifests and on the command line.
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
