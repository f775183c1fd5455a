//! Mutated messages. Each one passes untouched, or gets a clean error, and no call gets past the
//! review, in whichever way its server reads.

use crate::Test;
use crate::front::Front;
use crate::gateway::Connection;
use crate::site::Site;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The number of mutated messages of the client, and of the server.
const CLIENT_MESSAGES: usize = 10_000;
const SERVER_MESSAGES: usize = 3_000;
/// The number of those of the client to a server behind an address.
const POSTED_MESSAGES: usize = 1_500;

pub(crate) const TESTS: &[Test] = &[
    ("mutations: no message of a client gets a call past the review", from_client),
    ("mutations: no message of a server reaches the client changed", from_server),
    ("mutations: no message of a client gets past the review to an address", to_address),
    ("mutations: no message from an address reaches the client changed", from_address),
];

/// The messages that are mutated. All tools that they call are held.
const CLIENT: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":"b"}}}"#,
    r#"{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{"_meta":{"progressToken":1},"name":"x"}}"#,
    r#"{"method":"ping","id":3,"jsonrpc":"2.0","params":{"method":"tools/call","name":"x"}}"#,
    r#"{"method":"ping","method":"tools/call","id":4,"params":{"name":"x"}}"#,
    r#"{"method":"tools/list","id":5,"params":{"cursor":"tools/call"}}"#,
    r#"{"method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}"#,
    r#"{"id":6,"result":{"action":"accept","content":{}}}"#,
    r#"{"Method":"tools/call","method":"ping","id":7}"#,
    r#"[{"method":"tools/call","id":8,"params":{"name":"x"}}]"#,
];
const SERVER: &[&str] = &[
    r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1.5,"message":"é"}}"#,
    r#"{"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}}"#,
    r#"{"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{"message":"Name?","requestedSchema":{"type":"object"}}}"#,
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#,
];
/// Parts that confuse readers.
const PARTS: &[&str] = &[
    "\"method\":\"tools/call\",",
    "\"Method\":\"tools/call\",",
    "\"METHOD\":",
    "tools/call",
    "TOOLS/CALL",
    "\\u0074ools/call",
    "\r",
    "\\r",
    "\u{0}",
    "\u{2028}",
    "\u{feff}",
    "\\ud800",
    "1e999",
    "-0",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    ",",
    ":",
    "null",
    "\"id\":1,",
    "\"id\":1.0,",
    "\"id\":null,",
    "\"id\":[],",
    "\"params\":{\"name\":\"x\"},",
    "\"par\u{17f}ms\":{},",
    "\t",
    " ",
    "\r{\"method\":\"tools/call\",\"id\":1,\"params\":{\"name\":\"x\"}}\r",
    "// x",
    "/**/",
    "'",
    "NaN",
    "\"jsonrpc\":\"2.0\",",
];

/// A generator of numbers with a fixed seed.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % below.max(1)
    }

    /// Returns one of some messages with one to four changes, as one line.
    fn mutate(&mut self, messages: &[&str]) -> Vec<u8> {
        let mut line = messages[self.next(messages.len())].as_bytes().to_vec();
        for _ in 0..=self.next(4) {
            let at = self.next(line.len() + 1);
            let to = (at + self.next(12)).min(line.len());
            match self.next(6) {
                0 => drop(line.drain(at..to)),
                1 => line.splice(at..at, line[at..to].to_vec()).for_each(drop),
                2 if at < line.len() => line[at] = self.next(256) as u8,
                3 => line.truncate(at),
                _ => {
                    let part = PARTS[self.next(PARTS.len())].as_bytes();
                    line.splice(at..at, part.iter().copied()).for_each(drop);
                }
            }
        }
        line.retain(|byte| *byte != b'\n');
        if line.iter().all(u8::is_ascii_whitespace) {
            line = b"{}".to_vec();
        }
        line.push(b'\n');
        line
    }
}

fn server(site: &Site, mode: &str) -> Vec<String> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("mcp/sink.py");
    [
        "python3".into(),
        program.display().to_string(),
        mode.into(),
        site.project().display().to_string(),
    ]
    .to_vec()
}

fn from_client(site: &Site) -> Result<()> {
    let connection = Connection::start(site.gateway(&server(site, "client")))?;
    send_mutated(site, connection, CLIENT_MESSAGES, 1)
}

fn to_address(site: &Site) -> Result<()> {
    let front = Front::start(site, &server(site, "client"))?;
    send_mutated(site, Connection::start(site.gateway_at(&front.url()))?, POSTED_MESSAGES, 25)
}

