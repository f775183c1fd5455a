//! Measures what the gateway adds to a call of a tool, beside a direct connection to the same server.
//!
//! `cargo bench --workspace --bench mcp` prints the median and the 99th percentile of a request to a
//! server that answers at once: directly, through the gateway, and the difference. `ping` is passed
//! on unread by the reviewer, a call is reviewed before and after (release, warm cache, all builtin
//! plugins, records written). It needs python3.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    reason = "a measurement for people"
)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The number of requests of each kind; `PORTCULLIS_BENCH_ROUNDS` overrides it.
const ROUNDS: usize = 500;
/// The requests before them.
const WARM_UP: usize = 5;
/// The rounds of one gateway, and so of one session.
const SESSION: usize = 50;

/// A server that answers at once.
const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    result = {"content": [{"type": "text", "text": "sunny, 21 degrees"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

struct Connection {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Connection {
    fn open(folder: &Path, gateway: bool) -> Self {
        let program = if gateway { env!("CARGO_BIN_EXE_portcullis") } else { "python3" };
        let mut command = Command::new(program);
        if gateway {
            command.args(["mcp", "--name", "bench", "--", "python3"]);
        }
        command
            .args(["-c", SERVER])
            .current_dir(folder.join("project"))
            .env("PORTCULLIS_HOME", folder.join("home"))
            .env_remove("LD_LIBRARY_PATH")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, input, output: BufReader::new(output) }
    }

    fn request(&mut self, method: &str, round: usize) -> Duration {
        let params = format!(r#"{{"name":"get_weather","arguments":{{"city":"Paris {round}"}}}}"#);
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":{round},"method":"{method}","params":{params}}}{}"#,
            "\n"
        );
        let begun = Instant::now();
        self.input.write_all(message.as_bytes()).unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let time = begun.elapsed();
        assert!(line.contains("sunny"), "the call did not run: {line}");
        time
    }

    fn close(mut self) {
        drop(self.input);
        self.child.wait().unwrap();
    }
}

fn main() {
    let rounds = std::env::var("PORTCULLIS_BENCH_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(ROUNDS);
    let folder = std::env::temp_dir().join(format!("portcullis-bench-mcp-{}", std::process::id()));
    fs::create_dir_all(folder.join("project")).unwrap();
    fs::create_dir_all(folder.join("home")).unwrap();
    println!("{:<12} {:>20} {:>12} {:>12}   ({rounds} rounds)", "request", "", "p50 ms", "p99 ms");
    for method in ["ping", "tools/call"] {
        let mut times = [Vec::new(), Vec::new()];
        for session in 0..rounds.div_ceil(SESSION) {
            let mut connections = [false, true].map(|gateway| Connection::open(&folder, gateway));
            for round in 0..SESSION + WARM_UP {
                let number = session * SESSION + round + 1;
                for (connection, times) in connections.iter_mut().zip(&mut times) {
                    let time = connection.request(method, number);
                    if round >= WARM_UP {
                        times.push(time);
                    }
                }
            }
            connections.into_iter().for_each(Connection::close);
        }
        times.iter_mut().for_each(|times| times.sort_unstable());
        let at = |times: &[Duration], percent: usize| {
            times[(times.len() * percent / 100).min(times.len() - 1)].as_secs_f64() * 1000.0
        };
        let [direct, gateway] = &times;
        for (name, p50, p99) in [
            ("direct", at(direct, 50), at(direct, 99)),
            ("through the gateway", at(gateway, 50), at(gateway, 99)),
            ("added", at(gateway, 50) - at(direct, 50), at(gateway, 99) - at(direct, 99)),
        ] {
            println!("{method:<12} {name:>20} {p50:>12.2} {p99:>12.2}");
        }
    }
    fs::remove_dir_all(&folder).unwrap();
}
