//! A service that runs beside a measurement.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A running service, which ends with the measurement.
pub struct RunningService(Child);

impl RunningService {
    /// Starts a service for a home, and waits until it answers.
    pub fn start(program: &Path, home: &Path) -> Self {
        let mut command = Command::new(program);
        command.args(["serve", "--json"]).env("PORTCULLIS_HOME", home);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("service.sock"), "the service did not start: {line}");
        Self(child)
    }

    /// Prints its memory, and the part of it that is its own, from `/proc`.
    pub fn report_memory(&self) {
        let path = format!("/proc/{}/smaps_rollup", self.0.id());
        let text = fs::read_to_string(path).unwrap_or_default();
        let kib = |name: &str| -> u64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
        };
        println!(
            "the service takes {} MiB, of which {} MiB are its own alone",
            kib("Rss:") / 1024,
            (kib("Private_Clean:") + kib("Private_Dirty:")) / 1024
        );
    }
}

impl Drop for RunningService {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
