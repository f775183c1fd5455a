//! The clients under test, as data, and their installation from the npm registry. An existing
//! client is never updated.

use crate::play::Site;
use crate::wire::Wire;
use anyhow::Result;
use portcullis_tests::programs::find_installed;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A client under test.
#[derive(Debug)]
pub(crate) struct ClientKind {
    /// Its name on our command line.
    pub(crate) name: &'static str,
    /// Its name for people.
    pub(crate) display_name: &'static str,
    /// Its npm package.
    pub(crate) package: &'static str,
    /// The version with which the cases were measured.
    pub(crate) version: &'static str,
    /// Other npm packages that it needs, with their versions.
    pub(crate) companions: &'static [&'static str],
    /// The command with which a person installs it.
    pub(crate) install_command: &'static str,
    /// The command with which a person starts it.
    pub(crate) start_command: &'static str,
    /// What the client asks a person before it runs the hooks.
    pub(crate) trust: &'static str,
    /// Its program below the folder of the installation.
    pub(crate) program: &'static str,
    /// Its folder below the home folder.
    pub(crate) folder: &'static str,
    /// Its folder below `/etc`, if it has one for the machine's hooks.
    pub(crate) managed: Option<&'static str>,
    /// True if it keeps its sessions in a database, and exports them.
    pub(crate) exports: bool,
    /// The client that loads our same plugin: its cases of failing hooks stand for those
    /// that this one lacks.
    pub(crate) same_plugin: Option<&'static ClientKind>,
    /// The API of models that it speaks.
    pub(crate) wire: &'static Wire,
    /// Writes the settings with which it uses the scripted model at that URL.
    pub(crate) furnish: fn(&Site, url: &str) -> Result<()>,
    /// Returns its command for a prompt, with the scripted model at that URL.
    pub(crate) command: fn(&Site, program: &Path, prompt: &str, url: &str) -> Command,
}

/// All clients under test.
pub(crate) const CLIENTS: &[&ClientKind] = &[
    &crate::cline::CLINE,
    &crate::codex::CODEX,
    &crate::copilot::COPILOT,
    &crate::gemini::GEMINI,
    &crate::opencode::OPENCODE,
    &crate::opencode::KILO,
    &crate::qwen::QWEN,
];

/// Returns the client's program, which is installed if it is missing.
pub(crate) fn find_program(client: &ClientKind) -> Result<PathBuf> {
    let package = format!("{}@{}", client.package, client.version);
    let packages = [&[package.as_str()], client.companions].concat();
    find_installed(&format!("{}-{}", client.name, client.version), client.program, &packages)
}
