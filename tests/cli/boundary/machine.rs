//! A machine with a boundary: three users, the service, and hooks of users who run agents.

use crate::common::calls::Calls;
use crate::common::process::{self, Ended};
use crate::common::site::{LIMIT, lines};
use crate::common::{Ground, tell};
use anyhow::{Context, Result, anyhow, bail, ensure};
use portcullis_tests::compiled::copy_state;
use portcullis_tests::terminal::{Answer, Session, Shown, converse, script};
use serde_json::Value;
use std::env;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The test of a row.
pub type Test = fn(&mut Machine) -> Result<()>;

pub const BOUNDARY_FILE: &str = "/etc/portcullis/boundary.toml";
pub const SOCKET: &str = "/run/portcullis/service.sock";
pub const STATE: &str = "/var/lib/portcullis";

/// Set in the namespace.
const STAGE: &str = "PORTCULLIS_TEST_NAMESPACE";
/// Everything that the namespace changes. Programs read the users from `/etc/passwd`.
const PREPARE: &str = "set -e
copy=$(mktemp -d)
mount -t tmpfs tmpfs \"$copy\"
cp -a /etc/. \"$copy\"
mount --move \"$copy\" /etc
rmdir \"$copy\"
for folder in /home /run /var/lib; do mount -t tmpfs -o mode=755 tmpfs \"$folder\"; done
useradd --system --no-create-home --home-dir /var/lib/portcullis --shell /usr/sbin/nologin portcullis
for user in agent other; do useradd --create-home --shell /bin/sh \"$user\"; chmod 700 \"/home/$user\"; done
exec \"$@\"";

/// Starts this program again in a mount namespace of its own, unless it is there already; returns
/// its exit code.
pub fn enter_namespace() -> Option<ExitCode> {
    if env::var_os(STAGE).is_some() {
        return None;
    }
    let start = || -> Result<i32> {
        let program = env::current_exe()?;
        let is_root = rustix::process::geteuid().is_root();
        let mut command = Command::new(if is_root { "unshare" } else { "sudo" });
        if !is_root {
            command.args(["--non-interactive", "--preserve-env", "unshare"]);
        }
        command.args(["--mount", "--propagation", "private", "sh", "-c", PREPARE, "sh"]);
        command.arg(program).args(env::args_os().skip(1)).env(STAGE, "1");
        let status = command.status().context("cannot start `unshare`")?;
        status.code().ok_or_else(|| anyhow!("it was ended by a signal"))
    };
    Some(match start() {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Err(error) => {
            tell(&format!("the tests of the boundary need root and a mount namespace: {error:#}"));
            ExitCode::FAILURE
        }
    })
}

/// A user of the machine.
#[derive(Clone, Debug)]
pub struct User {
    pub name: &'static str,
    pub id: u32,
}

impl User {
    fn find(name: &'static str) -> Result<Self> {
        let list = fs::read_to_string("/etc/passwd")?;
        let line = list.lines().find(|line| line.starts_with(&format!("{name}:")));
        let id = line.and_then(|line| line.split(':').nth(2)?.parse().ok());
        Ok(Self { name, id: id.ok_or_else(|| anyhow!("there is no user `{name}`"))? })
    }

    /// The user's home, which nobody else can open.
    pub fn home(&self) -> PathBuf {
        Path::new("/home").join(self.name)
    }

    /// The folder that the user's agent works in.
    pub fn project(&self) -> PathBuf {
        self.home().join("project")
    }

    /// The state that the service keeps for the user.
    pub fn state(&self) -> PathBuf {
        Path::new(STATE).join("users").join(self.id.to_string())
    }

