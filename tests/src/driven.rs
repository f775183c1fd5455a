//! A real browser that a script drives (`tests/driver/drive.mjs`): the script holds the steps of a
//! scenario, and the test acts in between.

use crate::programs::find_installed;
use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;
use std::env;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The package that drives the browser, and the one that judges pages.
const PACKAGES: [&str; 2] = ["playwright-core@1.64.1", "axe-core@4.11.0"];
const FOLDER: &str = "page-1.64.1-4.11.0";

/// A browser that plays a scenario. It ends with the test.
#[derive(Debug)]
pub struct Driven {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

/// Finds the installed browser.
#[must_use]
pub fn find_browser() -> Option<PathBuf> {
    let folders: Vec<PathBuf> =
        env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|path| path.is_file())
}

/// Returns the folder of the packages; they are installed if they are missing.
///
/// # Errors
/// Fails if they cannot be installed.
pub fn find_packages() -> Result<PathBuf> {
    // Tests at once would install into one folder.
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _guard = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    let file = find_installed(FOLDER, "node_modules/axe-core/axe.min.js", &PACKAGES)?;
    let modules = file.parent().and_then(Path::parent).map(Path::to_owned);
    modules.context("no folder of packages")
}

impl Driven {
    /// Starts a scenario of a task, to which the browser, the packages and the folder for
    /// screenshots are added.
    ///
    /// # Errors
    /// Fails if `node` cannot be started.
    pub fn start(browser: &Path, packages: &Path, mut task: Value) -> Result<Self> {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
        let pictures = tests.join("../target/pages");
        std::fs::create_dir_all(&pictures)?;
        let given = [("browser", browser), ("modules", packages), ("pictures", &pictures)];
        for (name, path) in given {
            let members = task.as_object_mut().context("a task is an object")?;
            members.insert(name.to_owned(), path.to_string_lossy().into());
        }
        let mut command = Command::new("node");
        command.arg(tests.join("driver/drive.mjs")).arg(task.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start `node`: install it")?;
        let input = child.stdin.take().context("no input")?;
        let output = BufReader::new(child.stdout.take().context("no output")?).lines();
        Ok(Self { child, input, output })
    }

    /// Waits until the scenario has come to a point.
    ///
    /// # Errors
    /// Fails if it comes to another one, or ends.
    pub fn await_point(&mut self, point: &str) -> Result<()> {
        let line = self.output.next().transpose()?;
        match line.as_deref() {
            Some(found) if found == point => Ok(()),
            Some(other) => bail!("the browser came to `{other}`, not to `{point}`"),
            None => bail!("the browser ended before `{point}`"),
        }
    }

    /// Lets the scenario go on.
    ///
    /// # Errors
    /// Fails if it has ended.
    pub fn go_on(&mut self) -> Result<()> {
        Ok(writeln!(self.input, "go on")?)
    }

    /// Waits until the scenario has ended well.
    ///
    /// # Errors
    /// Fails if it has not.
    pub fn end(mut self) -> Result<()> {
        self.await_point("end")?;
        let status = self.child.wait()?;
        status.success().then_some(()).ok_or_else(|| anyhow!("the browser ended with {status}"))
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
