//! The folders of one test: a project, a home with our state, and what the server is told.

use anyhow::{Context, Result, anyhow, ensure};
use portcullis_tests::compiled::copy_state;
use portcullis_tests::programs::scratch_folder;
use portcullis_tests::terminal::{Answer, Session, converse, script};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The folders of one test.
#[derive(Debug)]
pub(crate) struct Site {
    root: PathBuf,
    pub(crate) portcullis: PathBuf,
    packages: Option<PathBuf>,
}

impl Site {
    /// Makes the folders of a test, with the compiled code of the builtin plugins.
    pub(crate) fn create(
        name: &str,
        portcullis: Option<&Path>,
        packages: Option<&Path>,
    ) -> Result<Self> {
        let folder: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let site = Self {
            root: scratch()?.join(folder),
            portcullis: portcullis.ok_or_else(|| anyhow!("the program is missing"))?.to_owned(),
            packages: packages.map(Path::to_owned),
        };
        if site.root.exists() {
            fs::remove_dir_all(&site.root)?;
        }
        fs::create_dir_all(site.project())?;
        fs::create_dir_all(site.config())?;
        copy_state(&compiled()?, &site.state())?;
        let mut git = Command::new("git");
        git.args(["init", "--quiet", "--initial-branch=main"]).arg(site.project());
        ensure!(git.status().context("cannot start `git`")?.success(), "`git init` failed");
        Ok(site)
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    fn config(&self) -> PathBuf {
        self.home().join(".config/portcullis")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.home().join(".local/state/portcullis")
    }

    /// Returns the folder of the installed packages.
    pub(crate) fn packages(&self) -> Result<&Path> {
        self.packages.as_deref().ok_or_else(|| anyhow!("the packages are missing"))
    }

    /// Writes the configuration.
    pub(crate) fn configure(&self, text: &str) -> Result<()> {
        Ok(fs::write(self.config().join("config.toml"), text)?)
    }

    /// Tells the scripted server what it has and answers.
    pub(crate) fn direct(&self, script: &Value) -> Result<()> {
        Ok(fs::write(self.script(), script.to_string())?)
    }

    fn script(&self) -> PathBuf {
        self.root.join("script.json")
    }

    fn log(&self) -> PathBuf {
        self.root.join("received")
    }

    /// Returns every line that the scripted server got, and forgets them.
    pub(crate) fn take_received(&self) -> Result<Vec<Vec<u8>>> {
        let bytes = match fs::read(self.log()) {
            Ok(bytes) => bytes,
            Err(_) => return Ok(Vec::new()),
        };
        fs::remove_file(self.log())?;
        Ok(bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect())
    }

    /// Returns the command of the scripted server.
    pub(crate) fn server(&self) -> Vec<String> {
        let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("mcp/server.py");
        [Path::new("python3"), &server, &self.script(), &self.log()]
            .map(|word| word.display().to_string())
            .to_vec()
    }

    /// Sets the folder and the environment of a program.
    pub(crate) fn surround(&self, command: &mut Command) {
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".into());
        command
            .current_dir(self.project())
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.home())
            .env("LANG", "C.UTF-8")
            .env("TERM", "dumb");
    }

    /// Returns one of our own commands.
    pub(crate) fn own(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.portcullis);
        self.surround(&mut command);
        command.args(words);
        command
    }

    /// Returns the command of the gateway in front of a server.
    pub(crate) fn gateway(&self, server: &[String]) -> Command {
        let mut command = self.own(&["mcp", "--name", "t", "--"]);
        command.args(server).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Returns the command of the gateway in front of a server behind an address.
    pub(crate) fn gateway_at(&self, url: &str) -> Command {
        let mut command = self.own(&["mcp", "--name", "t", "--url", url]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs one of our own commands to its end.
    pub(crate) fn run_own(&self, words: &[&str]) -> Result<Output> {
        self.own(words).stdin(Stdio::null()).output().context("cannot start the program")
    }

    /// Runs one of our own commands as a person does, at a terminal, and confirms it;
    /// returns what the terminal showed.
    pub(crate) fn confirm(&self, words: &[&str]) -> Result<String> {
        let shown = converse(self.at_a_terminal(words), Answer::Word)?;
        ensure!(shown.code == Some(0), "{}", shown.text);
        Ok(shown.text)
    }

    /// Starts the terminal of a person who watches for actions that wait.
    pub(crate) fn watch(&self) -> Result<Session> {
        let mut watch = Session::start(self.at_a_terminal(&["approvals", "watch"]))?;
        watch.await_text("Watching")?;
        Ok(watch)
    }

    /// Returns one of our own commands, at a terminal.
    fn at_a_terminal(&self, words: &[&str]) -> Command {
        let program = self.portcullis.display().to_string();
        let words = std::iter::once(program.as_str()).chain(words.iter().copied());
        let mut command = script(&words.map(str::to_owned).collect::<Vec<_>>());
        self.surround(&mut command);
        command
    }

    /// Returns the records of the journal, oldest first.
    pub(crate) fn journal(&self) -> Result<Vec<Value>> {
        let shown = self.run_own(&["audit", "show", "--json", "--limit", "1000"])?;
        ensure!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
        let text = String::from_utf8(shown.stdout)?;
        let lines = text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
        lines.with_context(|| format!("the journal is not JSON: {text}"))
    }
}

/// Returns the parent of this process's folders.
pub(crate) fn scratch() -> Result<PathBuf> {
    scratch_folder(env!("CARGO_TARGET_TMPDIR"), "mcp")
}

/// Returns the state with the compiled plugins, which each test's state begins with.
pub(crate) fn compiled() -> Result<PathBuf> {
    Ok(scratch()?.join("compiled"))
}