    /// Returns a command that runs as the user.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("setpriv");
        let id = self.id.to_string();
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--no-new-privs"]);
        command.arg(program).env_clear().current_dir(self.project());
        command.env("HOME", self.home()).env("PATH", "/usr/bin:/bin").env("USER", self.name);
        command
    }

    /// Runs a line of a shell as the user.
    pub fn shell(&self, line: &str) -> Result<Ended> {
        let mut command = self.command("sh");
        command.args(["-c", line]);
        process::run(command, b"", LIMIT)
    }

    /// Writes a file as the user.
    pub fn write(&self, path: &Path, text: &str) -> Result<()> {
        let mut command = self.command("sh");
        let line = "mkdir -p \"$(dirname \"$0\")\" && cat > \"$0\"";
        command.args(["-c", line]).arg(path);
        let ended = process::run(command, text.as_bytes(), LIMIT)?;
        ensure!(ended.code == Some(0), "cannot write `{}`: {}", path.display(), ended.all());
        Ok(())
    }

    /// Creates the events of a session in the user's project.
    pub fn calls(&self, session: &str) -> Calls {
        Calls::new(session, &self.project())
    }
}

/// The machine of one row.
pub struct Machine {
    pub agent: User,
    pub other: User,
    pub service_user: User,
    pub programs: PathBuf,
    service: Option<Child>,
}

impl Machine {
    /// Sets the machine up, with an empty state, and starts the service.
    pub fn start(boundary: &str) -> Result<Self> {
        let ground = Ground::get()?;
        let mut machine = Self {
            agent: User::find("agent")?,
            other: User::find("other")?,
            service_user: User::find("portcullis")?,
            programs: ground.root.clone(),
            service: None,
        };
        for folder in ["/etc/portcullis", STATE, "/run/portcullis"] {
            let _absent = fs::remove_dir_all(folder);
            fs::create_dir_all(folder)?;
            fs::set_permissions(folder, Permissions::from_mode(0o755))?;
        }
        write_root_file(BOUNDARY_FILE, boundary)?;
        let owner = machine.service_user.id;
        chown("/run/portcullis", Some(owner), Some(owner))?;
        copy_state(&ground.warm, Path::new(STATE))?;
        fs::set_permissions(STATE, Permissions::from_mode(0o700))?;
        give(Path::new(STATE), owner)?;
        for user in [&machine.agent, &machine.other] {
            let _absent = fs::remove_dir_all(user.home());
            fs::create_dir_all(user.project())?;
            fs::set_permissions(user.home(), Permissions::from_mode(0o700))?;
            give(&user.home(), user.id)?;
        }
        machine.start_service()?;
        Ok(machine)
    }

    /// Starts the service, and waits until it answers; returns what it says of itself.
    pub fn start_service(&mut self) -> Result<Value> {
        let mut command = self.service_user_command();
        command.args(["serve", "--boundary", "--json"]);
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        self.start_service_by(command)
    }

    /// Starts the service by a command, and waits until it answers.
    pub fn start_service_by(&mut self, mut command: Command) -> Result<Value> {
        command.stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start the service")?;
        let stdout = child.stdout.take().ok_or_else(|| anyhow!("it has no output"))?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        if !line.contains(SOCKET) {
            let mut complaint = String::new();
            let _read = child.stderr.take().map(|mut text| text.read_to_string(&mut complaint));
            bail!("the service did not say where it answers: {line:?} {complaint}");
        }
        self.service = Some(child);
        Ok(serde_json::from_str(&line)?)
    }

    fn service_user_command(&self) -> Command {
        let mut command = Command::new(self.programs.join("portcullis"));
        let id = self.service_user.id;
        command.uid(id).gid(id).env_clear().env("HOME", STATE).current_dir("/");
        command
    }

    /// Returns the id of the service's process.
    pub fn service_id(&self) -> Result<u32> {
        self.service.as_ref().map(Child::id).ok_or_else(|| anyhow!("there is no service"))
    }

    /// Ends the service, as root can.
    pub fn kill_service(&mut self) -> Result<()> {
        if let Some(mut service) = self.service.take() {
            service.kill()?;
            service.wait()?;
        }
        Ok(())
    }

    /// Returns true if the service has not ended.
    pub fn serves(&mut self) -> Result<bool> {
        Ok(match &mut self.service {
            None => false,
            Some(service) => service.try_wait()?.is_none(),
        })
    }

