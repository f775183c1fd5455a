//! One cluster of PostgreSQL for all tests of this program: on a socket in a private folder, as a
//! user who is not root.

use crate::common::Ground;
use crate::common::process;
use anyhow::{Context, Result, anyhow, ensure};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const INSTALLED: &str = "/usr/lib/postgresql";
const PATIENCE: Duration = Duration::from_secs(30);

/// A running cluster.
#[derive(Debug)]
pub struct Cluster {
    programs: PathBuf,
    folder: PathBuf,
    owner: Option<u32>,
    process: Mutex<Option<Child>>,
    /// True if its data is in a file system of its own that is nearly full.
    is_small: bool,
    /// Further settings of the server.
    settings: Vec<String>,
}

/// Runs a cluster in a small file system, which only its processes see, again and again: one whose
/// disk is full ends by itself. The filler goes when the file `$2/free` is there.
const SMALL: &str = r#"
    mount -t tmpfs -o size=80m,mode=0700 none "$1" && cp -a "$2/made/." "$1" && chown "$3" "$1" || exit
    head -c 12m /dev/zero >"$1/filler"
    ( while [ ! -e "$2/free" ]; do sleep 0.1; done; rm "$1/filler" ) &
    data="$1" user="$3"; shift 3
    while :; do
        if [ "$user" = 0 ]; then unshare --user --map-user=1000 --map-group=1000 "$@"
        else setpriv --reuid "$user" --regid "$user" --clear-groups "$@"; fi
        sleep 0.2
    done
"#;

static CLUSTER: OnceLock<std::result::Result<Cluster, String>> = OnceLock::new();

/// Returns the cluster, which is started on first use.
pub fn get() -> Result<&'static Cluster> {
    CLUSTER
        .get_or_init(|| Cluster::create("cluster").map_err(|error| format!("{error:#}")))
        .as_ref()
        .map_err(|error| anyhow!("{error}"))
}

/// Ends the cluster, if a test started it.
pub fn stop() {
    if let Some(Ok(cluster)) = CLUSTER.get() {
        let _ = cluster.stop();
    }
}

impl Cluster {
    /// Creates and starts a cluster in a folder of that name.
    pub fn create(name: &str) -> Result<Self> {
        Self::create_on(name, false)
    }

    /// Creates and starts a cluster whose disk will soon be full.
    pub fn create_small(name: &str) -> Result<Self> {
        Self::create_on(name, true)
    }

    /// Creates and starts a standby of this cluster, which streams what is written here.
    pub fn create_standby(&self, name: &str) -> Result<Self> {
        let standby = Self::prepare(name, false)?;
        let mut copy = standby.command("pg_basebackup");
        copy.args(["-U", "portcullis", "-h"]).arg(self.socket()).arg("-D").arg(standby.data());
        copy.args(["-R", "-X", "stream", "-c", "fast"]).stderr(Stdio::piped());
        // Its socket is for the user of the cluster alone, who runs this.
        let made = copy.output().context("cannot start `pg_basebackup`")?;
        ensure!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        standby.start()?;
        Ok(standby)
    }