/// Sends mutated messages, `part` of them at once.
fn send_mutated(site: &Site, mut connection: Connection, count: usize, part: usize) -> Result<()> {
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    ensure!(connection.list(100_000)? == ["agreed"], "the first list is another one");
    let lines: Vec<Vec<u8>> = (0..count).map(|_| numbers.mutate(CLIENT)).collect();
    let mut answers = Vec::new();
    // An answer may wait for a review: the ids of the messages are in use until then.
    for part in lines.chunks(part) {
        connection.write(&part.concat())?;
        connection.send(&json!({ "id": "end", "method": "ping" }))?;
        loop {
            let line = connection.read()?;
            let message: Value = serde_json::from_slice(&line)?;
            if message["id"] == "end" {
                break;
            }
            answers.push(message);
        }
    }
    let (rest, errors, status) = connection.close()?;
    ensure!(status.code() == Some(0), "{status}: {errors}");
    ensure!(!errors.contains("panicked"), "{errors}");
    for line in &rest {
        answers.push(serde_json::from_slice(line)?);
    }
    let violations = fs::read_to_string(site.project().join("violations")).unwrap_or_default();
    ensure!(violations.is_empty(), "calls got past the review:\n{violations}");
    let received = fs::read(site.project().join("received"))?;
    // The end of a line belongs to the pipe.
    let sent: HashSet<&[u8]> = lines.iter().map(|line| line.trim_ascii_end()).collect();
    let mut passed = 0;
    for line in received.split_inclusive(|byte| *byte == b'\n') {
        let line = line.trim_ascii_end();
        if line.starts_with(b"{\"id\":\"end\"")
            || line.starts_with(b"{\"id\":100000,")
            || !sent.contains(line)
        {
            let own = serde_json::from_slice::<Value>(line)
                .is_ok_and(|line| line["id"] == "end" || line["id"] == 100_000);
            ensure!(own, "a line changed: {}", String::from_utf8_lossy(line));
        } else {
            passed += 1;
        }
    }
    let of_gateway = |answer: &&Value| {
        let error = answer["error"]["message"]
            .as_str()
            .is_some_and(|text| text.starts_with("portcullis: "));
        error || answer["result"]["isError"] == true
    };
    let refused = answers.iter().filter(of_gateway).count();
    let dropped = errors.lines().filter(|line| line.contains("without `id` was dropped")).count();
    ensure!(
        passed + refused + dropped == count,
        "{passed} passed, {refused} were refused, {dropped} were dropped, of {count}"
    );
    let enough = passed > count / 50 && refused > count / 5 && dropped > 0;
    ensure!(enough, "{passed}, {refused}, {dropped}");
    Ok(())
}

fn from_address(site: &Site) -> Result<()> {
    let mut numbers = Numbers(0x0F0E_0D0C_0B0A_0908);
    // A carriage return ends a line of an event.
    let lines = (0..SERVER_MESSAGES).map(|_| numbers.mutate(SERVER));
    let lines: Vec<Vec<u8>> = lines.filter(|line| !line.contains(&b'\r')).collect();
    fs::write(site.project().join("lines"), lines.concat())?;
    let front = Front::start(site, &server(site, "server"))?;
    let mut connection = Connection::start(site.gateway_at(&front.url()))?;
    connection.send(&json!({ "method": "notifications/initialized" }))?;
    let mut passed = Vec::new();
    while let Some(line) = connection.read_within(Duration::from_millis(700))? {
        passed.push(line);
    }
    let (rest, errors, status) = connection.close()?;
    passed.extend(rest);
    ensure!(status.code() == Some(0), "{status}: {errors}");
    check_passed(&lines, &passed, &errors)
}

fn from_server(site: &Site) -> Result<()> {
    let mut numbers = Numbers(0xD1B5_4A32_D192_ED03);
    let lines: Vec<Vec<u8>> = (0..SERVER_MESSAGES).map(|_| numbers.mutate(SERVER)).collect();
    fs::write(site.project().join("lines"), lines.concat())?;
    let connection = Connection::start(site.gateway(&server(site, "server")))?;
    let (rest, errors, status) = connection.close()?;
    ensure!(status.code() == Some(0), "{status}: {errors}");
    check_passed(&lines, &rest, &errors)
}

/// Checks that each line of a server passed as it was, or was dropped.
fn check_passed(lines: &[Vec<u8>], rest: &[Vec<u8>], errors: &str) -> Result<()> {
    ensure!(!errors.contains("panicked"), "{errors}");
    let sent: HashSet<&[u8]> = lines.iter().map(Vec::as_slice).collect();
    for line in rest {
        let shown = String::from_utf8_lossy(line);
        ensure!(sent.contains(line.as_slice()), "a line changed: {shown}");
        ensure!(
            serde_json::from_slice::<Value>(line).is_ok_and(|line| line.is_object()),
            "{shown}"
        );
    }
    let dropped = errors.lines().filter(|line| line.contains("was dropped")).count();
    ensure!(
        rest.len() + dropped == lines.len(),
        "{} passed, {dropped} were dropped, of {}",
        rest.len(),
        lines.len()
    );
    ensure!(rest.len() > 200 && dropped > 500, "{} passed, {dropped} were dropped", rest.len());
    Ok(())
}