    /// Returns the managed hook of a user, as root's settings start it.
    pub fn hook(&self, user: &User, program: &str) -> Command {
        let mut command = user.command(self.programs.join(program));
        command.args(["hook", "claude"]);
        command
    }

    /// Sends an event to a user's hook.
    pub fn ask(&self, user: &User, event: &Value) -> Result<Ended> {
        process::run(self.hook(user, "portcullis"), event.to_string().as_bytes(), LIMIT)
    }

    /// Runs one of our commands as the service's user, on the state of a user.
    pub fn administer(&self, user: &User, arguments: &[&str]) -> Result<Ended> {
        let mut command = self.service_user_command();
        command.args(arguments).arg("--state").arg(user.state());
        command.arg("--config").arg(format!("/etc/portcullis/users/{}", user.id));
        process::run(command, b"", LIMIT)
    }

    /// Returns the words of one of our commands, for what the service keeps of a user.
    fn words_of(&self, user: &User, arguments: &[&str]) -> Vec<String> {
        let program = self.programs.join("portcullis").display().to_string();
        let own = arguments.iter().copied().chain(["--of-user", user.name]).map(str::to_owned);
        std::iter::once(program).chain(own).collect()
    }

    /// Runs one of our commands as root, for what the service keeps of a user. Root is in the user's
    /// own project, where nothing counts.
    pub fn as_root(&self, user: &User, arguments: &[&str]) -> Result<Ended> {
        let words = self.words_of(user, arguments);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        as_administrator(&mut command, user);
        process::run(command, b"", LIMIT)
    }

    /// Does the same at a terminal.
    pub fn at_roots_terminal(
        &self,
        user: &User,
        arguments: &[&str],
        answer: Answer<'_>,
    ) -> Result<Shown> {
        let mut script = script(&self.words_of(user, arguments));
        as_administrator(&mut script, user);
        converse(script, answer)
    }

    /// Starts such a command, for an administrator who reads and types as the test goes on.
    pub fn open_roots_terminal(&self, user: &User, arguments: &[&str]) -> Result<Session> {
        let mut script = script(&self.words_of(user, arguments));
        as_administrator(&mut script, user);
        Session::start(script)
    }

    /// Runs a line of a shell as a user at a terminal.
    pub fn at_terminal_of(&self, user: &User, line: &str, answer: Answer<'_>) -> Result<Shown> {
        let of_words = script(&["sh".to_owned(), "-c".to_owned(), line.to_owned()]);
        let mut script = user.command(of_words.get_program());
        script.args(of_words.get_args()).env("TERM", "dumb").env("SHELL", "/bin/sh");
        converse(script, answer)
    }

    /// Starts a user's hook before a command that is asked about, whose client does not ask itself.
    pub fn hold(&self, user: &User, session: &str, id: &str, command: &str) -> Held {
        let event = user.calls(session).bash(id, command).to_string();
        let mut hook = user.command(self.programs.join("portcullis"));
        hook.args(["hook", "codex", "--timeout", "300"]);
        Held(thread::spawn(move || process::run(hook, event.as_bytes(), LIMIT * 2)))
    }

    /// Waits until that many actions of a user wait.
    pub fn await_waiting(&self, user: &User, count: usize) -> Result<Vec<Value>> {
        let mut found = Vec::new();
        wait_for("another number of actions waits", || {
            let listed = self.as_root(user, &["approvals", "list", "--json"])?;
            ensure!(listed.code == Some(0), "{}", listed.all());
            found = lines(&listed.text())?;
            Ok(found.len() == count)
        })?;
        Ok(found)
    }

    /// Gives the service other settings, and starts it again; returns what it says of itself.
    pub fn restart_with(&mut self, boundary: &str) -> Result<Value> {
        write_root_file(BOUNDARY_FILE, boundary)?;
        self.kill_service()?;
        self.start_service()
    }

