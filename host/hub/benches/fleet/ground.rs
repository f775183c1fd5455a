//! Two replicas of the hub over a cluster of PostgreSQL, started by `portcullis hub dev`.

use portcullis_fleet::hub_command::VERSION;
use rustix::process::{Pid, Signal, kill_process};
use std::env;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A running hub; it ends with this value.
pub struct RunningHub {
    folder: PathBuf,
    replicas: Vec<Child>,
    /// The addresses of the replicas, as a machine names them.
    pub addresses: Vec<String>,
    /// The address of the first replica's page, and the code with which a person signs in.
    pub page: (String, String),
    // The hub writes to it once more when it ends.
    _outputs: Vec<Lines<BufReader<ChildStdout>>>,
}

impl RunningHub {
    /// Starts both replicas.
    pub fn start() -> Self {
        let folder = env::temp_dir().join(format!("portcullis-bench-fleet-{}", std::process::id()));
        let (first, mut lines) = start_replica(
            &folder.with_extension("log"),
            &["dev", "--port", "0", "--folder", &folder.display().to_string()],
        );
        let mut find_word = |start: &str| -> String {
            let line =
                lines.by_ref().map(Result::unwrap).find(|line| line.contains(start)).unwrap();
            line.split(start).nth(1).unwrap().split([' ', ';']).next().unwrap().to_owned()
        };
        let url = find_word("serves on ");
        let link = find_word("the page:   ");
        let (page, code) = link.split_once("/sign-in#").unwrap();
        let hub = folder.join("hub").display().to_string();
        let any = "127.0.0.1:0";
        let (second, mut second_lines) = start_replica(
            &folder.join("second.log"),
            &["serve", "--folder", &hub, "--listen", any, "--page", any],
        );
        let line = second_lines.next().unwrap().unwrap();
        let port = line.trim().rsplit(':').next().unwrap();
        Self {
            addresses: vec![url, format!("https://localhost:{port}")],
            page: (page.to_owned(), code.to_owned()),
            replicas: vec![first, second],
            folder,
            _outputs: vec![lines, second_lines],
        }
    }

    /// Returns the path of a file in the hub's place.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Runs a command of the hub, which must succeed.
    pub fn run(&self, arguments: &[&str]) {
        let output = Command::new(program())
            .arg(VERSION)
            .args(arguments)
            .arg("--folder")
            .arg(self.folder.join("hub"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
    }

    /// Runs SQL in the hub's database; returns its rows, columns separated by `|`.
    pub fn query(&self, sql: &str) -> String {
        let output = self.psql().args(["-c", sql]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{sql}: {said}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Returns `psql` for the hub's database.
    pub fn psql(&self) -> Command {
        let mut command = Command::new("psql");
        command.arg("-h").arg(self.folder.join("socket"));
        command.args(["-U", "portcullis", "-d", "postgres", "-XAtq", "-v", "ON_ERROR_STOP=1"]);
        command
    }

    /// Returns the processes of the replicas.
    pub fn replica_ids(&self) -> Vec<u32> {
        self.replicas.iter().map(Child::id).collect()
    }

    /// Returns the first process of PostgreSQL.
    pub fn database_id(&self) -> u32 {
        let text = fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap();
        text.lines().next().unwrap().parse().unwrap()
    }
}

impl Drop for RunningHub {
    fn drop(&mut self) {
        // The first one ends PostgreSQL, too.
        for replica in self.replicas.iter_mut().rev() {
            let _ = kill_process(Pid::from_child(replica), Signal::TERM);
            let _ = replica.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
        let _ = fs::remove_file(self.folder.with_extension("log"));
    }
}

fn program() -> PathBuf {
    env::var_os("PORTCULLIS_BENCH_HUB")
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_portcullis-hub")), PathBuf::from)
}

fn start_replica(log: &Path, arguments: &[&str]) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut command = Command::new(program());
    command.arg(VERSION).args(arguments).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(File::create(log).unwrap());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines)
}