    /// Makes the folders of a cluster.
    fn prepare(name: &str, is_small: bool) -> Result<Self> {
        let ground = Ground::get()?;
        let programs = find_programs()?;
        let folder = ground.root.join(name);
        fs::create_dir_all(&folder)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o711))?;
        let is_root = fs::metadata(&folder)?.uid() == 0;
        let owner = is_root.then(find_postgres).transpose()?;
        let process = Mutex::new(None);
        let cluster = Self { programs, folder, owner, process, is_small, settings: Vec::new() };
        for path in [cluster.data(), cluster.socket()] {
            fs::create_dir(&path)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
            chown(&path, owner, owner)?;
        }
        Ok(cluster)
    }

    /// Creates and starts a cluster that also listens on a port of 127.0.0.1, with TLS.
    pub fn create_with_tls(name: &str, port: u16, certificate: &Path, key: &Path) -> Result<Self> {
        let mut cluster = Self::prepare(name, false)?;
        let own_key = cluster.folder.join("server.key");
        fs::copy(key, &own_key)?;
        fs::set_permissions(&own_key, fs::Permissions::from_mode(0o600))?;
        chown(&own_key, cluster.owner, cluster.owner)?;
        let own_certificate = cluster.folder.join("server.pem");
        fs::copy(certificate, &own_certificate)?;
        fs::set_permissions(&own_certificate, fs::Permissions::from_mode(0o644))?;
        cluster.settings = vec![
            "listen_addresses=127.0.0.1".to_owned(),
            format!("port={port}"),
            "ssl=on".to_owned(),
            format!("ssl_cert_file={}", own_certificate.display()),
            format!("ssl_key_file={}", own_key.display()),
        ];
        cluster.fill()
    }

    fn create_on(name: &str, is_small: bool) -> Result<Self> {
        Self::prepare(name, is_small)?.fill()
    }

    /// Makes the data of a cluster, and starts it.
    fn fill(self) -> Result<Self> {
        let cluster = self;
        let is_small = cluster.is_small;
        let mut initdb = cluster.command("initdb");
        initdb.args(["-U", "portcullis", "-A", "trust", "-E", "UTF8", "--locale=C", "-D"]);
        if is_small {
            initdb.arg(cluster.data()).arg("--wal-segsize=1");
        } else {
            initdb.arg(cluster.data());
        }
        let made = initdb.stderr(Stdio::piped()).output()?;
        ensure!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        if is_small {
            fs::rename(cluster.data(), cluster.folder.join("made"))?;
            fs::create_dir(cluster.data())?;
        }
        cluster.start()?;
        Ok(cluster)
    }

    /// Returns the folder of the cluster's socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// Returns the port, which also names the socket.
    fn port(&self) -> u16 {
        let named = self.settings.iter().find_map(|setting| setting.strip_prefix("port="));
        named.and_then(|port| port.parse().ok()).unwrap_or(5432)
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Starts the cluster, and waits until it answers.
    pub fn start(&self) -> Result<()> {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.folder.join("log"))?;
        let mut server =
            if self.is_small { self.small_command() } else { self.command("postgres") };
        server.arg("-D").arg(self.data()).arg("-k").arg(self.socket());
        server.args(["-c", "listen_addresses=", "-c", "max_connections=200"]).stderr(log);
        for setting in &self.settings {
            server.arg("-c").arg(setting);
        }
        if self.is_small {
            server.args(["-c", "max_wal_size=4MB", "-c", "min_wal_size=2MB"]);
        }
        let child = server.process_group(0).spawn().context("cannot start `postgres`")?;
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
        let start = Instant::now();
        while self.query("postgres", "SELECT 1").is_err() {
            ensure!(start.elapsed() < PATIENCE, "the cluster does not answer");
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Ends the cluster at once, as a machine that loses its power would.
    pub fn stop(&self) -> Result<()> {
        let child = self.process.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut child) = child else { return Ok(()) };
        let id = rustix::process::Pid::from_child(&child);
        if self.is_small {
            // The shell that starts it again ends with it.
            rustix::process::kill_process_group(id, rustix::process::Signal::KILL)?;
        } else {
            rustix::process::kill_process(id, rustix::process::Signal::QUIT)?;
        }
        child.wait()?;
        Ok(())
    }

    /// Makes room on the disk of a small cluster.
    pub fn free_space(&self) -> Result<()> {
        Ok(fs::write(self.folder.join("free"), "")?)
    }

    /// Returns the command of a small cluster, to which the arguments of the server are added.
    fn small_command(&self) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--map-root-user"].iter().take(if self.owner.is_some() {
            1
        } else {
            2
        }));
        command.args(["sh", "-c", SMALL, "sh"]).arg(self.data()).arg(&self.folder);
        command.arg(self.owner.unwrap_or(0).to_string()).arg(self.programs.join("postgres"));
        command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Creates a database.
    pub fn create_database(&self, name: &str) -> Result<()> {
        self.query("postgres", &format!("CREATE DATABASE {name}")).map(drop)
    }

    /// Runs SQL and returns its rows, columns separated by `|`.
    pub fn query(&self, database: &str, sql: &str) -> Result<String> {
        let ended = self.psql(database, sql).output().context("cannot start `psql`")?;
        let complaint = String::from_utf8_lossy(&ended.stderr).into_owned();
        ensure!(ended.status.success(), "`{sql}`: {complaint}");
        Ok(String::from_utf8_lossy(&ended.stdout).trim_end().to_owned())
    }

    /// Returns the command that runs SQL.
    pub fn psql(&self, database: &str, sql: &str) -> Command {
        let mut command = Command::new(self.programs.join("psql"));
        command.arg("-h").arg(self.socket()).env("PGPORT", self.port().to_string());
        command.args(["-U", "portcullis", "-d", database, "-XAtq", "-v", "ON_ERROR_STOP=1"]);
        command.args(["-c", sql]);
        command
    }

    /// Runs SQL that is too long for an argument.
    pub fn feed(&self, database: &str, sql: &str) -> Result<()> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.arg("-h").arg(self.socket()).args(["-U", "portcullis", "-d", database, "-Xq"]);
        psql.args(["-v", "ON_ERROR_STOP=1"]);
        let ended = process::run(psql, sql.as_bytes(), PATIENCE)?;
        ensure!(ended.code == Some(0), "{}", ended.all());
        Ok(())
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
        if let Some(owner) = self.owner {
            command.uid(owner).gid(owner);
        }
        command
    }
}

fn find_programs() -> Result<PathBuf> {
    let versions = fs::read_dir(INSTALLED).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
    found.retain(|programs| programs.join("initdb").exists());
    found.sort();
    found.pop().with_context(|| {
        format!("there is no PostgreSQL in `{INSTALLED}`: run `apt-get install postgresql`")
    })
}

fn find_postgres() -> Result<u32> {
    let users = fs::read_to_string(Path::new("/etc/passwd"))?;
    let line = users.lines().find(|line| line.starts_with("postgres:"));
    let id = line.and_then(|line| line.split(':').nth(2)).context("there is no user `postgres`")?;
    Ok(id.parse()?)
}
