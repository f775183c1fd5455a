//! A real headless browser, which loads a file and reports the result.

use super::process;
use super::{in_ci, tell};
use anyhow::{Context, Result, ensure};
use portcullis_tests::driven::find_browser;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The timeout for one page, on a machine that is busy with other tests.
const LIMIT: Duration = Duration::from_secs(120);

/// A page as rendered by a browser.
#[derive(Debug)]
pub struct Rendered {
    /// The final document.
    pub document: String,
    /// The console output: refusals and errors.
    pub console: Vec<String>,
}

/// Finds the installed browser. Without one the test is skipped, except in CI.
pub fn find() -> Result<Option<PathBuf>> {
    let found = find_browser();
    ensure!(found.is_some() || !in_ci(), "there is no browser: in CI `chromium` must be installed");
    if found.is_none() {
        tell("there is no `chromium`: the part that looks at a page in a browser is skipped");
    }
    Ok(found)
}

/// Loads a page with the new folder `profile` as the browser's profile.
pub fn render(browser: &Path, page: &Path, profile: &Path) -> Result<Rendered> {
    let mut command = Command::new(browser);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-sync",
    ]);
    command.args([
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-dev-shm-usage",
    ]);
    command.args(["--enable-logging=stderr", "--dump-dom"]);
    command
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()));
    let ended = process::run(command, b"", LIMIT).context("the browser did not load the page")?;
    ensure!(ended.code == Some(0), "the browser failed: {}", ended.all());
    let console =
        ended.stderr.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect();
    Ok(Rendered { document: ended.text(), console })
}
