//! Measures what the gateway adds to a call of a tool, beside a direct connection to the same
//! server.
//!
//! `cargo bench --workspace --bench mcp` prints the median and the 99th percentile of a request to
//! a server that answers at once: directly, through the gateway, and the difference. `ping` is
//! passed on unread by the reviewer, a call is reviewed before and after (release, warm cache, all
//! builtin plugins, records written). The server is on a pipe, and then behind an address. It needs
//! python3.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "a measurement for people"
)]

#[path = "support/choices.rs"]
mod choices;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
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

/// The same behind an address; the first line of output is the port.
const HTTP_SERVER: &str = r#"
import http.server, json
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        result = {"content": [{"type": "text", "text": "sunny, 21 degrees"}]}
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        self.wfile.write(head.encode() + body)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"#;

/// The ways to a server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Pipe,
    PipeGateway,
    Address,
    AddressGateway,
}

/// A connection to a server, with the processes that end with it.
struct Connection {
    children: Vec<Child>,
    ends: Ends,
}

enum Ends {
    Lines(ChildStdin, BufReader<ChildStdout>),
    Posts(BufReader<TcpStream>),
}

impl Connection {
    fn open(folder: &Path, way: Way) -> Self {
        let python = |code: &str| {
            let mut command = Command::new("python3");
            command.args(["-c", code]).stdin(Stdio::null());
            command
        };
        let gateway = |words: &[&str]| {
            let mut command = Command::new(choices::find_program("portcullis"));
            command
                .args(["mcp", "--name", "bench"])
                .args(words)
                .current_dir(folder.join("project"))
                .env("PORTCULLIS_HOME", folder.join("home"))
                .env_remove("LD_LIBRARY_PATH");
            command
        };
        if matches!(way, Way::Pipe | Way::PipeGateway) {
            let command = if way == Way::Pipe {
                python(SERVER)
            } else {
                gateway(&["--", "python3", "-c", SERVER])
            };
            return Self::over_lines(command, Vec::new());
        }
        let mut server =
            python(HTTP_SERVER).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut port = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let port = port.trim();
        if way == Way::AddressGateway {
            let url = format!("http://127.0.0.1:{port}/mcp");
            return Self::over_lines(gateway(&["--url", &url]), vec![server]);
        }
        let stream = TcpStream::connect(("127.0.0.1", port.parse().unwrap())).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { children: vec![server], ends: Ends::Posts(BufReader::new(stream)) }
    }

    fn over_lines(mut command: Command, mut children: Vec<Child>) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        children.push(child);
        Self { children, ends: Ends::Lines(input, BufReader::new(output)) }
    }

    fn request(&mut self, method: &str, round: usize) -> Duration {
        let params = format!(r#"{{"name":"get_weather","arguments":{{"city":"Paris {round}"}}}}"#);
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":{round},"method":"{method}","params":{params}}}"#);
        let begun = Instant::now();
        let answer = match &mut self.ends {
            Ends::Lines(input, output) => {
                input.write_all(format!("{message}\n").as_bytes()).unwrap();
                let mut line = String::new();
                output.read_line(&mut line).unwrap();
                line
            }
            Ends::Posts(stream) => post(stream, &message),
        };
        let time = begun.elapsed();
        assert!(answer.contains("sunny"), "the call did not run: {answer}");
        time
    }

    fn close(self) {
        drop(self.ends);
        for mut child in self.children.into_iter().rev() {
            // A server behind an address runs until then.
            std::thread::sleep(Duration::from_millis(20));
            let _ = child.kill();
            child.wait().unwrap();
        }
    }
}

fn post(stream: &mut BufReader<TcpStream>, message: &str) -> String {
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        message.len()
    );
    stream.get_mut().write_all(format!("{head}{message}").as_bytes()).unwrap();
    let mut size = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        if let Some(text) = line.strip_prefix("content-length: ") {
            size = text.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; size];
    stream.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}

fn main() {
    let rounds = choices::count_rounds(ROUNDS);
    let folder = std::env::temp_dir().join(format!("portcullis-bench-mcp-{}", std::process::id()));
    fs::create_dir_all(folder.join("project")).unwrap();
    fs::create_dir_all(folder.join("home")).unwrap();
    println!(
        "{:<12} {:<8} {:>20} {:>12} {:>12}   ({rounds} rounds)",
        "request", "server", "", "p50 ms", "p99 ms"
    );
    let pipes = ("pipe", [Way::Pipe, Way::PipeGateway]);
    let addresses = ("address", [Way::Address, Way::AddressGateway]);
    let kinds = ["ping", "tools/call"].map(|method| [(method, pipes), (method, addresses)]);
    for (method, (server, ways)) in kinds.into_iter().flatten() {
        let mut times = [Vec::new(), Vec::new()];
        for session in 0..rounds.div_ceil(SESSION) {
            let mut connections = ways.map(|way| Connection::open(&folder, way));
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
            println!("{method:<12} {server:<8} {name:>20} {p50:>12.2} {p99:>12.2}");
        }
    }
    fs::remove_dir_all(&folder).unwrap();
}