    /// Returns a user's records, oldest first; none if the service keeps nothing for the user.
    pub fn records(&self, user: &User) -> Result<Vec<Value>> {
        if !user.state().join("journal.db").exists() {
            return Ok(Vec::new());
        }
        let shown = self.administer(user, &["audit", "show", "--json", "--limit", "1000000"])?;
        ensure!(shown.code == Some(0), "{}", shown.all());
        lines(&shown.text())
    }

    /// Checks the chain of a user's journal.
    pub fn verify(&self, user: &User) -> Result<()> {
        let ended = self.administer(user, &["audit", "verify"])?;
        ensure!(ended.text().contains("the chain holds"), "{}", ended.all());
        Ok(())
    }

    /// Checks the harmless twin: an ordinary action of a user is let through, and recorded.
    pub fn reviews(&self, user: &User) -> Result<()> {
        let before = self.records(user)?.len();
        let id = format!("twin-{before}");
        let ended = self.ask(user, &user.calls("twin").bash(&id, "ls"))?;
        ensure!(ended.code == Some(0), "an ordinary action was refused: {}", ended.all());
        let after = self.records(user)?;
        let recorded = after.iter().skip(before).any(|record| record["call"] == id.as_str());
        ensure!(recorded, "the ordinary action was not recorded: {after:?}");
        self.verify(user)
    }

    /// Checks that a grave action of a user is refused, and recorded as such.
    pub fn refuses(&self, user: &User) -> Result<()> {
        let id = format!("grave-{}", self.records(user)?.len());
        let ended = self.ask(user, &user.calls("grave").bash(&id, "rm -rf /"))?;
        ensure!(ended.code == Some(2), "`rm -rf /` was not refused: {}", ended.all());
        let records = self.records(user)?;
        let recorded = records.iter().any(|record| record["call"] == id.as_str());
        ensure!(recorded, "the refusal was not recorded: {}", ended.all());
        Ok(())
    }
}

/// A hook that holds an action.
pub struct Held(JoinHandle<Result<Ended>>);

impl Held {
    /// Waits for its end.
    pub fn end(self) -> Result<Ended> {
        self.0.join().map_err(|_| anyhow!("the hook's thread panicked"))?
    }

    /// Checks that it let the action run, without a consent in the client.
    pub fn passes_through(self) -> Result<()> {
        let ended = self.end()?;
        let decides = ended.text().contains("permissionDecision");
        ensure!(ended.code == Some(0) && !decides, "it was not let through: {}", ended.all());
        Ok(())
    }

    /// Checks that it refused the action.
    pub fn ends_refused(self) -> Result<()> {
        let ended = self.end()?;
        let denies = ended.text().contains("\"deny\"");
        ensure!(ended.code == Some(2) || denies, "it was not refused: {}", ended.all());
        Ok(())
    }
}

/// Gives a command what an administrator's shell has, in a user's project.
fn as_administrator(command: &mut Command, user: &User) {
    command.env_clear().env("HOME", "/root").env("USER", "root").env("TERM", "dumb");
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("SHELL", "/bin/sh");
    // Where root's own state would be, if anything looked there.
    command.env("PORTCULLIS_HOME", "/root/own").current_dir(user.project());
}

impl Drop for Machine {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.kill_service();
        // Work that it started for later would write into the state of the next row.
        let id = self.service_user.id;
        let _ended = wait_for("its processes do not end", || Ok(processes_of(id) == 0));
    }
}

/// Writes a file as root.
pub fn write_root_file(path: &str, text: &str) -> Result<()> {
    let path = Path::new(path);
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, text)?;
    Ok(fs::set_permissions(path, Permissions::from_mode(0o644))?)
}

/// Waits until something holds.
pub fn wait_for(what: &str, mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + LIMIT;
    while !holds()? {
        ensure!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Returns the number of a user's processes.
fn processes_of(user: u32) -> usize {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_process = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    all.filter(|entry| entry.file_name().to_str().is_some_and(is_process))
        .filter(|entry| entry.metadata().is_ok_and(|found| found.uid() == user))
        .count()
}

fn give(path: &Path, user: u32) -> Result<()> {
    chown(path, Some(user), Some(user))?;
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path(), user)?;
        }
    }
    Ok(())
}
